// What hosts say of who is to vote on locks, in any order: whoever listens stays in order, and what
// it says itself can be read.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/check.h"
#include "base/random.h"
#include "protocol/lock/bootstrap.h"
#include "protocol/wire/lock_body.h"

namespace tempo {
namespace {

using lock::Bootstrap;

constexpr std::uint32_t kHosts = 10;
constexpr std::size_t kMaxDeeds = 500;

// As the daemon has it: hosts by numbers in the order of their ids, and no more than can be known.
std::optional<Bootstrap::VoterProposal> word_of(const wire::VoterSetBody& body) {
  Bootstrap::VoterProposal word{.cluster = static_cast<Bootstrap::Cluster>(body.cluster)};
  for (const HostId voter : body.voters) {
    const std::uint64_t number = std::to_underlying(voter);
    if (number >= kHosts) return std::nullopt;
    word.voters.push_back(NodeId{static_cast<std::uint32_t>(number)});
  }
  return word;
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
  Instant now{Nanos{1'000'000'000}};
  std::optional<Bootstrap::VoterProposal> writing;
  Bootstrap bootstrap(
      {.self = NodeId{3}, .expected = static_cast<std::uint8_t>(1 + byte() % lock::kMaxVoterSet)});
  const auto step = [&](auto todo) {
    out.clear();
    Turn<Bootstrap> turn{now, draw, out};
    todo(turn);
    for (const auto& output : out)
      if (output.kind == OutputKind::notice && output.notice.kind == Bootstrap::Notice::Kind::write)
        writing = output.notice.word;
    const char* const broken = bootstrap.check();
    CHECK(broken == nullptr);
  };
  step([&](auto& turn) { bootstrap.start(turn); });
  for (std::size_t deeds = 0; !bytes.empty() && deeds < kMaxDeeds; ++deeds) {
    switch (byte() % 3) {
      case 0: {
        const NodeId from{byte() % kHosts};
        const auto body = wire::take_voter_set(wire::Reader(std::as_bytes(take(byte()))));
        const auto word = body ? word_of(*body) : std::nullopt;
        if (word) step([&](auto& turn) { bootstrap.receive(turn, from, *word); });
        break;
      }
      case 1:
        now += 10ms * byte();
        if (bootstrap.timers().first() <= now)
          step([&](auto& turn) { bootstrap.on_timer(turn, bootstrap.timers().first_name()); });
        break;
      case 2:
        if (const auto word = std::exchange(writing, std::nullopt))
          step([&](auto& turn) { bootstrap.command(turn, {.written = *word}); });
        break;
      default:
        break;
    }
  }
  return 0;
}

}  // namespace tempo
