#include "lab/studies/group/broadcast/speaker.h"

#include <algorithm>

#include "base/check.h"

namespace tempo::check {

static_assert(CheckableMachine<Speaker>);

Nanos Speaker::reading(Instant now) const {
  return kClockStart + ahead_ + part_.horizon - std::max(Nanos{0}, end_ - now);
}

bool Speaker::cut_short(Instant now) const { return end_ <= now && timers().first() != kNever; }

Instant Speaker::world(WallTime own_time) const {
  if (own_time == kNever) return kNever;
  return end_ + (own_time.time_since_epoch() - kClockStart - ahead_ - part_.horizon);
}

Instant Speaker::AllTimers::at(TimerId timer) const {
  const std::size_t wanted = std::to_underlying(timer);
  return speaker_->world(wanted + 1 == kTimers ? speaker_->speak_at_
                                               : speaker_->carrier_.timers().at(timer));
}

TimerId Speaker::AllTimers::first_name() const {
  std::size_t first = 0;
  for (std::size_t i = 1; i < kTimers; ++i)
    if (at(timer_id(i)) < at(timer_id(first))) first = i;
  return timer_id(first);
}

void Speaker::start(Turn<Speaker>& turn) {
  end_ = turn.now + part_.horizon;
  ahead_ = Nanos{static_cast<Nanos::rep>(
      turn.draw.below(static_cast<std::uint64_t>(rules_->precision.count()) + 1))};
  carry(turn, [](Carrier& carrier, auto& inner) { carrier.start(inner); });
  if (!part_.speaks) return;
  left_ = part_.nature == Nature::malicious ? part_.window : 0;
  const std::uint64_t later =
      part_.nature == Nature::malicious ? 0 : turn.draw.below(std::uint64_t{part_.window} + 1);
  speak_at_ = own(turn.now) + Nanos{static_cast<Nanos::rep>(later)};
}

void Speaker::receive(Turn<Speaker>& turn, NodeId from, const Message& message) {
  if (part_.nature == Nature::malicious) return;
  if (part_.nature == Nature::omits && turn.draw.below(2) == 1) return;
  carry(turn, [&](Carrier& carrier, auto& inner) { carrier.receive(inner, from, message); });
}

void Speaker::on_timer(Turn<Speaker>& turn, TimerId timer) {
  if (turn.now < timers().at(timer)) return;
  if (std::size_t{std::to_underlying(timer)} + 1 < kTimers)
    carry(turn, [&](Carrier& carrier, auto& inner) { carrier.on_timer(inner, timer); });
  else if (part_.nature == Nature::malicious)
    lie(turn);
  else
    speak(turn);
}

void Speaker::speak(Turn<Speaker>& turn) {
  speak_at_ = kNever;
  const Payload payload{static_cast<std::uint8_t>(index(self_) + 1)};
  carry(turn, [&](Carrier& carrier, auto& inner) { carrier.command(inner, {.content = payload}); });
}

// Sends to each other process, under one number: nothing, one of two contents, or the first content
// with a longer delay, so that it would be delivered later.
void Speaker::lie(Turn<Speaker>& turn) {
  if (!said_) said_ = Saying{.sender = self_, .number = 1, .stamp = reading(turn.now)};
  for (std::uint32_t to = 0; to < rules_->members; ++to) {
    if (to == index(self_)) continue;
    const auto choice = static_cast<std::uint32_t>(turn.draw.below(kLies + 1));
    const std::uint32_t bit = choice == 0 ? 0 : 1U << (kLies * to + choice - 1);
    if (bit == 0 || (given_ & bit) != 0) continue;
    given_ |= bit;
    turn.out.send(NodeId{to}, {.sender = self_,
                               .number = 1,
                               .life = Incarnation{1},
                               .stamp = said_->stamp,
                               .delay = rules_->delay + Nanos{choice == kLies ? 1 : 0},
                               .signers = std::uint64_t{1} << index(self_),
                               .content = {static_cast<std::uint8_t>(choice == 2 ? 2 : 1)}});
  }
  speak_at_ = left_ == 0 ? kNever : own(turn.now) + Nanos{1};
  if (left_ > 0) --left_;
}

template <class Do>
void Speaker::carry(Turn<Speaker>& turn, Do todo) {
  step_part_at(own(turn.now), turn, carrier_, todo, [&](const Output<Carrier>& output) {
    CHECK(output.kind != OutputKind::send);
    if (output.kind == OutputKind::broadcast) {
      send(turn, output.message);
    } else if (output.notice.kind == Carrier::Notice::Kind::delivered) {
      CHECK(log_.size() < kMaxDelivered);
      log_.push_back({.sender = output.notice.node,
                      .number = output.notice.number,
                      .stamp = output.notice.stamp,
                      .word = output.notice.content,
                      .at = reading(turn.now)});
    }
  });
}

void Speaker::send(Turn<Speaker>& turn, const Message& message) {
  if (message.sender == self_ && message.kind == Message::Kind::word)
    said_ = Saying{.sender = self_,
                   .number = message.number,
                   .stamp = message.stamp,
                   .word = message.content,
                   .at = message.stamp + rules_->latency(message.delay)};
  if (part_.nature == Nature::correct) {
    turn.out.broadcast(message);
    return;
  }
  for (std::uint32_t to = 0; to < rules_->members; ++to)
    if (to != index(self_) && turn.draw.below(2) == 0) turn.out.send(NodeId{to}, message);
}

}  // namespace tempo::check
