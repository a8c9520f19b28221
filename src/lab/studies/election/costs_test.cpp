// The message counter, fed with elections counted by hand.
#include "lab/studies/election/costs.h"

#include <vector>

#include <gtest/gtest.h>

namespace tempo::sim::election {
namespace {

using tempo::election::Kind;
using tempo::election::Message;
using tempo::election::State;

constexpr NodeId kOne{0}, kTwo{1}, kThree{2};

struct MadeUpMachine {
  State state_now = State::slave;
  State state() const { return state_now; }
};

struct MadeUpWorld {
  std::vector<MadeUpMachine> machines;
  std::uint32_t size() const { return static_cast<std::uint32_t>(machines.size()); }
  const MadeUpMachine& machine(NodeId id) const { return machines[index(id)]; }
};

// Nodes that number their messages; a node that handles a message reports it.
class Network {
 public:
  explicit Network(std::uint32_t nodes, Costs::Study study = Costs::Study::winner)
      : world_{std::vector<MadeUpMachine>(nodes)}, numbers_(nodes) {
    costs.begin(study);
  }

  Message send(NodeId from, NodeId to, Kind kind, Sequence answers = kNoSequence) {
    const Message message{
        .kind = kind, .sequence = Sequence{++numbers_[index(from)]}, .answers = answers};
    costs.sent(world_, from, to, message, 0);
    return message;
  }
  void send_again(NodeId from, NodeId to, const Message& message) {
    costs.sent(world_, from, to, message, 0);
  }
  void receive(NodeId from, NodeId to, const Message& message) {
    costs.received(world_, from, to, message, 0, Instant{});
  }
  // Sends, receives and acknowledges an answer.
  Message answer(NodeId from, NodeId to, Kind kind, const Message& election) {
    const Message sent = send(from, to, kind, election.sequence);
    acknowledge(to, from, sent);
    return sent;
  }
  void acknowledge(NodeId from, NodeId to, const Message& message) {
    receive(to, from, message);
    send(from, to, Kind::ack, message.sequence);
  }
  void becomes(NodeId id, State state) {
    world_.machines[index(id)].state_now = state;
    costs.stepped(world_, id);
  }
  Message stand(NodeId id) {
    const Message election = send(id, kNobody, Kind::election);
    becomes(id, State::candidate);
    return election;
  }
  void win(NodeId id) {
    send(id, kNobody, Kind::masterup);
    becomes(id, State::master);
  }
  void disturb(NodeId id, const char* what) { costs.disturbed(world_, id, what); }

  Costs costs;

