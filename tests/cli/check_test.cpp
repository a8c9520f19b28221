// `tempo-lab check` and `tempo-lab sim replay`, as a user runs them.
#include <algorithm>

#include "lab_program.h"

namespace tempo {
namespace {

TEST(Check, CountsTheStatesOfTheCoreModel) {
  const json small = lab_answer("check core-model --json");
  EXPECT_EQ(small["states"], 405);
  EXPECT_EQ(small["transitions"], 1284);
  EXPECT_EQ(small["complete"], true);
  EXPECT_EQ(lab_answer("check core-model --timeouts 2 --json")["states"], 1543);
}

TEST(Check, PrintsAssumptionsAndNoViolation) {
  const json found = lab_answer("check election --nodes 2 --losses 1 --crashes 1 --json");
  EXPECT_EQ(found["complete"], true);
  EXPECT_TRUE(found["violations"].empty());
  EXPECT_GE(found["assumptions"].size(), 4U);
  for (const char* key :
       {"states", "transitions", "seconds", "states_per_second", "bytes_per_state"})
    EXPECT_GT(found[key], 0) << key;
}

// Without an election every property holds trivially; the assumptions say so.
TEST(Check, WarnsIfNoElectionTakesPlace) {
  const auto warns = [](const std::string& options) {
    const json found = lab_answer("check election --nodes 2 --json " + options);
    return std::ranges::any_of(found["assumptions"], [](const json& one) {
      return one.get<std::string>().find("no election takes place") != std::string::npos;
    });
  };
  EXPECT_TRUE(warns("--duplicates 1"));
  EXPECT_FALSE(warns("--crashes 1 --delay 1"));
  EXPECT_FALSE(warns("--starts 0,0 --delay 1"));
}

TEST(Check, ReplaysACounterexample) {
  const TemporaryFile script{"replay"};
  const Ended ended =
      lab("check election --variant refuse-duplicate --crashes 1 --duplicates 1 --delay 1 --json "
          "--replay " +
          script.path());
  EXPECT_EQ(ended.status, 1);
  const json found = data_in(ended);
  ASSERT_EQ(found["violations"].size(), 1U);
  EXPECT_EQ(found["violations"][0]["property"], "sole-candidate-wins");
  EXPECT_EQ(found["violations"][0]["replay"], script.text());
  const json replayed = lab_answer("sim replay --json " + script.path());
  EXPECT_EQ(replayed["nodes"], 3);
  EXPECT_EQ(replayed["states"][0], "down");
}

TEST(Check, ReplaysAConflictThatStopsBothMasters) {
  const TemporaryFile script{"replay"};
  const Ended ended =
      lab("check election --variant conflict-kills-both --starts 0,1,16 --cut 1,3 --cut-until 19 "
          "--delay 1 --losses 1 --json --replay " +
          script.path());
  EXPECT_EQ(ended.status, 1);
  const json found = data_in(ended);
  ASSERT_EQ(found["violations"].size(), 1U);
  EXPECT_EQ(found["violations"][0]["property"], "always-led");
  const json replayed = lab_answer("sim replay --json " + script.path());
  for (const json& state : replayed["states"])
    EXPECT_EQ(state.get<std::string>().substr(0, 5), "slave") << state;
}

TEST(Check, StopsAtTheMemoryLimit) {
  const Ended ended = lab("check election --losses 2 --memory 3M --json");
  EXPECT_EQ(ended.status, 0);
  const json found = data_in(ended);
  EXPECT_EQ(found["complete"], false);
  EXPECT_EQ(found["stopped"], "memory limit reached");
}

TEST(Check, PrintsTheProbabilityOfAMissedState) {
  const json exact = lab_answer("check core-model --json");
  const json hashed = lab_answer("check core-model --fingerprints --json");
  EXPECT_EQ(hashed["states"], exact["states"]);
  EXPECT_FALSE(exact.contains("omission_probability"));
  EXPECT_DOUBLE_EQ(hashed["omission_probability"].get<double>(), 405.0 * 405.0 / 0x1p65);
}

TEST(Check, RefusesInvalidOptions) {
  for (const char* line : {"check election --nodes 9",
                           "check election --nodes 0",
                           "check election --timing slow",
                           "check election --network wire",
                           "check election --profile lan",
                           "check election --candidacies 4",
                           "check election --starts 0,1",
                           "check election --starts a,b,c",
                           "check election --cut 1",
                           "check election --cut-until 9",
                           "check election --cut 4 --cut-until 9",
                           "check election --restarts 1",
                           "check election --delay 2..1",
                           "check election --memory much",
                           "check election --variant none",
                           "check election --timing free --starts 0,0,0",
                           "check election --threads 3",
                           "check core-model --nodes 9",
                           "check core-model --capacity 0",
                           "sim replay /no/such/file"}) {
    const Ended ended = lab(line);
    EXPECT_EQ(ended.status, 2) << line;
    EXPECT_TRUE(ended.out.empty()) << line;
    EXPECT_EQ(lines_of(ended.err).size(), 1U) << line << "\n" << ended.err;
  }
}

}  // namespace
}  // namespace tempo
