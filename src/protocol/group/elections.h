// The elections of one group by capacity: selects the algorithm and drives its machine.
//
// A and B.1 run on atomic broadcast, by network time (WallTime); C runs on plain broadcasts, by
// boot time. If network time is not known well enough, or atomic broadcast doubts its bounds, the
// group uses C instead. Candidates take part in every election, whichever host began it. A begins
// at a network time that its first caller announces to all.
//
// The machine runs on boot time, the clock of the locks. The machine that embeds it gives it the
// NetworkClock before every other input.
#pragma once

#include <algorithm>
#include <cstdint>
#include <variant>

#include "machine/compose.h"
#include "machine/machine.h"
#include "machine/one_timer.h"
#include "protocol/broadcast/over.h"
#include "protocol/group/capacity_a.h"
#include "protocol/group/capacity_b1.h"
#include "protocol/group/capacity_c.h"
#include "protocol/group/terms.h"

namespace tempo::groups {

// Command: a reading of network time, which may be wrong.
struct NetworkClock {
  Nanos offset{0};       // network time minus boot time
  bool trusted = false;  // two trusted readings differ by at most the assumed precision
};

// Command: use this capacity in elections from now on.
struct OfferCapacity {
  election::capacity::Capacity capacity = election::capacity::kNotCandidate;
};

// Network time for machines that need it not to go back.
class NetworkTime {
 public:
  // Returns true if network time was set back by more than `tolerance`; it then goes back, and the
  // machines have to start over.
  bool follow(BootTime now, const NetworkClock& clock, Nanos tolerance) {
    const WallTime reading = on_clock<WallTime>(now, clock.offset);
    const bool set_back = reading + tolerance < latest_;
    latest_ = set_back ? reading : std::max(latest_, reading);
    offset_ = clock_offset(latest_, now);
    trusted_ = clock.trusted;
    return set_back;
  }
  WallTime at(BootTime now) { return latest_ = on_clock<WallTime>(now, offset_); }
  bool trusted() const { return trusted_; }
  // The boot time of a deadline, perhaps slightly early or late.
  BootTime boot_time(WallTime deadline) const { return on_clock<BootTime>(deadline, -offset_); }

 private:
  WallTime latest_{};  // network time of the last step
  Nanos offset_{0};    // network time minus boot time
  bool trusted_ = false;
};

// Begin an election by algorithm A at this network time.
struct Begin {
  Nanos at{0};
};
using OverA = broadcast::Over<election::CapacityA>;
using OverB1 = broadcast::Over<election::CapacityB1>;
using ElectionMessage =
    std::variant<Begin, OverA::Message, OverB1::Message, election::CapacityC::Message>;

// Bounds of a group's elections. They follow from the lease, which all hosts have in common.
struct ElectionBounds {
  explicit ElectionBounds(Nanos lease);
  ElectionBounds(const ElectionBounds&) = delete;  // machines keep its address
  ElectionBounds& operator=(const ElectionBounds&) = delete;

  Nanos largest_error() const { return ordered.precision / 2; }  // of a trusted reading

  broadcast::Rules ordered;         // for A and B.1
  election::capacity::Rules known;  // T of A and B.1
  election::capacity::Rules lossy;  // T of C
};

class Elections {
 public:
  // Begins an election by this algorithm, or by C; Holds says which one it is.
  struct Hold {
    Algorithm wanted = Algorithm::c;
  };
  using Message = ElectionMessage;
  using Command = std::variant<Hold, OfferCapacity, NetworkClock>;
  using Notice = ElectionNotice;
  using Parts = PartList<OverA, OverB1, election::CapacityC>;
  using Time = BootTime;

  // The bounds must outlive it.
  Elections(NodeId self, Incarnation incarnation, const ElectionBounds& bounds);

  void start(Turn<Elections>& /*turn*/) {}
  void receive(Turn<Elections>& turn, NodeId from, const Message& message);
  void on_timer(Turn<Elections>& turn, TimerId timer);
  void command(Turn<Elections>& turn, const Command& command);

  OneTimer<Time> timers() const;
  const char* check() const;

 private:
  void on_command(Turn<Elections>& turn, const Hold& hold);
  void on_command(Turn<Elections>& turn, const OfferCapacity& offer);
  void on_command(Turn<Elections>& turn, const NetworkClock& clock);
  void on_begin(Turn<Elections>& turn, WallTime at);
  template <class M, class Do>
  void step(Turn<Elections>& turn, M& machine, Do todo);
  template <class M>
  void command_machine(Turn<Elections>& turn, M& machine,
                       const election::capacity::Command& command);
  template <class M>
  void wake_due(Turn<Elections>& turn, M& machine);
  template <class M>
  TimeOf<M> time_for(const M& machine, BootTime now);
  bool begins_a() const;
  Incarnation next_incarnation();
  void renew_a(Turn<Elections>& turn);

  static constexpr int kMaxWakes = 64;  // of one machine, in one step

  NodeId self_;
  Incarnation incarnation_;
  const ElectionBounds* bounds_;
  OverA a_;
  OverB1 b1_;
  election::CapacityC c_;
  std::uint32_t restarts_ = 0;  // number of machine restarts
  election::capacity::Capacity offer_ = election::capacity::kNotCandidate;
  WallTime begin_at_ = kNever;  // start of an election by A; kNever: none
  NetworkTime network_;         // never goes back during one incarnation of the machines
};

static_assert(Machine<Elections> && std::movable<Elections>);

}  // namespace tempo::groups
