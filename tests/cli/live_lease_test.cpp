// `tempo lock --lease` with one real daemon.
#include <chrono>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lock_daemons.h"
#include "program.h"

namespace tempo {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

class LiveLease : public testing::Test {
 protected:
  void SetUp() override {
    daemons_ = std::make_unique<Daemons>(1, "--set locks.lease-max-ms=4000");
    ASSERT_TRUE(wait_for(60s, [&] { return daemons_->all_report("1 voter; locks need host0"); }))
        << daemons_->lock_state(0);
  }
  std::unique_ptr<Daemons> daemons_;
};

// The default lease is one second. A lease of four seconds is extended when half of it is left:
// without tempod the command runs for at least two seconds, less the margin of the guard.
TEST_F(LiveLease, OutlastsTempod) {
  Child holder(daemons_->lock(0, "--lease 4s long",
                              "touch " + daemons_->file("runs") + "; while :; do sleep 0.1; done"));
  ASSERT_TRUE(wait_for(20s, [&] { return std::filesystem::exists(daemons_->file("runs")); }));
  daemons_->kill_all(0);
  const auto killed = steady_clock::now();
  EXPECT_EQ(holder.wait().status, 101);
  EXPECT_GT(steady_clock::now() - killed, 1500ms) << "it was stopped at the end of a default lease";
}

TEST_F(LiveLease, IsBoundedByTheConfiguration) {
  EXPECT_EQ(Child(daemons_->lock(0, "--lease 4s x -- true")).wait().status, 0);
  for (const char* wrong : {"--lease 4001ms x -- true", "--lease 10ms x -- true"}) {
    const Ended ended = Child(daemons_->lock(0, wrong)).wait();
    EXPECT_EQ(ended.status, 103) << wrong;
    EXPECT_THAT(ended.err, HasSubstr("the lease must be 40ms to 4s long"));
    EXPECT_THAT(ended.err, HasSubstr("'lease-max-ms' under [locks]"));
  }
  for (const char* wrong :
       {"--lease 0s x -- true", "--lease soon x -- true", "--kind silent --lease 1s x -- true"}) {
    const Ended ended = Child(daemons_->lock(0, wrong)).wait();
    EXPECT_EQ(ended.status, 2) << wrong;
    EXPECT_THAT(ended.err, HasSubstr("--lease"));
  }
}

}  // namespace
}  // namespace tempo
