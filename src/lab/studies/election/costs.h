// What an election costs in messages, counted as the paper counts: a broadcast once,
// acknowledgements too; a message sent again under its old number is a repeat and counted apart.
//
// The election under study is either the one that made the next master (Election, Accepts, Acks,
// Masterup, Slaveups: 3N-1 of them), or, when several candidates are made to stand together, all
// that their Elections caused, Masterup apart (4N-2 for two).
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

  // How many times an attempt of this number was made, and how often two or more stood in it at
  // once.
  struct Attempts {
    std::uint32_t made = 0;
    std::uint32_t collided = 0;
  };

  // What is sent from now on counts.
  void begin(Study study) {
    study_ = study;
    counting_ = true;
  }
  // The last Election of this node is one of those studied together.
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
    // A node numbers its messages as it makes them, so an old number is an old message.
    const bool again = message.sequence <= sender.last_sent;
    if (!again) sender.last_sent = message.sequence;
    if (!counting_) return;
    ++by_kind_[static_cast<std::size_t>(message.kind)];
    if (again)
      ++repeats_;
    else
      attribute(from, to, message);
  }

  // The message a node is handling explains the Acks it sends in that step.
  template <class World>
  void received(const World&, NodeId from, NodeId to, const Message& message, std::uint32_t,
                Instant) {
    handling_ = {.who = to, .from = from, .kind = message.kind, .answers = message.answers};
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
    const std::string_view word = what;
    if (word != "starts" && word != "crashes") return;
    PerNode& node = of(world, id);
    if (node.state == State::candidate) --standing_;
    node.state = State::startup;
    if (word == "starts") node.last_sent = kNoSequence;
  }

 private:
  struct PerNode {
    State state = State::startup;
    Sequence last_sent = kNoSequence;
    Sequence election = kNoSequence;  // its latest
    std::uint64_t caused = 0;         // by that one
    Sequence joint = kNoSequence;     // the one studied together with others
    std::uint64_t joint_caused = 0;
  };
  struct Handling {
    NodeId who = kNobody;
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
        // Of what this node is handling now: an answer to its own Election?
        if (handling_.who == from && handling_.from == to &&
            tempo::election::answer(handling_.kind))
          charge(from, handling_.answers);
        break;
      case Kind::masterup:
        // The sender is seen in Master only after this.
        if (winner_ != kNobody) break;
        crowned_ = from;
        ++of_winner_;
        break;
      case Kind::slaveup:
        // Once from each: an overlooked slave says it again.
        if (to == crowned_ && reported_.insert(from)) ++of_winner_;
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
  NodeId winner_ = kNobody;   // the first to become master in the study
  NodeId crowned_ = kNobody;  // sender of the Masterup studied
  NodeSet reported_;          // to it
  std::uint32_t standing_ = 0;
  std::vector<Attempts> attempts_;
  std::vector<PerNode> nodes_;
  Handling handling_;
};

}  // namespace tempo::sim::election
