// The elections of one group: which algorithm is held, and what its machine says and hears.
//
// A and B.1 run on atomic broadcast, by network time; C runs on plain broadcasts, by the local
// clock. Where network time is not known well enough, or atomic broadcast has come to doubt its
// bounds, C is held instead. Candidates take part in whatever is held, whoever began it. A begins
// at a network time that its first caller names to all.
//
// Results are proposals: whoever is elected asks for the group's lease, and that alone decides.
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

// When something happens: by the clock of the lock, and by network time, which may be wrong.
struct Moment {
  Instant now{};
  Instant network{};
  bool trusted = false;  // two trusted readings differ by at most the precision counted with
};

// Begin an election by algorithm A when network time is this.
struct Begin {
  Nanos at{0};
};
using OverA = broadcast::Over<election::CapacityA>;
using OverB1 = broadcast::Over<election::CapacityB1>;
using Said = std::variant<Begin, OverA::Message, OverB1::Message, election::CapacityC::Message>;

// The bounds of a group's elections follow from the lease, which all hosts have in common.
struct ElectionBounds {
  explicit ElectionBounds(Nanos lease);
  ElectionBounds(const ElectionBounds&) = delete;  // machines keep its address
  ElectionBounds& operator=(const ElectionBounds&) = delete;

  Nanos largest_error() const { return ordered.precision / 2; }  // of a trusted reading

  broadcast::Rules ordered;         // of A and B.1
  election::capacity::Rules known;  // T of those
  election::capacity::Rules lossy;  // T of C
};

class Elections {
 public:
  // The bounds must outlive it.
  Elections(NodeId self, Incarnation life, const ElectionBounds& bounds);

  // What came of a step, in order.
  struct Results {
    std::vector<Said> said{};         // to all
    std::optional<NodeId> elected{};  // nobody: the election came to nothing
    Algorithm by = Algorithm::c;      // which elected
  };

  // Which algorithm it is in the end.
  Algorithm hold(const Moment& moment, Draw& draw, Algorithm wanted, Results& results);
  void offer(const Moment& moment, Draw& draw, election::capacity::Capacity capacity,
             Results& results);
  void receive(const Moment& moment, Draw& draw, NodeId from, const Said& said, Results& results);
  void on_timer(const Moment& moment, Draw& draw, Results& results);
  // How long until `wake` has something to do; nothing: for ever.
  std::optional<Nanos> due_in(const Moment& moment) const;

 private:
  template <class M, class Do>
  void step(M& machine, Instant now, Draw& draw, Results& results, Do todo);
  void on_notice(const election::capacity::Notice& notice, Algorithm by, Results& results);
  template <class M>
  void wake_due(M& machine, Instant now, Draw& draw, Results& results);
  Instant network(const Moment& moment, Draw& draw, Results& results);
  Incarnation next_life();
  auto offering() const {
    return [offer = offer_](auto& machine, auto& turn) {
      machine.command(turn, election::capacity::Command::offer(offer));
    };
  }
  void renew_a(Instant now, Draw& draw, Results& results);

  static constexpr int kMaxWakes = 64;  // of one machine, in one step

  NodeId self_;
  Incarnation life_;
  const ElectionBounds* bounds_;
  OverA a_;
  OverB1 b1_;
  election::CapacityC c_;
  std::uint32_t lives_ = 0;  // of machines that began anew
  election::capacity::Capacity offer_ = election::capacity::kNotCandidate;
  Instant begin_at_ = kNever;  // an election by A, in network time
  Instant last_network_{};     // it does not go back for one life of these machines
};

}  // namespace tempo::groups
