// A replicated value that changes only by a majority, whatever the network does.
//
// A member that wants to change the value is a candidate in an election; the longest-waiting
// candidate wins. Winning gives no right to write, because each part of a partition elects a
// member. So the winner proposes and needs the yes of a majority of the members, and its write
// counts when a majority has acknowledged it. A member that votes yes promises to follow no smaller
// ballot, and reports what it has already acknowledged; the winner then finishes that value before
// its own. Two majorities have a common member: no version has two values, however messages are
// lost, late or cut off. (Versions are decided one by one, each as in Lamport's single-decree
// synod.)
//
// The parameter `Cause` defines the application:
//     counts(node, value)          whether the node is a member under this value
//     members(value)               number of members
//     proposal(value, request, self)  the new value that the winner wants
//     fulfilled(value, request, self) whether the value satisfies the request
//     approves(node)               whether we vote yes for this node
//     distrust(node)               from now on we do not
// Naive: a majority of the members that answer suffices, and the winner writes at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/node_set.h"
#include "lab/studies/group/apps/duty.h"
#include "machine/field_list.h"

namespace tempo::apps {

// An attempt to write; a later one is larger than all that its node has seen. Number 0: none.
struct Ballot {
  std::uint32_t number = 0;
  NodeId node = kNobody;

  auto operator<=>(const Ballot&) const = default;
  static constexpr auto fields(auto list) {
    return list(field<&Ballot::number>("number"), field<&Ballot::node>("node"));
  }
};

// A value with its origin: its version, or the ballot in which it was acknowledged.
struct Copy {
  std::uint32_t version = 0;
  std::uint64_t value = 0;

  bool operator==(const Copy&) const = default;
  static constexpr auto fields(auto list) {
    return list(field<&Copy::version>("version"), field<&Copy::value>("value"));
  }
};
struct Acknowledged {
  Ballot ballot{};
  std::uint64_t value = 0;

  bool operator==(const Acknowledged&) const = default;
  static constexpr auto fields(auto list) {
    return list(field<&Acknowledged::ballot>("ballot"), field<&Acknowledged::value>("value"));
  }
};

struct MajorityMessage {
  enum class Kind : std::uint8_t { propose, vote, write, ack };
  Kind kind = Kind::propose;
  bool yes = false;  // of a vote
  Ballot ballot{};
  Copy known{};  // last written value known to the sender; the message concerns the next one
  // Yes: the value acknowledged before. No: the ballot that was promised. Write and ack: the value
  // in this ballot.
  Acknowledged proposed{};

  bool operator==(const MajorityMessage&) const = default;
  static constexpr auto fields(auto list) {
    using M = MajorityMessage;
    return list(field<&M::kind>("kind"), field<&M::yes>("yes"), field<&M::ballot>("ballot"),
                field<&M::known>("known"), field<&M::proposed>("proposed"));
  }
};

inline std::string_view name_of(const MajorityMessage& message) {
  switch (message.kind) {
    case MajorityMessage::Kind::propose:
      return "propose";
    case MajorityMessage::Kind::vote:
      return message.yes ? "yes" : "no";
    case MajorityMessage::Kind::write:
      return "write";
    case MajorityMessage::Kind::ack:
      return "ack";
  }
  CHECK(false);
  return {};
}

template <class Cause>
class Majority {
 public:
  using Message = MajorityMessage;
  using Time = WallTime;
  using Command = apps::Command;
  using Notice = apps::Notice;
  enum class Timer : std::uint8_t {
    retry,  // our request should have been fulfilled
    tally,  // naive: the time for answers is over
    count
  };

  // The rules are shared by many machines and must outlive them.
  Majority(NodeId self, const Rules& rules)
      : self_(self), rules_(&rules), cause_(rules), known_{.version = 0, .value = cause_.first()} {}

  void start(Turn<Majority>& /*turn*/) {}

