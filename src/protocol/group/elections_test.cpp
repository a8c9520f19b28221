// One host's elections by capacity: which algorithm they use, and how they follow network time. The
// tests in src/lab/studies/group cover the algorithms and groups under every fault.
#include "protocol/group/elections.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "machine/machine_harness.h"

namespace tempo::groups {
namespace {

const ElectionBounds kBounds{2s};

// The only candidate of its group.
class ElectionsHarness : public MachineHarness<Elections> {
 public:
  ElectionsHarness() : MachineHarness(BootTime{1000s}) {
    make(NodeId{5}, Incarnation{1}, kBounds);
    command(OfferCapacity{10});
  }

  void command(const Elections::Command& command) {
    MachineHarness::command(clock);
    MachineHarness::command(command);
  }
  void wake() {
    sleep(deadline() - now());
    MachineHarness::command(clock);
    on_timer(machine().timers().first_name());
  }
  // Wakes the machine until the election ends, at most 20 times.
  void finish() {
    for (int i = 0; i < 20 && !elected; ++i) wake();
  }
  BootTime deadline() const { return machine().timers().first(); }

  NetworkClock clock{.offset = 5000s, .trusted = true};
  std::optional<Algorithm> held;
  std::optional<Elected> elected;

 private:
  std::string text_of(const Output<Elections>& output) override {
    if (output.kind != OutputKind::notice) return "";
    if (const auto* holds = std::get_if<Holds>(&output.notice)) held = holds->algorithm;
    if (const auto* result = std::get_if<Elected>(&output.notice)) elected = *result;
    return "";
  }
};

TEST(Elections, ElectTheOnlyCandidate) {
  for (const Algorithm algorithm : {Algorithm::a, Algorithm::b1, Algorithm::c}) {
    ElectionsHarness harness;
    harness.command(Elections::Hold{algorithm});
    EXPECT_EQ(harness.held, algorithm);
    harness.finish();
    ASSERT_TRUE(harness.elected) << name_of(algorithm);
    EXPECT_EQ(harness.elected->node, NodeId{5});
    EXPECT_EQ(harness.elected->algorithm, algorithm);
  }
}

TEST(Elections, UseCWithoutTrustedTime) {
  for (const Algorithm algorithm : {Algorithm::a, Algorithm::b1}) {
    ElectionsHarness harness;
    harness.clock.trusted = false;
    harness.command(Elections::Hold{algorithm});
    EXPECT_EQ(harness.held, Algorithm::c);
    harness.finish();
    ASSERT_TRUE(harness.elected);
    EXPECT_EQ(harness.elected->algorithm, Algorithm::c);
  }
}

// Network time runs behind after the deadline was shown: the machine is woken early, does nothing,
// and shows the new time of the deadline.
TEST(Elections, ShowDeadlinesByTheLocksClock) {
  ElectionsHarness harness;
  harness.command(Elections::Hold{Algorithm::a});
  const BootTime begins = harness.deadline();
  EXPECT_EQ(begins, harness.now() + kBounds.ordered.latency());
  harness.clock.offset -= 5ms;
  harness.wake();
  EXPECT_EQ(harness.deadline(), begins + 5ms);
  harness.finish();
  EXPECT_TRUE(harness.elected);
}

TEST(Elections, StartOverAfterNetworkTimeWasSetBack) {
  ElectionsHarness harness;
  harness.command(Elections::Hold{Algorithm::b1});
  ASSERT_NE(harness.deadline(), kNever);
  harness.clock.offset -= 1h;
  harness.command(OfferCapacity{10});
  EXPECT_EQ(harness.deadline(), kNever) << "the election has ended";
  harness.command(Elections::Hold{Algorithm::b1});
  harness.finish();
  EXPECT_TRUE(harness.elected);
}

}  // namespace
}  // namespace tempo::groups
