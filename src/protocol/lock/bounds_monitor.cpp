#include "protocol/lock/bounds_monitor.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/span_text.h"

namespace tempo::locks {

BoundsMonitor::BoundsMonitor(const Rules& rules, std::uint32_t self, std::size_t members,
                             std::uint32_t view)
    : rules_(rules), self_(self), view_(view), peers_(members) {
  CHECK(self < members && members <= wire::BeatBody::kMax);
  update_why();
}

std::string BoundsMonitor::text_of(const Breach& breach, const Rules& rules,
                                   std::string_view member) {
  switch (breach.kind) {
    case Breach::Kind::none:
      return "";
    case Breach::Kind::measuring:
      return "delays are still being measured";
    case Breach::Kind::no_beat:
      return fmt::format("no heartbeat from {} yet", member);
    case Breach::Kind::restarted:
      return fmt::format("{} has restarted", member);
    case Breach::Kind::other_voters:
      return fmt::format("{} has a different set of voters", member);
    case Breach::Kind::lost_from:
      return fmt::format("a datagram from {} was lost", member);
    case Breach::Kind::lost_to:
      return fmt::format("a datagram to {} was lost", member);
    case Breach::Kind::round_trip:
      return fmt::format("a round trip to {} took {}, more than two delays of {}", member,
                         span_text(breach.span), span_text(rules.delay_max));
    case Breach::Kind::paused:
      return fmt::format("this machine was paused for {}", span_text(breach.span));
    case Breach::Kind::silent:
      return fmt::format("{} has been silent for {}", member, span_text(breach.span));
  }
  return "";
}

// --- messages ---

void BoundsMonitor::sent_to_all() {
  for (std::uint32_t i = 0; i < peers_.size(); ++i) sent(i);
}

void BoundsMonitor::sent(std::uint32_t to) { ++peers_[to].sent; }

void BoundsMonitor::received(BootTime now, std::uint32_t from, Incarnation incarnation) {
  note_incarnation(now, peers_[from], incarnation);
  ++peers_[from].received;
}

// Messages that an earlier incarnation of the peer sent or received no longer count.
void BoundsMonitor::note_incarnation(BootTime now, Peer& peer, Incarnation incarnation) {
  if (peer.incarnation == incarnation) return;
  const bool again = peer.incarnation != Incarnation{};
  peer.incarnation = incarnation;
  peer.received = peer.counted = 0;
  peer.beat = 0;
  peer.heard = now;
  peer.answered = BootTime{};
  breach(peer, again ? Breach::Kind::restarted : Breach::Kind::none);
}

// --- heartbeats ---

wire::BeatBody BoundsMonitor::beat(BootTime now, bool busy) {
  wire::BeatBody body{.view = view_, .number = ++last_beat_, .busy = busy};
  for (const Peer& peer : peers_) {
    const auto age = std::chrono::duration_cast<std::chrono::microseconds>(now - peer.heard);
    body.members.push_back({.incarnation = std::to_underlying(peer.incarnation),
                            .heard = peer.beat,
                            .age_us = peer.beat == 0
                                          ? 0
                                          : static_cast<std::uint32_t>(std::clamp<std::int64_t>(
                                                age.count(), 0, 0xffffffff)),
                            .received = peer.counted,
                            .sent = peer.sent});
  }
  beats_[last_beat_ % kKept] = {last_beat_, now, mark()};
  ++calm_;
  update_why();
  return body;
}

void BoundsMonitor::receive(BootTime now, std::uint32_t from, Incarnation incarnation,
                            const wire::BeatBody& beat) {
  Peer& peer = peers_[from];
  note_incarnation(now, peer, incarnation);
  if (beat.number <= peer.beat) return;  // an older one that arrived late
  const bool gap = peer.beat != 0 && beat.number != peer.beat + 1;
  peer.beat = beat.number;
  peer.counted = peer.received;
  peer.heard = now;
  if (beat.view != view_) return breach(peer, Breach::Kind::other_voters);
  if (gap) breach(peer, Breach::Kind::lost_from);
  if (self_ < beat.members.size()) evaluate(now, peer, beat.members[self_]);
  update_why();
}

void BoundsMonitor::evaluate(BootTime now, Peer& peer, const wire::BeatBody::Entry& entry) {
  const Beat& ours = beats_[entry.heard % kKept];
  if (entry.heard == 0 || ours.number != entry.heard)
    return;  // it does not know us yet, or we no longer remember that heartbeat
  peer.answered = std::max(peer.answered, ours.at);
  const Nanos trip = now - ours.at - std::chrono::microseconds(entry.age_us);
  if (trip > 2 * rules_.delay_max) return breach(peer, Breach::Kind::round_trip, trip);
  const auto at = static_cast<std::size_t>(&peer - peers_.data());
  const std::int64_t out = std::int64_t{ours.sent[at]} - entry.received;
  const std::int64_t in = std::int64_t{entry.sent} - peer.received;
  // The smallest number ever missing was lost earlier, or belongs to another incarnation.
  const bool short_out = peer.out && out > *peer.out;
  const bool short_in = peer.in && in > *peer.in;
  peer.out = std::min(out, peer.out.value_or(out));
  peer.in = std::min(in, peer.in.value_or(in));
  if (short_out || short_in) {
    // One heartbeat may overtake a message; two do not.
    if (++peer.short_beats >= 2)
      breach(peer, short_out ? Breach::Kind::lost_to : Breach::Kind::lost_from);
    return;
  }
  peer.short_beats = 0;
  peer.clean = std::min(peer.clean + 1, rules_.clean);
  peer.confirmed = ours.sent[at];
}

void BoundsMonitor::stalled(Nanos by) {
  if (by <= rules_.delay_max) return;
  calm_ = 0;
  last_breach_ = {.kind = Breach::Kind::paused, .span = by};
  update_why();
}

void BoundsMonitor::expire_silent(BootTime now) {
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    Peer& peer = peers_[i];
    if (i == self_ || peer.clean == 0 || now - peer.heard <= rules_.silence_max()) continue;
    breach(peer, Breach::Kind::silent, rules_.silence_max());
  }
}

