// Members with disks that crash and restart, on a network that loses, delays and repeats messages.
#include "protocol/lock/bootstrap.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "machine/machine_harness.h"
#include "machine/write_queue.h"

namespace tempo::lock {
namespace {

NodeId node(std::uint32_t number) { return NodeId{number}; }

VoterSet voters_of(std::initializer_list<std::uint32_t> numbers) {
  VoterSet voters;
  for (const std::uint32_t number : numbers) voters.push_back(node(number));
  return voters;
}

class SingleMember : public MachineHarness<Bootstrap> {
 public:
  explicit SingleMember(const Bootstrap::Start& start) { make(start); }
};

// A cluster that advances one step at a time: a member receives a message, a disk write finishes,
// or time passes.
class BootstrapCluster {
 public:
  BootstrapCluster(std::uint32_t members, std::uint8_t expected, std::uint64_t seed)
      : expected_(expected), chance_(seed, 0, 0), sites_(members) {
    for (std::uint32_t i = 0; i < members; ++i) begin(i);
  }

  void set_loss(double loss) { loss_ = loss; }
  void cut_off(std::uint32_t member, bool off) { sites_[member].off = off; }
  void crash(std::uint32_t member) {
    Site& site = sites_[member];
    site.inbox.clear();
    if (!site.writing.empty() && chance_.chance(0.5)) site.disk = site.writing.oldest().record;
    site.writing = {};
    begin(member);
  }
  void nominate(std::uint32_t member, const VoterSet& voters) {
    order(member, Bootstrap::Nominate{voters});
  }
  void abandon(std::uint32_t member) { order(member, Bootstrap::Abandon{}); }
  // The lock service of a voter announces the voters every ten seconds.
  void announce() {
    for (std::uint32_t i = 0; i < sites_.size(); ++i) {
      Output<Bootstrap> output;
      output.kind = OutputKind::broadcast;
      output.message = of(i).word();
      if (of(i).committed()) carry_out(i, output);
    }
    settle();
  }
  // It restarts, and its record cannot be read.
  void lose_record(std::uint32_t member) {
    sites_[member].disk.reset();
    sites_[member].writing = {};
    sites_[member].lost = true;
    begin(member);
  }

  void pass(Nanos time) {
    const BootTime end = now_ + time;
    while (now_ < end) {
      now_ += 100ms;
      for (std::uint32_t i = 0; i < sites_.size(); ++i)
        if (sites_[i].machine->timers().first() <= now_)
          step(i, [](Bootstrap& machine, Turn<Bootstrap>& turn) {
            machine.on_timer(turn, TimerId{0});
          });
      settle();
    }
  }

  // Delivers messages and finishes writes in random order until none are left.
  void settle() {
    const auto idle = [](const Site& site) { return site.inbox.empty() && site.writing.empty(); };
    for (int i = 0; i < 10'000 && !std::ranges::all_of(sites_, idle); ++i) {
      const auto at = static_cast<std::uint32_t>(chance_.below(sites_.size()));
      Site& site = sites_[at];
      if (!site.writing.empty() && chance_.chance(0.5)) {
        finish_write(at);
      } else if (!site.inbox.empty()) {
        const auto pick = static_cast<std::ptrdiff_t>(chance_.below(site.inbox.size()));
        const Datagram datagram = site.inbox[static_cast<std::size_t>(pick)];
        if (!chance_.chance(0.1))
          site.inbox.erase(site.inbox.begin() + pick);  // otherwise it arrives twice
        if (site.off || sites_[index(datagram.from)].off || chance_.chance(loss_)) continue;
        step(at, [&](Bootstrap& machine, Turn<Bootstrap>& turn) {
          machine.receive(turn, datagram.from, datagram.proposal);
        });
      }
    }
  }

  const Bootstrap& of(std::uint32_t member) const { return *sites_[member].machine; }
  int splits() const { return splits_; }
  std::vector<VoterSet> committed() const { return committed_; }

 private:
  struct Datagram {
    NodeId from;
    Bootstrap::VoterProposal proposal;
  };
  struct Site {
    std::unique_ptr<Bootstrap> machine{};
    std::optional<Bootstrap::VoterProposal> disk{};
    bool lost = false;  // a record was written and cannot be read
    WriteQueue<Bootstrap> writing{};
    std::deque<Datagram> inbox{};
    bool off = false;
  };

