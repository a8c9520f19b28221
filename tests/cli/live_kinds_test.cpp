// Locks that are not leases, as users take them.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lock_daemons.h"
#include "program.h"

namespace tempo {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class LiveKinds : public testing::Test {
 protected:
  // Delays are for a machine that is busy with other tests.
  static void SetUpTestSuite() {
    daemons = std::make_unique<Daemons>(3, "--set locks.delay-max-ms=150");
    ASSERT_TRUE(wait_for(
        60s, [] { return daemons->all_say("locks are safe while 2 of 3 members answer"); }));
  }
  static void TearDownTestSuite() { daemons.reset(); }

  static std::unique_ptr<Daemons> daemons;
};
std::unique_ptr<Daemons> LiveKinds::daemons;

// A number that is no fencing token is not given out as one, not even a surrounding lock's.
TEST_F(LiveKinds, HaveNoToken) {
  for (const std::string kind : {"silent", "explicit"}) {
    const Ended ended = Child(daemons->lock(0, "--kind " + kind + " --wait 30s quiet-" + kind,
                                            "echo ${TEMPO_LOCK_TOKEN-none} $TEMPO_LOCK_NAME"))
                            .wait();
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_EQ(ended.out, "none quiet-" + kind + "\n");
  }
  Words nested = daemons->lock(0, "outer -- " + std::string(TEMPO_BINARY));
  for (const std::string& word :
       daemons->lock(0, "--kind silent --wait 30s inner", "echo ${TEMPO_LOCK_TOKEN-none}"))
    nested.push_back(word);
  const Ended ended = Child(nested).wait();
  EXPECT_EQ(ended.out, "none\n") << ended.err;
}

TEST_F(LiveKinds, KeepOthersOutAndAreListed) {
  Child holder(daemons->lock(0, "--kind silent --wait 30s door",
                             "touch " + daemons->file("in") + "; sleep 60"));
  ASSERT_TRUE(wait_for(40s, [] { return std::filesystem::exists(daemons->file("in")); }));
  EXPECT_EQ(Child(daemons->lock(1, "--kind silent --wait 1s door", "true")).wait().status, 100);
  EXPECT_EQ(Child(daemons->lock(2, "--kind explicit --wait 1s door", "true")).wait().status, 100)
      << "silent and explicit are one lock";
  const std::string listed = Child(words_of("locks --socket " + daemons->socket(0))).wait().out;
  EXPECT_THAT(listed, HasSubstr("door"));
  EXPECT_THAT(listed, HasSubstr("; silent locks "));
  // A client that dies loses its lock at once.
  kill(holder.id(), SIGKILL);
  holder.wait();
  EXPECT_EQ(Child(daemons->lock(1, "--kind silent --wait 20s door", "true")).wait().status, 0);
}

// Everybody hears who waits for a lease.
TEST_F(LiveKinds, WaitersElsewhereAreListed) {
  Child holder(daemons->lock(0, "gate", "touch " + daemons->file("gate") + "; sleep 60"));
  ASSERT_TRUE(wait_for(40s, [] { return std::filesystem::exists(daemons->file("gate")); }));
  Child waiting(daemons->lock(1, "--wait 30s gate", "true"));
  EXPECT_TRUE(wait_for(20s, [] {
    const std::string said = Child(words_of("locks --socket " + daemons->socket(0))).wait().out;
    for (const std::string& line : lines_of(said)) {
      const Words words = words_of(line);
      if (words.size() == 6 && words[0] == "gate" && words[2] == "waits" && words[4] == "host1")
        return true;
    }
    return false;
  }));
  kill(holder.id(), SIGKILL);
  holder.wait();
  EXPECT_EQ(waiting.wait().status, 0);
}

TEST_F(LiveKinds, OtherKindsAreRefused) {
  const Ended ended = Child(daemons->lock(0, "--kind loud door", "true")).wait();
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("--kind"));
}

}  // namespace
}  // namespace tempo
