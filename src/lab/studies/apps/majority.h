// A value in many copies that changes only by a majority, whatever the network does.
//
// Who wants to change it stands in an election; who has waited longest is elected. The election
// alone is no right to write: where the network is in parts each part elects somebody. So the
// elected proposes and needs the yes of a majority of the members, and its write counts when a
// majority has acknowledged it. A member that says yes to one promises to follow no smaller ballot,
// and tells what it has acknowledged already; the elected then finishes that before its own. Two
// majorities have a member in common: no version has two values, however messages are lost, late or
// cut off. (Versions are decided one by one, each as in Lamport's single-decree synod.)
//
// The `Cause` says what is special:
//     counts(node, value)          whether the node is a member while this is the value
//     members(value)               how many there are
//     proposal(value, wish, self)  the new value that the elected wants
//     fulfilled(value, wish, self) whether it has what it wanted
//     approves(node)               yes to that one
//     distrust(node)               not to that one
// Naive: a majority of those who answer is enough, and what the elected says is written at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/node_set.h"
#include "lab/studies/apps/duty.h"

namespace tempo::apps {

// The elected's try to write; a later one is larger than all it has heard of. Number 0 is nobody's.
struct Ballot {
  std::uint32_t number = 0;
  NodeId node = kNobody;

  auto operator<=>(const Ballot&) const = default;
  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("number", self.number);
    visit("node", self.node);
  }
};

// A value and where it comes from: the version it is, or the ballot it was acknowledged in.
struct Copy {
  std::uint32_t version = 0;
  std::uint64_t value = 0;

  bool operator==(const Copy&) const = default;
  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("version", self.version);
    visit("value", self.value);
  }
};
struct Acknowledged {
  Ballot ballot{};
  std::uint64_t value = 0;

  bool operator==(const Acknowledged&) const = default;
  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("ballot", self.ballot);
    visit("value", self.value);
  }
};

struct MajorityMessage {
  enum class Kind : std::uint8_t { propose, vote, write, ack };
  Kind kind = Kind::propose;
  bool yes = false;  // of a vote
  Ballot ballot{};
  Copy known{};  // what is written, as far as the sender knows; this is about the next
  // Of a yes: what was acknowledged before. Of a no: the ballot that was promised. Of write and
  // ack: the value, in this ballot.
  Acknowledged proposed{};

  bool operator==(const MajorityMessage&) const = default;
  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("kind", self.kind);
    visit("yes", self.yes);
    visit("ballot", self.ballot);
    visit("known", self.known);
    visit("proposed", self.proposed);
  }
};

