// The elections of one group by capacity: selects the algorithm and drives its machine.
//
// A and B.1 run on atomic broadcast, by network time; C runs on plain broadcasts, by the local
// clock. If network time is not known well enough, or atomic broadcast doubts its bounds, the group
// uses C instead. Candidates take part in every election, whichever host began it. A begins at a
// network time that its first caller announces to all.
//
// Results are proposals: the winner asks for the group's lease, and only the lease decides.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "machine/machine.h"
#include "protocol/broadcast/over.h"
#include "protocol/group/capacity_a.h"
#include "protocol/group/capacity_b1.h"
#include "protocol/group/capacity_c.h"
#include "protocol/group/terms.h"

namespace tempo::groups {

// The time of a step: by the lock's clock, and by network time, which may be wrong.
struct Moment {
  Instant now{};
  Instant network{};
  bool trusted = false;  // two trusted readings differ by at most the assumed precision
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
  // The bounds must outlive it.
  Elections(NodeId self, Incarnation incarnation, const ElectionBounds& bounds);

  // Results of a step, in order.
  struct Results {
    std::vector<ElectionMessage> messages{};  // to broadcast
    std::optional<NodeId> elected{};          // kNobody: no result; unset: no election ended
    Algorithm by = Algorithm::c;              // algorithm of that result
  };

  // Returns the algorithm that is used.
  Algorithm hold(const Moment& moment, Draw& draw, Algorithm wanted, Results& results);
  void offer(const Moment& moment, Draw& draw, election::capacity::Capacity capacity,
             Results& results);
  void receive(const Moment& moment, Draw& draw, NodeId from, const ElectionMessage& received,
               Results& results);
  void on_timer(const Moment& moment, Draw& draw, Results& results);
  // Time until `on_timer` has something to do; unset: never.
  std::optional<Nanos> due_in(const Moment& moment) const;

 private:
  template <class M, class Do>
  void step(M& machine, Instant now, Draw& draw, Results& results, Do todo);
  void on_notice(const election::capacity::Notice& notice, Algorithm by, Results& results);
  template <class M>
  void wake_due(M& machine, Instant now, Draw& draw, Results& results);
  Instant network(const Moment& moment, Draw& draw, Results& results);
  Incarnation next_incarnation();
  auto offering() const {
    return [offer = offer_](auto& machine, auto& turn) {
      machine.command(turn, election::capacity::Command::offer(offer));
    };
  }
  void renew_a(Instant now, Draw& draw, Results& results);

  static constexpr int kMaxWakes = 64;  // of one machine, in one step

  NodeId self_;
  Incarnation incarnation_;
  const ElectionBounds* bounds_;
  OverA a_;
  OverB1 b1_;
  election::CapacityC c_;
  std::uint32_t restarts_ = 0;  // number of machine restarts
  election::capacity::Capacity offer_ = election::capacity::kNotCandidate;
  Instant begin_at_ = kNever;  // start of an election by A, in network time; kNever: none
  Instant last_network_{};     // latest network time; never goes back during one incarnation of the
                               // machines
};

}  // namespace tempo::groups
