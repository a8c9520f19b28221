// Common behaviour of all elections by capacity, on machines driven by hand. The simulator's and
// the checker's tests cover the results.
#include <gtest/gtest.h>

#include "lab/baselines/capacity_b2_unordered.h"
#include "machine/machine.h"
#include "protocol/group/capacity_a.h"
#include "protocol/group/capacity_b1.h"
#include "protocol/group/capacity_b2.h"
#include "protocol/group/capacity_c.h"

namespace tempo::election::capacity {
namespace {

template <class M>
class CapacityElection : public ::testing::Test {
 protected:
  void notify(const Command& command) {
    out.clear();
    Turn<M> turn{now, draw, out};
    machine.command(turn, command);
  }
  // Number of broadcasts.
  int broadcasts() const {
    int count = 0;
    for (const auto& output : out) count += output.kind == OutputKind::broadcast ? 1 : 0;
    return count;
  }
  int notices(Notice::Kind kind) const {
    int count = 0;
    for (const auto& output : out)
      count += output.kind == OutputKind::notice && output.notice.kind == kind ? 1 : 0;
    return count;
  }

  Rules rules{.members = 4, .bound = 10ms, .malicious = 1};
  M machine{NodeId{0}, rules};
  Stream stream{1, 1, 0};
  StreamDraw draw{stream};
  Outbox<M> out;
  Instant now{1s};
};

using Machines =
    ::testing::Types<CapacityA, CapacityB1, CapacityB2, CapacityB2Unordered, CapacityC>;
TYPED_TEST_SUITE(CapacityElection, Machines);

TYPED_TEST(CapacityElection, IsAbandonedByCommandAndHeldAgain) {
  this->notify(Command::offer(5));
  this->notify(Command::give_up());
  EXPECT_TRUE(this->out.empty()) << "no election is running";
  this->notify(Command::hold());
  EXPECT_EQ(this->broadcasts(), 1);
  EXPECT_EQ(this->machine.timers().first(),
            this->now +
                (std::is_same_v<TypeParam, CapacityA> ? this->rules.bound : 2 * this->rules.bound));
  this->notify(Command::hold());
  EXPECT_TRUE(this->out.empty()) << "an election is running";

  this->notify(Command::give_up());
  EXPECT_EQ(this->notices(Notice::Kind::given_up), 1);
  EXPECT_EQ(this->broadcasts(), 0);
  EXPECT_EQ(this->machine.timers().first(), kNever);
  EXPECT_FALSE(this->machine.decided());
  EXPECT_EQ(this->machine.check(), nullptr);
  this->notify(Command::give_up());
  EXPECT_TRUE(this->out.empty()) << "the election is abandoned already";

  this->notify(Command::hold());
  EXPECT_EQ(this->broadcasts(), 1);
}

TYPED_TEST(CapacityElection, IgnoresUnknownMembers) {
  const auto state = [&] { return packed(this->machine, this->now); };
  this->notify(Command::offer(5));
  this->notify(Command::hold());
  typename TypeParam::Message bid{};
  for (const auto& output : this->out)
    if (output.kind == OutputKind::broadcast) bid = output.message;
  if constexpr (requires { bid.first; }) bid.first.node = NodeId{3};  // C: a bid names its bidder
  const auto before = state();
  this->out.clear();
  Turn<TypeParam> turn{this->now, this->draw, this->out};
  this->machine.receive(turn, NodeId{4}, bid);
  EXPECT_TRUE(this->out.empty());
  EXPECT_EQ(state(), before);
  this->machine.receive(turn, NodeId{3}, bid);
  EXPECT_NE(state(), before) << "a member's bid counts";
}

}  // namespace
}  // namespace tempo::election::capacity
