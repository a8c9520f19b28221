// `tempo sim ...` and the other commands of tempo-lab, forwarded by tempo.
#include <filesystem>
#include <string>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "lab_program.h"

namespace tempo {
namespace {

TEST(Forward, RunsTempoLab) {
  for (const char* line :
       {"sim --help", "check --help", "analyze --help", "report --help", "sweep --help",
        "merge --help", "play --help", "sim app", "sim election --nodes 3 --seed 2 --json",
        "sim election --nodes x", "sim app mutual-exclusion --variant naive --nodes 6 --runs 3"}) {
    const Ended forwarded = tempo(line);
    const Ended direct = lab(line);
    EXPECT_EQ(forwarded.status, direct.status) << line;
    EXPECT_EQ(forwarded.out, direct.out) << line;
    EXPECT_EQ(forwarded.err, direct.err) << line;
  }
}

// A tempo without a tempo-lab beside it or on PATH.
TEST(Forward, NamesThePackageIfTempoLabIsNotInstalled) {
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / fmt::format("tempo_forward_test_{}", getpid());
  std::filesystem::create_directories(directory);
  const std::string alone = (directory / "tempo").string();
  std::filesystem::copy_file(TEMPO_BINARY, alone);
  for (const char* command : {"sim", "check", "analyze", "report", "sweep", "merge", "play"}) {
    const Ended ended =
        Child({"PATH=" + directory.string(), alone, command}, "/usr/bin/env").wait();
    EXPECT_EQ(ended.status, 2) << command;
    EXPECT_EQ(ended.out, "") << command;
    EXPECT_THAT(ended.err, ::testing::StartsWith("tempo: ")) << command;
    EXPECT_THAT(ended.err, ::testing::HasSubstr("install the package 'tempo-lab'")) << command;
  }
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace tempo
