// Exchanges of a follower: schedule of probes, evaluation of the answers.
#include <algorithm>
#include <utility>

#include "protocol/sync/sync.h"

namespace tempo::node {
namespace {

constexpr std::uint32_t kBurstsToRecheck = 64;  // bursts per comparison of first and last trip
constexpr std::uint32_t kToCompare = 2;         // exchanges of a burst for that comparison
constexpr Nanos kMaxAnswerWait = 250ms;         // for an echo before the next exchange of a burst
constexpr Nanos kObjectionLasts = 4s;           // in probes, after the last impossible exchange
constexpr std::uint32_t kSuspicionsToVote = 2;  // one may be a wrong timestamp

}  // namespace

// One of the first exchanges with a reference, all of which count.
void Sync::contact(Turn<Sync>& turn) {
  complete_without_follow_up(turn);
  --contacts_left_;
  burst_left_ = 0;
  send_probe(turn, {.counts = true});
  next_burst_ = turn.now + (contacts_left_ > 0 ? rules_->first_spacing : rules_->interval);
  timers_.set(Timer::probe, next_burst_);
}

void Sync::begin_burst(Turn<Sync>& turn) {
  complete_without_follow_up(turn);
  ++bursts_;
  first_trip_ = Nanos{0};
  // If the path needs no warm-up, single exchanges at the same average rate measure more.
  const bool well_known = estimator_->exchanges() >= rules_->rest_after;
  if (!well_known || !cold_path_.first_counts())
    burst_left_ = rules_->burst;
  else
    burst_left_ = bursts_ % kBurstsToRecheck == 0 ? kToCompare : 1;
  next_burst_ = turn.now + rules_->interval * (well_known ? burst_left_ : 1);
  probe_next(turn, burst_left_ > 1);
}

// Starts the next exchange of the burst, after the echo of the last one or a timeout.
void Sync::probe_next(Turn<Sync>& turn, bool first) {
  --burst_left_;
  send_probe(turn, {.counts = burst_left_ == 0 || cold_path_.first_counts(),
                    .first = first,
                    .last = !first && burst_left_ == 0});
  const Nanos wait = std::min(rules_->interval / 4, kMaxAnswerWait);
  timers_.set(Timer::probe, burst_left_ > 0 ? std::min(next_burst_, turn.now + wait) : next_burst_);
}

void Sync::send_probe(Turn<Sync>& turn, PendingExchange asked) {
  if (++exchange_ == 0) exchange_ = 1;
  asked.exchange = exchange_;
  asked.asked = stamp(turn.now);
  pending_[exchange_ % pending_.size()] = asked;
  // Exchanges that do not count are stamped too, because stamping is part of the warm-up.
  Probe probe{.exchange = exchange_,
              .wants_follow_up = rules_->follow_ups,
              .timescale_generation = timescale_generation_};
  Report& report = probe.report;
  report.objects =
      suspicions_ >= kSuspicionsToVote && turn.now - last_objection_ <= kObjectionLasts;
  if (estimator_->ready()) {
    const clock::Estimate estimate = estimator_->at(turn.now);
    const Known known = known_at(turn.now, estimate);
    report.offset = estimate.theta;
    report.rate_ppt = to_ppt(estimate.rate);
    report.error = clock_.at(turn.now) - known.time;
    report.sigma = std::max(estimate.sigma, Nanos{1});
    report.bound = std::max(estimate.latest - estimate.theta, estimate.theta - estimate.earliest);
    if (const auto gap = utc_gap(turn.now, known.time)) {
      report.utc_gap = *gap;
      report.utc_bound = utc_bound(turn.now) + report.bound;
    }
  }
  turn.out.send(reference_, probe);
}

void Sync::on_message(Turn<Sync>& turn, NodeId from, const Echo& echo) {
  if (from != reference_) return;
  const auto found = std::ranges::find(pending_, echo.exchange, &PendingExchange::exchange);
  if (found == pending_.end() || echo.exchange == 0 || found->answered) return;
  found->answered = true;
  found->received = echo.received;
  found->sent = echo.sent;
  found->heard = arrival(turn.now, echo.arrived);
  first_heard_ = std::min(first_heard_, turn.now);
  last_heard_ = turn.now;
  published_ = {.at = echo.received,
                .offset = echo.offset,
                .rate_ppt = echo.rate_ppt,
                .bound = std::max(echo.bound, Nanos{0})};
  if (echo.timescale_generation > timescale_generation_) {
    timescale_generation_ = echo.timescale_generation;
    set_offset_sends_left_ = 0;
    timers_.stop(Timer::set_offset);
    may_step_ = true;
    correction_due_ = corrected_;
    // Earlier knowledge of network time is no longer valid.
    held_.reset();
    held_against_ = false;
    remembered_count_ = 0;
  }
  if (!echo.follow_up_comes) complete(turn, *found);
  if (burst_left_ > 0 && echo.exchange == exchange_) probe_next(turn, false);
}

void Sync::on_message(Turn<Sync>& turn, NodeId from, const FollowUp& follow_up) {
  if (from != reference_) return;
  const auto found = std::ranges::find(pending_, follow_up.exchange, &PendingExchange::exchange);
  if (found == pending_.end() || follow_up.exchange == 0 || !found->answered) return;
  // A departure cannot precede the arrival of the probe; ignore such a timestamp.
  if (follow_up.sent >= found->received) found->sent = follow_up.sent;
  complete(turn, *found);
}

// Evaluates exchanges whose FollowUp was lost with the timestamp in the Echo.
void Sync::complete_without_follow_up(Turn<Sync>& turn) {
  for (PendingExchange& asked : pending_)
    if (asked.exchange != 0 && asked.answered) complete(turn, asked);
}

void Sync::complete(Turn<Sync>& turn, PendingExchange& asked) {
  const PendingExchange done = std::exchange(asked, PendingExchange{});
  compare_trips(done);
  const clock::Exchange exchange{.asked = done.asked,
                                 .received = WallTime{done.received},
                                 .answered = WallTime{done.sent},
                                 .heard = done.heard};
  if (!done.counts || is_impossible(turn, exchange) || !estimator_->add(exchange)) return;
  ++exchanges_;
  if (correction_due_) correct(turn);
}

void Sync::compare_trips(const PendingExchange& done) {
  const Nanos trip = (done.heard - done.asked) - (done.sent - done.received);
  if (done.first) {
    first_trip_ = trip;
  } else if (done.last && first_trip_ != Nanos{0}) {
    cold_path_.compare(std::exchange(first_trip_, Nanos{0}), trip);
  }
}

}  // namespace tempo::node
