#include "lab/sim/tracer.h"

#include <gtest/gtest.h>

#include "lab/sim/world_test_parrot.h"

namespace tempo::sim {
namespace {

TEST(Tracer, WritesWhatAWorldDoes) {
  Play<Tracer> play({.nodes = 2, .link = steady(1ms)}, Tracer(true));
  play.start_all();
  play.say(1, 0, 7);
  play.run(2ms);
  play.world.set_cuts(cuts(2, {{1, 2}}));
  play.say(1, 2, 8);
  EXPECT_EQ(text(play.watch.trace(), true),
            "0 1 starts\n0 2 starts\n0 1->* word\n1 1->2 word received\n2 network: cut\n2 1->2 "
            "word\n2 1->2 word lost\n");
}

}  // namespace
}  // namespace tempo::sim
