// The toy machines in the explorer: it visits all states of the correct ones, and finds a shortest
// path to the defect of the others.
#include "explorer.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "toys.h"

namespace tempo::toys {
namespace {

using ::testing::ElementsAre;

template <bool kDetectsDuplicates>
Explorer<Tally<kDetectsDuplicates>> two_tallies(std::uint32_t losses) {
  using Toy = Tally<kDetectsDuplicates>;
  const typename Toy::Options options{.nodes = 2, .post = {.interval = 1s, .sends = 2}};
  return Explorer<Toy>{{.machines = {Toy{node_at(0), Incarnation{7}, options},
                                     Toy{node_at(1), Incarnation{8}, options}},
                        .commands = {{node_at(0), {.add = 5}}},
                        .losses = losses,
                        .property = [](const auto& state) {
                          return state.machines[1].total() <= state.machines[0].total()
                                     ? nullptr
                                     : "nothing is added twice";
                        }}};
}

// Computed by hand. Node 0 sends `add` at most twice and node 1 answers `added`. A state consists
// of the progress of node 0, the presence of `add` and `added` in flight (copies count as one), and
// whether node 1 has added. Any message may be lost at any time.
//
//   before the command                                                              1
//   sent once      not yet added: `add` is in flight or lost                        2
//                  added: `added` is in flight or lost                              2
//   sent twice     not yet added: `add` is in flight or lost                        2
//                  added: `add` and `added`, each in flight or not                  4
//   acknowledged   (so added) `add`, `added` or neither is in flight: an `added`
//                  has just arrived, so both would need two of them                 3
//   given up       as after the second send: 2 and 4                                6
//
TEST(TwoTallies, HaveTwentyStatesWithAnyLosses) {
  auto explorer = two_tallies<true>(Explorer<Tally<>>::kAnyNumber);
  const auto finding = explorer.explore();
  EXPECT_TRUE(finding.complete) << finding.broken;
  EXPECT_EQ(finding.states, 20U);
}

// Without losses the states with a lost message disappear: `add` lost (once for each progress of
// node 0: 3), `added` lost after the first send (1) and after the second (2, with and without
// `add`). After giving up, `added` may still be absent, because it may have arrived too late.
TEST(TwoTallies, HaveFourteenStatesWithoutLosses) {
  auto explorer = two_tallies<true>(0);
  const auto finding = explorer.explore();
  EXPECT_TRUE(finding.complete) << finding.broken;
  EXPECT_EQ(finding.states, 14U);
}

TEST(TwoTallies, FindMissingDuplicateDetection) {
  auto explorer = two_tallies<false>(0);
  const auto finding = explorer.explore();
  EXPECT_FALSE(finding.complete);
  EXPECT_EQ(finding.broken, "nothing is added twice");
  EXPECT_THAT(
      finding.path,
      ElementsAre("start", "command 0 {add=5}", "deliver 0->1 {kind=0 sequence=1 life=7 amount=5}",
                  "fire 0 timer 0", "deliver 0->1 {kind=0 sequence=1 life=7 amount=5}"));
}

// Second models of the toys, written in another language as plain tuples and searched depth first,
// confirm the state counts below.

template <bool kBreaksTies>
Explorer<Lots<kBreaksTies>> nodes_with_lots(std::uint32_t nodes, std::uint32_t lots,
                                            std::uint32_t losses) {
  using Toy = Lots<kBreaksTies>;
  typename Explorer<Toy>::Options options{.machines = {}, .losses = losses};
  for (std::uint32_t i = 0; i < nodes; ++i)
    options.machines.push_back(Toy{NodeId{i}, {.lots = lots, .slot = 1s}});
  options.property = [](const auto& state) {
    const auto leaders = std::ranges::count_if(state.machines, &Toy::leads);
    const bool all_delivered = state.flights.empty() && state.losses == 0;
    return all_delivered && leaders > 1 ? "one leader after all messages" : nullptr;
  };
  return Explorer<Toy>{options};
}

TEST(TwoLots, AgreeOnOneLeader) {
  auto explorer = nodes_with_lots<true>(2, 3, 1);
  const auto finding = explorer.explore();
  EXPECT_TRUE(finding.complete) << finding.broken;
  EXPECT_EQ(finding.states, 225U);
}

TEST(ThreeLots, AgreeOnOneLeader) {
  auto explorer = nodes_with_lots<true>(3, 2, 0);
  const auto finding = explorer.explore();
  EXPECT_TRUE(finding.complete) << finding.broken;
  EXPECT_EQ(finding.states, 2096U);
}

TEST(TwoLots, FindIgnoredTies) {
  auto explorer = nodes_with_lots<false>(2, 2, 0);
  const auto finding = explorer.explore();
  EXPECT_FALSE(finding.complete);
  EXPECT_EQ(finding.broken, "one leader after all messages");
  EXPECT_THAT(finding.path, ElementsAre("start draws 0 draws 0", "fire 0 timer 0", "fire 1 timer 0",
                                        "deliver 0->1 {lot=0}", "deliver 1->0 {lot=0}"));
}

TEST(TwoHeartbeats, AreExploredCompletely) {
  const Heartbeat toy{{.period = 1s, .timeout = 2s}};
  Explorer<Heartbeat> explorer{{.machines = {toy, toy}}};
  const auto finding = explorer.explore();
  EXPECT_TRUE(finding.complete) << finding.broken;
  EXPECT_EQ(finding.states, 159U);
}

template <bool kUsesClaims>
Explorer<Leadership<kUsesClaims>> two_leaderships() {
  using Toy = Leadership<kUsesClaims>;
  const Heartbeat heartbeat{{.period = 1s, .timeout = 2s}};
  typename Explorer<Toy>::Options options{.machines = {}};
  for (std::uint32_t i = 0; i < 2; ++i)
    options.machines.push_back(Toy{heartbeat, Lots<>{NodeId{i}, {.lots = 1, .slot = 1s}}});
  options.property = [](const auto& state) {
    const auto trusts_its_leader = [](const Toy& toy) {
      const Lots<>& lots = toy.template part<1>();
      return lots.leader() == kNobody || lots.leads() ||
             toy.template part<0>().trusts(lots.leader());
    };
    return std::ranges::all_of(state.machines, trusts_its_leader) ? nullptr : "a leader is trusted";
  };
  return Explorer<Toy>{options};
}

TEST(TwoLeaderships, TrustTheirLeader) {
  auto explorer = two_leaderships<true>();
  const auto finding = explorer.explore();
  EXPECT_TRUE(finding.complete) << finding.broken;
  EXPECT_EQ(finding.states, 8070U);
}

TEST(TwoLeaderships, FindIgnoredClaims) {
  auto explorer = two_leaderships<false>();
  const auto finding = explorer.explore();
  EXPECT_FALSE(finding.complete);
  EXPECT_EQ(finding.broken, "a leader is trusted");
  EXPECT_THAT(finding.path, ElementsAre("start draws 0 draws 0", "fire 0 timer 2",
                                        "deliver 0->1 {part=1 body{lot=0}}"));
}

// Does not check its deadline: it stops its timer at every on_timer.
class Hasty {
 public:
  using Message = Nothing;
  using Command = Nothing;
  using Notice = Nothing;
  enum class Timer : std::uint8_t { ring, count };

  void start(Turn<Hasty>& turn) { timers_.set(Timer::ring, turn.now + 1s); }
  void receive(Turn<Hasty>&, NodeId, const Message&) {}
  void on_timer(Turn<Hasty>&, TimerId) { timers_.stop(Timer::ring); }
  void command(Turn<Hasty>&, const Command&) {}
  const Timers<Timer>& timers() const { return timers_; }
  const char* check() const { return nullptr; }

  static constexpr auto fields(auto list) { return list(field<&Hasty::timers_>("timers")); }
  friend FieldCheck;

 private:
  Timers<Timer> timers_;
};

TEST(Explorer, FindsATimerThatIgnoresItsDeadline) {
  Explorer<Hasty> explorer{{.machines = {Hasty{}}}};
  EXPECT_EQ(explorer.explore().broken, "an early on_timer does no harm");
}

}  // namespace
}  // namespace tempo::toys