  void receive(Turn<Majority>& turn, NodeId from, const Message& message) {
    learn(turn, message.known);
    highest_ = std::max({highest_, message.ballot.number, message.proposed.ballot.number});
    if (message.kind == Message::Kind::propose) return vote(turn, message);
    if (message.known.version != known_.version) return;
    switch (message.kind) {
      case Message::Kind::propose:
        break;
      case Message::Kind::vote:
        count_vote(turn, from, message);
        break;
      case Message::Kind::write:
        acknowledge(turn, message);
        break;
      case Message::Kind::ack:
        count_ack(turn, from, message);
        break;
    }
  }

  void on_timer(Turn<Majority>& turn, TimerId id) {
    if (turn.now < timers_.at(id)) return;
    timers_.stop(static_cast<Timer>(id));
    if (static_cast<Timer>(id) == Timer::tally) {
      if (2 * yes_.size() > answers_) write(turn);
    } else {
      stand(turn);
    }
  }

  void command(Turn<Majority>& turn, const Command& command) {
    switch (command.kind) {
      case Command::Kind::ask:
        if (request_) return turn.out.notify({.kind = Notice::Kind::refused});
        request_ = static_cast<std::uint64_t>(command.value);
        asked_ = turn.now.time_since_epoch();
        turn.out.notify({.kind = Notice::Kind::accepted, .value = *request_});
        stand(turn);
        break;
      case Command::Kind::distrust:
        cause_.distrust(command.node);
        break;
      case Command::Kind::elected:
        if (command.node == self_ && request_) propose(turn);
        break;
      case Command::Kind::give_up:
        turn.out.notify({.kind = Notice::Kind::give_up});
        break;
      case Command::Kind::offer:
        break;
    }
  }

  const Timers<Timer, Time>& timers() const { return timers_; }
  const char* check() const {
    if (request_.has_value() != timers_.running(Timer::retry))
      return "a request without a retry timer";
    if (promised_ < acknowledged_.ballot) return "acknowledged a smaller ballot than promised";
    return nullptr;
  }

  const Copy& known() const { return known_; }

  static constexpr auto fields(auto list) {
    using M = Majority;
    return list(field<&M::self_>("self"), field<&M::cause_>("cause"),
                field<&M::highest_>("highest"), field<&M::known_>("known"),
                field<&M::promised_>("promised"), field<&M::acknowledged_>("acknowledged"),
                field<&M::request_>("wish"), field<&M::asked_>("asked"), field<&M::mine_>("mine"),
                field<&M::best_>("best"), field<&M::yes_>("yes"), field<&M::answers_>("answers"),
                field<&M::counted_>("counted"), field<&M::acks_>("acks"),
                field<&M::timers_>("timers"), fixed<&M::rules_>());
  }
  friend FieldCheck;

 private:
  // Time for an election, four broadcasts, and the silence of a member in doubt.
  Nanos patience() const { return 12 * rules_->bound; }

  void stand(Turn<Majority>& turn) {
    turn.out.notify(
        {.kind = Notice::Kind::offer, .value = static_cast<std::uint64_t>(since(asked_))});
    turn.out.notify({.kind = Notice::Kind::hold});
    timers_.set(Timer::retry, turn.now + patience());
  }

  void propose(Turn<Majority>& turn) {
    asked_ = turn.now.time_since_epoch();  // if we fail, other candidates come first
    mine_ = {.number = ++highest_, .node = self_};
    best_ = {};
    yes_.clear();
    answers_ = 0;
    if (rules_->naive) timers_.set(Timer::tally, turn.now + 3 * rules_->bound);
    turn.out.broadcast({.kind = Message::Kind::propose, .ballot = mine_, .known = known_});
  }

  // A no carries what the proposer does not know: a newer version or a larger ballot.
  void vote(Turn<Majority>& turn, const Message& message) {
    if (!cause_.counts(self_, known_.value)) return;
    const bool yes = message.known.version == known_.version && message.ballot > promised_ &&
                     cause_.approves(message.ballot.node);
    Message vote{.kind = Message::Kind::vote,
                 .yes = yes,
                 .ballot = message.ballot,
                 .known = known_,
                 .proposed = acknowledged_};
    if (yes) {
      promised_ = message.ballot;
      turn.out.notify(
          {.kind = Notice::Kind::votes, .node = message.ballot.node, .number = known_.version + 1});
    } else {
      vote.proposed = {.ballot = promised_, .value = 0};
    }
    turn.out.broadcast(vote);
  }