inline std::string_view name_of(const MajorityMessage& word) {
  switch (word.kind) {
    case MajorityMessage::Kind::propose:
      return "propose";
    case MajorityMessage::Kind::vote:
      return word.yes ? "yes" : "no";
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
  using Command = apps::Command;
  using Notice = apps::Notice;
  enum class Timer : std::uint8_t {
    retry,  // our wish should have been fulfilled
    tally,  // naive: those who answer have answered
    count
  };

  // The rules are shared by many machines and must outlive them.
  Majority(NodeId self, const Rules& rules)
      : self_(self), rules_(&rules), cause_(rules), known_{.version = 0, .value = cause_.first()} {}

  void start(Turn<Majority>& /*turn*/) {}

  void receive(Turn<Majority>& turn, NodeId from, const Message& word) {
    learn(turn, word.known);
    highest_ = std::max({highest_, word.ballot.number, word.proposed.ballot.number});
    if (word.kind == Message::Kind::propose) return vote(turn, word);
    if (word.known.version != known_.version) return;
    switch (word.kind) {
      case Message::Kind::propose:
        break;
      case Message::Kind::vote:
        count_vote(turn, from, word);
        break;
      case Message::Kind::write:
        acknowledge(turn, word);
        break;
      case Message::Kind::ack:
        count_ack(turn, from, word);
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
        if (wish_) return turn.out.notify({.kind = Notice::Kind::refused});
        wish_ = static_cast<std::uint64_t>(command.value);
        asked_ = turn.now.time_since_epoch();
        turn.out.notify({.kind = Notice::Kind::accepted, .value = *wish_});
        stand(turn);
        break;
      case Command::Kind::distrust:
        cause_.distrust(command.node);
        break;
      case Command::Kind::elected:
        if (command.node == self_ && wish_) propose(turn);
        break;
      case Command::Kind::give_up:
        turn.out.notify({.kind = Notice::Kind::give_up});
        break;
      case Command::Kind::offer:
        break;
    }
  }

  const Timers<Timer>& timers() const { return timers_; }
  const char* check() const {
    if (wish_.has_value() != timers_.running(Timer::retry)) return "a wish that nobody follows up";
    if (promised_ < acknowledged_.ballot) return "acknowledged what it had promised not to";
    return nullptr;
  }

  const Copy& known() const { return known_; }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("self", self.self_);
    visit("cause", self.cause_);
    visit("highest", self.highest_);
    visit("known", self.known_);
    visit("promised", self.promised_);
    visit("acknowledged", self.acknowledged_);
    visit("wish", self.wish_);
    visit("asked", self.asked_);
    visit("mine", self.mine_);
    visit("best", self.best_);
    visit("yes", self.yes_);
    visit("answers", self.answers_);
    visit("counted", self.counted_);
    visit("acks", self.acks_);
    visit("timers", self.timers_);
  }

 private:
  // Long enough for an election, four broadcasts, and the silence of a member in doubt.
  Nanos patience() const { return 12 * rules_->bound; }

  void stand(Turn<Majority>& turn) {
    turn.out.notify(
        {.kind = Notice::Kind::offer, .value = static_cast<std::uint64_t>(since(asked_))});
    turn.out.notify({.kind = Notice::Kind::hold});
    timers_.set(Timer::retry, turn.now + patience());
  }

  void propose(Turn<Majority>& turn) {
    asked_ = turn.now.time_since_epoch();  // should we fail, others may be more welcome
    mine_ = {.number = ++highest_, .node = self_};
    best_ = {};
    yes_.clear();
    answers_ = 0;
    if (rules_->naive) timers_.set(Timer::tally, turn.now + 3 * rules_->bound);
    turn.out.broadcast({.kind = Message::Kind::propose, .ballot = mine_, .known = known_});
  }

  // A no tells the proposer what it does not know: a newer version, or a larger ballot.
  void vote(Turn<Majority>& turn, const Message& word) {
    if (!cause_.counts(self_, known_.value)) return;
    const bool yes = word.known.version == known_.version && word.ballot > promised_ &&
                     cause_.approves(word.ballot.node);
    Message vote{.kind = Message::Kind::vote,
                 .yes = yes,
                 .ballot = word.ballot,
                 .known = known_,
                 .proposed = acknowledged_};
    if (yes) {
      promised_ = word.ballot;
      turn.out.notify(
          {.kind = Notice::Kind::votes, .node = word.ballot.node, .number = known_.version + 1});
    } else {
      vote.proposed = {.ballot = promised_, .value = 0};
    }
    turn.out.broadcast(vote);
  }

  void count_vote(Turn<Majority>& turn, NodeId from, const Message& word) {
    if (mine_.number == 0 || word.ballot != mine_ || !cause_.counts(from, known_.value)) return;
    ++answers_;
    if (!word.yes) return;
    yes_.insert(from);
    if (word.proposed.ballot > best_.ballot) best_ = word.proposed;
    if (!rules_->naive && is_majority(yes_)) write(turn);
  }

  void write(Turn<Majority>& turn) {
    if (!wish_ || mine_.number == 0) return;
    const std::uint64_t value =
        best_.ballot.number > 0 ? best_.value : cause_.proposal(known_.value, *wish_, self_);
    turn.out.broadcast({.kind = Message::Kind::write,
                        .ballot = mine_,
                        .known = known_,
                        .proposed = {.ballot = mine_, .value = value}});
    mine_ = {};
  }

  void acknowledge(Turn<Majority>& turn, const Message& word) {
    if (rules_->naive) return settle(turn, {known_.version + 1, word.proposed.value});
    if (word.ballot < promised_ || !cause_.counts(self_, known_.value)) return;
    promised_ = word.ballot;
    acknowledged_ = word.proposed;
    turn.out.broadcast({.kind = Message::Kind::ack,
                        .ballot = word.ballot,
                        .known = known_,
                        .proposed = word.proposed});
  }

  void count_ack(Turn<Majority>& turn, NodeId from, const Message& word) {
    if (word.ballot < counted_ || !cause_.counts(from, known_.value)) return;
    if (word.ballot > counted_) acks_.clear();
    counted_ = word.ballot;
    acks_.insert(from);
    if (is_majority(acks_)) settle(turn, {known_.version + 1, word.proposed.value});
  }

  bool is_majority(const NodeSet& nodes) const {
    return 2 * nodes.size() > cause_.members(known_.value);
  }

  // Everybody says what it knows: who was cut off catches up.
  void learn(Turn<Majority>& turn, const Copy& copy) {
    if (copy.version > known_.version) settle(turn, copy);
  }

  // The next version begins with no promises.
  void settle(Turn<Majority>& turn, const Copy& copy) {
    known_ = copy;
    promised_ = mine_ = counted_ = {};
    acknowledged_ = best_ = {};
    yes_.clear();
    acks_.clear();
    timers_.stop(Timer::tally);
    turn.out.notify({.kind = Notice::Kind::writes, .number = copy.version, .value = copy.value});
    if (!wish_) return;
    if (cause_.fulfilled(copy.value, *wish_, self_)) {
      wish_.reset();
      timers_.stop(Timer::retry);
      turn.out.notify(
          {.kind = Notice::Kind::offer, .value = static_cast<std::uint64_t>(kNotCandidate)});
    } else {
      // When all have heard of this version.
      timers_.set(Timer::retry, turn.now + rules_->bound);
    }
  }

  NodeId self_;
  const Rules* rules_;
  Cause cause_;
  std::uint32_t highest_ = 0;    // number of a ballot that we have heard of
  Copy known_;                   // the newest version we know to be written
  Ballot promised_{};            // for the version after it: we follow no smaller ballot
  Acknowledged acknowledged_{};  // likewise: may have been written already
  std::optional<std::uint64_t> wish_;
  Nanos asked_{0};           // the reading of our clock since which we wait for our turn
  Ballot mine_{};            // we were elected and have not written yet
  Acknowledged best_{};      // of the votes for us: the newest that was acknowledged
  NodeSet yes_;              // who voted for us
  std::size_t answers_ = 0;  // naive: how many votes came, yes or no
  Ballot counted_{};         // the newest ballot that was acknowledged
  NodeSet acks_;             // by whom
  Timers<Timer> timers_;
};

}  // namespace tempo::apps