  void begin(std::uint32_t member) {
    Site& site = sites_[member];
    site.machine = std::make_unique<Bootstrap>(Bootstrap::Start{.self = node(member),
                                                                .expected = expected_,
                                                                .saved = site.disk,
                                                                .aside = site.lost && !site.disk});
    step(member, [](Bootstrap& machine, Turn<Bootstrap>& turn) { machine.start(turn); });
  }

  void order(std::uint32_t member, const Bootstrap::Command& command) {
    step(member,
         [&](Bootstrap& machine, Turn<Bootstrap>& turn) { machine.command(turn, command); });
  }

  template <class Do>
  void step(std::uint32_t member, Do todo) {
    Outbox<Bootstrap> out;
    StreamDraw draw{chance_};
    Turn<Bootstrap> turn{now_, draw, out};
    todo(*sites_[member].machine, turn);
    ASSERT_EQ(sites_[member].machine->check(), nullptr);
    for (const auto& output : out)
      if (sites_[member].writing.pass(output)) carry_out(member, output);
  }

  void carry_out(std::uint32_t member, const Output<Bootstrap>& output) {
    if (output.kind == OutputKind::notice) {
      using Kind = Bootstrap::Notice::Kind;
      if (output.notice.kind == Kind::committed) committed_.push_back(output.notice.word.voters);
      if (output.notice.kind == Kind::split) ++splits_;
      return;
    }
    for (std::uint32_t i = 0; i < sites_.size(); ++i)
      if (i != member && (output.kind == OutputKind::broadcast || output.to == node(i)))
        sites_[i].inbox.push_back({node(member), output.message});
  }

  void finish_write(std::uint32_t member) {
    Site& site = sites_[member];
    const auto done = site.writing.finish(site.writing.oldest().number);
    site.disk = done->record;
    for (const auto& output : done->held) carry_out(member, output);
    step(member, [&](Bootstrap& machine, Turn<Bootstrap>& turn) {
      machine.command(turn, Bootstrap::persisted(*site.disk));
    });
  }

