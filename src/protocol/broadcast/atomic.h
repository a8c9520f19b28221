// Atomic broadcast on synchronized clocks: stamp, relay once, deliver at stamp + Delta.
//
// While the assumptions of bounds.h hold, every correct process delivers the broadcast of a correct
// process when its own clock shows stamp + Delta. Either all correct processes deliver the
// broadcast of a faulty process or none does. All deliver in the same order, that of (delivery
// time, stamp, sender, number). The protocol needs no coordinator, no acknowledgement and no
// majority. In return every delivery takes Delta, and each side of a partition continues alone.
//
// Time is network time (WallTime): the driver passes readings of the steered clock, which must not
// step back while the group runs.
//
// If the assumptions are violated because a message is late, some correct process detects it. That
// process reports `broken`, refuses to broadcast, informs the others, and resumes after a silence
// of 2 Delta with a delay of 1.5 times the largest that it has measured. Every message carries the
// delay that its sender assumes, and every process adopts the larger one. The delivery time depends
// only on the message, so that all agree on it while the delay changes.
//
// In the malicious class a message carries the set of its signers. The driver creates and verifies
// signatures and passes only messages whose signatures are all valid.
//
// Source: Cristian, Aghili, Strong, Dolev, "Atomic Broadcast: From Simple Message Diffusion to
// Byzantine Agreement", 1985.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/node_map.h"
#include "machine/machine.h"
#include "protocol/broadcast/bounds.h"

namespace tempo::broadcast {

template <class Content>
struct Message {
  enum class Kind : std::uint8_t { word, filler, doubt };
  Kind kind = Kind::word;
  std::uint8_t hops = 1;      // number of times the message was sent, relays included
  NodeId sender = kNobody;    // the node that broadcast it first
  std::uint32_t number = 0;   // number of the sender's broadcast, from 1 in each incarnation
  Incarnation life{};         // incarnation of the sender
  Nanos stamp{0};             // reading of the sender's clock
  Nanos delay{0};             // delta that the sender assumes
  std::uint64_t signers = 0;  // malicious class: bit i: signed by node i
  Content content{};

  static constexpr auto fields(auto list) {
    using M = Message;
    return list(field<&M::kind>("kind"), field<&M::hops>("hops"), field<&M::sender>("sender"),
                field<&M::number>("number"), field<&M::life>("life"), field<&M::stamp>("stamp"),
                field<&M::delay>("delay"), field<&M::signers>("signers"),
                field<&M::content>("content"));
  }
};

template <class Content>
struct Command {
  enum class Kind : std::uint8_t {
    broadcast,
    expect,  // assume a delay of at least `delay` from now on
  };
  Kind kind = Kind::broadcast;
  Content content{};
  Nanos delay{0};

  static constexpr auto fields(auto list) {
    using M = Command;
    return list(field<&M::kind>("kind"), field<&M::content>("content"), field<&M::delay>("delay"));
  }
};

template <class Content>
struct Notice {
  enum class Kind : std::uint8_t {
    delivered,
    refused,    // a broadcast was refused, because this process is in doubt
    broken,     // a bound is violated: `doubt` is the reason, `excess` the amount
    doubted,    // `node` reports that the bounds are violated
    two_faced,  // `node` has sent two contents under one number; neither is delivered
    near,       // a message took more than four fifths of the allowed time
  };
  Kind kind = Kind::delivered;
  Doubt doubt = Doubt::none;
  NodeId node = kNobody;
  Nanos excess{0};
  Nanos stamp{0};
  std::uint32_t number = 0;
  Content content{};

  static constexpr auto fields(auto list) {
    using M = Notice;
    return list(field<&M::kind>("kind"), field<&M::doubt>("doubt"), field<&M::node>("node"),
                field<&M::excess>("excess"), field<&M::stamp>("stamp"), field<&M::number>("number"),
                field<&M::content>("content"));
  }
};

enum class Timer : std::uint8_t {
  deliver,  // deliver the first pending message
  forget,   // delete delivered messages that can no longer arrive in time
  rejoin,   // end of the silence after a doubt
  fill,     // broadcast a filler
  count,
};

template <class T>
class Atomic {
 public:
  using Content = T;
  using Message = broadcast::Message<Content>;
  using Command = broadcast::Command<Content>;
  using Time = WallTime;
  using Notice = broadcast::Notice<Content>;
  using Kind = typename Message::Kind;

