// `tempo check` and `tempo sim replay`, as a user runs them.
#include <algorithm>

#include "program.h"

namespace tempo {
namespace {

TEST(Check, CountsTheYardstick) {
  const json small = answer("check core-model --json");
  EXPECT_EQ(small["states"], 405);
  EXPECT_EQ(small["transitions"], 1284);
  EXPECT_EQ(small["complete"], true);
  EXPECT_EQ(answer("check core-model --timeouts 2 --json")["states"], 1543);
}

TEST(Check, SaysWhatItAssumesAndFindsNothing) {
  const json found = answer("check election --nodes 2 --losses 1 --crashes 1 --json");
  EXPECT_EQ(found["complete"], true);
  EXPECT_TRUE(found["violations"].empty());
  EXPECT_GE(found["assumptions"].size(), 4U);
  for (const char* key :
       {"states", "transitions", "seconds", "states_per_second", "bytes_per_state"})
    EXPECT_GT(found[key], 0) << key;
}

// A world in which nobody is elected keeps every promise; whoever asks is told so.
TEST(Check, SaysThatNobodyHasToBeElected) {
  const auto told = [](const std::string& options) {
    const json found = answer("check election --nodes 2 --json " + options);
    return std::ranges::any_of(found["assumptions"], [](const json& one) {
      return one.get<std::string>().find("nobody has to be elected") != std::string::npos;
    });
  };
  EXPECT_TRUE(told("--duplicates 1"));
  EXPECT_FALSE(told("--crashes 1 --delay 1"));
  EXPECT_FALSE(told("--starts 0,0 --delay 1"));
}

TEST(Check, ABrokenPromiseIsPlayedAgain) {
  const TemporaryFile script{"replay"};
  const Ended ended = tempo(
      "check election --variant refuse-duplicate --crashes 1 --duplicates 1 --delay 1 --json "
      "--replay " +
      script.path());
  EXPECT_EQ(ended.status, 1);
  const json found = json::parse(ended.out);
  ASSERT_EQ(found["violations"].size(), 1U);
  EXPECT_EQ(found["violations"][0]["property"], "sole-candidate-wins");
  EXPECT_EQ(found["violations"][0]["replay"], script.text());
  const json played = answer("sim replay --json " + script.path());
  EXPECT_EQ(played["nodes"], 3);
  EXPECT_EQ(played["states"][0], "down");
}

TEST(Check, AConflictThatKillsBothIsPlayedAgain) {
  const TemporaryFile script{"replay"};
  const Ended ended = tempo(
      "check election --variant conflict-kills-both --starts 0,1,16 --cut 1,3 --cut-until 19 "
      "--delay 1 --losses 1 --json --replay " +
      script.path());
  EXPECT_EQ(ended.status, 1);
  const json found = json::parse(ended.out);
  ASSERT_EQ(found["violations"].size(), 1U);
  EXPECT_EQ(found["violations"][0]["property"], "always-led");
  const json played = answer("sim replay --json " + script.path());
  for (const json& state : played["states"])
    EXPECT_EQ(state.get<std::string>().substr(0, 5), "slave") << state;
}

TEST(Check, EndsAtItsMemory) {
  const Ended ended = tempo("check election --losses 2 --memory 3M --json");
  EXPECT_EQ(ended.status, 0);
  const json found = json::parse(ended.out);
  EXPECT_EQ(found["complete"], false);
  EXPECT_EQ(found["stopped"], "memory limit reached");
}

TEST(Check, SaysHowLikelyFingerprintsMissAState) {
  const json exact = answer("check core-model --json");
  const json likely = answer("check core-model --fingerprints --json");
  EXPECT_EQ(likely["states"], exact["states"]);
  EXPECT_FALSE(exact.contains("omission_probability"));
  EXPECT_DOUBLE_EQ(likely["omission_probability"].get<double>(), 405.0 * 405.0 / 0x1p65);
}

TEST(Check, RefusesTheImpossible) {
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
    const Ended ended = tempo(line);
    EXPECT_EQ(ended.status, 2) << line;
    EXPECT_TRUE(ended.out.empty()) << line;
    EXPECT_EQ(lines_of(ended.err).size(), 1U) << line << "\n" << ended.err;
  }
}

}  // namespace
}  // namespace tempo