  std::uint8_t expected_;
  Stream chance_;
  std::vector<Site> sites_;
  BootTime now_{};
  double loss_ = 0;
  int splits_ = 0;
  std::vector<VoterSet> committed_;
};

// The voter set that member 3, ready for 2, 3, 5, writes to disk after this message; unset: none.
std::optional<VoterSet> moves_to(NodeId from, const VoterSet& voters, std::uint64_t number = 7) {
  SingleMember member(
      {.self = node(3),
       .expected = 3,
       .saved = Bootstrap::VoterProposal{Bootstrap::Stage::ready, voters_of({2, 3, 5}), 7}});
  member.receive(from, {Bootstrap::Stage::ready, voters, number});
  if (member.outputs().empty()) return std::nullopt;
  EXPECT_EQ(member.outputs().begin()->kind, OutputKind::persist);
  return member.outputs().begin()->record.voters;
}

TEST(Bootstrap, AReadyMemberMovesOnlyToASmallerListOfAFellow) {
  EXPECT_EQ(moves_to(node(2), voters_of({1, 2, 3})), voters_of({1, 2, 3}));
  EXPECT_EQ(moves_to(node(1), voters_of({1, 2, 3})), std::nullopt)
      << "its own list may still be committed";
  EXPECT_EQ(moves_to(node(5), voters_of({3, 4, 5})), std::nullopt) << "a larger list";
  EXPECT_EQ(moves_to(node(2), voters_of({1, 2, 4})), std::nullopt) << "a list without this member";
  EXPECT_EQ(moves_to(node(2), voters_of({2, 3, 5}), 6), voters_of({2, 3, 5}))
      << "the same voters with a smaller number";
  EXPECT_EQ(moves_to(node(2), voters_of({2, 3, 5}), 8), std::nullopt);
  EXPECT_EQ(moves_to(node(2), voters_of({1, 2, 3}), 0), std::nullopt) << "no number";
}

// Sixteen machines and eight voters: two halves that do not hear each other agree on two sets, but
// a machine that knows of all of them agrees on none.
TEST(Bootstrap, TooManyMembersBecomeReadyForNoList) {
  SingleMember member({.self = node(3), .expected = 2, .most = 3});
  member.start();
  const VoterSet voters = voters_of({1, 3});
  member.receive(node(1), {Bootstrap::Stage::proposed, voters, 9});
  member.receive(node(4), {Bootstrap::Stage::proposed, voters, 9});
  EXPECT_FALSE(member.machine().crowded());
  member.receive(node(5), {Bootstrap::Stage::proposed, voters, 9});
  EXPECT_TRUE(member.machine().crowded());
  member.receive(node(1), {Bootstrap::Stage::ready, voters, 9});
  EXPECT_EQ(member.machine().word().stage, Bootstrap::Stage::proposed);
  member.receive(node(1), {Bootstrap::Stage::committed, voters, 9});
  EXPECT_TRUE(member.machine().committed()) << "the others have agreed";
}

// An empty voter set would leave no member to ask.
TEST(Bootstrap, IgnoresEmptyVoterSets) {
  SingleMember member({.self = node(3), .expected = 2});
  member.start();
  for (const auto stage : {Bootstrap::Stage::ready, Bootstrap::Stage::committed})
    member.receive(node(1), {.stage = stage, .voters = {}});
  EXPECT_FALSE(member.machine().committed());
  EXPECT_EQ(member.machine().heard(), 0U);
}

// A host whose record was damaged counted as one that never voted: with a newcomer it agreed on
// other voters while the rest of the first ones was cut off (tempo-lab sim daemon, seed 24055).
TEST(Bootstrap, AMemberThatLostItsRecordAgreesOnNoOtherVoters) {
  BootstrapCluster cluster(3, 2, 1);
  cluster.pass(5s);
  ASSERT_EQ(cluster.of(1).word().voters, voters_of({0, 1}));
  cluster.cut_off(0, true);
  cluster.lose_record(1);
  cluster.crash(2);  // it has no vote and no record
  cluster.pass(30s);
  EXPECT_FALSE(cluster.of(1).committed() || cluster.of(2).committed());
  cluster.cut_off(0, false);
  cluster.pass(5s);
  EXPECT_EQ(cluster.splits(), 0);
  for (const VoterSet& voters : cluster.committed()) EXPECT_EQ(voters, voters_of({0, 1}));
  EXPECT_TRUE(cluster.of(1).committed() && cluster.of(2).committed());
}

// --- nominations ---

TEST(Bootstrap, WithoutAnExpectedNumberAnOperatorChoosesTheVoters) {
  BootstrapCluster cluster(6, 0, 1);
  cluster.pass(30s);
  for (std::uint32_t i = 0; i < 6; ++i) EXPECT_TRUE(cluster.of(i).idle());
  cluster.nominate(4, voters_of({1, 4, 5}));
  cluster.pass(3s);
  for (std::uint32_t i = 0; i < 6; ++i) {
    EXPECT_TRUE(cluster.of(i).committed()) << i;
    EXPECT_EQ(cluster.of(i).word().voters, voters_of({1, 4, 5}));
  }
  cluster.nominate(2, voters_of({0, 2, 3}));
  cluster.crash(1);
  cluster.pass(5s);
  EXPECT_EQ(cluster.of(2).word().voters, voters_of({1, 4, 5})) << "there is no second set";
  EXPECT_EQ(cluster.of(1).word().voters, voters_of({1, 4, 5})) << "its record says so";
  EXPECT_EQ(cluster.splits(), 0);
}

// The others that have heard the nominator hear each other too, and end all the same.
TEST(Bootstrap, ANominationEndsWithItsNominator) {
  BootstrapCluster cluster(5, 0, 1);
  cluster.cut_off(3, true);
  cluster.nominate(0, voters_of({0, 1, 2, 3}));
  cluster.pass(10s);
  EXPECT_EQ(cluster.of(1).word().voters, voters_of({0, 1, 2, 3}));
  cluster.abandon(0);
  cluster.pass(10s);
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_TRUE(cluster.of(i).idle()) << i;
  cluster.nominate(1, voters_of({1, 2, 4}));
  cluster.pass(5s);
  EXPECT_TRUE(cluster.of(0).committed());
}

// Two lists without a common member could both be committed.
TEST(Bootstrap, OfTwoNominationsTheSmallerListGoesFirst) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    BootstrapCluster cluster(6, 0, seed);
    cluster.pass(3s);
    cluster.nominate(3, voters_of({3, 4, 5}));
    cluster.nominate(0, voters_of({0, 1, 2}));
    cluster.pass(10s);
    for (std::uint32_t i = 0; i < 6; ++i) {
      EXPECT_TRUE(cluster.of(i).committed()) << "seed " << seed << ", member " << i;
      EXPECT_EQ(cluster.of(i).word().voters, cluster.of(0).word().voters) << "seed " << seed;
    }
  }
}