  // The rules are shared by many machines and must outlive them. The malicious class supports at
  // most 64 members.
  Atomic(NodeId self, Incarnation incarnation, const Rules& rules)
      : self_(self), incarnation_(incarnation), rules_(&rules), delay_(rules.delay) {
    CHECK(index(self) < rules.members && rules.delay > Nanos{0} && rules.unit > Nanos{0});
    CHECK(rules.faults == Faults::omission || rules.members <= 64);
  }

  void start(Turn<Atomic>& turn) {
    if (rules_->fills) timers_.set(Timer::fill, turn.now + 10 * latency());
  }

  void receive(Turn<Atomic>& turn, NodeId from, const Message& message) {
    if (index(from) >= rules_->members || index(message.sender) >= rules_->members) return;
    if (message.kind == Kind::doubt) {
      adopt(message.delay);
      turn.out.notify({.kind = Notice::Kind::doubted, .node = from, .content = {}});
      return;
    }
    if (message.delay <= Nanos{0} || message.delay > kLongestDelay) return;
    const int hops = hops_of(message);
    if (hops == 0) return;
    if (const Entry* known = find(message)) {
      if (rules_->faults == Faults::malicious && !(known->message.content == message.content) &&
          is_in_time(turn.now, message))
        expose(turn, message);
      return;
    }
    admit(turn, message, hops);
  }

  void on_timer(Turn<Atomic>& turn, TimerId id) {
    if (turn.now < timers_.at(id)) return;
    const auto timer = static_cast<Timer>(id);
    timers_.stop(timer);
    switch (timer) {
      case Timer::deliver:
        deliver(turn);
        break;
      case Timer::forget:
        forget(turn.now);
        break;
      case Timer::rejoin:
        doubt_ = Doubt::none;
        originate(turn, Kind::filler, {});
        break;
      case Timer::fill:
        if (doubt_ == Doubt::none) originate(turn, Kind::filler, {});
        timers_.set(Timer::fill, turn.now + 10 * latency());
        break;
      case Timer::count:
        CHECK(false);
    }
    set_timers();
  }

  void command(Turn<Atomic>& turn, const Command& command) {
    if (command.kind == Command::Kind::expect) {
      adopt(command.delay);
      return;
    }
    if (doubt_ != Doubt::none) {
      turn.out.notify({.kind = Notice::Kind::refused, .doubt = doubt_, .content = command.content});
      return;
    }
    originate(turn, Kind::word, command.content);
    set_timers();
  }

  const Timers<Timer, Time>& timers() const { return timers_; }
  const char* check() const {
    if (history_.size() > kMaxKept) return "history exceeds its limit";
    if ((doubt_ != Doubt::none) != timers_.running(Timer::rejoin))
      return "rejoin timer does not match the doubt";
    for (const Entry& entry : history_)
      if (entry.status == Status::pending && timers_.at(Timer::deliver) > due(entry.message))
        return "delivery timer is too late";
    return nullptr;
  }

  Doubt doubt() const { return doubt_; }
  Nanos latency() const { return rules_->latency(delay_); }
  std::size_t kept() const { return history_.size(); }

  static constexpr auto fields(auto list) {
    using M = Atomic;
    return list(field<&M::self_>("self"), field<&M::incarnation_>("life"),
                field<&M::delay_>("delay"), field<&M::worst_>("worst"),
                field<&M::number_>("number"), field<&M::last_stamp_>("last_stamp"),
                field<&M::doubt_>("doubt"), field<&M::history_>("history"),
                field<&M::last_>("last"), field<&M::timers_>("timers"), fixed<&M::rules_>());
  }
  friend FieldCheck;

 private:
  static constexpr std::size_t kMaxKept = 4096;
  static constexpr Nanos kLongestDelay = std::chrono::hours{1};

  enum class Status : std::uint8_t { pending, delivered, exposed };
  struct Entry {
    Message message{};
    Status status = Status::pending;

    static constexpr auto fields(auto list) {
      return list(field<&Entry::message>("message"), field<&Entry::status>("fate"));
    }
  };
  // The last message delivered from a sender.
  struct Last {
    Incarnation incarnation{};
    std::uint32_t number = 0;

    static constexpr auto fields(auto list) {
      return list(field<&Last::incarnation>("life"), field<&Last::number>("number"));
    }
  };

