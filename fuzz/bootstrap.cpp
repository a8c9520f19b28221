// Fuzzes the bootstrap of the voter set: messages of other hosts, timers and completed writes in
// any order keep the invariants of the machine.
#include "protocol/lock/bootstrap.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/check.h"
#include "base/random.h"
#include "protocol/wire/layout.h"
#include "protocol/wire/lock_body.h"

namespace tempo {
namespace {

using lock::Bootstrap;

constexpr std::uint32_t kHosts = 10;
constexpr std::size_t kMaxInputs = 500;

// As in the daemon: hosts are numbered in the order of their ids; a proposal with unknown hosts is
// dropped.
std::optional<Bootstrap::VoterProposal> proposal_of(const wire::VoterSetBody& body) {
  Bootstrap::VoterProposal proposal{.stage = static_cast<Bootstrap::Stage>(body.stage),
                                    .number = body.number};
  for (const HostId voter : body.voters) {
    const std::uint64_t number = std::to_underlying(voter);
    if (number >= kHosts) return std::nullopt;
    proposal.voters.push_back(NodeId{static_cast<std::uint32_t>(number)});
  }
  return proposal;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::span<const std::uint8_t> bytes(data, size);
  const auto take = [&](std::size_t wanted) {
    const auto taken = bytes.first(std::min(wanted, bytes.size()));
    bytes = bytes.subspan(taken.size());
    return taken;
  };
  const auto byte = [&] {
    const auto taken = take(1);
    return taken.empty() ? std::uint8_t{0} : taken.front();
  };
  Stream stream(1, 1, 1);
  StreamDraw draw(stream);
  Outbox<Bootstrap> out;
  BootTime now{Nanos{1'000'000'000}};
  std::optional<Bootstrap::VoterProposal> writing;
  Bootstrap bootstrap(
      {.self = NodeId{3}, .expected = static_cast<std::uint8_t>(1 + byte() % lock::kMaxVoterSet)});
  const auto step = [&](auto function) {
    out.clear();
    Turn<Bootstrap> turn{now, draw, out};
    function(turn);
    for (const auto& output : out)
      if (output.kind == OutputKind::persist) writing = output.record;
    const char* const violation = bootstrap.check();
    CHECK(violation == nullptr);
  };
  step([&](auto& turn) { bootstrap.start(turn); });
  for (std::size_t inputs = 0; !bytes.empty() && inputs < kMaxInputs; ++inputs) {
    switch (byte() % 3) {
      case 0: {
        const NodeId from{byte() % kHosts};
        const auto body =
            wire::read_body<wire::VoterSetBody>(wire::Reader(std::as_bytes(take(byte()))));
        const auto proposal = body ? proposal_of(*body) : std::nullopt;
        if (proposal) step([&](auto& turn) { bootstrap.receive(turn, from, *proposal); });
        break;
      }
      case 1:
        now += 10ms * byte();
        if (bootstrap.timers().first() <= now)
          step([&](auto& turn) { bootstrap.on_timer(turn, bootstrap.timers().first_name()); });
        break;
      case 2:
        if (const auto record = std::exchange(writing, std::nullopt))
          step([&](auto& turn) { bootstrap.command(turn, Bootstrap::persisted(*record)); });
        break;
      default:
        break;
    }
  }
  return 0;
}

}  // namespace tempo
