// The cost of an election in messages, counted as in the paper: a broadcast counts once, and
// acknowledgements count; a message sent is_repeat under its old number is a repeat, counted apart.
//
// The election under study is either the one that made the next master (Election, Accepts, Acks,
// Masterup, Slaveups: 3N-1 messages), or, with several simultaneous candidates, all messages that
// their Elections caused, without Masterup (4N-2 for two).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "lab/sim/world.h"
#include "protocol/election/master_types.h"

namespace tempo::sim::election {

class Costs : public NoWatch {
 public:
  using Kind = tempo::election::Kind;
  using Message = tempo::election::Message;
  using State = tempo::election::State;
  enum class Study : std::uint8_t { winner, joint_candidates };

  // Number of attempts, and how many of them had two or more candidates at once.
  struct Attempts {
    std::uint32_t made = 0;
    std::uint32_t collided = 0;
  };

  // Starts the count.
  void begin(Study study) {
    study_ = study;
    counting_ = true;
  }
  // Adds the last Election of this node to the jointly studied ones.
  void study_candidate(NodeId id) {
    PerNode& node = nodes_[index(id)];
    node.joint = node.election;
    node.joint_caused = node.caused;
  }

  std::uint64_t election_messages() const {
    if (study_ == Study::winner) return of_winner_;
    std::uint64_t sum = 0;
    for (const PerNode& node : nodes_) sum += node.joint_caused;
    return sum;
  }
  std::uint64_t repeats() const { return repeats_; }
  const std::array<std::uint64_t, tempo::election::kKinds>& by_kind() const { return by_kind_; }
  const std::vector<Attempts>& attempts() const { return attempts_; }
  bool collided() const {
    for (const Attempts& attempt : attempts_)
      if (attempt.collided != 0) return true;
    return false;
  }

  template <class World>
  void sent(const World& world, NodeId from, NodeId to, const Message& message,
            std::uint32_t /*number*/) {
    PerNode& sender = of(world, from);
    // A node numbers its messages in order, so a number that is not higher is a repeat.
    const bool is_repeat = message.sequence <= sender.last_sent;
    if (!is_repeat) sender.last_sent = message.sequence;
    if (!counting_) return;
    ++by_kind_[static_cast<std::size_t>(message.kind)];
    if (is_repeat)
      ++repeats_;
    else
      attribute(from, to, message);
  }

  // An Ack sent in a step belongs to the message that the node handles in it.
  template <class World>
  void received(const World&, NodeId from, NodeId to, const Message& message, std::uint32_t,
                Instant) {
    handling_ = {.node = to, .from = from, .kind = message.kind, .answers = message.answers};
  }

  template <class World>
  void stepped(const World& world, NodeId id) {
    PerNode& node = of(world, id);
    const State before = node.state;
    const State after = world.machine(id).state();
    node.state = after;
    if (before == after) return;
    if (before == State::candidate) --standing_;
    if (after == State::candidate) ++standing_;
    if (!counting_) return;
    if (after == State::candidate) {
      if (standing_ == 1)
        attempts_.push_back({.made = 1});
      else if (!attempts_.empty())
        attempts_.back().collided = 1;
    }
    if (after == State::master && before != State::conflict && winner_ == kNobody) {
      winner_ = id;
      of_winner_ += node.caused;
    }
  }
  template <class World>
  void disturbed(const World& world, NodeId id, const char* what) {
    if (id == kNobody) return;
    const std::string_view event = what;
    if (event != "starts" && event != "crashes") return;
    PerNode& node = of(world, id);
    if (node.state == State::candidate) --standing_;
    node.state = State::startup;
    if (event == "starts") node.last_sent = kNoSequence;
  }

 private:
  struct PerNode {
    State state = State::startup;
    Sequence last_sent = kNoSequence;
    Sequence election = kNoSequence;  // its latest Election
    std::uint64_t caused = 0;         // messages caused by that Election
    Sequence joint = kNoSequence;     // its Election among the jointly studied ones
    std::uint64_t joint_caused = 0;
  };
  struct Handling {
    NodeId node = kNobody;
    NodeId from = kNobody;
    Kind kind = Kind::ack;
    Sequence answers = kNoSequence;
  };

  template <class World>
  PerNode& of(const World& world, NodeId id) {
    if (nodes_.size() < world.size()) nodes_.resize(world.size());
    return nodes_[index(id)];
  }

  void attribute(NodeId from, NodeId to, const Message& message) {
    switch (message.kind) {
      case Kind::election:
        nodes_[index(from)].election = message.sequence;
        nodes_[index(from)].caused = 0;
        charge(from, message.sequence);
        break;
      case Kind::accept:
      case Kind::refuse:
      case Kind::quit:
        charge(to, message.answers);
        break;
      case Kind::ack:
        // The handled message may be an answer to the node's own Election.
        if (handling_.node == from && handling_.from == to &&
            tempo::election::answer(handling_.kind))
          charge(from, handling_.answers);
        break;
      case Kind::masterup:
        // The sender enters the state Master only after this message.
        if (winner_ != kNobody) break;
        announced_ = from;
        ++of_winner_;
        break;
      case Kind::slaveup:
        // Counts once per node: an overlooked follower repeats it.
        if (to == announced_ && reported_.insert(from)) ++of_winner_;
        break;
      default:
        break;
    }
  }

  void charge(NodeId candidate, Sequence election) {
    PerNode& node = nodes_[index(candidate)];
    if (election == kNoSequence) return;
    if (election == node.election) {
      ++node.caused;
      if (candidate == winner_) ++of_winner_;
    }
    if (election == node.joint) ++node.joint_caused;
  }

  bool counting_ = false;
  Study study_ = Study::winner;
  std::array<std::uint64_t, tempo::election::kKinds> by_kind_{};
  std::uint64_t of_winner_ = 0;
  std::uint64_t repeats_ = 0;
  NodeId winner_ = kNobody;     // the first node to become master in the study
  NodeId announced_ = kNobody;  // sender of the studied Masterup
  NodeSet reported_;            // nodes that sent it a Slaveup
  std::uint32_t standing_ = 0;
  std::vector<Attempts> attempts_;
  std::vector<PerNode> nodes_;
  Handling handling_;
};

}  // namespace tempo::sim::election
