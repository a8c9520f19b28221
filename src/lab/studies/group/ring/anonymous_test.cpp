// The anonymous ring as shipped: its properties, its exact error probability, and the printed rule.
#include "lab/studies/group/ring/anonymous.h"

#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "lab/analysis/anonymous_ring.h"
#include "lab/sim/world.h"

namespace tempo::sim::ring {
namespace {

using tempo::election::AnonymousRingElection;

std::uint64_t runs_of(std::uint64_t few) {
  return std::getenv("TEMPO_SOAK") != nullptr ? 100 * few : few;
}

TEST(AnonymousRing, ElectsASoleCandidateInItsPhase) {
  for (const double gamma : {0.1, 0.3, 0.55, 0.8, 1.0})
    for (std::uint64_t seed = 1; seed <= runs_of(100); ++seed) {
      const AnonymousOutcome outcome =
          run({.stations = 5, .stages = 3, .gamma = gamma, .seed = seed});
      EXPECT_EQ(outcome.broken, "") << "gamma " << gamma << " seed " << seed;
      const AnonymousOutcome sole =
          run({.stations = 5, .stages = 3, .gamma = gamma, .candidates = 1, .seed = seed});
      EXPECT_EQ(sole.broken, "");
      EXPECT_EQ(sole.phases, 1U);
      EXPECT_EQ(sole.leaders, 1U);
    }
}

TEST(AnonymousRing, HasTwoLeadersWithTheExactProbability) {
  const std::uint64_t runs = runs_of(1'000);
  for (const std::uint32_t candidates : {2U, 3U})
    for (const std::uint32_t stages : {1U, 2U, 3U, 5U}) {
      std::uint64_t all = 0;
      for (std::uint64_t seed = 1; seed <= runs; ++seed) {
        const AnonymousOutcome outcome = run({.stations = 2 * candidates,
                                              .stages = stages,
                                              .candidates = candidates,
                                              .steady_delay = true,
                                              .most_phases = 1,
                                              .seed = seed});
        EXPECT_TRUE(outcome.first_phase_leaders == 0 || outcome.first_phase_leaders == candidates);
        all += outcome.first_phase_leaders == candidates ? 1 : 0;
      }
      const double exact = analysis::all_elected(candidates, stages).nearest();
      const double observed = static_cast<double>(all) / static_cast<double>(runs);
      const double deviation = std::sqrt(exact * (1 - exact) / static_cast<double>(runs));
      EXPECT_LE(std::abs(observed - exact), 4 * deviation)
          << candidates << " candidates, " << stages << " stages: " << observed << " for " << exact;
    }
}

TEST(AnonymousRing, TakesFewerThanEPhasesAndFewMessages) {
  const std::uint32_t n = 6;
  const std::uint32_t k = 8;
  const std::uint64_t runs = runs_of(600);
  double phases = 0;
  double messages = 0;
  double time = 0;
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    const AnonymousOutcome outcome = run({.stations = n, .stages = k, .gamma = 0.5, .seed = seed});
    EXPECT_EQ(outcome.broken, "") << seed;
    phases += outcome.phases;
    messages += static_cast<double>(outcome.messages);
    time += static_cast<double>(outcome.time.count());
  }
  const auto all = static_cast<double>(runs);
  // The number of phases is geometric: the deviation of the mean is below e / sqrt(runs).
  EXPECT_NEAR(phases / all, analysis::mean_phases(n).nearest(), 4 * 2.2 / std::sqrt(all));
  EXPECT_LT(messages / all, std::exp(1.0) * n * (k + 3));
  const Nanos bound = phase_bound(rules_of({.stations = n, .stages = k, .gamma = 0.5}));
  EXPECT_LT(time / all, std::exp(1.0) * static_cast<double>(bound.count()));
}

TEST(AnonymousRing, MasksLossDuplicatesAndReordering) {
  for (std::uint64_t seed = 1; seed <= runs_of(60); ++seed)
    EXPECT_EQ(
        run({.stations = 5, .stages = 3, .gamma = 0.5, .loss = 0.1, .duplicate = 0.1, .seed = seed})
            .broken,
        "")
        << seed;
}

TEST(AnonymousRing, ContinuesWithoutACrashedStation) {
  for (std::uint64_t seed = 1; seed <= runs_of(60); ++seed) {
    const AnonymousOutcome outcome = run({.stations = 5, .stages = 20, .crashes = 1, .seed = seed});
    EXPECT_TRUE(outcome.settled) << seed;
    EXPECT_EQ(outcome.broken, "") << seed;
  }
}

// Rule 3.2 as printed: a forwarded next-timer message finds the next station already in the next
// phase and calls it out again. The election never ends.
TEST(AnonymousRing, PrintedNextTimerNeverEnds) {
  int stuck = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    AnonymousSetup setup{
        .stations = 4, .stages = 3, .printed_next_timer = true, .most_phases = 300, .seed = seed};
    const AnonymousOutcome printed = run(setup);
    // If the first phase has a sole candidate, no next-timer message is sent and the election ends.
    EXPECT_TRUE(printed.settled ? printed.phases == 1 : printed.phases >= 300U) << seed;
    stuck += printed.settled ? 0 : 1;
    setup.printed_next_timer = false;
    EXPECT_TRUE(run(setup).settled);
  }
  EXPECT_GT(stuck, 15);
}

// The faster of two candidates is noticed less often and wins more often.
TEST(AnonymousRing, FavoursTheFasterCandidate) {
  std::uint64_t fast = 0;
  std::uint64_t slow = 0;
  for (std::uint64_t seed = 1; seed <= runs_of(400); ++seed) {
    const AnonymousOutcome outcome = run({.stations = 4,
                                          .stages = 2,
                                          .gamma = 0.9,
                                          .candidates = 2,
                                          .first_is_fast = true,
                                          .most_phases = 1,
                                          .seed = seed});
    for (const NodeId leader : outcome.elected) ++(leader == NodeId{0} ? fast : slow);
  }
  EXPECT_GT(fast, 3 * slow);
}

// --- Lemma 3 ---

// Coins that depend on the time only: candidates in step toss the same coins.
class ClockCoins final : public Draw {
 public:
  explicit ClockCoins(std::function<Instant()> now) : now_(std::move(now)) {}
  std::uint64_t below(std::uint64_t limit) override {
    const auto time = static_cast<std::uint64_t>(now_().time_since_epoch().count());
    return (time * 0x9e3779b97f4a7c15U >> 32) % limit;
  }

