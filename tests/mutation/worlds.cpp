#include "worlds.h"

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lab/check/explore.h"
#include "lab/studies/election/election_model.h"
#include "lab/studies/election/replay.h"

namespace tempo::check {
namespace {

struct World {
  Freedom freedom;
  std::string_view variant = "corrected";
  std::uint8_t losses_borne = 0;
  std::vector<std::pair<NodeId, election::Command>> commands{};
};

std::string broken_in(const World& world) {
  const ElectionModel model{.rules = tiny_rules(*election::parse_variant(world.variant)),
                            .candidacies = 1,
                            .losses_borne = world.losses_borne,
                            .parted = world.freedom.cut_until != 0};
  Space<ElectionModel> space(model, world.freedom, world.commands);
  const Finding finding = Search<ElectionModel>(space, {}).run();
  if (!finding.violation) return finding.complete ? "nothing" : finding.stopped;
  // The counterexample must also violate the property in the simulator.
  std::vector<Move> trace = finding.violation->prefix;
  trace.insert(trace.end(), finding.violation->cycle.begin(), finding.violation->cycle.end());
  const std::string script = replay_script(space, trace, finding.violation->property);
  const Result<Replayed> replayed = replay(script);
  EXPECT_TRUE(replayed.has_value()) << replayed.error() << "\n" << script;
  return finding.violation->property;
}

}  // namespace

// The second node starts while the first is master.
std::string newcomer() { return broken_in({.freedom = {.nodes = 2, .starts = {0, 16}}}); }

// The same in a variant in which only the reply to its Masterreq reveals the master.
std::string newcomer_without_loop() {
  return broken_in({.freedom = {.nodes = 2, .starts = {0, 16}}, .variant = "no-loop"});
}

std::string joint_start() { return broken_in({.freedom = {.nodes = 2}}); }

// Masterreqs are repeated: two losses do not make both nodes masters.
std::string joint_start_with_two_losses() {
  return broken_in(
      {.freedom = {.nodes = 2, .delay_max = 1, .budget = {.losses = 2}}, .losses_borne = 2});
}

// Both parts have a master when the partition heals.
std::string two_masters_meet() {
  return broken_in({.freedom = {.nodes = 2, .cut_until = 20, .side = 1}});
}

// The third node starts when the partition heals, and both masters reply to it.
std::string newcomer_to_two_masters() {
  return broken_in(
      {.freedom = {.nodes = 3, .delay_max = 1, .starts = {0, 0, 20}, .cut_until = 20, .side = 1}});
}

// The master has the higher node number, so its successor's epoch is higher only by the round.
std::string master_crashes() {
  return broken_in({.freedom = {.nodes = 2, .starts = {16, 0}, .budget = {.crashes = 1}}});
}

// A slave is commanded to stand although its master is alive; there is no Loop to stop it.
std::string commanded_to_stand() {
  return broken_in({.freedom = {.nodes = 2, .starts = {0, 16}},
                    .variant = "no-loop",
                    .commands = {{NodeId{1}, election::Command::stand}}});
}

}  // namespace tempo::check
