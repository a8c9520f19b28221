// The exchanges of a node that follows: when it asks and what, and what becomes of the answers.
#include <algorithm>
#include <utility>

#include "protocol/sync/sync.h"

namespace tempo::node {
namespace {

constexpr std::uint32_t kRecheckWarmth = 64;  // bursts
constexpr std::uint32_t kToCompare = 2;       // exchanges, the first with the last
constexpr Nanos kMaxPatience = 250ms;         // for an answer before the next exchange of a burst
constexpr Nanos kObjectionLasts = 4s;
constexpr std::uint32_t kSuspicionsToVote = 2;  // one may be a false stamp

}  // namespace

// The first exchanges with a reference, each of which counts.
void Sync::contact(Turn<Sync>& turn) {
  finish_unfollowed(turn);
  --contacts_left_;
  burst_left_ = 0;
  ask(turn, {.counts = true});
  next_burst_ = turn.now + (contacts_left_ > 0 ? rules_->first_spacing : rules_->interval);
  timers_.set(Timer::probe, next_burst_);
}

void Sync::begin_burst(Turn<Sync>& turn) {
  finish_unfollowed(turn);
  ++bursts_;
  first_trip_ = Nanos{0};
  // Where no exchange needs another to warm the path up, single ones at the same pace say more.
  const bool knows_it_well = estimator_->exchanges() >= rules_->rest_after;
  if (!knows_it_well || !warmth_.first_counts())
    burst_left_ = rules_->burst;
  else
    burst_left_ = bursts_ % kRecheckWarmth == 0 ? kToCompare : 1;
  next_burst_ = turn.now + rules_->interval * (knows_it_well ? burst_left_ : 1);
  ask_next(turn, burst_left_ > 1);
}

// The next exchange of the burst comes when the last was answered, or when that has taken too long.
void Sync::ask_next(Turn<Sync>& turn, bool first) {
  --burst_left_;
  ask(turn, {.counts = burst_left_ == 0 || warmth_.first_counts(),
             .first = first,
             .last = !first && burst_left_ == 0});
  const Nanos patience = std::min(rules_->interval / 4, kMaxPatience);
  timers_.set(Timer::probe,
              burst_left_ > 0 ? std::min(next_burst_, turn.now + patience) : next_burst_);
}

void Sync::ask(Turn<Sync>& turn, Asked asked) {
  if (++exchange_ == 0) exchange_ = 1;
  asked.exchange = exchange_;
  asked.asked = stamp(turn.now);
  asked_[exchange_ % asked_.size()] = asked;
  // Stamped even if it does not count: taking a stamp is a part of what is warmed up.
  Message probe{
      .kind = Message::Kind::probe,
      .will_follow = rules_->follow_ups,
      .objects = suspicions_ >= kSuspicionsToVote && turn.now - objected_ <= kObjectionLasts,
      .exchange = exchange_,
      .timescale_generation = timescale_generation_};
  if (estimator_->ready()) {
    const clock::Estimate estimate = estimator_->at(turn.now);
    probe.offset = estimate.theta;
    probe.rate_ppt = whole(estimate.rate);
    probe.sigma = std::max(estimate.sigma, Nanos{1});
    const Known known = know(turn.now, estimate);
    probe.sent = clock_.at(turn.now) - known.time;
    probe.bound = std::max(estimate.latest - estimate.theta, estimate.theta - estimate.earliest);
    if (const auto gap = utc_gap(turn.now, known.time)) {
      probe.received = *gap;
      probe.utc_bound = utc_bound(turn.now) + probe.bound;
    }
  }
  turn.out.send(reference_, probe);
}

void Sync::on_echo(Turn<Sync>& turn, const Message& message) {
  const auto found = std::ranges::find(asked_, message.exchange, &Asked::exchange);
  if (found == asked_.end() || message.exchange == 0 || found->answered) return;
  found->answered = true;
  found->received = message.received;
  found->sent = message.sent;
  found->heard = arrival(turn, message);
  first_heard_ = std::min(first_heard_, turn.now);
  last_heard_ = turn.now;
  published_ = {.at = message.received,
                .offset = message.offset,
                .rate_ppt = message.rate_ppt,
                .bound = std::max(message.bound, Nanos{0})};
  if (message.timescale_generation > timescale_generation_) {
    timescale_generation_ = message.timescale_generation;
    set_offset_sends_left_ = 0;
    timers_.stop(Timer::set_offset);
    may_step_ = true;
    owed_ = corrected_;
    // What was known of network time is true no more.
    held_.reset();
    held_against_ = false;
    remembered_count_ = 0;
  }
  if (!message.will_follow) complete(turn, *found);
  if (burst_left_ > 0 && message.exchange == exchange_) ask_next(turn, false);
}

void Sync::on_follow_up(Turn<Sync>& turn, const Message& message) {
  const auto found = std::ranges::find(asked_, message.exchange, &Asked::exchange);
  if (found == asked_.end() || message.exchange == 0 || !found->answered) return;
  // A stamp of departure lies between the arrival of the question and, at the latest, some time
  // after the answer was handed to the kernel.
  if (message.sent >= found->received) found->sent = message.sent;
  complete(turn, *found);
}

// Answers whose follow_up was lost count with the stamp they carried.
void Sync::finish_unfollowed(Turn<Sync>& turn) {
  for (Asked& asked : asked_)
    if (asked.exchange != 0 && asked.answered) complete(turn, asked);
}

void Sync::complete(Turn<Sync>& turn, Asked& asked) {
  const Asked done = std::exchange(asked, Asked{});
  compare_trips(done);
  const clock::Exchange exchange{.asked = done.asked,
                                 .received = WallTime{done.received},
                                 .answered = WallTime{done.sent},
                                 .heard = done.heard};
  if (!done.counts || cannot_be(turn, exchange) || !estimator_->add(exchange)) return;
  ++exchanges_;
  if (owed_) correct(turn);
}

void Sync::compare_trips(const Asked& done) {
  const Nanos trip = (done.heard - done.asked) - (done.sent - done.received);
  if (done.first) {
    first_trip_ = trip;
  } else if (done.last && first_trip_ != Nanos{0}) {
    warmth_.compare(std::exchange(first_trip_, Nanos{0}), trip);
  }
}

}  // namespace tempo::node
