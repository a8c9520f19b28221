// A station's links: a message to the next station arrives once and in order; or the next station
// is down, and the one after it takes its place.
//
// If the network itself is reliable and ordered (LinkRules::courier unset), the link passes
// everything through. Otherwise a Courier repeats unacknowledged messages, each message names its
// predecessor so that the receiver holds back one that overtook it, and periodic probes detect a
// neighbour that died while no message was sent to it. A station that is alone on the ring is its
// own neighbour and needs no network.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "machine/machine.h"
#include "protocol/group/ring_types.h"

namespace tempo::election::ring {

class Link {
 public:
  static constexpr std::size_t kMaxHeld = 1024;  // early messages of one neighbour

  Link(NodeId self, Incarnation incarnation, const LinkRules& rules);

  NodeId next() const { return next_; }
  // No known station is left: messages are lost, and the ring is broken.
  bool stranded() const { return next_ == kNobody; }

  template <class M>
  void send(Turn<M>& turn, Message message) {
    if (next_ == kNobody) return;
    if (next_ == self_) {
      CHECK(own_.size() < kMaxHeld);
      own_.push_back(message);
      // Paced on a real network: a lone station that relays a message would otherwise send it to
      // itself again and again at one instant.
      own_at_ = turn.now + (rules_->courier ? rules_->courier->interval / 64 : Nanos{0});
      return;
    }
    if (rules_->courier) {
      message.life = incarnation_;
      message.sequence = courier_.next_sequence();
      message.after = last_sent_;
      last_sent_ = message.sequence;
      courier_.post(turn.now, next_, message, *rules_->courier);
    }
    turn.out.send(next_, message);
  }

  // Calls `take(message)` for each election message that is next in order.
  template <class M, class Take>
  void receive(Turn<M>& turn, NodeId from, const Message& message, Take take) {
    if (message.kind == Kind::ack) {
      courier_.acknowledge(from, message.answers);
      return;
    }
    if (!rules_->courier) {
      take(message);
      return;
    }
    if (!admit(from, message)) return;
    turn.out.send(from, {.kind = Kind::ack, .life = incarnation_, .answers = message.sequence});
    Message ready;
    while (take_next(from, ready))
      if (of_election(ready.kind)) take(ready);
  }

  // Takes the messages of a single station to itself, repeats messages that are due, and probes.
  // Calls `lost()` once if the next station counts as down; the one after it is then the next.
  template <class M, class Take, class Lost>
  void on_timer(Turn<M>& turn, Take take, Lost lost) {
    const std::vector<Message> own = std::exchange(own_, {});
    own_at_ = kNever;
    for (const Message& message : own) take(message);
    if (!rules_->courier) return;
    bool gone = false;
    courier_.on_timer(
        turn.now, *rules_->courier,
        [&](NodeId to, const Message& message) { turn.out.send(to, message); },
        [&](NodeId to, const Message&) { gone = gone || to == next_; });
    if (gone) {
      skip_next();
      lost();
    }
    if (probe_at_ == kNever || turn.now < probe_at_) return;
    const bool neighbour = next_ != self_ && next_ != kNobody;
    probe_at_ = neighbour ? turn.now + rules_->probe : kNever;
    if (neighbour && courier_.due() == kNever) send(turn, {.kind = Kind::probe});
  }

  // Starts probing the next station.
  void watch(BootTime now) {
    if (rules_->courier && probe_at_ == kNever) probe_at_ = now + rules_->probe;
  }

  BootTime due() const { return std::min({courier_.due(), probe_at_, own_at_}); }

  static constexpr auto fields(auto list) {
    using M = Link;
    return list(field<&M::next_, role::about>("next"), field<&M::skipped_>("passed_over"),
                field<&M::probe_at_>("probe_at"), field<&M::last_sent_>("last_sent"),
                field<&M::courier_>("courier"), field<&M::lanes_>("lanes"),
                field<&M::own_at_>("own_at"), field<&M::own_>("own"), fixed<&M::self_>(),
                fixed<&M::incarnation_>(), fixed<&M::rules_>());
  }
  friend FieldCheck;

 private:
  // A message that arrived too early. Its numbers are its sender's.
  struct Held {
    Message message;

    template <class Self, class Visitor>
    static void fields(Self& self, Visitor& visit) {
      auto& [message] = self;
      auto& [kind, life, sequence, after, answers, number, id, priority] = message;
      visit("kind", kind);
      visit("life", life);
      visit_as<role::theirs>(visit, "sequence", sequence);
      visit_as<role::theirs>(visit, "after", after);
      visit("number", number);
      visit("id", id);
      visit("priority", priority);
    }
  };
  // Messages from one neighbour; there is more than one neighbour only after a crash.
  struct Lane {
    Incarnation life{};
    Sequence taken = kNoSequence;  // the last message taken in order
    std::vector<Held> held;        // later messages, by number

    static constexpr auto fields(auto list) {
      using M = Lane;
      return list(field<&M::life>("life"), field<&M::taken, role::theirs>("taken"),
                  field<&M::held>("held"));
    }
  };

  bool admit(NodeId from, const Message& message);
  bool take_next(NodeId from, Message& message);
  void skip_next();

  NodeId self_;
  Incarnation incarnation_;
  const LinkRules* rules_;
  NodeId next_;
  std::uint32_t skipped_ = 0;         // stations after this one that are down
  BootTime probe_at_ = kNever;        // set once an election has begun
  Sequence last_sent_ = kNoSequence;  // to next_
  Courier courier_;
  NodeMap<Lane> lanes_;
  BootTime own_at_ = kNever;  // set while `own_` is not empty
  std::vector<Message> own_;  // to itself, as the only station left
};

}  // namespace tempo::election::ring