TEST(Bootstrap, OnlyOneOfTheVotersWithARecordNominates) {
  BootstrapCluster cluster(3, 0, 1);
  cluster.nominate(0, voters_of({1, 2}));
  EXPECT_TRUE(cluster.of(0).idle()) << "not among them";
  cluster.lose_record(0);
  cluster.nominate(0, voters_of({0, 1, 2}));
  cluster.pass(5s);
  EXPECT_TRUE(cluster.of(0).idle()) << "it may have been ready for others";
  cluster.nominate(1, voters_of({1}));
  cluster.pass(1s);
  EXPECT_TRUE(cluster.of(0).committed());
}

// Operators choose different majorities on several members, which crash and are cut off.
TEST(Bootstrap, NominationsNeverCommitTwoVoterSets) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Stream chance(seed, 2, 0);
    const auto members = static_cast<std::uint32_t>(3 + chance.below(3));
    BootstrapCluster cluster(members, 0, seed);
    cluster.set_loss(0.4);
    for (int i = 0; i < 12; ++i) {
      const auto member = static_cast<std::uint32_t>(chance.below(members));
      if (chance.chance(0.4)) cluster.crash(member);
      if (chance.chance(0.5)) cluster.cut_off(member, chance.chance(0.5));
      VoterSet voters;
      while (voters.size() < members / 2 + 1) {
        const NodeId voter =
            voters.empty() ? node(member) : node(static_cast<std::uint32_t>(chance.below(members)));
        if (!among(voters, voter)) voters.push_back(voter);
      }
      std::ranges::sort(voters);
      if (chance.chance(0.5)) cluster.nominate(member, voters);
      if (chance.chance(0.3)) cluster.abandon(static_cast<std::uint32_t>(chance.below(members)));
      cluster.pass(chance.chance(0.5) ? 300ms : 1s);
    }
    for (std::uint32_t i = 0; i < members; ++i) cluster.cut_off(i, false);
    cluster.set_loss(0);
    for (std::uint32_t i = 0; i < members; ++i) cluster.abandon(i);
    cluster.pass(10s);
    cluster.nominate(0, voters_of({0, 1}));
    cluster.pass(10s);
    cluster.announce();
    for (const VoterSet& voters : cluster.committed())
      EXPECT_EQ(voters, cluster.committed().front());
    for (std::uint32_t i = 0; i < members; ++i)
      EXPECT_TRUE(cluster.of(i).committed()) << "seed " << seed << ", member " << i;
    EXPECT_EQ(cluster.splits(), 0);
  }
}

// --- in the end ---

// Whatever is lost, repeated, reordered or crashes: no two members ever commit different voters,
// and in the end all members have committed. More than half are expected.
TEST(Bootstrap, NeverCommitsTwoVoterSets) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Stream chance(seed, 1, 0);
    const auto members = static_cast<std::uint32_t>(3 + chance.below(3));
    const auto expected = static_cast<std::uint8_t>(members / 2 + 1);
    BootstrapCluster cluster(members, expected, seed);
    cluster.set_loss(0.4);
    for (int i = 0; i < 12; ++i) {
      const auto member = static_cast<std::uint32_t>(chance.below(members));
      if (chance.chance(0.4)) cluster.crash(member);
      if (chance.chance(0.5)) cluster.cut_off(member, chance.chance(0.5));
      cluster.pass(chance.chance(0.5) ? 300ms : 1s);
    }
    for (std::uint32_t i = 0; i < members; ++i) cluster.cut_off(i, false);
    cluster.set_loss(0);
    cluster.pass(10s);
    for (const VoterSet& voters : cluster.committed())
      EXPECT_EQ(voters, cluster.committed().front());
    for (std::uint32_t i = 0; i < members; ++i)
      EXPECT_TRUE(cluster.of(i).committed()) << "seed " << seed << ", member " << i;
    EXPECT_EQ(cluster.splits(), 0);
  }
}

}  // namespace
}  // namespace tempo::lock
