// The master's time scale: combines the members' reports into network time.
//
// Members estimate the offset of their raw clocks against the master's raw clock and report it in
// every probe. A new network first adopts the average rate of all clocks that agree (Gusella &
// Zatti 1985, section 3). After that, and at once when an existing network changes its master,
// network time is the ensemble's scale (clock/ensemble.h): a weighted mean of all consistent
// clocks. No clock has a large weight, and no member that joins, leaves or is rejected makes the
// scale jump.
//
// The error bounds in a member's reports limit its rate, whatever the network delays. A rate
// outside the limits of the earlier reports, as an attacker causes who delays one direction for a
// while, does not steer. Without a majority for a rate the master keeps its own; in a network of
// two, where nobody can be outvoted, such a contradiction widens the bound of network time instead.
//
// Members that carry UTC report the offset between UTC and network time; the scale then runs
// slightly faster or slower until the two agree (clock/utc.h).
//
// Members also report objections to the master's time. If a majority objects, the master's own
// clock is wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/node_map.h"
#include "base/units.h"
#include "protocol/clock/ensemble.h"
#include "protocol/clock/servo.h"
#include "protocol/clock/steered_clock.h"
#include "protocol/clock/utc.h"
#include "protocol/sync/sync_messages.h"

namespace tempo::node {

class TimeScale {
 public:
  static constexpr Nanos kRound{
      std::chrono::seconds{static_cast<std::int64_t>(clock::Ensemble::kPeriod)}};
  static constexpr double kRateDoubt = 10e-6;  // a rate with a larger possible error is not used

  struct Member : Report {
    Instant since{};      // first report
    Instant heard{};      // last report
    Nanos origin{0};      // first offset; differences from it fit a double
    Nanos every{0};       // approximate interval of its reports
    bool faulty = false;  // outside the largest consistent group at the last round
    // Limits of its rate against ours, from the bounds of its reports.
    double least_rate = -clock::Servo::kMaxFrequency;
    double most_rate = clock::Servo::kMaxFrequency;
    Nanos best_offset{0};  // of the report with about the least bound
    Nanos best_bound{0};   // that bound
    Instant best_at{};     // time of that report
    Instant contradicts_since =
        kNever;  // its rate is outside the limits since then; kNever: inside

    bool contradicts() const { return contradicts_since != kNever; }
  };

  // This node leads from now on. `young`: there was no network time before.
  void begin(Instant now, bool young);
  void end();  // forgets all members

  void report(Instant now, NodeId from, const Report& report);
  const NodeMap<Member>& members() const { return members_; }

  bool young(Instant now) const;
  // Average rate, against ours, of all raw clocks that agree, including ours; nullopt: no majority
  // agrees.
  std::optional<double> average_rate(Instant now, double agreement);
  // Error of our own time that a contradiction may mean; 0: none, or a majority would decide.
  Nanos doubt(Instant now) const;
  // A round of the ensemble: the offset and rate that network time should have. The first round
  // starts from the steered clock and `rate`, without a step. `own`: UTC according to this host;
  // nullopt: it carries none.
  clock::Aim round(Instant now, const clock::SteeredClock& steered, double rate,
                   const std::optional<clock::UtcClaim>& own = std::nullopt);
  // UTC minus network time at the last round; nullopt: no member carries UTC, or no majority
  // agrees.
  std::optional<double> utc_gap() const { return utc_.gap(); }
  // Network time was stepped.
  void on_step(Nanos by) { theta_ -= by; }

  // The members' knowledge of network time, by those that know it worst; nullopt: no members.
  struct Knowledge {
    double sigma = 0;         // standard error, in seconds
    double span = 0;          // of their measurements, in seconds
    Nanos bound{0};           // error bound
    bool rate_known = false;  // by all of them
  };
  std::optional<Knowledge> worst(Instant now) const;

  // Whether most members, and at least two, object to our time.
  bool outvoted(Instant now) const;

 private:
  clock::Aim ensemble_round(Instant now, const clock::SteeredClock& steered, double rate);
  std::vector<clock::UtcClaim> utc_claims(Instant now) const;
  static void limit_rate(Instant now, Member& member, bool first);
  bool alone(Instant now, NodeId member) const;
  bool fresh(Instant now, const Member& member) const;
  static double seen(Instant now, const Member& member);
  static bool knows_rate(Instant now, const Member& member);
  bool known_well(Instant now, const Member& member) const;

  NodeMap<Member> members_;
  NodeId doubtful_ = kNobody;  // the only member, while it contradicts itself
  Instant since_{};
  bool young_ = false;
  std::optional<clock::Ensemble> ensemble_;
  Nanos theta_{
      0};  // our raw clock minus network time at the start of the ensemble, and steps since
  Instant round_at_{};  // last round of the ensemble
  double slope_ = 0;    // rate of our raw clock against the scale, over the last rounds
  clock::UtcFollower utc_;
  Instant pulled_at_{};  // last round; since then network time has run faster by utc_.rate()
};

}  // namespace tempo::node
