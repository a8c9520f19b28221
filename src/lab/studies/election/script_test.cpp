// Every script of testdata/ is a test; then bad scripts, and scripts of experiments.
#include "lab/studies/election/script.h"

#include <filesystem>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/script_test_files.h"

namespace tempo::sim::election {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Script : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(Script, GivesTheAnswersWrittenInIt) {
  expect_answers(GetParam(), answered);
  if (GetParam().filename().string().starts_with("paper_")) {
    EXPECT_THAT(script_text(GetParam()), StartsWith("# Section "));
  }
}

INSTANTIATE_TEST_SUITE_P(Testdata, Script, ::testing::ValuesIn(scripts_in(TEMPO_TESTDATA)),
                         script_name);

// The scripts of the paper's claims must be found.
TEST(Scripts, AreFound) { EXPECT_GE(scripts_in(TEMPO_TESTDATA).size(), 40U); }

std::string failure_of(const std::string& script) {
  const Result<std::string> answer = answered(script);
  return answer.has_value() ? "no failure" : answer.error();
}

TEST(BadScript, NamesTheLine) {
  EXPECT_EQ(failure_of("# A story.\nnodes 3\nexplode 1\n----\n"),
            "line 3: 'explode' is not a script command");
  EXPECT_EQ(failure_of("nodes 3\ndelay 1ms\n\nstart 4\n----\n"),
            "line 4: '4' is not a node; nodes are numbered from 1 to 3");
  EXPECT_EQ(failure_of("nodes 3\nstart 0\n----\n"),
            "line 2: '0' is not a node; nodes are numbered from 1 to 3");
  EXPECT_EQ(failure_of("nodes 3\nstart all\nrun 1s\n----\n\nseed 5\n----\n"),
            "line 6: 'seed' must come before the first act");
  EXPECT_EQ(failure_of("nodes three\n"), "line 1: 'three' is not a number from 1 to 1000");
}

// The lines of an old answer are skipped but counted.
TEST(BadScript, CountsTheLinesOfOldAnswers) {
  EXPECT_THAT(failure_of("nodes 1\nstart 1\n----\n0 1 starts\n0 1->* masterreq\n\nrun\n----\n"),
              StartsWith("line 7: "));
}

TEST(BadScript, ReportsBadSettings) {
  EXPECT_EQ(failure_of("nodes 0\n"), "line 1: '0' is not a number from 1 to 1000");
  EXPECT_EQ(failure_of("nodes 1001\n"), "line 1: '1001' is not a number from 1 to 1000");
  EXPECT_EQ(failure_of("nodes 3x\n"), "line 1: '3x' is not a number from 1 to 1000");
  EXPECT_EQ(failure_of("nodes\n"), "line 1: '' is not a number from 1 to 1000");
  EXPECT_EQ(failure_of("repeats 5\n"), "line 1: '5' is not a number from 0 to 4");
  EXPECT_EQ(failure_of("loss 1.5\n"), "line 1: '1.5' is not a number from 0 to 1");
  EXPECT_EQ(failure_of("loss nan\n"), "line 1: 'nan' is not a number from 0 to 1");
  EXPECT_EQ(failure_of("reorder -0.1\n"), "line 1: '-0.1' is not a number from 0 to 1");
  EXPECT_EQ(failure_of("election-timer 3s\n"), "line 1: '3s' should have the form a..b");
  EXPECT_THAT(failure_of("profile slow\n"), StartsWith("line 1: there is no profile 'slow'"));
  EXPECT_THAT(failure_of("variant none\n"), StartsWith("line 1: there is no variant 'none'"));
  EXPECT_THAT(failure_of("delay soon\n"), StartsWith("line 1: 'soon' is not a duration"));
  EXPECT_THAT(failure_of("delay 0ms\n"), StartsWith("line 1: a delay of zero is not allowed"));
}

// Contradicting timers are reported at the first act, when all settings are known.
TEST(BadScript, HasContradictingTimers) {
  EXPECT_THAT(failure_of("nodes 2\nelection-timer 3s..2s\nstart 1\n"),
              StartsWith("line 3: the longest election timer must not be shorter"));
}

TEST(BadScript, ReportsBadActs) {
  const std::string nodes = "nodes 3\n";
  EXPECT_EQ(failure_of(nodes + "crash x\n"),
            "line 2: 'x' is not a node; nodes are numbered from 1 to 3");
  EXPECT_EQ(failure_of(nodes + "cut 1\n"),
            "line 2: '1' must name two nodes, for example 1->2 or *->3");
  EXPECT_EQ(failure_of(nodes + "cut *->2\n"),
            "line 2: '*' is not a node; nodes are numbered from 1 to 3");
  EXPECT_EQ(failure_of(nodes + "lose 1->2 hello\n"), "line 2: unknown message kind 'hello'");
  EXPECT_EQ(failure_of(nodes + "partition 1,,2\n"),
            "line 2: '' is not a node; nodes are numbered from 1 to 3");
  EXPECT_EQ(failure_of(nodes + "crash 1 2\n"), "line 2: too many words in 'crash 1 2'");
  EXPECT_EQ(failure_of(nodes + "crash 1 for 2s 3s\n"),
            "line 2: too many words in 'crash 1 for 2s 3s'");
  EXPECT_THAT(failure_of(nodes + "crash 1 for long\n"),
              StartsWith("line 2: 'long' is not a duration"));
  EXPECT_THAT(failure_of(nodes + "late 1->2 accept\n"), StartsWith("line 2: '' is not a duration"));
  EXPECT_THAT(failure_of(nodes + "run soon\n"), StartsWith("line 2: 'soon' is not a duration"));
  EXPECT_THAT(failure_of(nodes + "run -1s\n"), StartsWith("line 2: '-1s' is not a duration"));
}

// The answer of a network with these settings.
std::string answer_with(const std::string& settings) {
  const Result<std::string> answer =
      answered("nodes 4\n" + settings + "start all\nrun 30s\ncounts\n----\n");
  return answer.has_value() ? answer->substr(answer->find("----")) : answer.error();
}

TEST(Setting, ChangesTheRun) {
  const std::string plain = answer_with("");
  EXPECT_EQ(plain, answer_with(""));
  for (const std::string setting :
       {"profile fast\n", "variant no-loop\n", "repeats 0\n", "seed 2\n", "delay 3ms\n",
        "loss 0.2\n", "duplicate 0.2\n", "reorder 0.2\n"})
    EXPECT_NE(answer_with(setting), plain) << setting;
  EXPECT_NE(answer_with("reorder 0.2\nlateness 50ms\n"), answer_with("reorder 0.2\n"));
  EXPECT_NE(answer_with("hide loop\n"), plain);
}

Setup four_on_a_lan() {
  Setup setup;
  setup.nodes = 4;
  setup.rules.timing = *tempo::election::profile("lan");
  setup.rules.repeats = 0;
  setup.seed = 7;
  setup.link.delay = Delay::constant(1ms);
  return setup;
}

// An experiment written as a script gives the same run again.
TEST(ScriptOf, RepeatsTheExperiment) {
  const auto experiment = plan_of(Scenario::master_crash, four_on_a_lan(), 12s);
  ASSERT_TRUE(experiment.has_value()) << experiment.error();
  const auto script = script_of(*experiment, "The master dies.\nAnother follows it.");
  ASSERT_TRUE(script.has_value()) << script.error();
  EXPECT_THAT(*script,
              StartsWith("# The master dies.\n# Another follows it.\nnodes 4\nprofile lan\n"));
  EXPECT_EQ(answered(*script), *script);

  const Outcome outcome = run(*experiment);
  ASSERT_EQ(outcome.final_masters.size(), 1U);
  EXPECT_THAT(*script,
              HasSubstr(std::to_string(index(outcome.final_masters[0]) + 1) + " becomes master\n"));
  EXPECT_THAT(*script, HasSubstr("one-master holds\n"));
}

// For any setup and plan the script's answer is the trace of the run.
TEST(ScriptOf, RepeatsEveryStepOfAChurn) {
  for (const Scenario scenario : {Scenario::churn, Scenario::partition_heal, Scenario::collision}) {
    auto setup = four_on_a_lan();
    setup.nodes = 5;
    setup.rules.timing = *tempo::election::profile("fast");
    setup.rules.timing.election_max += 1s;
    setup.rules.repeats = 2;
    setup.link = {.delay = Delay::uniform(100us, 2ms),
                  .loss = 0.05,
                  .duplicate = 0.1,
                  .reorder = 0.1,
                  .lateness = Delay::uniform(0s, 6ms)};
    const auto experiment = plan_of(scenario, setup, 0s);
    ASSERT_TRUE(experiment.has_value()) << experiment.error();
    const auto script = script_of(*experiment, "A bad day.");
    ASSERT_TRUE(script.has_value()) << script.error();
    Trace trace(true);
    run(*experiment, &trace);
    const std::set<std::string_view> hidden{"adjtime", "ack", "loop", "settime"};
    std::string steps;
    for (const Happening& happening : trace.happenings())
      if (happening.what != What::received && !hidden.contains(happening.label))
        steps += line(happening) + "\n";
    const std::string answer = script->substr(script->find("----\n") + 5);
    EXPECT_EQ(answer.substr(0, steps.size()), steps) << name_of(scenario);
  }
}

}  // namespace
}  // namespace tempo::sim::election