 private:
  MadeUpWorld world_;
  std::vector<std::uint32_t> numbers_;
};

// Election 1, Accepts 2, Acks 2, Masterup 1, Slaveups 2: with N = 3 survivors 3N - 1 = 8.
TEST(Costs, OfOneCandidate) {
  Network network(3);
  const Message election = network.stand(kOne);
  EXPECT_EQ(network.costs.election_messages(), 0U) << "no node has won yet";
  network.answer(kTwo, kOne, Kind::accept, election);
  network.answer(kThree, kOne, Kind::accept, election);
  network.win(kOne);
  EXPECT_EQ(network.costs.election_messages(), 6U);
  network.send(kTwo, kOne, Kind::slaveup);
  network.send(kThree, kOne, Kind::slaveup);
  EXPECT_EQ(network.costs.election_messages(), 8U);
}

TEST(Costs, CountsRepeatsApart) {
  Network network(3);
  const Message election = network.stand(kOne);
  network.send_again(kOne, kNobody, election);
  const Message accept = network.answer(kTwo, kOne, Kind::accept, election);
  network.send_again(kTwo, kOne, accept);
  network.win(kOne);
  network.send(kTwo, kOne, Kind::slaveup);
  network.send(kTwo, kOne, Kind::slaveup);  // an overlooked follower reports again
  EXPECT_EQ(network.costs.election_messages(), 5U);
  EXPECT_EQ(network.costs.repeats(), 2U);
  EXPECT_EQ(network.costs.by_kind()[static_cast<std::size_t>(Kind::election)], 2U);
  EXPECT_EQ(network.costs.by_kind()[static_cast<std::size_t>(Kind::accept)], 2U);
  EXPECT_EQ(network.costs.by_kind()[static_cast<std::size_t>(Kind::slaveup)], 2U);
}

TEST(Costs, ExcludesAcksOfOtherMessages) {
  Network network(3);
  const Message election = network.stand(kOne);
  network.answer(kTwo, kOne, Kind::accept, election);
  const Message correction = network.send(kThree, kTwo, Kind::adjtime);
  network.acknowledge(kTwo, kThree, correction);
  const Message old = network.send(kThree, kOne, Kind::accept, Sequence{99});
  network.acknowledge(kOne, kThree, old);  // answers another Election
  network.win(kOne);
  EXPECT_EQ(network.costs.election_messages(), 4U);
}

TEST(Costs, CountsOnlyTheElectionThatMadeTheMaster) {
  Network network(3);
  const Message lost = network.stand(kOne);
  network.answer(kTwo, kOne, Kind::refuse, lost);
  network.becomes(kOne, State::slave);
  const Message won = network.stand(kTwo);
  network.answer(kOne, kTwo, Kind::accept, won);
  network.win(kTwo);
  EXPECT_EQ(network.costs.election_messages(), 4U) << "Election, Accept, Ack, Masterup";
  // A later term does not count: the first one is studied.
  network.becomes(kTwo, State::slave);
  network.stand(kThree);
  network.win(kThree);
  EXPECT_EQ(network.costs.election_messages(), 4U);
}

// A late Accept still belongs to the Election it answers.
TEST(Costs, CountALateAccept) {
  Network network(3);
  const Message election = network.stand(kOne);
  network.win(kOne);
  EXPECT_EQ(network.costs.election_messages(), 2U);
  network.answer(kTwo, kOne, Kind::accept, election);
  EXPECT_EQ(network.costs.election_messages(), 4U);
}

// Two Elections, each with one Accept or Refuse of every other node and its Ack: for N = 3, 2 +
// 2(N-1) + 2(N-1) = 4N - 2 = 10. Masterup is not included.
TEST(Costs, OfTwoCandidatesTogether) {
  Network network(3, Costs::Study::joint_candidates);
  const Message first = network.stand(kOne);
  network.costs.study_candidate(kOne);
  const Message second = network.stand(kTwo);
  network.costs.study_candidate(kTwo);
  network.answer(kThree, kOne, Kind::accept, first);
  network.answer(kTwo, kOne, Kind::refuse, first);
  network.answer(kThree, kTwo, Kind::refuse, second);
  network.answer(kOne, kTwo, Kind::refuse, second);
  EXPECT_EQ(network.costs.election_messages(), 10U);
  // A later attempt is not included.
  network.becomes(kOne, State::slave);
  network.becomes(kTwo, State::slave);
  network.stand(kThree);
  network.win(kThree);
  EXPECT_EQ(network.costs.election_messages(), 10U);
}

TEST(Costs, CountNothingBeforeTheStudy) {
  MadeUpWorld world{std::vector<MadeUpMachine>(2)};
  Costs costs;
  const Message masterreq{.kind = Kind::masterreq, .sequence = Sequence{1}};
  costs.sent(world, kOne, kNobody, masterreq, 0);
  costs.begin(Costs::Study::winner);
  EXPECT_EQ(costs.by_kind()[static_cast<std::size_t>(Kind::masterreq)], 0U);
  costs.sent(world, kOne, kNobody, masterreq, 0);
  EXPECT_EQ(costs.repeats(), 1U) << "the first send was observed";
}

// --- collisions ---

TEST(Attempts, CollideWithASecondCandidate) {
  Network network(3);
  network.stand(kOne);
  network.stand(kTwo);
  network.becomes(kOne, State::slave);
  network.becomes(kTwo, State::slave);
  network.stand(kThree);
  ASSERT_EQ(network.costs.attempts().size(), 2U);
  EXPECT_EQ(network.costs.attempts()[0].collided, 1U);
  EXPECT_EQ(network.costs.attempts()[1].collided, 0U);
  EXPECT_TRUE(network.costs.collided());
}

TEST(Attempts, DoNotCollideOneAfterTheOther) {
  Network network(3);
  network.stand(kOne);
  network.becomes(kOne, State::slave);
  network.stand(kTwo);
  EXPECT_EQ(network.costs.attempts().size(), 2U);
  EXPECT_FALSE(network.costs.collided());
}

TEST(Attempts, IgnoreADeadCandidate) {
  Network network(3);
  network.stand(kOne);
  network.disturb(kOne, "crashes");
  network.stand(kTwo);
  EXPECT_EQ(network.costs.attempts().size(), 2U);
  EXPECT_FALSE(network.costs.collided());
}

// A restarted node counts from 1; its first message is not a repeat.
TEST(Attempts, OfARestartedNodeAreNoRepeats) {
  Network network(2);
  network.send(kOne, kNobody, Kind::masterreq);
  network.send(kOne, kNobody, Kind::loop);
  network.disturb(kOne, "crashes");
  network.disturb(kOne, "starts");
  network.send_again(kOne, kNobody, Message{.kind = Kind::masterreq, .sequence = Sequence{1}});
  EXPECT_EQ(network.costs.repeats(), 0U);
}

}  // namespace
}  // namespace tempo::sim::election
