// Locks of kind silent and explicit.
#include <filesystem>
#include <memory>
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
  // The delay and the lease allow for a machine that is busy with other tests.
  static void SetUpTestSuite() {
    daemons =
        std::make_unique<Daemons>(3, "--set locks.delay-max-ms=150 --set locks.lease-ms=4000");
    ASSERT_TRUE(
        wait_for(60s, [] { return daemons->all_report("3 voters; locks survive the loss of 1"); }));
  }
  static void TearDownTestSuite() { daemons.reset(); }

  // For a failed test: the locks and the status of every machine, and the error of the command.
  static std::string diagnosis(Child& child) {
    std::string text;
    for (std::size_t i = 0; i < 3; ++i)
      for (const char* const command : {"locks", "status"})
        text += Child(words_of(command + (" --socket " + daemons->socket(i)))).wait().out;
    kill(child.id(), SIGKILL);
    return text + child.wait().err;
  }

  static std::unique_ptr<Daemons> daemons;
};
std::unique_ptr<Daemons> LiveKinds::daemons;

// The environment has no token, not even that of an enclosing lock.
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

TEST_F(LiveKinds, ExcludeOthersAndAreListed) {
  Child holder(daemons->lock(0, "--kind silent --wait 30s door",
                             "touch " + daemons->file("in") + "; sleep 60"));
  ASSERT_TRUE(wait_for(40s, [] { return std::filesystem::exists(daemons->file("in")); }))
      << diagnosis(holder);
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

TEST_F(LiveKinds, ListWaitersOnOtherMachines) {
  Child holder(daemons->lock(0, "gate", "touch " + daemons->file("gate") + "; sleep 60"));
  ASSERT_TRUE(wait_for(40s, [] { return std::filesystem::exists(daemons->file("gate")); }))
      << diagnosis(holder);
  Child waiting(daemons->lock(1, "--wait 30s gate", "true"));
  EXPECT_TRUE(wait_for(20s, [] {
    const std::string listed = Child(words_of("locks --socket " + daemons->socket(0))).wait().out;
    for (const std::string& line : lines_of(listed)) {
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

// A daemon refuses a kind that conflicts with a lock it knows: a lease on every machine, a silent
// lock on the machine that holds it and where it was announced recently.
TEST_F(LiveKinds, CannotBeMixedUnderOneName) {
  const auto refused = [](std::size_t host, const std::string& line, const char* why) {
    const Ended ended = Child(daemons->lock(host, line + " -- true")).wait();
    EXPECT_EQ(ended.status, 109) << line;
    EXPECT_THAT(ended.err, HasSubstr(why)) << line;
  };
  const auto holder = [](const std::string& line, const std::string& file) {
    auto child = std::make_unique<Child>(
        daemons->lock(0, line, "touch " + daemons->file(file) + "; sleep 60"));
    EXPECT_TRUE(wait_for(40s, [&] { return std::filesystem::exists(daemons->file(file)); }))
        << diagnosis(*child);
    return child;
  };
  auto leased = holder("mixed", "mixed");
  for (const std::size_t host : {0UL, 1UL, 2UL}) {
    refused(host, "--kind silent mixed",
            "lock 'mixed' is in use as a lease, or was until recently");
    refused(host, "--kind explicit mixed",
            "lock 'mixed' is in use as a lease, or was until recently");
  }
  kill(leased->id(), SIGTERM);
  leased->wait();
  auto bounded_delay = holder("--kind explicit --wait 30s other", "other");
  refused(0, "other", "'other' is in use as a silent or explicit lock");
  Child waiting(daemons->lock(1, "--kind explicit --wait 30s other", "true"));
  EXPECT_TRUE(wait_for(20s, [&] {
    const Ended ended = Child(daemons->lock(2, "--no-wait other -- true")).wait();
    return ended.status == 103;
  })) << "host2 did not receive the messages of the waiter";
  kill(bounded_delay->id(), SIGTERM);
  bounded_delay->wait();
  EXPECT_EQ(waiting.wait().status, 0);
  // A free lock may change its kind.
  EXPECT_TRUE(wait_for(20s, [&] {
    return Child(daemons->lock(0, "--no-wait --kind explicit mixed -- true")).wait().status != 103;
  }));
  EXPECT_TRUE(wait_for(
      20s, [&] { return Child(daemons->lock(1, "--no-wait other -- true")).wait().status == 0; }));
}

TEST_F(LiveKinds, RefuseUnknownNames) {
  const Ended ended = Child(daemons->lock(0, "--kind loud door", "true")).wait();
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("--kind"));
}

}  // namespace
}  // namespace tempo
