// Exhaustive checks of TEMPO's election with a few nodes.
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lab/check/explore.h"
#include "lab/studies/election/election_model.h"
#include "lab/studies/election/replay.h"

namespace tempo::check {
namespace {

struct World {
  std::uint32_t nodes = 2;
  std::string_view variant = "corrected";
  Budget budget{};
  std::array<std::uint8_t, kMaxNodes> starts{0, 16, 32};
  std::uint8_t cut_until = 0;
  std::uint8_t side = 1;
  std::uint8_t delay_max = 2;
  Timing timing = Timing::bounded;
  Network network = Network::bag;
  std::uint32_t candidacies = 1;
  unsigned threads = 1;
  std::size_t memory = std::size_t{4} << 30;
};

class Checked {
 public:
  explicit Checked(const World& world)
      : model_{.rules = tiny_rules(*election::parse_variant(world.variant)),
               .candidacies = world.candidacies,
               .parted = world.cut_until != 0,
               .timed = world.timing == Timing::bounded},
        space_(model_, {.nodes = world.nodes,
                        .timing = world.timing,
                        .network = world.network,
                        .delay_max = world.delay_max,
                        .starts = world.starts,
                        .cut_until = world.cut_until,
                        .side = world.side,
                        .budget = world.budget}),
        finding_(Search<ElectionModel>(space_, {.memory = world.memory, .threads = world.threads})
                     .run()) {}

  const Finding& finding() const { return finding_; }
  // The violated property; its counterexample must replay to the same states.
  std::string broken() {
    if (!finding_.violation) return finding_.complete ? "nothing" : finding_.stopped;
    std::vector<Move> way = finding_.violation->prefix;
    way.insert(way.end(), finding_.violation->cycle.begin(), finding_.violation->cycle.end());
    script_ = replay_script(space_, way, finding_.violation->property);
    const Result<Replayed> replayed = replay(script_);
    EXPECT_TRUE(replayed.has_value()) << replayed.error() << "\n" << script_;
    return finding_.violation->property;
  }
  const std::string& script() const { return script_; }

