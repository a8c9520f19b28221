// The master's part in keeping time: what the members report, combined into one time scale.
//
// Members estimate how their raw clocks stand to the master's raw clock and say so with every
// question. A network that has just come into being first takes on the average rate of all clocks
// that agree (Gusella & Zatti 1985, section 3). From then on, and at once where a network goes on
// under another master, network time is the ensemble's scale (clock/ensemble.h): a weighted mean of
// all clocks that are consistent, in which nobody counts for much and nobody who comes, goes or is
// rejected makes a jump.
//
// Members that carry UTC say how far network time is from it: the scale then runs a little faster
// or slower until it is there (clock/utc.h).
//
// Members also say if what the master tells cannot be: if a majority does, it is the master's own
// clock that is wrong.
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

namespace tempo::node {

class TimeScale {
 public:
  static constexpr Nanos kRound{
      std::chrono::seconds{static_cast<std::int64_t>(clock::Ensemble::kPeriod)}};
  static constexpr double kRateDoubt = 10e-6;  // a rate that may be wrong by more is not believed

  // One member's word.
  struct Report {
    Nanos offset{0};            // its raw clock minus ours
    std::int64_t rate_ppt = 0;  // of that
    Nanos error{0};             // its clock minus network time, by its own estimate
    Nanos sigma{0};
    Nanos bound{0};
    bool objects = false;  // what we tell cannot be
    Nanos utc_gap{0};      // UTC minus network time, if it carries UTC
    Nanos utc_bound{0};    // of that; 0: it does not

    template <class Self, class Visitor>
    static void fields(Self& self, Visitor& visit) {
      visit("offset", self.offset);
      visit("rate_ppt", self.rate_ppt);
      visit("error", self.error);
      visit("sigma", self.sigma);
      visit("bound", self.bound);
      visit("objects", self.objects);
      visit("utc_gap", self.utc_gap);
      visit("utc_bound", self.utc_bound);
    }
  };
  struct Member : Report {
    Instant since{};      // of the first report
    Instant heard{};      // of the last
    Nanos origin{0};      // the first offset: from there on doubles are fine enough
    Nanos every{0};       // how often it reports, about
    bool faulty = false;  // outside the largest group at the last round

    template <class Self, class Visitor>
    static void fields(Self& self, Visitor& visit) {
      Report::fields(self, visit);
      visit("since", self.since);
      visit("heard", self.heard);
      visit("origin", self.origin);
      visit("every", self.every);
      visit("faulty", self.faulty);
    }
  };

  // Leads from now on. `young`: there was no network time before.
  void begin(Instant now, bool young);
  void end();  // whatever was known of members

  void report(Instant now, NodeId from, const Report& report);
  const NodeMap<Member>& members() const { return members_; }

  bool young(Instant now) const;
  // The average rate of all raw clocks that agree, our own among them, against ours.
  double average_rate(Instant now, double agreement);
  // A round of the ensemble: where network time should be. The first one takes it as the dial, at
  // its rate without a gap, shows it. `own`: what we say of UTC ourselves, if we carry it.
  clock::Aim round(Instant now, const clock::SteeredClock& dial, double rate,
                   const std::optional<clock::UtcClaim>& own = std::nullopt);
  // UTC minus network time at the last round; nothing if nobody carries it, or no majority agrees.
  std::optional<double> utc_gap() const { return utc_.gap(); }
  // Network time was stepped.
  void on_step(Nanos by) { theta_ -= by; }

  // Most of the members, and at least two, say that our clock cannot be right.
  bool outvoted(Instant now) const;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("members", self.members_);
    visit("since", self.since_);
    visit("young", self.young_);
    visit("theta", self.theta_);
    visit("round_at", self.round_at_);
    visit("slope", self.slope_);
    visit("utc", self.utc_);
    visit("pulled_at", self.pulled_at_);
  }

 private:
  clock::Aim ensemble_round(Instant now, const clock::SteeredClock& dial, double rate);
  std::vector<clock::UtcClaim> utc_claims(Instant now) const;
  bool fresh(Instant now, const Member& member) const;
  bool known_well(Instant now, const Member& member) const;

  NodeMap<Member> members_;
  Instant since_{};
  bool young_ = false;
  std::optional<clock::Ensemble> ensemble_;
  Nanos theta_{0};  // our raw clock minus network time when the ensemble started, and steps since
  Instant round_at_{};  // the ensemble's last
  double slope_ = 0;    // of our raw clock against the scale, over the last rounds
  clock::UtcFollower utc_;
  Instant pulled_at_{};  // the last round: from then on network time has run at utc_.rate() more
};

}  // namespace tempo::node
