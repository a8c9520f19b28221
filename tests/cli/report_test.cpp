// `tempo-lab report --glance`: its files, resumed runs, and invalid options.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <unistd.h>

#include "lab_program.h"

namespace tempo {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

// A directory that the test removes at its end.
class Report : public ::testing::Test {
 protected:
  Report()
      : directory_(fs::temp_directory_path() / fmt::format("tempo_cli_test_{}_report", getpid())) {
    fs::remove_all(directory_);
  }
  ~Report() override { fs::remove_all(directory_); }
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  Ended report(std::string_view options) const {
    return lab(fmt::format("report --paper ring --out {} {}", directory_.string(), options));
  }
  std::string text_of(const char* name) const {
    std::ostringstream text;
    text << std::ifstream(directory_ / name).rdbuf();
    return text.str();
  }

  fs::path directory_;
};

TEST_F(Report, WritesThePageAndTheNumbers) {
  const Ended ended = report("--glance");
  EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("3/8"));
  EXPECT_THAT(ended.out, HasSubstr("3 errata, 0 undecided, 0 disagree"));
  EXPECT_THAT(ended.out, HasSubstr("report.html"));
  const json results = json::parse(text_of("results.json"));
  EXPECT_EQ(results["effort"], "glance");
  EXPECT_GE(results["claims"].size(), 20U);
  EXPECT_GE(results["charts"].size(), 4U);
  EXPECT_EQ(count(text_of("claims.csv"), "\n"), results["claims"].size() + 1);
  EXPECT_GT(count(text_of("charts.csv"), "\n"), 50U);
  EXPECT_THAT(text_of("report.html"), HasSubstr("Equitable Probabilistic Elections"));
}

TEST_F(Report, DoesNotDependOnThreads) {
  report("--glance --threads 1");
  const std::string one = text_of("results.json");
  fs::remove_all(directory_);
  report("--glance --threads 3");
  EXPECT_EQ(text_of("results.json"), one);
  fs::remove_all(directory_);
  report("--glance --seed 2");
  EXPECT_NE(text_of("results.json"), one);
}

TEST_F(Report, ReusesStoredExperiments) {
  report("--glance");
  const std::string before = text_of("results.json");
  EXPECT_THAT(report("--glance").out, HasSubstr("8 of 8 experiments from an earlier run"));
  // One file is missing, one is damaged, one belongs to another experiment.
  fs::remove(directory_ / "kept" / "ring-ties.json");
  std::ofstream(directory_ / "kept" / "ring-equity.json") << "{\"key\":";
  fs::copy_file(directory_ / "kept" / "ring-growth.json", directory_ / "kept" / "ring-faulty.json",
                fs::copy_options::overwrite_existing);
  EXPECT_THAT(report("--glance").out, HasSubstr("5 of 8 experiments from an earlier run"));
  EXPECT_EQ(text_of("results.json"), before);
  EXPECT_THAT(report("--glance --seed 2").out, Not(HasSubstr("from an earlier run")));
}

TEST_F(Report, StopsOnInterrupt) {
  Child child(words_of(fmt::format("report --paper ring --full --out {}", directory_.string())),
              TEMPO_LAB_BINARY);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!fs::exists(directory_ / "kept") && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  kill(child.id(), SIGINT);
  const Ended ended = child.wait();
  EXPECT_EQ(ended.status, 130) << ended.out << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("run the same command again to resume"));
  EXPECT_FALSE(fs::exists(directory_ / "report.html"));
}

TEST_F(Report, PrintsJson) {
  const Ended ended = report("--glance --json");
  EXPECT_EQ(ended.status, 0) << ended.err;
  const json summary = data_in(ended);
  EXPECT_EQ(summary["errata"], 3);
  EXPECT_EQ(summary["confidence"], 0.9999);
  EXPECT_EQ(summary["claims"][0]["paper"], "ring");
}

TEST_F(Report, RefusesInvalidOptions) {
  Ended ended = lab(fmt::format("report --paper bible --out {}", directory_.string()));
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err,
              HasSubstr("--paper must be one of tempo, ring, archimedean, capacity, all"));
  ended = report("--quick --full");
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("exclude each other"));
  ended = report("--threads 5000");
  EXPECT_EQ(ended.status, 2);
  EXPECT_FALSE(fs::exists(directory_)) << "nothing was done";
  ended = lab("report --glance --paper ring --out /dev/null/here");
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("choose another with --out"));
}

}  // namespace
}  // namespace tempo