void BoundsMonitor::restart(BootTime now) {
  calm_ = 0;
  last_breach_ = {};
  for (Peer& peer : peers_) {
    peer.heard = now;
    breach(peer, Breach::Kind::none);
  }
}

void BoundsMonitor::breach(Peer& peer, Breach::Kind kind, Nanos span) {
  peer.clean = 0;
  peer.short_beats = 0;
  peer.out.reset();
  peer.in.reset();
  if (kind != Breach::Kind::none)
    last_breach_ = {kind, static_cast<std::uint32_t>(&peer - peers_.data()), span};
  update_why();
}

void BoundsMonitor::update_why() {
  bool calm = calm_ >= rules_.clean;
  why_ = {.kind = Breach::Kind::measuring};
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    if (i == self_) continue;
    calm &= peers_[i].clean >= rules_.clean;
    if (peers_[i].beat == 0 && why_.kind == Breach::Kind::measuring)
      why_ = {.kind = Breach::Kind::no_beat, .member = i};
  }
  if (calm)
    why_ = last_breach_ = {};
  else if (last_breach_.kind != Breach::Kind::none)
    why_ = last_breach_;
}

// --- the value of silence ---

BoundsMonitor::Mark BoundsMonitor::mark() const {
  Mark mark{};
  for (std::uint32_t i = 0; i < peers_.size(); ++i) mark[i] = peers_[i].sent;
  return mark;
}

bool BoundsMonitor::confirmed(const Mark& mark) const {
  for (std::uint32_t i = 0; i < peers_.size(); ++i)
    if (i != self_ && (peers_[i].clean == 0 || peers_[i].confirmed < mark[i])) return false;
  return true;
}

bool BoundsMonitor::supported(BootTime now, Nanos lately) const {
  std::size_t votes = 0;
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    const Peer& peer = peers_[i];
    votes += i == self_ || now - peer.answered <= lately ? 1U : 0U;
  }
  return votes * 2 > peers_.size();
}

}  // namespace tempo::locks