 private:
  std::function<Instant()> now_;
};
class Constant final : public Draw {
 public:
  explicit Constant(std::uint64_t value) : value_(value) {}
  std::uint64_t below(std::uint64_t /*limit*/) override { return value_; }

 private:
  std::uint64_t value_;
};

// Records everything that station 0 can observe.
class ObservationLog : public NoWatch {
 public:
  template <class World, class Message>
  void received(const World& world, NodeId, NodeId to, const Message& message, std::uint32_t,
                Instant) {
    if (to == NodeId{0}) lines.push_back(fmt::format("{} {}", at(world), name_of(message)));
  }
  template <class World>
  void stepped(const World& world, NodeId id) {
    if (id == NodeId{0})
      lines.push_back(fmt::format("{} {} {}", at(world), name_of(world.machine(id).state()),
                                  world.machine(id).claims()));
  }
  std::vector<std::string> lines;

 private:
  template <class World>
  static std::int64_t at(const World& world) {
    return world.local_now(NodeId{0}).time_since_epoch().count();
  }
};

struct Observed {
  std::vector<std::string> observations;
  std::uint32_t leaders = 0;
};

// Six stations, one or two of which drew 1, with message delays as the case requires.
Observed ring_of_six(bool two, std::uint32_t stages) {
  const tempo::election::anonymous::Rules rules{.link = {.stations = 6},
                                                .stages = stages,
                                                .step_min = 100us,
                                                .step_max = 100us,
                                                .delay_max = 1ms};
  ObservationLog observations;
  World<AnonymousRingElection, ObservationLog> world(
      {.nodes = 6, .link = {.delay = Delay::constant(500us), .in_order = true}},
      [&](NodeId id, Incarnation incarnation) {
        return AnonymousRingElection{id, incarnation, rules};
      },
      observations);
  // One candidate's message goes round in the time of half a round with two candidates.
  world.set_delivery(
      [&](NodeId, NodeId, const tempo::election::ring::Message& message) -> DeliveryDecision {
        const bool slow = two || message.kind == tempo::election::ring::Kind::wake_up;
        return {.extra = slow ? 500us : 0us};
      });
  ClockCoins coins([&] { return world.now(); });
  for (std::uint32_t i = 0; i < 6; ++i) world.start(NodeId{i});
  for (std::uint32_t i = 0; i < 6; ++i) {
    Constant first_draw(i == 0 || (two && i == 3) ? 0 : 1);
    world.draw_from(&first_draw);
    world.command(NodeId{i}, tempo::election::anonymous::Command::wake);
  }
  world.draw_from(&coins);
  world.run_until(Instant{10s});
  Observed observed{.observations = observations.lines};
  for (std::uint32_t i = 0; i < 6; ++i)
    observed.leaders +=
        world.machine(NodeId{i}).state() == tempo::election::anonymous::State::elected ? 1U : 0U;
  return observed;
}

TEST(AnonymousRing, CannotDistinguishOneMinimumFromTwo) {
  for (const std::uint32_t stages : {1U, 4U, 30U}) {
    const Observed one = ring_of_six(false, stages);
    const Observed two = ring_of_six(true, stages);
    EXPECT_EQ(one.leaders, 1U);
    EXPECT_EQ(two.leaders, 2U);
    EXPECT_GT(one.observations.size(), std::size_t{stages} + 5);
    EXPECT_EQ(one.observations, two.observations);
  }
}

}  // namespace
}  // namespace tempo::sim::ring
