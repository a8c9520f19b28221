// Every script of testdata/ is a test: groups, and setting network time.
#include <gtest/gtest.h>

#include "machine/script_test_files.h"
#include "protocol/host/host_test_script.h"

namespace tempo::host {
namespace {

class HostScript : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(HostScript, GivesTheAnswersWrittenInIt) {
  expect_answers(GetParam(), sim::answered_by<ScriptedHosts>);
}

INSTANTIATE_TEST_SUITE_P(Testdata, HostScript, ::testing::ValuesIn(scripts_in(TEMPO_TESTDATA)),
                         script_name);

std::string failure_of(const std::string& command) {
  const auto answer = sim::answered_by<ScriptedHosts>("start all\nhost1 " + command + "\n");
  return answer.has_value() ? "no failure" : answer.error();
}

TEST(BadHostScript, ReportsBadCommands) {
  EXPECT_EQ(failure_of("sing"), "line 2: 'sing' is not a command");
  EXPECT_EQ(failure_of("stand web"), "line 2: a user is missing, for example 'user 1'");
  EXPECT_EQ(failure_of("stand web user 1 capacity 5 algorithm x"),
            "line 2: there is no such algorithm");
  EXPECT_EQ(failure_of("resign web now"), "line 2: 'now' is one word too many");
  EXPECT_EQ(failure_of("set-time 1h"), "line 2: '1h' should begin with + or -");
}

}  // namespace
}  // namespace tempo::host