 private:
  ElectionModel model_;
  Space<ElectionModel> space_;
  Finding finding_;
  std::string script_;
};

TEST(ElectionCheck, TinyProfileSatisfiesTheRelations) {
  EXPECT_TRUE(election::faults_of(tiny_rules({})).empty());
}

TEST(ElectionCheck, OneNodeBecomesMaster) { EXPECT_EQ(Checked({.nodes = 1}).broken(), "nothing"); }

TEST(ElectionCheck, TwoNodesSatisfyEveryProperty) {
  EXPECT_EQ(Checked({.budget = {.losses = 1, .crashes = 1}}).broken(), "nothing");
  EXPECT_EQ(Checked({.budget = {.losses = 1}, .starts = {0, 0}}).broken(), "nothing");
  EXPECT_EQ(Checked({.starts = {0, 0}, .cut_until = 20}).broken(), "nothing");
}

TEST(ElectionCheck, ThreeNodesSatisfyEveryProperty) {
  EXPECT_EQ(Checked({.nodes = 3}).broken(), "nothing");
}

TEST(ElectionCheck, EveryNetworkSatisfiesEveryProperty) {
  for (const Network network : {Network::fifo, Network::set, Network::ordered}) {
    EXPECT_EQ(Checked({.budget = {.losses = 1}, .network = network}).broken(), "nothing");
    EXPECT_EQ(Checked({.nodes = 3, .delay_max = 1, .network = network}).broken(), "nothing");
  }
}

constexpr std::size_t kLittleMemory = std::size_t{8} << 20;
constexpr const char* kNothingSoFar = "memory limit reached";

// Without bounds on time the number of Loops of a master is unbounded too.
TEST(ElectionCheck, FreeTimeIsExploredUpToTheMemoryLimit) {
  EXPECT_EQ(Checked({.nodes = 1, .starts = {}, .timing = Timing::free}).broken(), "nothing");
  EXPECT_EQ(Checked({.starts = {}, .timing = Timing::free, .memory = kLittleMemory}).broken(),
            kNothingSoFar);
}

// A pause may end in any of forty ticks.
TEST(ElectionCheck, PauseIsExploredUpToTheMemoryLimit) {
  EXPECT_EQ(Checked({.budget = {.pauses = 1}, .delay_max = 1, .memory = kLittleMemory}).broken(),
            kNothingSoFar);
}

TEST(ElectionCheck, RestartIsExploredCompletely) {
  EXPECT_EQ(Checked({.budget = {.crashes = 1, .restarts = 1}, .delay_max = 1}).broken(), "nothing");
}

// A message of the crashed master may still arrive after one of its next incarnation.
TEST(ElectionCheck, RestartIsExploredCompletelyWithEveryDelay) {
  if (std::getenv("TEMPO_SOAK") == nullptr) GTEST_SKIP() << "runs in make soak";
  EXPECT_EQ(Checked({.budget = {.crashes = 1, .restarts = 1}}).broken(), "nothing");
}

// Paper 000, 5.1, read literally: a duplicated Election is refused.
TEST(ElectionCheck, RefusedDuplicateEndsAnElection) {
  Checked checked({.nodes = 3,
                   .variant = "refuse-duplicate",
                   .budget = {.duplicates = 1, .crashes = 1},
                   .delay_max = 1});
  EXPECT_EQ(checked.broken(), "sole-candidate-wins");
  EXPECT_NE(checked.script().find("twice"), std::string::npos);
}

TEST(ElectionCheck, TwoThreadsFindTheSame) {
  World world{.nodes = 3,
              .variant = "refuse-duplicate",
              .budget = {.duplicates = 1, .crashes = 1},
              .delay_max = 1};
  Checked one(world);
  world.threads = 2;
  Checked two(world);
  EXPECT_EQ(one.broken(), two.broken());
  EXPECT_EQ(one.script(), two.script());
  Checked whole({.budget = {.losses = 1, .crashes = 1}, .threads = 2});
  EXPECT_EQ(whole.broken(), "nothing");
  EXPECT_EQ(whole.finding().states,
            Checked({.budget = {.losses = 1, .crashes = 1}}).finding().states);
}

// Paper 000, 5.3: two masters of a healed network need a newcomer to learn of each other.
TEST(ElectionCheck, WithoutLoopTwoMastersRemain) {
  Checked checked({.variant = "no-loop", .starts = {0, 0}, .cut_until = 20});
  EXPECT_EQ(checked.broken(), kComesGood);
  EXPECT_FALSE(checked.finding().violation->cycle.empty());
}

// Paper 000, 5.3, read literally: a master that learns of a rival sends it Quit, whatever the
// epochs are. Nodes 1 and 2 are masters in separate parts; node 3 has asked 1 and hears 2, so 1
// sends its Quit to 2 and receives a Quit itself.
TEST(ElectionCheck, ConflictEndsBothMastersIfTheEpochDoesNotDecide) {
  World world{.nodes = 3,
              .variant = "conflict-kills-both",
              .budget = {.losses = 1},
              .starts = {0, 1, 16},
              .cut_until = 19,
              .side = 0b101,
              .delay_max = 1};
  Checked checked(world);
  EXPECT_EQ(checked.broken(), "always-led");
  // Breadth first: no counterexample is shorter.
  EXPECT_EQ(checked.finding().violation->prefix.size(), 45U);
  EXPECT_NE(checked.script().find("conflict"), std::string::npos);
  world.variant = "corrected";
  EXPECT_EQ(Checked(world).broken(), "nothing");
}

// The simulator's sequence numbers grow beyond the numbers that the checker can represent.
TEST(Replay, ReplaysLongRuns) {
  const ElectionModel model{.rules = tiny_rules({})};
  Space<ElectionModel> space(model, {.nodes = 2, .starts = {0, 16}});
  std::optional<Space<ElectionModel>::State> here;
  std::vector<Move> way;
  space.begin([&](const auto& state, const std::vector<Move>& moves) {
    if (here) return;
    here = state;
    way = moves;
  });
  while (way.size() < 400) {
    std::optional<std::pair<Space<ElectionModel>::State, Move>> next;
    space.successors(*here, [&](const auto& state, const Move& move, const char*, bool) {
      if (!next) next.emplace(state, move);
    });
    here = next->first;
    way.push_back(next->second);
  }
  const Result<Replayed> replayed = replay(replay_script(space, way, "a long run"));
  ASSERT_TRUE(replayed.has_value()) << replayed.error();
  EXPECT_EQ(replayed->states, (std::vector<std::string>{"master of 2", "slave of 1"}));
}

TEST(Replay, RefusesImpossibleSteps) {
  const auto failure = [](std::string_view script) {
    const Result<Replayed> replayed = replay(script);
    return replayed ? std::string{"played"} : replayed.error();
  };
  EXPECT_EQ(failure(""), "the replay has no steps");
  EXPECT_EQ(failure("start 1\n"), "line 1: the script must begin with 'nodes N'");
  EXPECT_EQ(failure("nodes 9\n"), "line 1: 'nodes' must be a number from 1 to 8");
  EXPECT_EQ(failure("nodes 2\nstart 3\n"), "line 2: node numbers are 1 to 2");
  EXPECT_EQ(failure("nodes 1\nstart 1\n"), "line 2: the node makes other draws");
  EXPECT_EQ(failure("nodes 1\nstart 1 draws 0\nstart 1 draws 0\n"),
            "line 3: the node is already running");
  EXPECT_EQ(failure("nodes 1\nstart 1 draws 0 = master\n"),
            "line 2: node 1 is startup, not master");
  EXPECT_EQ(failure("nodes 1\nstart 1 draws 0\nwake 1 startup\n"), "line 3: the timer is not due");
  EXPECT_EQ(failure("nodes 2\nstart 1 draws 0\ndeliver 1->2 loop #1\n"),
            "line 3: no such message is in transit");
  EXPECT_EQ(failure("nodes 2\nstart 1 draws 0\ndeliver 1->2 masterreq #1\n"),
            "line 3: the node is not running");
  EXPECT_EQ(failure("nodes 1\nvariant none\n").substr(0, 6), "line 2");
  EXPECT_EQ(failure("nodes 1\ndance 1\n"), "line 2: the node is not running");
  EXPECT_EQ(failure("nodes 1\nstart 1 draws 0\ntick 7\nwake 1 startup = no_master\n"), "played");
}

}  // namespace
}  // namespace tempo::check