  // The local clock, rounded down to the unit for readings and up for stamps.
  Nanos reading(WallTime now) const {
    const Nanos shown = now.time_since_epoch();
    return shown - shown % rules_->unit;
  }
  Nanos stamp(WallTime now) const {
    const Nanos shown = now.time_since_epoch();
    const Nanos rest = shown % rules_->unit;
    return rest == Nanos{0} ? shown : shown - rest + rules_->unit;
  }
  WallTime due(const Message& message) const {
    return WallTime{message.stamp + rules_->latency(message.delay)};
  }
  static auto order(const Rules& rules, const Message& message) {
    return std::tuple(message.stamp + rules.latency(message.delay), message.stamp, message.sender,
                      message.number, message.life);
  }

  // Number of hops that the message has taken; 0: invalid message.
  int hops_of(const Message& message) const {
    if (rules_->faults == Faults::omission)
      return message.hops >= 1 && message.hops <= rules_->faulty + 1 ? message.hops : 0;
    if ((message.signers >> index(message.sender) & 1) == 0) return 0;
    return std::popcount(message.signers);
  }

  // The delay is part of a message's identity: with another delay it is another message with
  // another delivery time.
  static bool same_message(const Message& left, const Message& right) {
    return left.stamp == right.stamp && left.sender == right.sender &&
           left.number == right.number && left.life == right.life && left.delay == right.delay;
  }
  const Entry* find(const Message& message) const {
    for (const Entry& entry : history_)
      if (same_message(entry.message, message)) return &entry;
    return nullptr;
  }

  // Malicious class: returns true if the message took no longer than its hops allow. A later
  // message cannot reach all processes before they deliver, so it must not count here either.
  bool is_in_time(WallTime now, const Message& message) const {
    return !rules_->tests_hop ||
           reading(now) - message.stamp <= hops_of(message) * (message.delay + rules_->precision);
  }

  // Checks a new message against the bounds, stores it and relays it.
  void admit(Turn<Atomic>& turn, const Message& message, int hops) {
    const Nanos now = reading(turn.now);
    const Nanos took = now - message.stamp;
    const Nanos whole = rules_->latency(message.delay);
    const Nanos epsilon = rules_->precision;
    if (took > whole) return doubt(turn, Doubt::late, took - whole, took);
    if (-took > hops * epsilon + rules_->unit)
      return doubt(turn, Doubt::future, -took - hops * epsilon, Nanos{0});
    if (rules_->faults == Faults::malicious) {
      const Nanos limit = hops * (message.delay + epsilon);
      if (rules_->tests_hop && took > limit)
        return doubt(turn, Doubt::slow_hop, took - limit, took / hops);
    } else if (const Nanos limit = hops * message.delay + epsilon; took > limit) {
      doubt(turn, Doubt::slow_hop, took - limit, (took - epsilon) / hops);
    } else if (took > limit / 5 * 4) {
      turn.out.notify(
          {.kind = Notice::Kind::near, .node = message.sender, .excess = took, .content = {}});
    }
    adopt(message.delay);
    if (!keep(message)) return doubt(turn, Doubt::overrun, Nanos{0}, Nanos{0});
    relay(turn, message, hops);
    set_timers();
  }

  bool keep(const Message& message) {
    if (history_.size() >= kMaxKept) return false;
    const auto position = std::ranges::upper_bound(
        history_, order(*rules_, message), {},
        [this](const Entry& entry) { return order(*rules_, entry.message); });
    history_.insert(position, {.message = message, .status = Status::pending});
    return true;
  }

  void relay(Turn<Atomic>& turn, const Message& message, int hops) {
    if (!rules_->relays || hops > static_cast<int>(rules_->faulty)) return;
    Message copy = message;
    copy.hops = static_cast<std::uint8_t>(hops + 1);
    if (rules_->faults == Faults::malicious) copy.signers |= std::uint64_t{1} << index(self_);
    turn.out.broadcast(copy);
  }

  // Two contents under one number: relays the second one, so that all processes detect it.
  void expose(Turn<Atomic>& turn, const Message& message) {
    for (Entry& entry : history_) {
      if (!same_message(entry.message, message)) continue;
      if (entry.status != Status::pending) return;
      entry.status = Status::exposed;
    }
    turn.out.notify({.kind = Notice::Kind::two_faced, .node = message.sender, .content = {}});
    relay(turn, message, hops_of(message));
    set_timers();
  }

