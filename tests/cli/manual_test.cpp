// The manual pages list what there is: no command, status or metric more or less; the help that
// programs give themselves is in order.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/snapshot.h"
#include "program.h"

namespace tempo {
namespace {

std::vector<std::string> lines_of_page(const std::string& name) {
  std::ifstream page(std::string(TEMPO_MAN) + '/' + name);
  EXPECT_TRUE(page) << name << " is not there";
  std::vector<std::string> lines;
  for (std::string line; std::getline(page, line);) {
    std::erase(line, '\\');  // roff writes a hyphen as \-
    lines.push_back(line);
  }
  return lines;
}

std::set<std::string> all_commands() {
  std::set<std::string> known;
  bool list = false;
  for (const std::string& line : lines_of(tempo("--help").out)) {
    if (line.starts_with("  ") && line.size() > 2 && line[2] != ' ' && list)
      known.insert(line.substr(2, line.find(' ', 2) - 2));
    if (!line.starts_with(' ')) list = line.starts_with("Subcommands");
  }
  EXPECT_GE(known.size(), 10U) << "the help has another form";
  return known;
}

TEST(Manual, HasEveryCommand) {
  std::set<std::string> documented;
  for (const std::string& line : lines_of_page("tempo.1"))
    if (line.starts_with(".SS tempo ")) documented.insert(line.substr(10));
  EXPECT_EQ(documented, all_commands());
}

// What it says is for people: no bytes of ours in it, and no C++.
TEST(Help, OfEveryCommandIsReadable) {
  for (const std::string& command : all_commands()) {
    const Ended help = tempo(command + " --help");
    EXPECT_EQ(help.status, 0) << command;
    EXPECT_TRUE(std::ranges::none_of(help.out, [](char c) {
      return static_cast<unsigned char>(c) < ' ' && c != '\n';
    })) << command;
    EXPECT_THAT(help.out, ::testing::Not(::testing::HasSubstr("ENUM"))) << command;
  }
}

// Where tempod listens is said in one way to all commands that ask it.
TEST(Help, OfEveryCommandThatAsksTempodNamesTheEnvironment) {
  int asking = 0;
  for (const std::string& command : all_commands()) {
    const std::string help = tempo(command + " --help").out;
    if (help.find("--socket") == std::string::npos) continue;
    ++asking;
    EXPECT_THAT(help, ::testing::HasSubstr("TEMPO_SOCKET")) << command;
  }
  EXPECT_GE(asking, 15);
}

TEST(Help, IsRightAboutTheEnvironment) {
  setenv("TEMPO_SOCKET", "/nonexistent/of-the-environment", 1);
  for (const char* line :
       {"status", "locks", "lock x -- true", "forget x", "elect x --criterion id -- true",
        "leader x", "groups", "watch-group x", "resign-group x"})
    EXPECT_THAT(tempo(line).err, ::testing::HasSubstr("/nonexistent/of-the-environment")) << line;
  unsetenv("TEMPO_SOCKET");
}

TEST(Manual, HasEveryMetric) {
  std::set<std::string> documented;
  for (const std::string& line : lines_of_page("tempod.8"))
    if (line.starts_with(".B tempo_")) documented.insert(line.substr(3));
  std::set<std::string> known;
  for (const obs::MetricHelp& help : obs::all_metrics()) known.insert(std::string(help.name));
  EXPECT_EQ(documented, known);
}

TEST(Manual, IsWellFormed) {
  for (const char* name : {"tempo.1", "tempod.8", "tempo.toml.5"}) {
    std::set<std::string> sections;
    for (const std::string& line : lines_of_page(name))
      if (line.starts_with(".SH ")) {
        EXPECT_TRUE(sections.insert(line.substr(4)).second) << line;
      }
    for (const char* section : {"NAME", "SYNOPSIS", "DESCRIPTION", "FILES", "SEE ALSO"})
      EXPECT_TRUE(sections.contains(section)) << name << " lacks " << section;
  }
}

}  // namespace
}  // namespace tempo
