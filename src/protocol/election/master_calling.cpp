// Messages that a node sends without being asked: calls and their repeats, retransmissions, Adjtime
// rounds, Loops.
#include "protocol/election/master.h"
#include "protocol/election/master_mutation.h"

namespace tempo::election {

void MasterElection::begin_reign(Step& step) {
  backoff_ = 1;
  step.turn.out.broadcast(make(Kind::masterup));
  start_timer(step, Timer::sync);
  start_timer(step, Timer::loop);
  step.turn.out.notify({.news = Change::leads, .peer = self_, .epoch = followed_});
}

void MasterElection::stand(Step& step) {
  list_.clear();
  answering_.clear();
  candidacy_ends_ = step.now() + timing().accept / 2;
  call_ = courier_.next_sequence();
  step.turn.out.broadcast(call_message(step));
  start_timer(step, Timer::candidate);
  repeats_left_ = rules_->repeats;
  if (repeats_left_ > 0 && !mutated(Mutation::no_repeats))
    timers_.set(Timer::repeat, step.now() + timing().candidate / 6);
}

// The current Masterreq or Election, with its age.
Message MasterElection::call_message(const Step& step) const {
  const bool starting = state_ == State::startup;
  Message call{.kind = starting ? Kind::masterreq : Kind::election,
               .priority = priority_,
               .incarnation = incarnation_,
               .sequence = call_};
  if (starting) {
    call.age = timing().startup - (timers_.at(Timer::startup) - step.now());
  } else {
    call.age = timing().accept / 2 - (candidacy_ends_ - step.now());
    call.epoch = followed_;
  }
  return call;
}

void MasterElection::repeat_call(Step& step) {
  step.turn.out.broadcast(call_message(step));
  if (--repeats_left_ == 0) return;
  const Nanos pause = state_ == State::startup ? timing().startup / 5 : timing().candidate / 6;
  timers_.set(Timer::repeat, step.now() + pause);
}

void MasterElection::retransmit(Step& step) {
  const Courier<Message>::Options options{
      .interval = timing().retransmit,
      .sends = mutated(Mutation::no_retransmission) ? 1 : timing().sends};
  courier_.on_timer(
      step.now(), options,
      [&](NodeId to, const Message& message) {
        step.turn.out.send(to, message);
        if (message.kind == Kind::adjtime) answering_.erase(to);
      },
      [&](NodeId to, const Message& message) {
        if (message.kind == Kind::adjtime || message.kind == Kind::settime) {
          if (!mutated(Mutation::drop_nobody)) list_.erase(to);
          answering_.erase(to);
        }
        step.turn.out.notify({.news = Change::peer_down, .peer = to});
      });
}

// At most one Adjtime to each slave at a time: a slave that has not acknowledged the last one gets
// no new one.
void MasterElection::adjtime_round(Step& step) {
  NodeSet busy;
  courier_.each([&](NodeId to, const Message& message) {
    if (message.kind == Kind::adjtime) busy.insert(to);
  });
  list_.for_each([&](NodeId to) {
    if (!busy.contains(to)) send(step, to, make(Kind::adjtime));
  });
}

void MasterElection::broadcast_loop(Step& step) {
  Message loop = make(Kind::loop);
  loop.subject = answering_.highest();
  step.turn.out.broadcast(loop);
  loop_not_before_ = step.now() + timing().candidate;
}

void MasterElection::loop_at_once(Step& step) {
  if (rules_->variant.no_loop || step.now() < loop_not_before_ ||
      mutated(Mutation::no_loop_at_once))
    return;
  broadcast_loop(step);
}

bool MasterElection::quit_under_way(NodeId to) const {
  return courier_.under_way(to, [](const Message& sent) { return sent.kind == Kind::quit; }) !=
         nullptr;
}

}  // namespace tempo::election