  void originate(Turn<Atomic>& turn, Kind kind, const Content& content) {
    Message message{
        .kind = kind,
        .sender = self_,
        .number = number_ + 1,
        .life = incarnation_,
        .stamp = std::max(stamp(turn.now), last_stamp_ + rules_->unit),
        .delay = delay_,
        .signers = rules_->faults == Faults::malicious ? std::uint64_t{1} << index(self_) : 0,
        .content = content};
    if (!keep(message)) return doubt(turn, Doubt::overrun, Nanos{0}, Nanos{0});
    ++number_;
    last_stamp_ = message.stamp;
    turn.out.broadcast(message);
  }

  void deliver(Turn<Atomic>& turn) {
    for (Entry& entry : history_) {
      const WallTime when = due(entry.message);
      if (turn.now < when) break;
      if (entry.status != Status::pending) continue;
      entry.status = Status::delivered;
      const Message& message = entry.message;
      if (const Nanos late = turn.now - when; late > delay_)
        doubt(turn, Doubt::paused, late, Nanos{0});
      Last& last = last_[message.sender];
      if (last.incarnation == message.life && last.number != 0 && message.number > last.number + 1)
        doubt(turn, Doubt::gap, Nanos{0}, Nanos{0});
      if (last.incarnation != message.life || message.number > last.number)
        last = {.incarnation = message.life, .number = message.number};
      if (message.kind == Kind::word)
        turn.out.notify({.kind = Notice::Kind::delivered,
                         .node = message.sender,
                         .stamp = message.stamp,
                         .number = message.number,
                         .content = message.content});
    }
  }

  // Deletes delivered messages after their end; a copy that arrives later is refused as late.
  void forget(WallTime now) {
    std::erase_if(history_, [&](const Entry& entry) {
      return entry.status != Status::pending && now >= end_of(entry.message);
    });
  }
  WallTime end_of(const Message& message) const {
    return due(message) + rules_->precision + message.delay;
  }

  void set_timers() {
    timers_.stop(Timer::deliver);
    timers_.stop(Timer::forget);
    for (const Entry& entry : history_) {
      const bool pending = entry.status == Status::pending;
      const Timer timer = pending ? Timer::deliver : Timer::forget;
      const WallTime when = pending ? due(entry.message) : end_of(entry.message);
      if (when < timers_.at(timer)) timers_.set(timer, when);
    }
  }

  void doubt(Turn<Atomic>& turn, Doubt reason, Nanos excess, Nanos measured) {
    turn.out.notify(
        {.kind = Notice::Kind::broken, .doubt = reason, .excess = excess, .content = {}});
    worst_ = std::max(worst_, std::min(measured, kLongestDelay / 2));
    if (doubt_ != Doubt::none) return;
    doubt_ = reason;
    adopt(worst_ * 3 / 2);
    timers_.set(Timer::rejoin, turn.now + 2 * latency());
    turn.out.broadcast({.kind = Kind::doubt,
                        .sender = self_,
                        .number = 0,
                        .life = incarnation_,
                        .delay = delay_,
                        .content = {}});
  }

  void adopt(Nanos delay) { delay_ = std::max(delay_, std::min(delay, kLongestDelay)); }

  NodeId self_;
  Incarnation incarnation_;
  const Rules* rules_;
  Nanos delay_;                 // current delta; never decreases
  Nanos worst_{0};              // largest delay measured; zero: none
  std::uint32_t number_ = 0;    // number of the last own broadcast
  Nanos last_stamp_{0};         // stamp of the last own broadcast
  Doubt doubt_ = Doubt::none;   // none: this process may broadcast
  std::vector<Entry> history_;  // pending and recently delivered messages, ascending by order()
  NodeMap<Last> last_;          // last message delivered from each sender
  Timers<Timer, Time> timers_;
};

// The name of the content, if it has one; otherwise the name of the kind.
template <class Content>
std::string_view name_of(const Message<Content>& message) {
  using Kind = typename Message<Content>::Kind;
  switch (message.kind) {
    case Kind::word:
      if constexpr (requires { name_of(message.content); }) return name_of(message.content);
      return "word";
    case Kind::filler:
      return "filler";
    case Kind::doubt:
      return "doubt";
  }
  CHECK(false);
  return {};
}

}  // namespace tempo::broadcast
