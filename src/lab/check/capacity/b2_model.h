// Algorithm B.2 for the checker: one candidate, one liar, the rest look on; every order of events,
// every lie.
//
// The liar may, once each, in any tick and to all: bid more than the candidate; report any number
// of bids. Promised: honest processes that have decided have elected the same one (`unique`), and
// from every state all of them can still decide.
#pragma once

#include <cstdint>

#include "lab/check/model.h"
#include "lab/sim/capacity/member.h"
#include "protocol/election/capacity_b2.h"

namespace tempo::check {

struct B2World {
  std::uint32_t nodes = 4;
  std::uint32_t malicious = 1;
  std::uint8_t delay_max = 1;  // ticks
  election::capacity::Variant variant = election::capacity::Variant::corrected;
};

// T is a tick longer than a message takes: within a tick a time-out may come before a message.
election::capacity::Rules b2_rules(const B2World& world);
Freedom freedom_of(const B2World& world);

// Speaks at most twice, whenever it likes.
class B2Liar {
 public:
  using Message = election::CapacityB2::Message;
  using Command = election::CapacityB2::Command;
  using Notice = election::CapacityB2::Notice;
  enum class Timer : std::uint8_t { speak, count };

  // `patience`: in so many ticks after it heard the first bid it may still speak.
  explicit B2Liar(std::uint8_t patience) : left_(patience) {}

  void start(Turn<B2Liar>& turn);
  void receive(Turn<B2Liar>& turn, NodeId from, const Message& message);
  void wake(Turn<B2Liar>& turn, TimerId timer);
  void command(Turn<B2Liar>& turn, const Command& command);

  const Timers<Timer>& timers() const { return timers_; }
  const char* check() const { return nullptr; }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("left", self.left_);
    visit("bid", self.bid_);
    visit("reported", self.reported_);
    visit("timers", self.timers_);
  }

 private:
  std::uint8_t left_;  // ticks
  bool bid_ = false;
  bool reported_ = false;
  Timers<Timer> timers_;
};

struct B2Model {
  using Machine = sim::capacity::Member<election::CapacityB2, B2Liar>;

  struct View {
    bool honest = true;
    bool decided = false;
    NodeId master = kNobody;
  };

  election::capacity::Rules rules;  // the last of the members lies, if one may
  std::uint8_t patience = 6;

  Machine make(NodeId node, Incarnation life) const;
  View view(const Machine& machine) const;
  const char* broken(const Scene<View>& scene) const;
  bool good(const Scene<View>& scene) const;
};

}  // namespace tempo::check
