// Ensemble: a time scale of all members' clocks that is more stable than each of them.
//
// The master measures the offset of every member's clock from its own. The ensemble predicts the
// offset of each member's clock from the scale; each prediction is an opinion about the offset of
// the master's own clock. The scale is the weighted mean of the opinions that are consistent.
// Weights come from the prediction errors of the past. A member that joins, leaves or is rejected
// moves the scale by no more than its weight times its prediction error.
//
// The state of the members does not depend on the master that measures: a new master continues with
// the state of the old one, and only the clock that offsets are measured against changes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace tempo::clock {

// The master's measurement of one member's clock, in seconds. A constant may be subtracted from
// each clock; clocks within a day of each other keep picoseconds.
struct Measured {
  NodeId node{};
  double offset = 0;  // the member's clock minus the master's
  double rate = 0;    // of the offset, in seconds per second
};

// The state of a member, replicated to the possible next masters.
struct MemberClock {
  NodeId node{};
  double offset = 0;                // of its clock from the scale, in seconds
  double rate = 0;                  // of the offset, in seconds per second
  double prediction_error = 1e-12;  // mean squared prediction error, in square seconds
  double weight = 0;                // all weights sum to 1
  std::uint32_t rounds = 0;         // rounds in which it was used since it joined
  std::uint32_t missed = 0;         // consecutive rounds in which it was not used
  bool rejected = false;            // in the last round it was measured and disagreed
};

class Ensemble {
 public:
  static constexpr double kPeriod = 16;  // seconds between rounds

  // The scale starts as the master's clock minus a line of this rate.
  explicit Ensemble(NodeId master, double rate = 0) : master_(master), rate_(rate) {}
  // Continues with the state of another master, as hand_over() does.
  Ensemble(NodeId master, std::vector<MemberClock> members);

  // One round, `elapsed` seconds after the last, with one measurement of each member whose offset
  // is well known; the master's own clock is added if it is missing. The first round gives all
  // members equal weights.
  void round(double elapsed, std::span<const Measured> measured);
  // Another member becomes master; from now on offsets are measured against its clock. The new
  // master needs some time to measure the others, so for a while no member leaves because it is
  // missing.
  void hand_over(NodeId master);

  // The scale is the master's clock minus offset() at the last round; offset() grows by rate().
  double offset() const { return offset_; }
  double rate() const { return rate_; }
  bool held() const { return held_; }  // holdover: no majority agreed in the last round
  const std::vector<MemberClock>& members() const { return members_; }  // ordered by node
  // True if this member was measured in the last round and disagreed.
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
  std::uint32_t grace_ = 0;           // remaining rounds in which no member leaves
  std::vector<MemberClock> members_;  // ordered by node
};

}  // namespace tempo::clock
