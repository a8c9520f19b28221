// `tempo-lab sim lock` and `tempo-lab check lock`, as a user runs them.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lab_program.h"

namespace tempo {
namespace {

using ::testing::HasSubstr;

TEST(SimLock, SumsUpAllRuns) {
  json sum = lab_answer("sim lock --entries 2000 --json");
  EXPECT_EQ(sum["kind"], "mutex");
  EXPECT_GE(sum["entries"], 2000);
  EXPECT_EQ(sum["violations"], 0);
  EXPECT_EQ(sum["deadlocks"], 0);
  EXPECT_EQ(sum["token_disorder"], 0);
  EXPECT_DOUBLE_EQ(sum["messages_per_entry"], 4 + 2 * sum["refusals_per_entry"].get<double>());
  EXPECT_LE(sum["wait"]["mean"], sum["wait"]["p99"]);
  EXPECT_LE(sum["wait"]["p99"], sum["wait"]["max"]);
  EXPECT_GE(sum["fairness"], 1.0);
}

TEST(SimLock, SimulatesExplicitReplies) {
  json sum = lab_answer("sim lock --kind explicit --entries 1000 --json");
  EXPECT_EQ(sum["violations"], 0);
  EXPECT_EQ(sum["messages_per_entry"], 8.0);
}

TEST(SimLock, CountsTheAttemptsOfOptimisticReaders) {
  json sum = lab_answer("sim lock --kind optimistic --gamma 1 --entries 500 --json");
  EXPECT_LE(sum["attempts_per_entry"], 3.0);
  EXPECT_EQ(sum["torn_reads"], 0);
  EXPECT_EQ(
      lab_answer("sim lock --kind optimistic --variant lamport --entries 500 --json")["deadlocks"],
      1);
}

TEST(SimLock, LeasesSurviveFaultsThatBreakSilentLocks) {
  const std::string broken = " --sites 3 --loss 0.1 --late 0.1 --entries 2000 --json";
  EXPECT_GT(lab_answer("sim lock" + broken)["violations"], 0);
  const json lease =
      lab_answer("sim lock --kind lease --crashes 2 --pauses 2 --partitions 2" + broken);
  EXPECT_GE(lease["entries"], 2000);
  EXPECT_GT(lease["crashes"], 0);
  EXPECT_EQ(lease["violations"], 0);
  EXPECT_EQ(lease["token_disorder"], 0);
  EXPECT_EQ(lease["deadlocks"], 0);
}

TEST(SimLock, DoesNotDependOnThreads) {
  const std::string command = "sim lock --kind rw --entries 25000 --crashes 0.1 --json";
  json one = lab_answer(command + " --threads 1");
  json two = lab_answer(command + " --threads 2");
  one.erase("events_per_second");
  two.erase("events_per_second");
  EXPECT_EQ(one, two);
}

TEST(SimLock, PrintsATable) {
  const Ended ended = lab("sim lock --entries 500 --variant as-printed");
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.out, HasSubstr("violations of exclusion"));
  EXPECT_THAT(ended.out, HasSubstr("messages per entry"));
}

TEST(SimLock, RefusesInvalidOptions) {
  struct Case {
    const char* options;
    const char* error;
  };
  for (const Case& wrong :
       {Case{"--kind wish", "one of mutex, rw, optimistic, explicit"},
        Case{"--sites 1", "--sites must be from 2"},
        Case{"--contending 6", "--contending must be from 1 to 5"},
        Case{"--readers 2", "--readers is for --kind rw"},
        Case{"--kind rw --readers 6", "--readers must be at most"},
        Case{"--gamma 0", "--gamma must be from 0.01 to 1"},
        Case{"--sleep -1", "--sleep must be from 0 to 100 passes"},
        Case{"--entries 0", "--entries must be from 1"},
        Case{"--loss 1", "--loss must be from 0 to below 1"},
        Case{"--crashes -1", "--crashes must be from 0"},
        Case{"--handlers many", "--handlers must be serial or parallel"},
        Case{"--variant printed", "--variant must be one of corrected"},
        Case{"--variant lamport", "is for --kind optimistic"},
        Case{"--kind explicit --variant modulo", "is for --kind mutex and rw"},
        Case{"--kind optimistic --crashes 1", "no faults but --loss and --late"},
        Case{"--kind optimistic --contending 1", "needs a writer and a reader"},
        Case{"--kind explicit --outlive", "for --kind mutex and rw"},
        Case{"--outlive --doubts 1", "exclude each other"},
        Case{"--kind lease --sites 64", "--kind lease allows at most 63 sites"},
        Case{"--kind lease --gamma 1", "not for --kind lease"}}) {
    const Ended ended = lab(std::string("sim lock ") + wrong.options);
    EXPECT_EQ(ended.status, 2) << wrong.options;
    EXPECT_EQ(ended.out, "") << wrong.options;
    EXPECT_THAT(ended.err, HasSubstr(wrong.error));
    EXPECT_EQ(count(ended.err, "\n"), 1U) << wrong.options;
  }
}

TEST(CheckLock, FindsThatThePrintedLockLetsTwoIn) {
  const std::string command = "check lock --sites 2 --hold 2 --json";
  json sound = lab_answer(command);
  EXPECT_EQ(sound["complete"], true);
  EXPECT_EQ(sound["violations"], json::array());
  const Ended printed = lab(command + " --variant as-printed");
  EXPECT_EQ(printed.status, 1);
  json broken = data_in(printed);
  ASSERT_EQ(broken["violations"].size(), 1U);
  EXPECT_EQ(broken["violations"][0]["property"], "exclusion");
  EXPECT_EQ(broken["violations"][0]["steps"], broken["violations"][0]["trace"].size());
}

// The printed window is long enough only if handling takes no time.
TEST(CheckLock, FindsThatThePrintedWindowIsTooShort) {
  const std::string command = "check lock --sites 2 --hold 2 --variant printed-window --json";
  EXPECT_EQ(lab_answer(command)["complete"], true);
  const Ended busy = lab(command + " --handling 2");
  EXPECT_EQ(busy.status, 1);
  json broken = data_in(busy);
  ASSERT_EQ(broken["violations"].size(), 1U);
  EXPECT_EQ(broken["violations"][0]["property"], "exclusion");
}

TEST(CheckLock, DescribesTheSteps) {
  const Ended lost = lab("check lock --sites 2 --hold 2 --losses 1");
  EXPECT_EQ(lost.status, 1);
  EXPECT_THAT(lost.out, HasSubstr("exclusion is violated"));
  EXPECT_THAT(lost.out, HasSubstr("requests the lock"));
  EXPECT_THAT(lost.out, HasSubstr("is lost"));
  EXPECT_THAT(lost.out, HasSubstr("= inside with 1"));
}

TEST(CheckLock, LeasesViolateNoProperty) {
  json two = lab_answer("check lock --kind lease --json");
  EXPECT_EQ(two["complete"], true);
  EXPECT_EQ(two["violations"], json::array());
  EXPECT_EQ(two["states"], 4092);  // the same number as in lease_check_test.cpp
  json changed = lab_answer("check lock --kind lease --contending 1 --changes 1 --losses 1 --json");
  EXPECT_EQ(changed["complete"], true);
  EXPECT_EQ(changed["violations"], json::array());
  const Ended readers = lab("check lock --kind lease --readers 1");
  EXPECT_EQ(readers.status, 0);
  EXPECT_THAT(readers.out, HasSubstr("tokens\nincrease"));
}

TEST(CheckLock, RefusesInvalidOptions) {
  for (const char* line : {"--kind wish",
                           "--sites 1",
                           "--sites 6",
                           "--contending 4",
                           "--readers 1",
                           "--kind rw --readers 3",
                           "--entries 0",
                           "--entries 5",
                           "--delay 0",
                           "--hold 5",
                           "--handling 5",
                           "--crashes 9",
                           "--restarts 1",
                           "--variant printed",
                           "--kind explicit --variant modulo",
                           "--memory x",
                           "--threads 3",
                           "--lease 6",
                           "--changes 1",
                           "--any-order",
                           "--kind lease --lease 4",
                           "--kind lease --hold 2",
                           "--kind lease --handling 1",
                           "--kind lease --crashes 1",
                           "--kind lease --variant modulo",
                           "--kind lease --entries 9",
                           "--kind lease --readers 3",
                           "--kind lease --changes 3"}) {
    const Ended ended = lab(std::string("check lock ") + line);
    EXPECT_EQ(ended.status, 2) << line;
    EXPECT_EQ(ended.out, "") << line;
    EXPECT_THAT(ended.err, ::testing::StartsWith("tempo-lab: ")) << line;
    EXPECT_EQ(count(ended.err, "\n"), 1U) << line;
  }
}

}  // namespace
}  // namespace tempo
