// `tempo-lab check broadcast`, as a user runs it.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lab_program.h"

namespace tempo {
namespace {

TEST(CheckBroadcast, FindsThatDeltaMustNotBeOneTickShorter) {
  json sound = lab_answer("check broadcast --json");
  EXPECT_EQ(sound["complete"], true);
  EXPECT_EQ(sound["violations"], json::array());
  const Ended short_by_one = lab("check broadcast --short-by 1 --json");
  EXPECT_EQ(short_by_one.status, 1);
  json broken = data_in(short_by_one);
  ASSERT_EQ(broken["violations"].size(), 1U);
  EXPECT_EQ(broken["violations"][0]["property"], "agreement");
  EXPECT_EQ(broken["violations"][0]["steps"], broken["violations"][0]["trace"].size());
}

TEST(CheckBroadcast, FindsAViolationWithoutTheHopTest) {
  const Ended ended = lab("check broadcast --faults malicious --no-hop-test");
  EXPECT_EQ(ended.status, 1) << ended.err;
  EXPECT_THAT(ended.out, ::testing::HasSubstr(" is violated:"));
}

TEST(CheckBroadcast, RefusesInvalidOptions) {
  for (const char* line : {"--nodes 1", "--nodes 6", "--faulty 2", "--faults lazy", "--delay 0",
                           "--clock-error 9", "--speakers 4", "--losses 9", "--crashes 3",
                           "--short-by 9", "--faults malicious --losses 1", "--memory x"}) {
    const Ended ended = lab(std::string("check broadcast ") + line);
    EXPECT_EQ(ended.status, 2) << line;
    EXPECT_EQ(ended.out, "") << line;
    EXPECT_THAT(ended.err, ::testing::StartsWith("tempo-lab: ")) << line;
    EXPECT_EQ(count(ended.err, "\n"), 1U) << line;
  }
}

}  // namespace
}  // namespace tempo
