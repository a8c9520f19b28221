// The field lists of the toy machines are complete.
#include "toys.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/field_mutator.h"

namespace tempo::toys {
namespace {

using ::testing::IsEmpty;

class LowestDraw final : public Draw {
 public:
  std::uint64_t below(std::uint64_t) override { return 0; }
};

// Runs steps of a machine and drops its outputs.
template <class M, class Do>
void step(M& machine, Do action) {
  LowestDraw draw;
  Outbox<M> outbox;
  Turn<M> turn{Instant{}, draw, outbox};
  action(machine, turn);
}

constexpr Lots<>::Options kLots{.lots = 4, .slot = 1s};
constexpr Tally<>::Options kTally{.nodes = 3, .post = {.interval = 1s, .sends = 2}};

// Only the options are not listed, because they never change.

TEST(Heartbeat, ListsItsState) {
  Heartbeat toy{kHeartbeat};
  step(toy, [](auto& machine, auto& turn) {
    machine.start(turn);
    machine.receive(turn, node_at(1), {});
  });
  EXPECT_THAT(unnoticed_writes(toy, Instant{}), IsEmpty());
}

TEST(Lots, ListsItsState) {
  Lots<> toy{node_at(0), kLots};
  step(toy, [](auto& machine, auto& turn) { machine.start(turn); });
  EXPECT_THAT(unnoticed_writes(toy, Instant{}), IsEmpty());
}

TEST(Tally, ListsItsState) {
  Tally<> toy{node_at(0), Incarnation{5}, kTally};
  step(toy, [](auto& machine, auto& turn) {
    machine.command(turn, {.add = 3});
    machine.receive(turn, node_at(1),
                    {.sequence = Sequence{1}, .incarnation = Incarnation{6}, .amount = 2});
  });
  EXPECT_EQ(toy.total(), 5U);
  EXPECT_THAT(unnoticed_writes(toy, Instant{}), IsEmpty());
}

TEST(Leadership, ListsTheStateOfItsParts) {
  Leadership<> toy{Heartbeat{kHeartbeat}, Lots<>{node_at(0), kLots}};
  step(toy, [](auto& machine, auto& turn) { machine.start(turn); });
  EXPECT_THAT(unnoticed_writes(toy, Instant{}), IsEmpty());
}

}  // namespace
}  // namespace tempo::toys
