#include "protocol/sync/sync.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace tempo::node {
namespace {

constexpr std::uint32_t kExchangesToSet = 2;
constexpr Nanos kWorthAStep = 1ms;       // of one that was set before
constexpr int kIntervalsToHoldover = 5;  // without an answer
constexpr std::uint32_t kSetOffsetSends = 10;
constexpr Nanos kSetOffsetPause = 200ms;
constexpr double kLeadersDoubt = 0.1e-6;  // of one whose clock was network time
constexpr double kLeadersSpan = 64;       // seconds
constexpr double kHeldNoMore = 0.95;      // part of the fresh that is as good as the whole
constexpr double kWellInside = 16;        // standard errors

constexpr Nanos kApart = 50us;   // beyond the bounds of an old and a new master
constexpr Nanos kObject = 8s;    // then it was our own clock
constexpr Nanos kUnspoilt = 6s;  // what was known so long ago was not affected yet

constexpr Nanos kUtcLasts = 5s;      // a word of UTC
constexpr double kRawRate = 200e-6;  // that a raw clock may be wrong by meanwhile

}  // namespace

std::string_view name_of(SyncMessage::Kind kind) {
  constexpr std::array<std::string_view, 4> kNames{"probe", "echo", "follow_up", "shift"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string_view name_of(Reading::Status status) {
  constexpr std::array<std::string_view, 4> kNames{"unsynchronized", "holdover", "synchronized",
                                                   "leads"};
  return kNames.at(static_cast<std::size_t>(status));
}

std::int64_t Sync::whole(double rate) { return std::llround(rate * 1e12); }

// An instant as the stamps show it.
Instant Sync::stamp(Instant instant) const {
  if (rules_->stamp_grain == Nanos{0}) return instant;
  return instant - instant.time_since_epoch() % rules_->stamp_grain;
}

Instant Sync::arrival(const Turn<Sync>& turn, const Message& message) const {
  return stamp(message.arrived == Instant{} ? turn.now : std::min(message.arrived, turn.now));
}

void Sync::start(Turn<Sync>& /*turn*/) {}

void Sync::command(Turn<Sync>& turn, const Command& command) {
  switch (command.what) {
    case Command::What::follow:
      follow(turn, command.peer);
      break;
    case Command::What::lead:
      lead(turn);
      break;
    case Command::What::set:
      may_step_ = true;
      correct(turn);
      break;
    case Command::What::adjust:
      correct(turn);
      break;
    case Command::What::departed: {
      if (command.peer != reference_ || reference_ == kNobody) {
        turn.out.send(command.peer, {.kind = Message::Kind::follow_up,
                                     .exchange = command.exchange,
                                     .sent = raw_of(command.at)});
        break;
      }
      const auto found = std::ranges::find(asked_, command.exchange, &Asked::exchange);
      if (found != asked_.end() && command.exchange != 0 && command.at <= turn.now)
        found->asked = command.at;
      break;
    }
    case Command::What::utc:
      utc_ = {
          .at = command.at, .beyond_raw = command.by - raw_of(command.at), .bound = command.bound};
      break;
    case Command::What::set_offset:
      if (leads_) {
        set_network_time(turn, command.by);
      } else if (reference_ != kNobody) {
        set_offset_by_ = command.by;
        set_offset_sends_left_ = kSetOffsetSends;
        ++set_offset_number_;
        send_set_offset(turn);
      }
      break;
  }
}

// --- following ---

void Sync::follow(Turn<Sync>& turn, NodeId master) {
  if (master == reference_) return;
  const Reading before = reading(turn.now);
  if (leads_ || corrected_) {
    held_since_ = turn.now;
    held_bound_ = std::max(before.latest - before.time, before.time - before.earliest);
  }
  hold(turn.now);
  leads_ = false;
  timers_.stop(Timer::round);
  reference_ = master;
  estimator_.emplace(0.0);
  warmth_ = {};
  objects_since_ = kNever;
  suspicions_ = 0;
  asked_ = {};
  owed_ = false;
  may_step_ = false;
  corrected_ = false;
  contacts_left_ = rules_->first_burst;
  burst_left_ = 0;
  published_ = {};
  first_heard_ = kNever;
  last_heard_ = Instant{};
  members_.end();
  timers_.set(Timer::probe, turn.now);
}

// What is known of network time stays known when its source is gone; of a source that cannot be
// right, what it said before.
void Sync::hold(Instant now) {
  if (leads_) {
    held_followed_ = false;
    // While the rate of a young network turns its line is of no use.
    if (!members_.young(now)) {
      held_ = {.line = clock_, .since = now, .sigma = kLeadersDoubt, .span = kLeadersSpan};
      held_->line.set_rate(now, -servo_.rate());
    }
  } else if (corrected_ && !(held_ && objects_since_ != kNever)) {
    const clock::Estimate estimate = estimator_->at(now);
    if (remembered_count_ == 0) remember(now, estimate, know(now, estimate));
    held_ = unspoilt(last_heard_);
    held_followed_ = true;
  }
  held_against_ = false;
  remembered_count_ = 0;
}

void Sync::remember(Instant now, const clock::Estimate& estimate, const Known& known) {
  remembered_[remembered_count_++ % remembered_.size()] = {
      .line = clock::SteeredClock(now, known.time, -known.rate),
      .since = now,
      .sigma = in_seconds(known.sigma),
      .span = in_seconds(estimate.span),
      .bound = std::max(estimate.latest - estimate.theta, estimate.theta - estimate.earliest) +
               published_.bound};
}

bool Sync::objecting(Instant now) const {
  return objects_since_ != kNever && now - objects_since_ < kObject;
}

// Back to what was known some seconds ago, before it became impossible.
void Sync::object(Turn<Sync>& turn) {
  objected_ = turn.now;
  ++suspicions_;
  if (objects_since_ != kNever) return;
  objects_since_ = turn.now;
  next_burst_ = turn.now + rules_->first_spacing;
  timers_.set(Timer::probe, std::min(timers_.at(static_cast<TimerId>(Timer::probe)), next_burst_));
  if (held_ || remembered_count_ == 0) return;
  held_ = unspoilt(turn.now);
  held_followed_ = true;
  held_against_ = true;
  correct(turn);  // there may be no Adjtime any more
}

// What was known some seconds before: a master may have gone wrong before it was noticed.
const clock::Holdover& Sync::unspoilt(Instant now) const {
  const std::size_t kept = std::min<std::size_t>(remembered_count_, remembered_.size());
  std::size_t age = 1;
  const auto then = [&] { return (remembered_count_ - age) % remembered_.size(); };
  while (age < kept && now - remembered_[then()].since < kUnspoilt) ++age;
  return remembered_[then()];
}

void Sync::receive(Turn<Sync>& turn, NodeId from, const Message& message) {
  switch (message.kind) {
    case Message::Kind::probe:
      on_probe(turn, from, message);
      break;
    case Message::Kind::echo:
      if (from == reference_) on_echo(turn, message);
      break;
    case Message::Kind::follow_up:
      if (from == reference_) on_follow_up(turn, message);
      break;
    case Message::Kind::set_offset:
      on_set_offset(turn, from, message);
      break;
  }
}

// An exchange that clocks and paths as they were cannot have made means that a clock has jumped,
// ours or the master's. It is not believed before others have had time to object too.
bool Sync::cannot_be(Turn<Sync>& turn, const clock::Exchange& exchange) {
  if (!estimator_->ready()) return false;
  if (!estimator_->suspects(exchange) && !parted_from_held(turn.now)) {
    if (turn.now - objected_ > kObject) {
      objects_since_ = kNever;
      suspicions_ = 0;
    }
    return false;
  }
  object(turn);
  return objecting(turn.now);
}

WallTime Sync::network_at(Nanos master_raw) const {
  const double passed = static_cast<double>((master_raw - published_.at).count());
  return WallTime{master_raw + published_.offset +
                  Nanos{std::llround(passed * part(published_.rate_ppt))}};
}

// By the present reference, and as long as that is not known well, by what was held before it.
Sync::Known Sync::know(Instant now, const clock::Estimate& estimate) const {
  Known known{.time = network_at(raw_of(now) - estimate.theta),
              .rate = estimate.rate - part(published_.rate_ppt),
              .sigma = estimate.sigma};
  if (!knows_rate(now, estimate)) known.rate = servo_.rate();
  if (!held_) return known;
  // A fit that is younger than what is held was tested less, and knows its own error less.
  const double seen = std::max(in_seconds(now - std::min(first_heard_, now)), 1e-3);
  const double fresh = in_seconds(estimate.sigma) * std::sqrt(1 + held_->span / seen);
  // The new master held on to a line just as good, and that is network time now.
  const double doubt = std::numbers::sqrt2 * held_->doubt(now);
  const double share = objecting(now) ? 0 : clock::share_of_fresh(doubt, fresh);
  const WallTime held = held_->line.at(now);
  known.time = held + Nanos{std::llround(share * static_cast<double>((known.time - held).count()))};
  known.rate = -held_->line.rate() + share * (known.rate + held_->line.rate());
  known.sigma = Nanos{std::llround(std::sqrt(share) * fresh * 1e9)};
  known.fresh = share;
  return known;
}

std::optional<Nanos> Sync::error(Instant now) const {
  if (leads_) return Nanos{0};
  if (!estimator_ || !estimator_->ready()) return std::nullopt;
  return clock_.at(now) - know(now, estimator_->at(now)).time;
}

void Sync::correct(Turn<Sync>& turn) {
  if (reference_ == kNobody || !estimator_) return;
  if (estimator_->exchanges() < kExchangesToSet) {
    owed_ = true;
    return;
  }
  owed_ = false;
  // A newcomer is set before it is slewed, also when its Slaveup, and so its Settime, was lost. One
  // that has led meanwhile is set if this master does not go on with its time.
  if (own_time_)
    may_step_ = held_bound_ < Nanos{0} ||
                excludes(turn.now, clock_.at(turn.now), published_.bound + kWorthAStep);
  // Whoever is set anew does not know better.
  if (may_step_) held_.reset();
  // Nobody else objected in time: it was our own clock.
  if (held_against_ && !objecting(turn.now)) {
    held_.reset();
    held_against_ = false;
  }
  const clock::Estimate estimate = estimator_->at(turn.now);
  const Known known = know(turn.now, estimate);
  if (known.fresh > kHeldNoMore) held_.reset();
  if (!objecting(turn.now)) remember(turn.now, estimate, known);
  // The first exchanges may have waited for an address to be resolved, one way only: until the
  // first contact is over, whoever was set wrongly is set again.
  const Nanos worth_a_step = corrected_ ? kWorthAStep : Nanos{0};
  const Nanos from = may_step_ ? std::min(worth_a_step, rules_->step_limit) : rules_->step_limit;
  const clock::Aim aim{.theta = raw_of(turn.now) - known.time.time_since_epoch(),
                       .rate = known.rate};
  if (estimator_->exchanges() >= rules_->first_burst) may_step_ = false;
  corrected_ = true;
  own_time_ = false;
  steer(turn, servo_.steer(turn.now, clock_.at(turn.now), aim, {.step_from = from}));
}

void Sync::steer(Turn<Sync>& turn, const clock::Steering& steering) {
  if (steering.step != Nanos{0}) {
    clock_.step(steering.step);
    turn.out.notify({.what = Notice::What::stepped, .peer = reference_, .by = steering.step});
  }
  clock_.set_rate(turn.now, steering.frequency);
  if (steering.settles > Nanos{0})
    timers_.set(Timer::settle, turn.now + steering.settles);
  else
    timers_.stop(Timer::settle);
  turn.out.notify({.what = Notice::What::steered, .peer = reference_});
}

// Over a short time noise looks like a rate: until it cannot, the rate we ran at before is better.
bool Sync::knows_rate(Instant now, const clock::Estimate& estimate) const {
  if (first_heard_ >= now) return false;
  const auto seen = static_cast<double>((now - first_heard_).count());
  return 2 * static_cast<double>(estimate.sigma.count()) / seen < TimeScale::kRateDoubt;
}

// What this master tells and what its predecessor told exclude each other.
bool Sync::parted_from_held(Instant now) const {
  if (!held_ || !held_followed_ || held_against_) return false;
  const double age = static_cast<double>((now - held_since_).count());
  const Nanos doubt =
      2 * held_bound_ + published_.bound + kApart + Nanos{std::llround(age * kHeldWander)};
  return excludes(now, held_->line.at(now), doubt);
}

// What the reference tells, with this much doubt, cannot be this time.
bool Sync::excludes(Instant now, WallTime time, Nanos doubt) const {
  const clock::Estimate estimate = estimator_->at(now);
  return network_at(raw_of(now) - estimate.latest) > time + doubt ||
         network_at(raw_of(now) - estimate.earliest) < time - doubt;
}

// --- carrying UTC ---

// UTC minus `network`; nothing if this host does not carry it or has not been told lately.
std::optional<Nanos> Sync::utc_gap(Instant now, WallTime network) const {
  if (utc_.bound <= Nanos{0} || now - utc_.at > kUtcLasts) return std::nullopt;
  return raw_of(now) + utc_.beyond_raw - network.time_since_epoch();
}

Nanos Sync::utc_bound(Instant now) const {
  const auto age = static_cast<double>((now - utc_.at).count());
  return utc_.bound + Nanos{std::llround(age * kRawRate)};
}

// --- setting network time by hand ---

void Sync::send_set_offset(Turn<Sync>& turn) {
  if (set_offset_sends_left_ == 0 || reference_ == kNobody) return;
  --set_offset_sends_left_;
  turn.out.send(reference_, {.kind = Message::Kind::set_offset,
                             .exchange = set_offset_number_,
                             .timescale_generation = timescale_generation_,
                             .offset = set_offset_by_});
  if (set_offset_sends_left_ > 0) timers_.set(Timer::set_offset, turn.now + kSetOffsetPause);
}

// One that leads acts, once; one that follows passes it on towards the root.
void Sync::on_set_offset(Turn<Sync>& turn, NodeId from, const Message& message) {
  if (message.timescale_generation != announced_generation() ||
      set_offsets_done_[from] == message.exchange)
    return;
  set_offsets_done_[from] = message.exchange;
  if (leads_)
    set_network_time(turn, message.offset);
  else
    command(turn, {.what = Command::What::set_offset, .by = message.offset});
}

void Sync::set_network_time(Turn<Sync>& turn, Nanos by) {
  clock_.step(by);
  members_.on_step(by);
  ++timescale_generation_;
  turn.out.notify({.what = Notice::What::offset_set, .by = by});
  turn.out.notify({.what = Notice::What::stepped, .by = by});
}

// --- both ---

void Sync::on_timer(Turn<Sync>& turn, TimerId id) {
  const auto timer = static_cast<Timer>(id);
  if (turn.now < timers_.at(id)) return;
  timers_.stop(timer);
  switch (timer) {
    case Timer::probe:
      if (reference_ == kNobody) break;
      if (contacts_left_ > 0)
        contact(turn);
      else if (burst_left_ > 0 && turn.now < next_burst_)
        ask_next(turn, false);
      else
        begin_burst(turn);
      break;
    case Timer::settle:
      steer(turn, servo_.hold());
      break;
    case Timer::round:
      make_round(turn);
      break;
    case Timer::ban_expiry:
      turn.out.notify({.what = Notice::What::reinstated});
      break;
    case Timer::set_offset:
      send_set_offset(turn);
      break;
    case Timer::count:
      CHECK(false);
  }
}

Reading Sync::reading(Instant now) const {
  Reading reading{.time = clock_.at(now)};
  const auto around = [&](Nanos doubt, Reading::Status status) {
    reading.earliest = reading.time - doubt;
    reading.latest = reading.time + doubt;
    reading.status = status;
    return reading;
  };
  if (leads_) return around(doubt_of_master(now), Reading::Status::leads);
  const bool ever = corrected_ || held_bound_ >= Nanos{0};
  if (!ever) {
    reading.earliest = WallTime::min();
    reading.latest = WallTime::max();
    return reading;
  }
  const bool answered = estimator_ && estimator_->exchanges() >= kExchangesToSet;
  if (!answered) {
    // Whoever leads next knew network time no better than we did.
    const double held = static_cast<double>((now - held_since_).count());
    return around(2 * (held_bound_ + Nanos{std::llround(held * kHeldWander)}),
                  Reading::Status::holdover);
  }
  const clock::Estimate estimate = estimator_->at(now);
  const Nanos raw = raw_of(now);
  const Nanos unheard = now - last_heard_;
  const Nanos doubt =
      published_.bound + Nanos{std::llround(static_cast<double>(unheard.count()) * kMasterWander)};
  const WallTime low = network_at(raw - estimate.latest) - doubt;
  const WallTime high = network_at(raw - estimate.earliest) + doubt;
  reading.earliest = std::min(low, reading.time);
  reading.latest = std::max(high, reading.time);
  if (held_) {
    // What this master says may exclude what was known before it: then either may be true.
    const WallTime line = held_->line.at(now);
    const Nanos margin{std::llround(kWellInside * held_->doubt(now) * 1e9)};
    if (low > line - margin || high < line + margin) {
      const auto age = static_cast<double>((now - held_->since).count());
      const Nanos either = held_->bound + Nanos{std::llround(age * kHeldWander)};
      reading.earliest = std::min(reading.earliest, line - either);
      reading.latest = std::max(reading.latest, line + either);
    }
  }
  reading.status = Reading::Status::synchronized;
  if (objecting(now) && held_) {
    const double age = static_cast<double>((now - held_->since).count());
    return around(2 * (held_->bound + std::chrono::abs(held_->line.at(now) - reading.time)) +
                      Nanos{std::llround(age * kHeldWander)},
                  Reading::Status::holdover);
  }
  if (unheard <= kIntervalsToHoldover * rules_->interval && corrected_) return reading;
  // By now there may be another master, who knew it no better.
  return around(2 * std::max(reading.latest - reading.time, reading.time - reading.earliest),
                Reading::Status::holdover);
}

const char* Sync::check() const {
  if (leads_ && reference_ != kNobody) return "a node that leads follows";
  if (leads_ && !timers_.running(Timer::round)) return "a node that leads makes no rounds";
  if (reference_ != kNobody && !estimator_) return "a node that follows estimates nothing";
  if (reference_ != kNobody && !timers_.running(Timer::probe))
    return "a node that follows asks nothing";
  return nullptr;
}

}  // namespace tempo::node
