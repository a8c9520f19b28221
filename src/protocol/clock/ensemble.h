// The ensemble: one time scale of all members' clocks, steadier than any of them.
//
// The master measures every member's clock against its own. The ensemble predicts for each member
// where it should be against the scale; each prediction is an opinion about the master's own
// offset, and the weighted mean of the opinions that are consistent is believed. Weights come from
// how well a member was predicted before. Nobody who joins, leaves or is rejected moves the scale
// by more than its weight times its surprise.
//
// What is known of the members does not depend on who measures: a new master that has it goes on
// where the old one stopped, and only the clock that others are measured against is another.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace tempo::clock {

// One member's clock as the master measures it, in seconds. Clocks may be given less a constant of
// their own; within a day of each other picoseconds are kept.
struct Measured {
  NodeId node{};
  double offset = 0;  // the member's clock minus the master's
  double rate = 0;    // of the offset, in seconds per second
};

// What is kept of a member, and replicated to who may be master next.
struct MemberClock {
  NodeId node{};
  double offset = 0;                // of its clock against the scale
  double rate = 0;                  // of that
  double prediction_error = 1e-12;  // mean squared error of its predictions
  double weight = 0;                // all weights sum to 1
  std::uint32_t rounds = 0;         // since it joined
  std::uint32_t missed = 0;         // rounds in a row that it was not used
  bool rejected = false;            // in the last round: it was measured and disagreed
};

class Ensemble {
 public:
  static constexpr double kPeriod = 16;  // seconds between rounds

  // The scale starts as the master's clock less a line of this rate.
  explicit Ensemble(NodeId master, double rate = 0) : master_(master), rate_(rate) {}
  // Takes over what another master knew, as hand_over() does.
  Ensemble(NodeId master, std::vector<MemberClock> members);

  // One round, `elapsed` seconds after the last, with everybody whose clock is known well by now,
  // each once; the master's own clock is added if it is missing. The first round gives all equal
  // weights.
  void round(double elapsed, std::span<const Measured> measured);
  // Another member becomes master; from now on the others are measured against its clock. Until it
  // has measured them well it may leave them out: for a while nobody leaves for being missed.
  void hand_over(NodeId master);

  // The scale is the master's clock minus offset() at the last round, and moves by rate() since.
  double offset() const { return offset_; }
  double rate() const { return rate_; }
  bool held() const { return held_; }  // no majority agreed in the last round
  const std::vector<MemberClock>& members() const { return members_; }  // ordered by node
  // Whether this member was measured in the last round and disagreed.
  bool rejected(NodeId node) const;
  NodeId master() const { return master_; }

 private:
  MemberClock* find(NodeId node);
  const MemberClock* find(NodeId node) const;
  void start(std::span<const Measured> measured);
  void join(std::span<const Measured> measured);
  void weigh();
  void read_master();

  NodeId master_;
  double offset_ = 0;
  double rate_ = 0;
  bool held_ = false;
  std::uint32_t grace_ = 0;           // rounds in which nobody leaves
  std::vector<MemberClock> members_;  // ordered by node
};

}  // namespace tempo::clock
