// Cristian, Aghili, Strong, Dolev 1985: the properties of atomic broadcast, and their limits.
#include "lab/studies/group/broadcast/run.h"

#include <cstdlib>
#include <tuple>

#include <gtest/gtest.h>

namespace tempo::sim::broadcast {
namespace {

using tempo::broadcast::Faults;
using Case = Setup;  // `Setup` is a member of every test fixture

// The groups of the papers' tables: number of members, and how many of them may be faulty.
class AtomicBroadcast : public ::testing::TestWithParam<std::tuple<std::uint32_t, std::uint32_t>> {
 protected:
  Case setup(Fault fault, Faults faults = Faults::omission) const {
    const auto [members, faulty] = GetParam();
    return {.rules = {.members = members,
                      .delay = 1ms,
                      .precision = 100us,
                      .faulty = faulty,
                      .faults = faults,
                      .unit = 1us},
            .fault = fault};
  }
  bool some_faulty() const { return std::get<1>(GetParam()) > 0; }

  struct Sum {
    Outcome total;
    std::uint64_t unnoticed = 0;  // runs that violated a property without an alarm
    std::uint64_t broken() const {
      return total.lost + total.not_atomic + total.disordered + total.twice;
    }
  };
  static Sum many(Case setup, std::uint64_t runs) {
    if (std::getenv("TEMPO_SOAK") != nullptr) runs *= 50;
    Sum sum;
    for (std::uint64_t seed = 1; seed <= runs; ++seed) {
      setup.seed = seed;
      const Outcome one = run(setup);
      sum.total.broadcasts += one.broadcasts;
      sum.total.lost += one.lost;
      sum.total.not_atomic += one.not_atomic;
      sum.total.disordered += one.disordered;
      sum.total.twice += one.twice;
      sum.total.alarms += one.alarms;
      sum.total.transmissions += one.transmissions;
      const bool broke = one.lost + one.not_atomic + one.disordered + one.twice > 0;
      sum.unnoticed += broke && one.alarms == 0;
    }
    return sum;
  }
};

TEST_P(AtomicBroadcast, ToleratesRandomOmissionsAndCrashes) {
  const Sum sum = many(setup(Fault::random), 60);
  EXPECT_EQ(sum.broken(), 0U);
  EXPECT_GT(sum.total.broadcasts, 600U);
}

TEST_P(AtomicBroadcast, ToleratesTheWorstChainOfFaultyRelays) {
  const Sum sum = many(setup(Fault::chain), 20);
  EXPECT_EQ(sum.broken(), 0U);
  EXPECT_EQ(sum.total.alarms, 0U);
}

TEST_P(AtomicBroadcast, SignedToleratesRandomOmissions) {
  EXPECT_EQ(many(setup(Fault::random, Faults::malicious), 60).broken(), 0U);
}

TEST_P(AtomicBroadcast, SignedToleratesAMessageHeldBack) {
  EXPECT_EQ(many(setup(Fault::hold_back, Faults::malicious), 30).broken(), 0U);
}

TEST_P(AtomicBroadcast, WithoutTheTestOfEachHopAMessageHeldBackBreaksAgreement) {
  Case held = setup(Fault::hold_back, Faults::malicious);
  held.rules.tests_hop = false;
  EXPECT_EQ(many(held, 30).total.not_atomic > 0, some_faulty());
}

TEST_P(AtomicBroadcast, LatencyWithoutThePrecisionIsTooShort) {
  Case shorter = setup(Fault::chain);
  shorter.rules.short_by = shorter.rules.precision + shorter.rules.unit;
  EXPECT_GT(many(shorter, 20).total.not_atomic, 0U);
}

TEST_P(AtomicBroadcast, LatencyWithoutOneHopIsTooShort) {
  Case shorter = setup(Fault::chain);
  shorter.rules.short_by = shorter.rules.delay;
  EXPECT_GT(many(shorter, 20).total.not_atomic, 0U);
}

TEST_P(AtomicBroadcast, WithoutRelaysAFaultySenderReachesSomeOnly) {
  Case alone = setup(Fault::random);
  alone.rules.relays = false;
  EXPECT_EQ(many(alone, 60).total.not_atomic > 0, some_faulty());
}

TEST_P(AtomicBroadcast, SomeProcessNoticesLatenessThatViolatesAProperty) {
  for (const double late : {0.02, 0.2}) {
    Case slow = setup(Fault::random);
    slow.late = late;
    const Sum sum = many(slow, 60);
    EXPECT_EQ(sum.unnoticed, 0U);
    EXPECT_GT(sum.total.alarms, 0U);
  }
}

TEST_P(AtomicBroadcast, CostsOneMulticastOrAtMostOnePerMember) {
  const auto [members, faulty] = GetParam();
  Case no_faults = setup(Fault::chain);
  no_faults.rules.faulty = 0;
  const Sum alone = many(no_faults, 5);
  EXPECT_EQ(alone.total.transmissions, alone.total.broadcasts);
  const Sum relayed = many(setup(Fault::random), 20);
  EXPECT_LE(relayed.total.transmissions - relayed.total.alarms * 2,
            relayed.total.broadcasts * members);
}

INSTANTIATE_TEST_SUITE_P(Groups, AtomicBroadcast,
                         ::testing::Values(std::tuple(3, 0), std::tuple(3, 1), std::tuple(5, 1),
                                           std::tuple(5, 2), std::tuple(7, 3)),
                         [](const auto& group) {
                           return "N" + std::to_string(std::get<0>(group.param)) + "Faulty" +
                                  std::to_string(std::get<1>(group.param));
                         });

}  // namespace
}  // namespace tempo::sim::broadcast
