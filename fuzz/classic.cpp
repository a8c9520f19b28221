// Fuzzes a host in classic mode: datagrams of TSP version 1 and ICMP timestamps from peers and
// strangers, in two networks, and its timers, in any order, keep the invariants of the machine. No
// packet moves the clock by more than the limit, and none is answered by a flood.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "base/random.h"
#include "protocol/classic/classic_host.h"
#include "protocol/classic/icmp_timestamp.h"
#include "protocol/wire/tsp.h"

namespace tempo::classic {
namespace {

constexpr std::size_t kMaxInputs = 500;
constexpr std::size_t kMaxOutputs = 64;
constexpr Nanos kLimit = 1000s;

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
  const election::Rules rules{
      .timing = *election::profile("lan"), .repeats = 0, .variant = ClassicHost::variant()};
  Stream stream(1, 1, 1);
  StreamDraw draw(stream);
  Outbox<ClassicHost> out;
  Instant now{1s};
  ClassicHost host(
      {.self = NodeId{4}, .incarnation = Incarnation{1}, .name = wire::Name("self"), .networks = 3},
      rules, {.correction_limit = kLimit, .answers_timestamps = true},
      clock::SteeredClock(now, WallTime{1'000'000'000s}, 0));
  const auto step = [&](auto function) {
    out.clear();
    Turn<ClassicHost> turn{now, draw, out};
    const WallTime before = host.time(now);
    function(turn);
    CHECK(std::chrono::abs(host.time(now) - before) <= kLimit);
    CHECK(out.size() <= kMaxOutputs);
    const char* const violation = host.check();
    CHECK(violation == nullptr);
  };
  step([&](auto& turn) { host.start(turn); });
  for (std::size_t inputs = 0; !bytes.empty() && inputs < kMaxInputs; ++inputs) {
    const std::uint8_t kind = byte();
    if (kind % 4 == 0) {
      now += 10ms * byte();
      if (host.timers().first() <= now)
        step([&](auto& turn) { host.on_timer(turn, host.timers().first_name()); });
      continue;
    }
    const NodeId from = kind % 16 == 15 ? kStranger : NodeId{kind / 16U};
    Packet packet{.network = static_cast<std::uint8_t>(kind / 4 % 2)};
    const auto received = std::as_bytes(take(byte()));
    if (kind % 4 == 1) {
      const auto icmp = parse_icmp(received);
      if (!icmp) continue;
      packet.kind = icmp->reply ? Packet::Kind::timestamp_reply : Packet::Kind::timestamp_request;
      packet.stamps = icmp->stamps;
    } else {
      const auto datagram = wire::tsp::parse(received);
      if (!datagram) continue;
      packet.datagram = *datagram;
    }
    step([&](auto& turn) { host.receive(turn, from, packet); });
  }
  return 0;
}

}  // namespace tempo::classic