  void count_vote(Turn<Majority>& turn, NodeId from, const Message& message) {
    if (mine_.number == 0 || message.ballot != mine_ || !cause_.counts(from, known_.value)) return;
    ++answers_;
    if (!message.yes) return;
    yes_.insert(from);
    if (message.proposed.ballot > best_.ballot) best_ = message.proposed;
    if (!rules_->naive && is_majority(yes_)) write(turn);
  }

  void write(Turn<Majority>& turn) {
    if (!request_ || mine_.number == 0) return;
    const std::uint64_t value =
        best_.ballot.number > 0 ? best_.value : cause_.proposal(known_.value, *request_, self_);
    turn.out.broadcast({.kind = Message::Kind::write,
                        .ballot = mine_,
                        .known = known_,
                        .proposed = {.ballot = mine_, .value = value}});
    mine_ = {};
  }

  void acknowledge(Turn<Majority>& turn, const Message& message) {
    if (rules_->naive) return settle(turn, {known_.version + 1, message.proposed.value});
    if (message.ballot < promised_ || !cause_.counts(self_, known_.value)) return;
    promised_ = message.ballot;
    acknowledged_ = message.proposed;
    turn.out.broadcast({.kind = Message::Kind::ack,
                        .ballot = message.ballot,
                        .known = known_,
                        .proposed = message.proposed});
  }

  void count_ack(Turn<Majority>& turn, NodeId from, const Message& message) {
    if (message.ballot < counted_ || !cause_.counts(from, known_.value)) return;
    if (message.ballot > counted_) acks_.clear();
    counted_ = message.ballot;
    acks_.insert(from);
    if (is_majority(acks_)) settle(turn, {known_.version + 1, message.proposed.value});
  }

  bool is_majority(const NodeSet& nodes) const {
    return 2 * nodes.size() > cause_.members(known_.value);
  }

  // Every message carries the sender's newest version, so that a member that was cut off catches
  // up.
  void learn(Turn<Majority>& turn, const Copy& copy) {
    if (copy.version > known_.version) settle(turn, copy);
  }

  // The next version begins without promises.
  void settle(Turn<Majority>& turn, const Copy& copy) {
    known_ = copy;
    promised_ = mine_ = counted_ = {};
    acknowledged_ = best_ = {};
    yes_.clear();
    acks_.clear();
    timers_.stop(Timer::tally);
    turn.out.notify({.kind = Notice::Kind::writes, .number = copy.version, .value = copy.value});
    if (!request_) return;
    if (cause_.fulfilled(copy.value, *request_, self_)) {
      request_.reset();
      timers_.stop(Timer::retry);
      turn.out.notify(
          {.kind = Notice::Kind::offer, .value = static_cast<std::uint64_t>(kNotCandidate)});
    } else {
      // By then all members know this version.
      timers_.set(Timer::retry, turn.now + rules_->bound);
    }
  }

  NodeId self_;
  const Rules* rules_;
  Cause cause_;
  std::uint32_t highest_ = 0;    // largest number of a ballot seen so far
  Copy known_;                   // newest version known to be written
  Ballot promised_{};            // for the next version: we follow no smaller ballot
  Acknowledged acknowledged_{};  // for the next version: a value that may already be written
  std::optional<std::uint64_t> request_;
  Nanos asked_{0};           // reading of our clock since which we wait for our turn
  Ballot mine_{};            // our ballot while we are elected and have not written yet
  Acknowledged best_{};      // newest acknowledged value in the votes for us
  NodeSet yes_;              // members that voted for us
  std::size_t answers_ = 0;  // naive: number of votes, yes or no
  Ballot counted_{};         // newest acknowledged ballot
  NodeSet acks_;             // members that acknowledged it
  Timers<Timer, Time> timers_;
};

}  // namespace tempo::apps
