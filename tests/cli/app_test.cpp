// `tempo-lab sim app`, as a user runs it.
#include <array>
#include <string>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lab_program.h"

namespace tempo {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::array kNames{"group-server",   "load-balancing", "replicated-data",
                            "crash-recovery", "group-joining",  "mutual-exclusion"};

TEST(SimApp, ListsAllWithoutAName) {
  const Ended ended = lab("sim app");
  EXPECT_EQ(ended.status, 0);
  json list = lab_answer("sim app --json");
  ASSERT_EQ(list.size(), kNames.size());
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    EXPECT_THAT(ended.out, HasSubstr(kNames[i]));
    EXPECT_EQ(list[i]["app"], kNames[i]);
    for (const char* key : {"property", "criterion", "about", "naive"})
      EXPECT_THAT(ended.out + std::string(list[i]["property"]),
                  HasSubstr(list[i][key].get<std::string>()));
  }
}

TEST(SimApp, HelpMentionsEveryOption) {
  const Ended ended = lab("sim app --help");
  EXPECT_EQ(ended.status, 0);
  for (const char* name : kNames) EXPECT_THAT(ended.out, HasSubstr(name));
  for (const char* option : {"--nodes", "--crash", "--loss", "--variant", "--seed", "--runs",
                             "--threads", "--trace", "--diagram", "--json", "130"})
    EXPECT_THAT(ended.out, HasSubstr(option));
}

TEST(SimApp, PrintsTheseFields) {
  json sum = lab_answer("sim app mutual-exclusion --runs 5 --json");
  EXPECT_EQ(sum["app"], "mutual-exclusion");
  EXPECT_EQ(sum["variant"], "corrected");
  EXPECT_EQ(sum["property"], "fair-entry");
  EXPECT_EQ(sum["runs"], 5);
  EXPECT_EQ(sum["kept"], 5);
  EXPECT_EQ(sum["broken"], 0);
  EXPECT_GE(sum["wishes"], sum["entries"]);
  EXPECT_GE(sum["entries_per_node"]["min"], 1) << "every node enters";
  EXPECT_GE(sum["entries_per_node"]["max"], sum["entries_per_node"]["min"]);
  EXPECT_GT(sum["longest_wait_T"], 0);
  EXPECT_GT(sum["elections"]["mean"], 1);
  EXPECT_GT(sum["broadcasts"]["mean"], sum["elections"]["mean"]);
  EXPECT_EQ(sum["trace_hash"].get<std::string>().size(), 16U);
}

TEST(SimApp, ViolatesNoProperty) {
  for (const char* name : kNames) {
    const Ended ended = lab(fmt::format("sim app {} --runs 5", name));
    EXPECT_EQ(ended.status, 0) << name;
    EXPECT_THAT(ended.err, IsEmpty()) << name;
  }
}

TEST(SimApp, PrintsTheCommandThatReplaysAViolation) {
  const Ended ended = lab("sim app mutual-exclusion --variant naive --nodes 6 --runs 3");
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, HasSubstr("violated: fair-entry at "));
  const std::size_t line = ended.err.find("replay: tempo-lab ");
  ASSERT_NE(line, std::string::npos);
  std::string command = ended.err.substr(line + 18);
  command.erase(command.find('\n'));
  const Ended again = lab(command);
  EXPECT_EQ(again.status, 1);
  EXPECT_EQ(again.err, ended.err) << "the same violation at the same instant";
}

TEST(SimApp, DoesNotDependOnThreads) {
  const std::string command = "sim app crash-recovery --loss 0.1 --runs 20 --json";
  EXPECT_EQ(lab_answer(command + " --threads 1"), lab_answer(command + " --threads 2"));
}

TEST(SimApp, ShowsOneRun) {
  const Ended trace = lab("sim app crash-recovery --trace");
  EXPECT_EQ(trace.status, 0);
  for (const char* what : {"->* task", "->* bid", "->* alive", "->* done", "becomes done"})
    EXPECT_THAT(trace.out, HasSubstr(what));
  const Ended diagram = lab("sim app group-joining --nodes 3 --crash 0 --diagram -");
  EXPECT_EQ(diagram.status, 0);
  EXPECT_THAT(diagram.out, HasSubstr("bid"));
}

TEST(SimApp, RefusesInvalidOptions) {
  struct Case {
    const char* options;
    const char* error;
  };
  for (const Case& wrong :
       {Case{"coffee", "unknown application 'coffee'; use one of group-server, load"},
        Case{"group-server --variant printed", "--variant must be corrected or naive"},
        Case{"group-server --nodes 2", "--nodes must be from 3 to 64"},
        Case{"group-server --nodes 65", "--nodes must be from 3 to 64"},
        Case{"group-server --crash 4", "group-server with 5 nodes tolerates at most --crash 3"},
        Case{"replicated-data --crash 3", "tolerates at most --crash 2"},
        Case{"group-joining --crash 2", "tolerates at most --crash 1"},
        Case{"group-server --loss 0.6", "--loss must be from 0 to 0.5"},
        Case{"group-server --runs 99999999", "--runs must be from 1"},
        Case{"group-server --runs 2 --trace", "show one run"}}) {
    const Ended ended = lab(std::string("sim app ") + wrong.options);
    EXPECT_EQ(ended.status, 2) << wrong.options;
    EXPECT_THAT(ended.err, HasSubstr(wrong.error));
    EXPECT_THAT(ended.out, IsEmpty());
  }
  const Ended both = lab("sim app group-server --trace --json");
  EXPECT_EQ(both.status, 2);
  EXPECT_THAT(error_message(both), HasSubstr("choose one"));
}

TEST(SimApp, PrintsAViolationAsAnErrorInJson) {
  const Ended ended = lab("sim app mutual-exclusion --variant naive --nodes 6 --runs 3 --json");
  EXPECT_EQ(ended.status, 1);
  EXPECT_EQ(data_in(ended)["broken"], 3);
  EXPECT_EQ(error_in(ended)["status"], 1);
  EXPECT_EQ(error_in(ended)["code"], "no");
  EXPECT_THAT(error_message(ended), HasSubstr("replay: tempo-lab sim app "));
}

}  // namespace
}  // namespace tempo
