// Malicious members for B.2: machines that send arbitrary messages at arbitrary times.
//
// They cannot break the broadcast: a message goes to all or none, under the sender's own name, and
// (where broadcasts are unordered) once for each place in the protocol. Each incarnation draws one
// of three strategies: silent; random, which sends any message at any time; targeted, which sends
// the highest bid so late that some processes see it before they report and others after, and then
// sends reports that may divide them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "lab/baselines/capacity_b2_unordered.h"
#include "machine/machine.h"
#include "protocol/group/capacity_b2.h"

namespace tempo::sim::capacity {

inline constexpr std::int64_t kAboveAll = 1'000'000'000;  // higher than every honest capacity

// Draws a message of the protocol.
inline tempo::election::capacity_b2::Message arbitrary_message(
    Draw& draw, std::uint32_t number, std::uint32_t members,
    const tempo::election::capacity_b2::Message*) {
  using Kind = tempo::election::capacity_b2::Kind;
  return {.kind = draw.below(2) == 0 ? Kind::init : Kind::vect,
          .number = number + static_cast<std::uint32_t>(draw.below(8) == 0),
          .capacity = static_cast<std::int64_t>(draw.below(2'000'000)),
          .size = static_cast<std::uint32_t>(draw.below(members + 2))};
}
inline tempo::election::capacity_b2_unordered::Message arbitrary_message(
    Draw& draw, std::uint32_t number, std::uint32_t members,
    const tempo::election::capacity_b2_unordered::Message*) {
  using Kind = tempo::election::capacity_b2_unordered::Kind;
  tempo::election::capacity_b2_unordered::Message message{
      .kind = static_cast<Kind>(draw.below(3)),
      .round = static_cast<std::uint8_t>(draw.below(9)),
      .number = number + static_cast<std::uint32_t>(draw.below(8) == 0),
      .word = {.ones = static_cast<std::uint16_t>(draw.below(1U << members)),
               .zeros = static_cast<std::uint16_t>(draw.below(1U << members))}};
  for (std::uint32_t i = 0; i < members; ++i)
    message.offers[i] = static_cast<std::int64_t>(draw.below(2'000'000)) - 1;
  return message;
}
// Message of a targeted member: first the highest bid, then reports.
inline void aim(tempo::election::capacity_b2::Message& message, std::uint32_t sent_count) {
  using Kind = tempo::election::capacity_b2::Kind;
  message.kind = sent_count == 0 ? Kind::init : Kind::vect;
  message.capacity += kAboveAll;
}
inline void aim(tempo::election::capacity_b2_unordered::Message& message,
                std::uint32_t sent_count) {
  using Kind = tempo::election::capacity_b2_unordered::Kind;
  message.kind = sent_count == 0 ? Kind::init : sent_count == 1 ? Kind::vect : Kind::word;
  message.offers[0] += kAboveAll;
}
// Place of a message in the protocol; an unordered broadcast has each place only once.
inline std::uint32_t place_of(const tempo::election::capacity_b2::Message&) { return 0; }
inline std::uint32_t place_of(const tempo::election::capacity_b2_unordered::Message& message) {
  using Kind = tempo::election::capacity_b2_unordered::Kind;
  if (message.kind == Kind::init) return 1;
  if (message.kind == Kind::vect) return 2;
  return 3U + message.round;
}

template <class Honest>
class Byzantine {
 public:
  using Message = typename Honest::Message;
  using Time = TimeOf<Honest>;
  using Command = typename Honest::Command;
  using Notice = typename Honest::Notice;
  enum class Timer : std::uint8_t { speak, count };

  Byzantine(NodeId self, const tempo::election::capacity::Rules& rules)
      : self_(self), rules_(&rules) {}

  void start(Turn<Byzantine>& turn) {
    character_ = static_cast<Character>(turn.draw.below(3));
    if (character_ == Character::random) speak_within(turn, 3 * rules_->bound);
  }
  // The first received bid shows that an election has begun.
  void receive(Turn<Byzantine>& turn, NodeId /*from*/, const Message& /*message*/) {
    if (character_ != Character::targeted || timers_.running(Timer::speak) || said_ > 0) return;
    // The others report 2T after they begin; a broadcast takes up to T.
    const Nanos bound = rules_->bound;
    timers_.set(Timer::speak, turn.now + turn.draw.between(bound / 2, 2 * bound));
  }
  void on_timer(Turn<Byzantine>& turn, TimerId timer) {
    if (turn.now < timers_.at(timer)) return;
    timers_.stop_all();
    Message message =
        arbitrary_message(turn.draw, 1, rules_->members, static_cast<const Message*>(nullptr));
    if (character_ == Character::targeted) aim(message, said_);
    if (const std::uint32_t place = place_of(message); (taken_ >> place & 1) == 0) {
      if (place != 0) taken_ |= std::uint64_t{1} << place;
      turn.out.broadcast(message);
    }
    if (++said_ < kMaxLies) speak_within(turn, rules_->bound);
  }
  void command(Turn<Byzantine>& /*turn*/, const Command& /*command*/) {}

  const Timers<Timer, Time>& timers() const { return timers_; }
  const char* check() const { return nullptr; }

  static constexpr auto fields(auto list) {
    using M = Byzantine;
    return list(field<&M::self_>("self"), field<&M::character_>("character"),
                field<&M::said_>("said"), field<&M::taken_>("taken"), field<&M::timers_>("timers"),
                fixed<&M::rules_>());
  }
  friend FieldCheck;

 private:
  enum class Character : std::uint8_t { silent, random, targeted };
  static constexpr std::uint32_t kMaxLies = 12;

  void speak_within(Turn<Byzantine>& turn, Nanos span) {
    timers_.set(Timer::speak, turn.now + turn.draw.between(Nanos{1}, span));
  }

  NodeId self_;
  const tempo::election::capacity::Rules* rules_;
  Character character_ = Character::silent;
  std::uint32_t said_ = 0;
  std::uint64_t taken_ = 0;  // bit set of the places in the protocol that are used up
  Timers<Timer, Time> timers_;
};

}  // namespace tempo::sim::capacity
