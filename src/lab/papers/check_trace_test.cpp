// Counterexamples of the checker as traces: the trace agrees with the moves.
#include "lab/papers/check_trace.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lab/studies/lock/lock_model.h"

namespace tempo::papers {
namespace {

using check::LockModel;
using check::LockWorld;

struct Labels {
  static std::string message(const lock::mutex::Message& message) {
    return std::string(name_of(message));
  }
  static std::string state(const sim::lock::Site& site) {
    return std::string(name_of(site.lock().phase()));
  }
};

struct Way {
  check::Finding finding;
  DrawnWay drawn;
};

Way way_in(const LockWorld& world) {
  const LockModel model{.rules = rules_of(world)};
  check::Space<LockModel> space(model, freedom_of(world), commands_of(world));
  Way way{.finding = check::Search<LockModel>(space, {}).run(), .drawn = {}};
  EXPECT_TRUE(way.finding.violation);
  if (way.finding.violation) way.drawn = drawn_way(space, *way.finding.violation, Labels{});
  return way;
}

std::size_t count(const sim::Trace& trace, sim::What what) {
  std::size_t found = 0;
  for (const sim::Happening& it : trace.happenings()) found += it.what == what ? 1U : 0U;
  return found;
}

TEST(DrawnWay, ReceivesWhatWasSentAndEndsWithTwoInside) {
  const Way way = way_in({.sites = 2, .hold = 2, .variant = lock::mutex::Variant::as_printed});
  const sim::Trace& trace = way.drawn.trace;
  std::map<std::uint32_t, sim::Happening> sent;
  std::map<std::uint32_t, std::string> states;
  Instant last{};
  for (const sim::Happening& it : trace.happenings()) {
    EXPECT_GE(it.at, last);
    last = it.at;
    if (it.what == sim::What::sent) sent.emplace(it.number, it);
    if (it.what == sim::What::becomes) states[index(it.node)] = it.label;
    if (it.what != sim::What::received) continue;
    ASSERT_TRUE(sent.contains(it.number));
    const sim::Happening& origin = sent.at(it.number);
    EXPECT_EQ(origin.node, it.node);
    EXPECT_EQ(origin.label, it.label);
    EXPECT_EQ(origin.at, it.sent);
    EXPECT_GT(it.at, it.sent);
  }
  EXPECT_EQ(states[0], states[1]);
  std::size_t delivered = 0;
  for (const check::Move& move : way.finding.violation->prefix)
    delivered += move.what == check::Happening::deliver ? 1U : 0U;
  EXPECT_EQ(count(trace, sim::What::received), delivered);
  EXPECT_GT(delivered, 0U);
}

TEST(DrawnWay, IsReplayedBySeparateMachines) {
  EXPECT_TRUE(
      way_in({.sites = 2, .hold = 2, .variant = lock::mutex::Variant::as_printed}).drawn.replayed);
}

// The replay must agree with every step of the checker: one changed message, and it does not.
TEST(DrawnWay, DetectsADifferenceFromTheChecker) {
  const LockWorld world{.sites = 2, .hold = 2, .variant = lock::mutex::Variant::as_printed};
  const LockModel model{.rules = rules_of(world)};
  check::Space<LockModel> space(model, freedom_of(world), commands_of(world));
  const check::Finding finding = check::Search<LockModel>(space, {}).run();
  ASSERT_TRUE(finding.violation);
  const std::vector<check::Move>& prefix = finding.violation->prefix;
  std::size_t changed = 0;
  for (std::size_t i = 0; i < prefix.size(); ++i) {
    if (!is_step(prefix[i].what)) continue;
    const auto word_of = [&](std::uint32_t outcome) {
      return Labels::state(space.parts().machine(space.parts().outcome(outcome).local));
    };
    const auto other = std::ranges::find_if(prefix, [&](const check::Move& it) {
      return is_step(it.what) && it.node == prefix[i].node &&
             word_of(it.outcome) != word_of(prefix[i].outcome);
    });
    if (other == prefix.end()) continue;
    check::Violation forged = *finding.violation;
    forged.prefix.resize(i + 1);
    forged.prefix[i].outcome = other->outcome;
    EXPECT_FALSE(drawn_way(space, forged, Labels{}).replayed) << i;
    ++changed;
  }
  EXPECT_GT(changed, 4U);
}

TEST(DrawnWay, ShowsLossesAndCrashes) {
  const Way lossy = way_in({.sites = 2, .hold = 2, .budget = {.losses = 1}});
  EXPECT_EQ(count(lossy.drawn.trace, sim::What::lost), 1U);
  EXPECT_TRUE(lossy.drawn.replayed);
  const Way crashed = way_in({.sites = 2,
                              .entries = 2,
                              .budget = {.crashes = 1, .restarts = 1},
                              .variant = lock::mutex::Variant::modulo});
  EXPECT_TRUE(crashed.drawn.replayed);
  std::size_t crashes = 0;
  std::size_t starts = 0;
  for (const sim::Happening& it : crashed.drawn.trace.happenings()) {
    if (it.what != sim::What::disturbed) continue;
    crashes += it.label == "crashes" ? 1U : 0U;
    starts += it.label == "starts" ? 1U : 0U;
  }
  EXPECT_EQ(crashes, 1U);
  EXPECT_EQ(starts, 3U);  // two at the beginning, one after the crash
}

}  // namespace
}  // namespace tempo::papers
