// Every script of testdata/ is a test: leases, bounded-delay locks, the bootstrap of the voters.
#include <gtest/gtest.h>

#include "machine/script_test_files.h"
#include "protocol/lock/lock_test_script.h"

namespace tempo::locks {
namespace {

class LockScript : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(LockScript, GivesTheAnswersWrittenInIt) {
  expect_answers(GetParam(), sim::answered_by<ScriptedLocks>);
}

INSTANTIATE_TEST_SUITE_P(Testdata, LockScript, ::testing::ValuesIn(scripts_in(TEMPO_TESTDATA)),
                         script_name);

std::string failure_of(const std::string& script) {
  const Result<std::string> answer = sim::answered_by<ScriptedLocks>(script);
  return answer.has_value() ? "no failure" : answer.error();
}

// A script that cannot be carried out names the line; the lines of old answers count.
TEST(BadLockScript, NamesTheLine) {
  EXPECT_EQ(failure_of("hosts 0\n"), "line 1: '0' is not a number from 1 to 16");
  EXPECT_EQ(failure_of("policy coin\n"), "line 1: 'coin' is not a policy");
  EXPECT_EQ(failure_of("start host4\n"), "line 1: 'host4' is not a host; hosts are host1 to host3");
  EXPECT_EQ(failure_of("start all\n----\n0 old\n0 old\n\nhosts 2\n"),
            "line 6: 'hosts' must come before the first act");
  EXPECT_EQ(failure_of("explode\n"), "line 1: 'explode' is not a command, or has other words");
  EXPECT_EQ(failure_of("run 1s 2s\n"), "line 1: 'run' is not a command, or has other words");
  EXPECT_EQ(failure_of("quiet\n"), "line 1: 'quiet' needs a command");
  EXPECT_EQ(failure_of("crash host1\n"), "line 1: host1 is down");
  EXPECT_EQ(failure_of("start host1\nstart host1\n"), "line 2: host1 is up");
  EXPECT_EQ(failure_of("disk host1 wet\n"), "line 1: a disk is full, works or lost, not 'wet'");
  EXPECT_EQ(failure_of("lose host1 ASK\n"), "line 1: 'host1' should have the form host1->host2");
}

TEST(BadLockScript, ReportsBadCommands) {
  const std::string start = "start all\n";
  EXPECT_EQ(failure_of("host1 release client 1\n"), "line 1: host1 is down");
  EXPECT_EQ(failure_of(start + "host1 sing\n"), "line 2: 'sing' is not a command of locks");
  EXPECT_EQ(failure_of(start + "host1 acquire door\n"),
            "line 2: a client is missing, for example 'client 3'");
  EXPECT_EQ(failure_of(start + "host1 release client 1 now\n"),
            "line 2: 'now' is one word too many");
}

}  // namespace
}  // namespace tempo::locks
