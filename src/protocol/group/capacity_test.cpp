// Common behaviour of all elections by capacity, on machines driven by hand. The simulator's and
// the checker's tests cover the results.
#include <gtest/gtest.h>

#include "lab/baselines/capacity_b2_unordered.h"
#include "machine/machine_harness.h"
#include "protocol/group/capacity_a.h"
#include "protocol/group/capacity_b1.h"
#include "protocol/group/capacity_b2.h"
#include "protocol/group/capacity_c.h"

namespace tempo::election::capacity {
namespace {

constexpr Rules kRules{.members = 4, .bound = 10ms, .malicious = 1};

template <class M>
class CapacityElection : public ::testing::Test, public MachineHarness<M> {
 protected:
  CapacityElection() { this->make(NodeId{0}, kRules); }

  // Number of broadcasts in the last step.
  int broadcasts() const {
    int count = 0;
    for (const auto& output : this->outputs())
      count += output.kind == OutputKind::broadcast ? 1 : 0;
    return count;
  }
  int notices(Notice::Kind kind) const {
    int count = 0;
    for (const auto& output : this->outputs())
      count += output.kind == OutputKind::notice && output.notice.kind == kind ? 1 : 0;
    return count;
  }
};

using Machines =
    ::testing::Types<CapacityA, CapacityB1, CapacityB2, CapacityB2Unordered, CapacityC>;
TYPED_TEST_SUITE(CapacityElection, Machines);

TYPED_TEST(CapacityElection, IsAbandonedByCommandAndHeldAgain) {
  this->command(Command::offer(5));
  this->command(Command::give_up());
  EXPECT_TRUE(this->outputs().empty()) << "no election is running";
  this->command(Command::hold());
  EXPECT_EQ(this->broadcasts(), 1);
  EXPECT_EQ(this->machine().timers().first(),
            this->now() + (std::is_same_v<TypeParam, CapacityA> ? kRules.bound : 2 * kRules.bound));
  this->command(Command::hold());
  EXPECT_TRUE(this->outputs().empty()) << "an election is running";

  this->command(Command::give_up());
  EXPECT_EQ(this->notices(Notice::Kind::given_up), 1);
  EXPECT_EQ(this->broadcasts(), 0);
  EXPECT_EQ(this->machine().timers().first(), kNever);
  EXPECT_FALSE(this->machine().decided());
  this->command(Command::give_up());
  EXPECT_TRUE(this->outputs().empty()) << "the election is abandoned already";

  this->command(Command::hold());
  EXPECT_EQ(this->broadcasts(), 1);
}

TYPED_TEST(CapacityElection, IgnoresUnknownMembers) {
  const auto state = [&] { return packed(this->machine(), this->now()); };
  this->command(Command::offer(5));
  this->command(Command::hold());
  typename TypeParam::Message bid{};
  for (const auto& output : this->outputs())
    if (output.kind == OutputKind::broadcast) bid = output.message;
  if constexpr (requires { bid.first; }) bid.first.node = NodeId{3};  // C: a bid names its bidder
  const auto before = state();
  this->receive(NodeId{4}, bid);
  EXPECT_TRUE(this->outputs().empty());
  EXPECT_EQ(state(), before);
  this->receive(NodeId{3}, bid);
  EXPECT_NE(state(), before) << "a member's bid counts";
}

}  // namespace
}  // namespace tempo::election::capacity
