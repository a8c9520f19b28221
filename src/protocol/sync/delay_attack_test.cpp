// An attacker on the path of two members delays one direction by 400 ms for 9 s. The offset then
// cannot be known better than to 200 ms, but the rates can: the master ran up to 500 ppm fast or
// slow afterwards, with a bound of 0, and the bound of its follower missed network time.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "protocol/sync/node_test_world.h"

namespace tempo::node {
namespace {

struct Attack {
  std::uint64_t seed = 1;
  Nanos start{0};  // after the first Masterup
  bool towards_master = false;
};

class DelayedDirection : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  static void attack(const Attack& attack) {
    NodeWorld network({.nodes = 2, .seed = attack.seed});
    auto& world = network.world();
    NodeId master = kNobody;
    Instant from = kNever;
    world.set_route([&](NodeId sender, NodeId /*to*/, Stream& delays) -> Nanos {
      const Nanos usual = delays.uniform(100us, 300us);
      const bool now = world.now() >= from && world.now() < from + 9s;
      return now && (sender != master) == attack.towards_master ? usual + 400ms : usual;
    });
    network.start_all();
    while (network.watch().first_masterup == kNever) network.run(10ms);
    network.run(attack.start);
    master = network.master();
    ASSERT_NE(master, kNobody);
    const auto rate = [&] { return world.machine(master).sync().steered_clock().rate(); };
    const double before = rate();
    from = world.now();
    for (int i = 0; i < 600; ++i) {
      network.run(100ms);
      ASSERT_EQ(network.master(), master);
      ASSERT_LT(std::abs(rate() - before), 30e-6) << "after " << i / 10 << " s";
      const WallTime truth = network.reading(index(master)).time;
      const Reading reading = network.reading(1 - index(master));
      ASSERT_LE(reading.earliest, truth) << "after " << i / 10 << " s";
      ASSERT_GE(reading.latest, truth) << "after " << i / 10 << " s";
    }
  }
};

TEST_P(DelayedDirection, NeitherPullsTheMasterNorBreaksABound) {
  for (const Nanos start : {Nanos{14s}, Nanos{20s}, Nanos{25s}, Nanos{30s}})
    for (const bool towards_master : {true, false}) {
      SCOPED_TRACE(::testing::Message() << start / 1s << " s, " << towards_master);
      attack({.seed = GetParam(), .start = start, .towards_master = towards_master});
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, DelayedDirection,
                         ::testing::Range(std::uint64_t{1}, std::uint64_t{11}));

}  // namespace
}  // namespace tempo::node
