// Classifies a message as an event: conditions that do not fit into a column of the table.
#include <optional>

#include "protocol/election/master.h"
#include "protocol/election/master_mutation.h"

namespace tempo::election {

std::optional<Event> MasterElection::event_of(Step& step) {
  const Message& message = *step.message;
  switch (message.kind) {
    case Kind::masterreq: {
      step.new_call = courier_.newer_call(step.from, incarnation_of(message), message.sequence);
      // A master that restarts has lost its mastership: treated like a crash hint.
      if (state_ == State::slave && step.from == followed_.node &&
          message.incarnation != followed_.incarnation)
        return heir_ == self_ && priority_ != kIneligible ? Event::masterdown_heir
                                                          : Event::masterdown;
      if (state_ == State::slave && mutated(Mutation::masterreq_postpones))
        start_timer(step, Timer::election);
      const Nanos own_age = timing().startup - (timers_.at(Timer::startup) - step.now());
      if (state_ == State::startup && message.age < own_age) return Event::masterreq_younger;
      return Event::masterreq;
    }
    case Kind::election:
      return election_event(step);
    // An answer counts for the Election that it names; any other answer is only acknowledged.
    case Kind::accept:
    case Kind::refuse:
      if (message.answers != call_ && !mutated(Mutation::unbound_answers)) return std::nullopt;
      return message.kind == Kind::accept ? Event::accept : Event::refuse;
    case Kind::slaveup:
      return Event::slaveup;
    case Kind::conflict:
      return Event::conflict;
    case Kind::stale:
      if (!ruling() || message.epoch <= followed_ || message.epoch.node == kNobody ||
          rules_->variant.no_epoch)
        return std::nullopt;
      if (mutated(Mutation::master_keeps_ruling)) return std::nullopt;
      return message.epoch.node == self_ ? Event::stale_own : Event::stale_newer;
    case Kind::masterdown:
      if (state_ != State::slave || message.subject != followed_.node ||
          message.subject_incarnation != followed_.incarnation ||
          mutated(Mutation::hint_not_trusted))
        return std::nullopt;
      return heir_ == self_ && priority_ != kIneligible && !mutated(Mutation::heir_waits)
                 ? Event::masterdown_heir
                 : Event::masterdown;
    case Kind::masterack:
    case Kind::masterup:
    case Kind::resolve:
    case Kind::quit:
    case Kind::adjtime:
    case Kind::settime:
    case Kind::loop:
      // Malformed: the epoch is not a mastership of the sender.
      if (message.epoch.node != step.from || (message.epoch.round == 0) != rules_->variant.no_epoch)
        return std::nullopt;
      return rules_->variant.no_epoch ? masters_event_without_epochs(step) : masters_event(step);
    case Kind::ack:
      break;
  }
  return std::nullopt;
}

std::optional<Event> MasterElection::election_event(Step& step) {
  const Message& message = *step.message;
  if (!courier_.newer_call(step.from, incarnation_of(message), message.sequence)) {
    if (rules_->variant.refuse_duplicate && state_ == State::accept && step.from == candidate_)
      return Event::election_duplicate;
    // A repeat: answer it again only while our answer is unacknowledged.
    const Message* again = courier_.under_way(step.from, [&](const Message& sent) {
      return answer(sent.kind) && sent.answers == message.sequence;
    });
    if (again != nullptr) step.turn.out.send(step.from, *again);
    return std::nullopt;
  }
  if (ruling() && !rules_->variant.no_epoch && message.epoch > followed_ &&
      message.epoch.node != kNobody)
    return Event::election_newer;
  if (state_ == State::accept && step.from == candidate_) return Event::election_again;
  const Nanos own_age = timing().accept / 2 - (candidacy_ends_ - step.now());
  if (state_ == State::candidate && (message.age > own_age || mutated(Mutation::candidate_accepts)))
    return Event::election_older;
  return Event::election;
}

std::optional<Event> MasterElection::masters_event(Step& step) {
  const Message& message = *step.message;
  const Kind kind = message.kind;
  const bool names_our_election = message.answers == call_ && call_ != kNoSequence;

  // Variant: two masters resolve their conflict as printed, regardless of epochs.
  if (rules_->variant.conflict_kills_both && ruling() &&
      (kind == Kind::resolve || kind == Kind::masterack || kind == Kind::quit))
    return masters_event_without_epochs(step);

  const bool obeys_anyway =
      mutated(Mutation::obey_lower_epoch) && (kind == Kind::adjtime || kind == Kind::settime);
  if (message.epoch < followed_ && !(obeys_anyway && !ruling())) {
    if (state_ == State::consistency && step.from != first_) return Event::lower_rival;
    if (state_ == State::candidate && kind == Kind::quit && names_our_election)
      return Event::quit_lower;
    return Event::lower;
  }
  const bool is_new = message.epoch > followed_;
  if (ruling()) {
    if (!is_new || mutated(Mutation::master_keeps_ruling)) return std::nullopt;
    follow(step, message.epoch);
    return Event::higher;
  }
  if (is_new) follow(step, message.epoch);

  const bool addressed = kind == Kind::adjtime || kind == Kind::settime ||
                         kind == Kind::masterack || kind == Kind::quit;
  if (addressed) renew_trust(step);
  if (kind == Kind::loop) heir_ = message.subject;
  if (state_ == State::consistency && step.from != first_) return Event::rival;

  switch (kind) {
    case Kind::masterack:
      return Event::masterack;
    case Kind::adjtime:
      return Event::adjtime;
    case Kind::settime:
      return Event::settime;
    case Kind::quit:
      if (state_ == State::candidate && mutated(Mutation::ignore_quit)) return std::nullopt;
      if (is_new) return Event::quit_new;
      if (names_our_election || message.answers == kNoSequence) return Event::quit;
      return std::nullopt;
    default:
      break;
  }
  // Masterup, Loop and Resolve of a master that this node has given up change no timer or
  // candidacy.
  if (!is_new && given_up(step.now()) && !mutated(Mutation::never_give_up))
    return Event::loop_given_up;
  if (kind == Kind::masterup) return Event::masterup;
  if (kind == Kind::loop) return is_new ? Event::loop_new : Event::loop;
  return is_new ? Event::resolve_new : Event::resolve;
}

// Without epochs, the master alone identifies a mastership, and the kind alone the event.
std::optional<Event> MasterElection::masters_event_without_epochs(Step& step) {
  const Message& message = *step.message;
  const Kind kind = message.kind;
  const bool is_new = step.from != followed_.node || message.incarnation != followed_.incarnation;
  if (state_ == State::consistency && step.from != first_) return Event::rival;
  if (ruling()) {
    const bool smaller = index(step.from) < index(self_);
    switch (kind) {
      case Kind::loop:
        return smaller ? Event::loop : Event::loop_larger;
      case Kind::resolve:
        if (state_ == State::master) return Event::resolve;
        return smaller || rules_->variant.conflict_kills_both ? Event::resolve_smaller
                                                              : Event::resolve;
      case Kind::quit:
        if (rules_->variant.no_epoch || message.epoch > followed_) follow(step, message.epoch);
        return Event::quit;
      case Kind::masterack:
        return Event::masterack;
      case Kind::masterup:
        return Event::masterup;
      case Kind::adjtime:
        return Event::adjtime;
      default:
        return Event::settime;
    }
  }
  if (is_new) follow(step, message.epoch);
  if (kind == Kind::loop) heir_ = message.subject;
  switch (kind) {
    case Kind::masterack:
      return Event::masterack;
    case Kind::adjtime:
      return Event::adjtime;
    case Kind::settime:
      return Event::settime;
    case Kind::quit:
      return is_new ? Event::quit_new : Event::quit;
    case Kind::masterup:
      return Event::masterup;
    case Kind::loop:
      return is_new ? Event::loop_new : Event::loop;
    default:
      return is_new ? Event::resolve_new : Event::resolve;
  }
}

}  // namespace tempo::election
