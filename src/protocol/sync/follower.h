// The follower's part of Sync: estimates its reference, corrects the node's clock, and reads it.
//
// From the exchanges the follower estimates the offset between its own raw clock and that of the
// reference. When the reference changes, the follower holds over what it knew until it knows the
// new one as well. An exchange that the clocks and the path as estimated cannot have produced is
// impossible: our clock or the reference's has jumped, and the follower objects.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "base/units.h"
#include "protocol/clock/estimation/estimator.h"
#include "protocol/sync/exchanges.h"
#include "protocol/sync/held_time.h"
#include "protocol/sync/sync_messages.h"
#include "protocol/sync/sync_step.h"

namespace tempo::node {

// An objection to the reference, which begins with an impossible exchange. While it lasts, the
// follower uses no such exchange, so that other members have time to object as well; after that its
// own clock was wrong.
class Objection {
 public:
  void raise(Instant now) {
    last_ = now;
    ++count_;
    if (since_ == kNever) since_ = now;
  }
  // Ends if the last impossible exchange was long ago.
  void expire(Instant now) {
    if (now - last_ > kLasts) *this = {};
  }

  bool raised() const { return since_ != kNever; }
  bool lasts(Instant now) const { return raised() && now - since_ < kLasts; }
  // Whether probes report it. One impossible exchange may be a wrong timestamp.
  bool votes(Instant now) const { return count_ >= 2 && now - last_ <= kVoteLasts; }

 private:
  static constexpr Nanos kLasts = 8s;
  static constexpr Nanos kVoteLasts = 4s;

  Instant since_ = kNever;   // first impossible exchange; kNever: none
  Instant last_{};           // last impossible exchange
  std::uint32_t count_ = 0;  // impossible exchanges since since_
};

class Follower {
 public:
  NodeId reference() const { return reference_; }  // kNobody: none
  bool corrected() const { return corrected_; }    // at least once by the last reference
  bool ever_corrected() const { return corrected_ || held_.bound() >= Nanos{0}; }
  std::uint64_t exchanges() const { return measured_; }
  bool estimates() const { return estimator_.has_value(); }
  Nanos unheard(Instant now) const { return now - last_heard_; }  // since the last echo

  // The error bound when the last reference was lost.
  Nanos held_bound() const { return held_.bound(); }
  // The node was master until now and follows another node next. `own`: network time by its clock;
  // nullopt: it cannot be extrapolated.
  void hold_own(const SyncStep& step, Nanos bound, const std::optional<clock::Holdover>& own);

  void follow(SyncStep& step, NodeId master);
  // The node leads from now on. Returns network time as it knows it; nullopt: it does not.
  std::optional<clock::Holdover> end(SyncStep& step);

  void probe(SyncStep& step);
  void on_echo(SyncStep& step, const Echo& echo);
  void on_follow_up(SyncStep& step, const FollowUp& follow_up);
  void on_departure(Instant now, const Departed& departed);
  void correct(SyncStep& step);
  void set(SyncStep& step);

  Reading reading(Instant now, const LocalClock& clock, const SyncRules& rules) const;
  // What the bound of `reading` consists of; nullopt: there is no estimate yet.
  std::optional<BoundParts> bound_parts(Instant now, const Reading& reading) const;
  // Our clock minus network time by the last estimate; nullopt: no estimate yet.
  std::optional<Nanos> error(Instant now, const LocalClock& clock) const;

 private:
  // Network time as the reference last announced it.
  struct Published {
    Nanos at{0};                // time of the announcement on its raw clock
    Nanos offset{0};            // network time minus its raw clock at `at`
    std::int64_t rate_ppt = 0;  // rate of network time over its raw clock, parts in 10^12
    Nanos bound{0};             // error bound of the reference's network time

    WallTime network_at(Nanos raw) const {
      return WallTime{raw + offset + share_of(raw - at, from_ppt(rate_ppt))};
    }
  };
  // Network time as this node knows it.
  struct Known {
    WallTime time;
    double rate = 0;  // of our raw clock minus network time
    Nanos sigma{0};
    double fresh = 1;  // weight of the present reference; the rest is holdover
  };

  // Bounds of our raw clock minus the reference's.
  struct Heard {
    Instant at{};  // when they held
    Nanos earliest{0};
    Nanos latest{0};

    static Heard of(Instant now, const clock::Estimate& estimate) {
      return {.at = now, .earliest = estimate.earliest, .latest = estimate.latest};
    }
    Nanos drift(Instant now) const { return share_of(now - at, kUnknownRate); }
  };

  void send_probe(SyncStep& step, std::uint32_t exchange);
  void hold(SyncStep& step);
  void complete(SyncStep& step, Exchanges::Pending& pending);
  bool is_impossible(SyncStep& step, const clock::Exchange& exchange);
  void object(SyncStep& step, const clock::Exchange& exchange);
  bool contradicts_held(Instant now) const;
  bool excludes(Instant now, WallTime time, Nanos doubt) const;
  bool knows_rate(Instant now, const clock::Estimate& estimate) const;
  Known known_at(Instant now, const clock::Estimate& estimate, const clock::Servo& servo) const;
  clock::Holdover record_of(const SyncStep& step, const clock::Estimate& estimate,
                            const Known& known) const;
  Reading usual_reading(Instant now, const LocalClock& clock, const SyncRules& rules) const;
  double drift(const SyncRules& rules) const {
    return rate_known_ ? kHeldWander + rules.rate_jump : kUnknownRate;
  }

  NodeId reference_ = kNobody;
  std::optional<clock::Estimator> estimator_;  // of the reference's raw clock; set while following
  Exchanges exchanges_;
  std::uint64_t measured_ = 0;  // exchanges that counted, with all references
  Published published_{};
  Instant first_heard_ = kNever;  // first echo of the reference; kNever: none yet
  Instant last_heard_{};          // last echo of the reference
  HeldTime held_;
  Objection objection_;
  std::optional<Heard> heard_;   // by the newest exchange, if it was impossible and not used
  bool correction_due_ = false;  // a correction waits for an estimate
  bool may_step_ = false;    // the next correction may be a step: the node or network time was set
  bool corrected_ = false;   // at least once since this node follows the reference
  bool own_time_ = true;     // no master has ever corrected this node
  bool rate_known_ = false;  // the rate of network time over our raw clock was measured
};

}  // namespace tempo::node
