// The toys in the explorer: right ones are explored to the end, wrong ones by the shortest way.
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

template <bool kKnowsCopies>
Explorer<Tally<kKnowsCopies>> two_tallies(std::uint32_t losses) {
  using Toy = Tally<kKnowsCopies>;
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

// Worked out with pencil and paper. Node 0 sends `add` at most twice and node 1 answers `added`; a
// state is where node 0 stands, whether `add` and `added` are under way (each at most once, since
// copies are one), and whether node 1 has added. Anything may be lost at any time.
//
//   before the command                                                              1
//   sent once      not yet added: `add` is under way or lost                        2
//                  added: `added` is under way or lost                              2
//   sent twice     not yet added: `add` is under way or lost                        2
//                  added: `add` and `added`, each under way or not                  4
//   acknowledged   (so added) `add`, `added` or neither is under way: an `added`
//                  has just arrived, so both would take two of them                 3
//   given up       as after the second send: 2 and 4                                6
//
TEST(TwoTallies, HaveTwentyStatesWhenAnythingMayBeLost) {
  auto explorer = two_tallies<true>(Explorer<Tally<>>::kAnyNumber);
  const auto finding = explorer.explore();
  EXPECT_TRUE(finding.complete) << finding.broken;
  EXPECT_EQ(finding.states, 20U);
}

// Without loss those in which something is gone before it arrived drop out: `add` lost (once for
// each standing: 3), `added` lost after the first send (1) and after the second (2, with and
// without `add`). After giving up `added` may still be gone, because it arrives and is not waited
// for.
TEST(TwoTallies, HaveFourteenStatesWhenNothingIsLost) {
  auto explorer = two_tallies<true>(0);
  const auto finding = explorer.explore();
  EXPECT_TRUE(finding.complete) << finding.broken;
  EXPECT_EQ(finding.states, 14U);
}

TEST(TwoTallies, ThatDoNotKnowCopiesAreFoundOut) {
  auto explorer = two_tallies<false>(0);
  const auto finding = explorer.explore();
  EXPECT_FALSE(finding.complete);
  EXPECT_EQ(finding.broken, "nothing is added twice");
  EXPECT_THAT(
      finding.path,
      ElementsAre("start", "command 0 {add=5}", "deliver 0->1 {kind=0 sequence=1 life=7 amount=5}",
                  "fire 0 timer 0", "deliver 0->1 {kind=0 sequence=1 life=7 amount=5}"));
}

// The state counts below are confirmed by second models of the toys, written in another language as
// plain tuples and searched depth first.

template <bool kBreaksTies>
Explorer<Lots<kBreaksTies>> drawers_of_lots(std::uint32_t nodes, std::uint32_t lots,
                                            std::uint32_t losses) {
  using Toy = Lots<kBreaksTies>;
  typename Explorer<Toy>::Options options{.machines = {}, .losses = losses};
  for (std::uint32_t i = 0; i < nodes; ++i)
    options.machines.push_back(Toy{NodeId{i}, {.lots = lots, .slot = 1s}});
  options.property = [](const auto& state) {
    const auto leaders = std::ranges::count_if(state.machines, &Toy::leads);
    const bool all_is_said = state.flights.empty() && state.losses == 0;
    return all_is_said && leaders > 1 ? "one leader when all is said" : nullptr;
  };
  return Explorer<Toy>{options};
}

TEST(TwoDrawersOfLots, AgreeOnOneLeader) {
  auto explorer = drawers_of_lots<true>(2, 3, 1);
  const auto finding = explorer.explore();
  EXPECT_TRUE(finding.complete) << finding.broken;
  EXPECT_EQ(finding.states, 225U);
}

TEST(ThreeDrawersOfLots, AgreeOnOneLeader) {
  auto explorer = drawers_of_lots<true>(3, 2, 0);
  const auto finding = explorer.explore();
  EXPECT_TRUE(finding.complete) << finding.broken;
  EXPECT_EQ(finding.states, 2096U);
}

TEST(TwoDrawersOfLots, ThatIgnoreTiesAreFoundOut) {
  auto explorer = drawers_of_lots<false>(2, 2, 0);
  const auto finding = explorer.explore();
  EXPECT_FALSE(finding.complete);
  EXPECT_EQ(finding.broken, "one leader when all is said");
  EXPECT_THAT(finding.path, ElementsAre("start draws 0 draws 0", "fire 0 timer 0", "fire 1 timer 0",
                                        "deliver 0->1 {lot=0}", "deliver 1->0 {lot=0}"));
}

TEST(TwoHeartbeats, AreExploredToTheEnd) {
  const Heartbeat toy{{.period = 1s, .patience = 2s}};
  Explorer<Heartbeat> explorer{{.machines = {toy, toy}}};
  const auto finding = explorer.explore();
  EXPECT_TRUE(finding.complete) << finding.broken;
  EXPECT_EQ(finding.states, 159U);
}

template <bool kClaimsAreHeard>
Explorer<Leadership<kClaimsAreHeard>> two_leaderships() {
  using Toy = Leadership<kClaimsAreHeard>;
  const Heartbeat heartbeat{{.period = 1s, .patience = 2s}};
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

TEST(TwoLeaderships, ThatDoNotHearClaimsAreFoundOut) {
  auto explorer = two_leaderships<false>();
  const auto finding = explorer.explore();
  EXPECT_FALSE(finding.complete);
  EXPECT_EQ(finding.broken, "a leader is trusted");
  EXPECT_THAT(finding.path, ElementsAre("start draws 0 draws 0", "fire 0 timer 2",
                                        "deliver 0->1 {part=1 body{lot=0}}"));
}

// Does not look at its deadline: it rings whenever it is woken.
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

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("timers", self.timers_);
  }

 private:
  Timers<Timer> timers_;
};

TEST(Explorer, FindsATimerThatDoesHarmWhenWokenEarly) {
  Explorer<Hasty> explorer{{.machines = {Hasty{}}}};
  EXPECT_EQ(explorer.explore().broken, "a timer woken early does no harm");
}

}  // namespace
}  // namespace tempo::toys
