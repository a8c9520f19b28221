// `tempo sim app`, as a user runs it.
#include <array>
#include <string>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "program.h"

namespace tempo {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::array kNames{"group-server",   "load-balancing", "replicated-data",
                            "crash-recovery", "group-joining",  "mutual-exclusion"};

TEST(SimApp, ListsAllWithoutAName) {
  const Ended ended = tempo("sim app");
  EXPECT_EQ(ended.status, 0);
  json list = answer("sim app --json");
  ASSERT_EQ(list.size(), kNames.size());
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    EXPECT_THAT(ended.out, HasSubstr(kNames[i]));
    EXPECT_EQ(list[i]["app"], kNames[i]);
    for (const char* key : {"promise", "criterion", "about", "naive"})
      EXPECT_THAT(ended.out + std::string(list[i]["promise"]),
                  HasSubstr(list[i][key].get<std::string>()));
  }
}

TEST(SimApp, ItsHelpMentionsEverything) {
  const Ended ended = tempo("sim app --help");
  EXPECT_EQ(ended.status, 0);
  for (const char* name : kNames) EXPECT_THAT(ended.out, HasSubstr(name));
  for (const char* option : {"--nodes", "--crash", "--loss", "--variant", "--seed", "--runs",
                             "--threads", "--trace", "--diagram", "--json", "130"})
    EXPECT_THAT(ended.out, HasSubstr(option));
}

TEST(SimApp, HasTheseFields) {
  json sum = answer("sim app mutual-exclusion --runs 5 --json");
  EXPECT_EQ(sum["app"], "mutual-exclusion");
  EXPECT_EQ(sum["variant"], "corrected");
  EXPECT_EQ(sum["promise"], "fair-entry");
  EXPECT_EQ(sum["runs"], 5);
  EXPECT_EQ(sum["kept"], 5);
  EXPECT_EQ(sum["broken"], 0);
  EXPECT_GE(sum["wishes"], sum["entries"]);
  EXPECT_GE(sum["entries_per_node"]["min"], 1) << "everybody enters";
  EXPECT_GE(sum["entries_per_node"]["max"], sum["entries_per_node"]["min"]);
  EXPECT_GT(sum["longest_wait_T"], 0);
  EXPECT_GT(sum["elections"]["mean"], 1);
  EXPECT_GT(sum["broadcasts"]["mean"], sum["elections"]["mean"]);
  EXPECT_EQ(sum["trace_hash"].get<std::string>().size(), 16U);
}

TEST(SimApp, KeepsEveryPromise) {
  for (const char* name : kNames) {
    const Ended ended = tempo(fmt::format("sim app {} --runs 5", name));
    EXPECT_EQ(ended.status, 0) << name;
    EXPECT_THAT(ended.err, IsEmpty()) << name;
  }
}

TEST(SimApp, SaysHowToReplayABrokenPromise) {
  const Ended ended = tempo("sim app mutual-exclusion --variant naive --nodes 6 --runs 3");
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, HasSubstr("broken: fair-entry at "));
  const std::size_t line = ended.err.find("replay: tempo ");
  ASSERT_NE(line, std::string::npos);
  std::string order = ended.err.substr(line + 14);
  order.erase(order.find('\n'));
  const Ended again = tempo(order);
  EXPECT_EQ(again.status, 1);
  EXPECT_EQ(again.err, ended.err) << "the same breach at the same instant";
}

TEST(SimApp, DoesNotDependOnThreads) {
  const std::string order = "sim app crash-recovery --loss 0.1 --runs 20 --json";
  EXPECT_EQ(answer(order + " --threads 1"), answer(order + " --threads 2"));
}

TEST(SimApp, ShowsOneRun) {
  const Ended trace = tempo("sim app crash-recovery --trace");
  EXPECT_EQ(trace.status, 0);
  for (const char* what : {"->* task", "->* bid", "->* alive", "->* done", "becomes done"})
    EXPECT_THAT(trace.out, HasSubstr(what));
  const Ended diagram = tempo("sim app group-joining --nodes 3 --crash 0 --diagram -");
  EXPECT_EQ(diagram.status, 0);
  EXPECT_THAT(diagram.out, HasSubstr("bid"));
}

TEST(SimApp, RefusesWhatCannotBe) {
  struct Case {
    const char* order;
    const char* says;
  };
  for (const Case& wrong :
       {Case{"coffee", "there is no application 'coffee'; there are group-server, load"},
        Case{"group-server --variant printed", "--variant is corrected or naive"},
        Case{"group-server --nodes 2", "--nodes must be from 3 to 64"},
        Case{"group-server --nodes 65", "--nodes must be from 3 to 64"},
        Case{"group-server --crash 4", "group-server with 5 nodes can bear --crash 3 at most"},
        Case{"replicated-data --crash 3", "can bear --crash 2 at most"},
        Case{"group-joining --crash 2", "can bear --crash 1 at most"},
        Case{"group-server --loss 0.6", "--loss must be from 0 to 0.5"},
        Case{"group-server --runs 99999999", "--runs must be from 1"},
        Case{"group-server --runs 2 --trace", "show one run"},
        Case{"group-server --trace --json", "choose one"}}) {
    const Ended ended = tempo(std::string("sim app ") + wrong.order);
    EXPECT_EQ(ended.status, 2) << wrong.order;
    EXPECT_THAT(ended.err, HasSubstr(wrong.says));
    EXPECT_THAT(ended.out, IsEmpty());
  }
}

}  // namespace
}  // namespace tempo
