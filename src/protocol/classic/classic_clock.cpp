// The clock of a host in classic mode: its readings, the rounds of a master, corrections.
#include <algorithm>
#include <cmath>

#include "protocol/classic/classic_host.h"
#include "protocol/classic/icmp_timestamp.h"

namespace tempo::classic {
namespace {

constexpr Nanos kLongestStep = 100ms;  // between two measurements of a slave

}  // namespace

std::int64_t ClassicHost::micros(Instant now) const {
  return std::chrono::floor<std::chrono::microseconds>(time(now).time_since_epoch()).count();
}

std::uint32_t ClassicHost::milliseconds(Instant now) const {
  return milliseconds_of_day(time(now));
}

Nanos ClassicHost::measuring_step() const {
  return std::min(rules_->timing.adjtime / 20, kLongestStep);
}

// A master begins to measure early enough that all answers are there before its round.
void ClassicHost::plan_round(std::uint8_t network, Instant now) {
  Slot& slot = *slots_[network];
  const auto timer = static_cast<OwnTimer>(network);
  const Instant round = slot.election.timers().at(election::Timer::sync);
  if (round == kNever) {
    timers_.stop(timer);
    slot.round = Instant{};
    return;
  }
  if (round == slot.round) return;
  slot.round = round;
  slot.exchanges = kExchanges;
  slot.probes.clear();
  timers_.set(timer, std::max(now, round - (kExchanges + 1) * measuring_step()));
}

void ClassicHost::measure(Turn<ClassicHost>& turn, std::uint8_t network) {
  Slot& slot = *slots_[network];
  if (slot.exchanges == 0) return;
  slot.election.list().for_each([&](NodeId to) {
    turn.out.send(to, {.network = network,
                       .kind = Packet::Kind::timestamp_request,
                       .stamps = {.id = slot.measure_id,
                                  .sequence = static_cast<std::uint16_t>(slot.exchanges),
                                  .originate = milliseconds(turn.now)}});
  });
  --slot.exchanges;
  if (slot.exchanges > 0) timers_.set(static_cast<OwnTimer>(network), turn.now + measuring_step());
}

void ClassicHost::answer_timestamp(Turn<ClassicHost>& turn, NodeId from, const Packet& packet) {
  if (!options_.answers_timestamps) return;
  Packet reply = packet;
  reply.kind = Packet::Kind::timestamp_reply;
  reply.stamps.receive = milliseconds(turn.now);
  reply.stamps.transmit = reply.stamps.receive;
  turn.out.send(from, reply);
}

void ClassicHost::receive_timestamp(Turn<ClassicHost>& turn, NodeId from, const Packet& packet) {
  Slot& slot = *slots_[packet.network];
  const Timestamps& stamps = packet.stamps;
  if (stamps.id != slot.measure_id || !slot.election.list().contains(from)) return;
  // Above a day: the answering host does not count milliseconds since midnight.
  if (stamps.receive >= kDayMs || stamps.transmit >= kDayMs) return;
  auto probe = std::ranges::find(slot.probes, from, &std::pair<NodeId, OffsetProbe>::first);
  if (probe == slot.probes.end()) probe = slot.probes.insert(probe, {from, {}});
  probe->second.add(day_difference(stamps.receive, stamps.originate),
                    day_difference(milliseconds(turn.now), stamps.transmit));
}

Nanos ClassicHost::finish_round(std::uint8_t network) {
  Slot& slot = *slots_[network];
  std::vector<Nanos> offsets;
  for (const auto& [id, probe] : slot.probes)
    if (const auto offset = probe.offset()) offsets.push_back(*offset);
  // A submaster's time is that of its master: its own network does not change it.
  const Nanos own = upstream_ == kNoNetwork ? network_correction(offsets, options_.faulty) : 0ns;
  for (auto& [id, peer] : slot.peers) peer.correction.reset();
  for (const auto& [id, probe] : slot.probes)
    if (const auto offset = probe.offset())
      if (Peer* const measured = peer(slot, id)) measured->correction = own - *offset;
  slot.probes.clear();
  return own;
}

void ClassicHost::correct(Turn<ClassicHost>& turn, Nanos by, bool step, const wire::Name& master) {
  const bool stepped = step || std::chrono::abs(by) > options_.step_limit;
  clock_.set_rate(turn.now, 0);
  timers_.stop(OwnTimer::slew);
  if (stepped)
    clock_.step(by);
  else
    slew(turn.now, by);
  turn.out.notify(ClockChanged{.stepped = stepped, .by = by, .master = master});
}

// Half of the time to the next round is enough for small corrections.
void ClassicHost::slew(Instant now, Nanos by) {
  if (by == Nanos{0}) return;
  const double needed = std::abs(in_seconds(by)) / options_.max_slew;
  const Nanos span = std::max(rules_->timing.adjtime / 2, Nanos{std::llround(needed * 1e9)});
  clock_.set_rate(now, in_seconds(by) / in_seconds(span));
  timers_.set(OwnTimer::slew, now + span);
}

}  // namespace tempo::classic
