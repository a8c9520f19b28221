#include "protocol/sync/sync.h"

#include "base/check.h"
#include "machine/overloaded.h"

namespace tempo::node {

void Sync::receive(Turn<Sync>& turn, NodeId from, const Message& message) {
  SyncStep step = step_of(turn);
  heard_another_ = true;
  const bool from_reference = from == reference();
  std::visit(Overloaded{[&](const Probe& probe) { answer(step, from, probe); },
                        [&](const Echo& echo) {
                          if (from_reference) follower_.on_echo(step, echo);
                        },
                        [&](const FollowUp& follow_up) {
                          if (from_reference) follower_.on_follow_up(step, follow_up);
                        },
                        [&](const SetTime& request) {
                          if (setter_.accepts(from, request)) set_network_time(step, request.by);
                        }},
             message);
}

void Sync::command(Turn<Sync>& turn, const Command& command) {
  SyncStep step = step_of(turn);
  std::visit(
      Overloaded{[&](const Follow& follow) { this->follow(step, follow.master); },
                 [&](const Lead&) { lead(step); }, [&](const Adjust&) { follower_.correct(step); },
                 [&](const Set&) { follower_.set(step); },
                 [&](const Departed& departed) { on_departure(step, departed); },
                 [&](const SetNetworkTime& set) { set_network_time(step, set.by); },
                 [&](const CarryUtc& utc) { utc_.carry(utc); },
                 [&](const MainPart& part) { on_main_part(step.now(), part); }},
      command);
}

void Sync::on_timer(Turn<Sync>& turn, TimerId timer) {
  if (!timers_.take_due(timer, turn.now)) return;
  SyncStep step = step_of(turn);
  switch (static_cast<SyncTimer>(timer)) {
    case SyncTimer::probe:
      if (reference() != kNobody) follower_.probe(step);
      break;
    case SyncTimer::settle:
      step.steer(clock_.servo.hold());
      break;
    case SyncTimer::round:
      leader_.make_round(step);
      break;
    case SyncTimer::set_time:
      setter_.repeat(step, reference());
      break;
    case SyncTimer::ban_expiry:
      turn.out.notify(Reinstated{});
      break;
    case SyncTimer::count:
      CHECK(false);
  }
}

void Sync::follow(SyncStep& step, NodeId master) {
  if (master == reference()) return;
  // A node that led alone knows nothing about the time of others.
  const bool led = leads() && heard_another_;
  Nanos bound = leader_.bound(step.now()) + main_part_.doubt(step.now());
  const std::optional<clock::Holdover> own = leader_.end(step);
  if (own) bound += own->bound;
  if (led) follower_.hold_own(step, bound, own);
  follower_.follow(step, master);
}

void Sync::lead(SyncStep& step) {
  if (leads()) return;
  const bool young = !follower_.ever_corrected();
  const std::optional<clock::Holdover> known = follower_.end(step);
  leader_.begin(step, young, known, follower_.held_bound());
}

// Followers answer probes too: a master of this network may follow a master in another. A node that
// was never in the main part knows nothing about network time.
void Sync::answer(SyncStep& step, NodeId from, const Probe& probe) {
  leader_.on_report(step, from, probe.report);
  if (!main_part_.ever() || (!leads() && !settled())) return;  // it has no network time yet
  const Instant arrived = step.arrival(probe.arrived);
  step.turn.out.send(from,
                     Echo{.exchange = probe.exchange,
                          .follow_up_comes = rules_->follow_ups && probe.wants_follow_up,
                          .timescale_generation = setter_.announced(),
                          .received = raw_of(arrived),
                          .sent = raw_of(step.stamp(step.now())),
                          .offset = clock_.steered.at(arrived).time_since_epoch() - raw_of(arrived),
                          .rate_ppt = to_ppt(clock_.steered.rate()),
                          .bound = reading(step.now()).bound()});
}

// A probe gets its time of departure; after an echo, the time of its departure follows.
void Sync::on_departure(SyncStep& step, const Departed& departed) {
  if (departed.peer == reference() && reference() != kNobody)
    follower_.on_departure(step.now(), departed);
  else
    step.turn.out.send(departed.peer,
                       FollowUp{.exchange = departed.exchange, .sent = raw_of(departed.at)});
}

// A follower asks its master, so that the request reaches the root.
void Sync::set_network_time(SyncStep& step, Nanos by) {
  if (!leads()) {
    if (reference() != kNobody) setter_.ask(step, reference(), by);
    return;
  }
  clock_.steered.step(by);
  leader_.on_step(by);
  setter_.on_set();
  step.turn.out.notify(NetworkTimeSet{by});
  step.turn.out.notify(Stepped{by});
}

// The members know network time no better than their reports say: so well does the next master.
void Sync::on_main_part(Instant now, const MainPart& part) {
  const Reading reading = own_reading(now);
  Nanos bound = reading.status == Reading::Status::unsynchronized ? Nanos{-1} : reading.bound();
  if (leads())
    if (const auto worst = leader_.members().worst(now)) bound += worst->bound;
  main_part_.update(now, part, bound);
}

Reading Sync::reading(Instant now) const {
  const Nanos unheard = leads() ? Nanos::max() : follower_.unheard(now);
  return main_part_.judged(now, own_reading(now), unheard);
}

Reading Sync::own_reading(Instant now) const {
  if (!leads()) return follower_.reading(now, clock_, *rules_);
  const WallTime time = clock_.steered.at(now);
  const Nanos bound = leader_.bound(now);
  const bool alone = !heard_another_ && !main_part_.part().others;
  return {.time = time,
          .earliest = time - bound,
          .latest = time + bound,
          .status = alone ? Reading::Status::alone : Reading::Status::leads};
}

std::optional<Nanos> Sync::error(Instant now) const {
  return leads() ? Nanos{0} : follower_.error(now, clock_);
}

const char* Sync::check() const {
  if (leads() && reference() != kNobody) return "a leader has a reference";
  if (leads() && !timers_.running(SyncTimer::round)) return "a leader without a round timer";
  if (reference() != kNobody && !follower_.estimates()) return "a follower without an estimator";
  if (reference() != kNobody && !timers_.running(SyncTimer::probe))
    return "a follower without a probe timer";
  return nullptr;
}

}  // namespace tempo::node
