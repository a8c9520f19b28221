// Members with disks, on a network that loses, delays and repeats, that crash and come back.
#include "protocol/lock/bootstrap.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace tempo::lock {
namespace {

NodeId node(std::uint32_t number) { return NodeId{number}; }

VoterSet roster_of(std::initializer_list<std::uint32_t> numbers) {
  VoterSet voters;
  for (const std::uint32_t number : numbers) voters.push_back(node(number));
  return voters;
}

// One step at a time: somebody hears the oldest word for him, or a disk is done, or time passes.
class Stage {
 public:
  Stage(std::uint32_t members, std::uint8_t expected, std::uint64_t seed)
      : expected_(expected), chance_(seed, 0, 0), sites_(members) {
    for (std::uint32_t i = 0; i < members; ++i) begin(i);
  }

  void set_loss(double loss) { loss_ = loss; }
  void cut_off(std::uint32_t member, bool off) { sites_[member].off = off; }
  void crash(std::uint32_t member) {
    Site& site = sites_[member];
    site.inbox.clear();
    site.writing.reset();
    begin(member);
  }

  void pass(Nanos time) {
    const Instant end = now_ + time;
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

  // Words and disks in any order, until there is nothing left.
  void settle() {
    const auto idle = [](const Site& site) { return site.inbox.empty() && !site.writing; };
    for (int i = 0; i < 10'000 && !std::ranges::all_of(sites_, idle); ++i) {
      const auto at = static_cast<std::uint32_t>(chance_.below(sites_.size()));
      Site& site = sites_[at];
      if (site.writing && chance_.chance(0.5)) {
        site.disk = *std::exchange(site.writing, std::nullopt);
        step(at, [&](Bootstrap& machine, Turn<Bootstrap>& turn) {
          machine.command(turn, {.written = *site.disk});
        });
      } else if (!site.inbox.empty()) {
        const auto pick = static_cast<std::ptrdiff_t>(chance_.below(site.inbox.size()));
        const Letter letter = site.inbox[static_cast<std::size_t>(pick)];
        if (!chance_.chance(0.1)) site.inbox.erase(site.inbox.begin() + pick);  // else twice
        if (site.off || sites_[index(letter.from)].off || chance_.chance(loss_)) continue;
        step(at, [&](Bootstrap& machine, Turn<Bootstrap>& turn) {
          machine.receive(turn, letter.from, letter.word);
        });
      }
    }
  }

  const Bootstrap& of(std::uint32_t member) const { return *sites_[member].machine; }
  int splits() const { return splits_; }
  std::vector<VoterSet> committed() const { return founded_; }

 private:
  struct Letter {
    NodeId from;
    Bootstrap::VoterProposal word;
  };
  struct Site {
    std::unique_ptr<Bootstrap> machine{};
    std::optional<Bootstrap::VoterProposal> disk{};
    std::optional<Bootstrap::VoterProposal> writing{};
    std::deque<Letter> inbox{};
    bool off = false;
  };

  void begin(std::uint32_t member) {
    Site& site = sites_[member];
    site.machine = std::make_unique<Bootstrap>(
        Bootstrap::Start{.self = node(member), .expected = expected_, .saved = site.disk});
    step(member, [](Bootstrap& machine, Turn<Bootstrap>& turn) { machine.start(turn); });
  }

  template <class Do>
  void step(std::uint32_t member, Do todo) {
    Outbox<Bootstrap> out;
    StreamDraw draw{chance_};
    Turn<Bootstrap> turn{now_, draw, out};
    todo(*sites_[member].machine, turn);
    ASSERT_EQ(sites_[member].machine->check(), nullptr);
    for (const auto& output : out) {
      if (output.kind == OutputKind::notice) {
        using Kind = Bootstrap::Notice::Kind;
        if (output.notice.kind == Kind::write) sites_[member].writing = output.notice.word;
        if (output.notice.kind == Kind::committed) founded_.push_back(output.notice.word.voters);
        if (output.notice.kind == Kind::split) ++splits_;
        continue;
      }
      for (std::uint32_t i = 0; i < sites_.size(); ++i)
        if (i != member && (output.kind == OutputKind::broadcast || output.to == node(i)))
          sites_[i].inbox.push_back({node(member), output.message});
    }
  }

  std::uint8_t expected_;
  Stream chance_;
  std::vector<Site> sites_;
  Instant now_{};
  double loss_ = 0;
  int splits_ = 0;
  std::vector<VoterSet> founded_;
};

TEST(Bootstrap, AllFindTheSameVoters) {
  Stage stage(3, 3, 1);
  stage.pass(5s);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(stage.of(i).committed());
    EXPECT_EQ(stage.of(i).word().voters, roster_of({0, 1, 2}));
  }
}

TEST(Bootstrap, WaitsForAll) {
  Stage stage(3, 3, 1);
  stage.cut_off(2, true);
  stage.pass(30s);
  EXPECT_TRUE(stage.committed().empty());
  stage.cut_off(2, false);
  stage.pass(5s);
  EXPECT_EQ(stage.committed().size(), 3);
}

TEST(Bootstrap, OfOneIsAtOnce) {
  Stage stage(1, 1, 1);
  stage.pass(1s);
  EXPECT_TRUE(stage.of(0).committed());
}

TEST(Bootstrap, OthersLearnWhoTheVotersAre) {
  Stage stage(5, 3, 7);
  stage.cut_off(0, true);
  stage.pass(5s);
  EXPECT_EQ(stage.of(1).word().voters, roster_of({1, 2, 3}));
  EXPECT_EQ(stage.of(4).word().voters, roster_of({1, 2, 3}));
  EXPECT_FALSE(stage.of(0).committed());
  stage.cut_off(0, false);  // the first of all comes too late
  stage.pass(5s);
  EXPECT_TRUE(stage.of(0).committed());
  EXPECT_EQ(stage.of(0).word().voters, roster_of({1, 2, 3}));
}

TEST(Bootstrap, IsRememberedAndSaidAgain) {
  Stage stage(3, 3, 1);
  stage.pass(5s);
  stage.crash(1);
  EXPECT_TRUE(stage.of(1).committed());
}

TEST(Bootstrap, OfTwoNetworksIsSeen) {
  Stage stage(4, 2, 1);
  stage.cut_off(0, true);
  stage.cut_off(1, true);
  stage.pass(5s);
  EXPECT_EQ(stage.of(2).word().voters, roster_of({2, 3}));
  // Two that never heard of the others found another set.
  Bootstrap other(
      {.self = node(0),
       .expected = 2,
       .saved = Bootstrap::VoterProposal{Bootstrap::Stage::committed, roster_of({0, 1})}});
  Outbox<Bootstrap> out;
  Stream chance(1, 0, 0);
  StreamDraw draw{chance};
  Turn<Bootstrap> turn{Instant{}, draw, out};
  other.receive(turn, node(2), stage.of(2).word());
  ASSERT_EQ(out.size(), 1);
  EXPECT_EQ(out.begin()->notice.kind, Bootstrap::Notice::Kind::split);
}

// The word that member 3, ready for 2, 3, 5, wants on disk after hearing this; nothing: it stays.
std::optional<VoterSet> moves_to(NodeId from, const VoterSet& voters) {
  Bootstrap machine(
      {.self = node(3),
       .expected = 3,
       .saved = Bootstrap::VoterProposal{Bootstrap::Stage::ready, roster_of({2, 3, 5})}});
  Outbox<Bootstrap> out;
  Stream chance(1, 0, 0);
  StreamDraw draw{chance};
  Turn<Bootstrap> turn{Instant{}, draw, out};
  machine.receive(turn, from, {Bootstrap::Stage::ready, voters});
  if (out.empty()) return std::nullopt;
  return out.begin()->notice.word.voters;
}

TEST(Bootstrap, WhoIsReadyLeavesOnlyForASmallerListThatAnotherOfItsOwnHasTaken) {
  EXPECT_EQ(moves_to(node(2), roster_of({1, 2, 3})), roster_of({1, 2, 3}));
  EXPECT_EQ(moves_to(node(1), roster_of({1, 2, 3})), std::nullopt)
      << "its own may still be founded";
  EXPECT_EQ(moves_to(node(5), roster_of({3, 4, 5})), std::nullopt) << "a larger one";
  EXPECT_EQ(moves_to(node(2), roster_of({1, 2, 4})), std::nullopt) << "it is not in it";
}

// Whatever is lost, repeated, disordered or crashes: nobody ever finds other voters than somebody
// else, and in the end everybody has found them. More than half are expected.
// Without voters there would be nobody to ask, for ever.
TEST(Bootstrap, ByNobodyIsNotBelieved) {
  Stream stream(1, 0, 0);
  StreamDraw draw(stream);
  Outbox<Bootstrap> out;
  Turn<Bootstrap> turn{Instant{1s}, draw, out};
  Bootstrap bootstrap({.self = node(3), .expected = 2});
  bootstrap.start(turn);
  for (const auto stage : {Bootstrap::Stage::ready, Bootstrap::Stage::committed})
    bootstrap.receive(turn, node(1), {.stage = stage, .voters = {}});
  EXPECT_FALSE(bootstrap.committed());
  EXPECT_EQ(bootstrap.check(), nullptr);
  EXPECT_EQ(bootstrap.heard(), 0U);
}

TEST(Bootstrap, NeverFindsTwoSets) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Stream chance(seed, 1, 0);
    const auto members = static_cast<std::uint32_t>(3 + chance.below(3));
    const auto expected = static_cast<std::uint8_t>(members / 2 + 1);
    Stage stage(members, expected, seed);
    stage.set_loss(0.4);
    for (int i = 0; i < 12; ++i) {
      const auto who = static_cast<std::uint32_t>(chance.below(members));
      if (chance.chance(0.4)) stage.crash(who);
      if (chance.chance(0.5)) stage.cut_off(who, chance.chance(0.5));
      stage.pass(chance.chance(0.5) ? 300ms : 1s);
    }
    for (std::uint32_t i = 0; i < members; ++i) stage.cut_off(i, false);
    stage.set_loss(0);
    stage.pass(10s);
    for (const VoterSet& voters : stage.committed()) EXPECT_EQ(voters, stage.committed().front());
    for (std::uint32_t i = 0; i < members; ++i)
      EXPECT_TRUE(stage.of(i).committed()) << "seed " << seed << ", member " << i;
    EXPECT_EQ(stage.splits(), 0);
  }
}

}  // namespace
}  // namespace tempo::lock
