// The completion scripts of tempo and tempo-lab in the shells that load them. The scripts in
// completion/ print the candidates that each shell offers for a command line.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "lab_program.h"

namespace tempo {
namespace {

namespace fs = std::filesystem;

struct Expectation {
  std::string line;
  std::set<std::string> offered, not_offered;
};

const std::vector<Expectation> kExpectations{
    {"tempo sta", {"status"}, {"locks", "--help", "trace.txt"}},
    {"tempo ", {"status", "lock", "completion"}, {"ring", "--json", "trace.txt"}},
    {"tempo lock --", {"--lease", "--no-wait", "--json"}, {"--metrics", "--version", "status"}},
    {"tempo lock status --", {"--lease"}, {"--metrics"}},  // a lock may have the name of a command
    {"tempo trace ", {"on", "off", "follow"}, {"status", "trace.txt"}},
    {"tempo trace on --", {"--socket"}, {"--version"}},
    {"tempo fence-check tr", {"trace.txt"}, {"trace"}},
    {"tempo-lab s", {"sim", "sweep"}, {"check", "status"}},
    {"tempo-lab sim ", {"election", "ring", "merge"}, {"core-model", "sweep", "trace.txt"}},
    {"tempo-lab check ", {"core-model", "ring"}, {"merge", "sim"}},
    {"tempo-lab sim merge --", {"--json"}, {"--out"}},  // not the command merge
    {"tempo-lab sim replay tr", {"trace.txt"}, {"ring"}},
};

bool is_installed(const std::string& shell) {
  return std::system(("command -v " + shell + " >/dev/null").c_str()) == 0;
}

// A directory with the scripts of one shell and a file `trace.txt`.
class Completion : public ::testing::Test {
 protected:
  Completion() {
    fs::create_directories(directory_);
    std::ofstream(directory_ / "trace.txt") << "a file\n";
  }
  ~Completion() override { fs::remove_all(directory_); }

  // `start`: the shell, its options and arguments, without the scripts and the lines.
  void expect_candidates(const std::string& shell, const std::string& start) {
    for (const char* program : {TEMPO_BINARY, TEMPO_LAB_BINARY}) {
      const Ended script = Child({"completion", shell}, program).wait();
      ASSERT_EQ(script.status, 0) << script.err;
      std::ofstream(directory_ / fs::path(program).filename()) << script.out;
    }
    // The shell finds no configuration of the user; `timeout` ends one that hangs.
    Words words{"-C", directory_.string(), "HOME=" + directory_.string(), "timeout", "60"};
    for (const std::string& word : words_of(start)) words.push_back(word);
    for (const char* program : {"tempo", "tempo-lab"}) words.push_back(directory_ / program);
    for (const Expectation& one : kExpectations) words.push_back(one.line);
    const Ended ended = Child(words, "/usr/bin/env").wait();
    ASSERT_EQ(ended.status, 0) << ended.out << ended.err;
    EXPECT_EQ(ended.err, "");

    std::map<std::string, std::set<std::string>> candidates;
    for (const std::string& line : lines_of(ended.out))
      candidates[line.substr(0, line.find('\t'))].insert(line.substr(line.find('\t') + 1));
    for (const auto& [line, offered, not_offered] : kExpectations) {
      EXPECT_THAT(candidates[line], ::testing::IsSupersetOf(offered)) << shell << ": " << line;
      for (const std::string& word : not_offered)
        EXPECT_FALSE(candidates[line].contains(word)) << shell << ": " << line << word;
    }
  }

  static std::string driver(const std::string& shell) {
    return fmt::format("{}/candidates.{}", TEMPO_COMPLETION_DRIVERS, shell);
  }

 private:
  fs::path directory_ =
      fs::temp_directory_path() / fmt::format("tempo_completion_test_{}", getpid());
};

TEST_F(Completion, OffersCandidatesInBash) {
  if (!is_installed("bash")) GTEST_SKIP() << "skipped: bash is not installed";
  expect_candidates("bash", "bash --norc --noprofile " + driver("bash"));
}

TEST_F(Completion, OffersCandidatesInZsh) {
  if (!is_installed("zsh")) GTEST_SKIP() << "skipped: zsh is not installed";
  if (!TerminalChild::possible()) GTEST_SKIP() << "skipped: no terminal is available";
  for (const char* how : {"source", "autoload"})
    expect_candidates("zsh", fmt::format("zsh -f {} {}", driver("zsh"), how));
}

TEST_F(Completion, OffersCandidatesInFish) {
  if (!is_installed("fish")) GTEST_SKIP() << "skipped: fish is not installed";
  expect_candidates("fish", "fish --no-config " + driver("fish"));
}

}  // namespace
}  // namespace tempo
