// The manual pages list every command, option, exit status and metric, and nothing else; the help
// of every command is readable.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/finding_codes.h"
#include "api/metrics/metrics.h"
#include "lab_program.h"

namespace tempo {
namespace {

std::vector<std::string> lines_of_page(const std::string& name) {
  std::ifstream page(std::string(TEMPO_MAN) + '/' + name);
  EXPECT_TRUE(page) << name << " does not exist";
  std::vector<std::string> lines;
  for (std::string line; std::getline(page, line);) {
    std::erase(line, '\\');  // roff writes a hyphen as \-
    lines.push_back(line);
  }
  return lines;
}

// The commands that a help lists under these topics.
std::set<std::string> commands_in(const std::string& help, const std::set<std::string>& topics) {
  std::set<std::string> known;
  bool list = false;
  for (const std::string& line : lines_of(help)) {
    if (line.starts_with("  ") && line.size() > 2 && line[2] != ' ' && list)
      known.insert(line.substr(2, line.find(' ', 2) - 2));
    if (!line.starts_with(' ')) list = topics.contains(line);
  }
  return known;
}

std::set<std::string> all_commands() {
  std::set<std::string> known =
      commands_in(tempo("--help").out, {"Time:", "Locks:", "Groups:", "Operations:"});
  EXPECT_GE(known.size(), 20U) << "the format of the help has changed";
  return known;
}

// Of tempo-lab, with their subcommands, such as "sim ring".
std::set<std::string> all_lab_commands() {
  std::set<std::string> all;
  for (const std::string& command :
       commands_in(lab("--help").out, {"Studies:", "Results:", "More:"})) {
    all.insert(command);
    for (const std::string& below : commands_in(lab(command + " --help").out, {"Subcommands:"}))
      all.insert(command + ' ' + below);
  }
  EXPECT_GE(all.size(), 20U) << "the format of the help has changed";
  return all;
}

std::string page_text(const std::string& name) {
  std::string text;
  for (const std::string& line : lines_of_page(name)) text += line + '\n';
  return text;
}

TEST(Manual, HasEveryCommand) {
  std::set<std::string> documented;
  for (const std::string& line : lines_of_page("tempo.1"))
    if (line.starts_with(".SS tempo ")) documented.insert(line.substr(10));
  EXPECT_EQ(documented, all_commands());
}

// Options that the page describes once for all commands.
TEST(Manual, HasEveryOption) {
  const std::string page = page_text("tempo.1");
  for (const std::string& command : all_commands())
    for (const std::string& line : lines_of(tempo(command + " --help").out)) {
      if (!line.starts_with("  --")) continue;
      const std::string option = line.substr(2, line.find_first_of(" ,=", 2) - 2);
      EXPECT_THAT(page, ::testing::HasSubstr(option)) << command;
    }
}

TEST(LabManual, HasEveryCommandAndOption) {
  const std::string page = page_text("tempo-lab.1");
  std::set<std::string> documented;
  for (const std::string& line : lines_of_page("tempo-lab.1")) {
    if (line.starts_with(".SS tempo-lab ")) documented.insert(line.substr(14));
    for (const char* family : {"sim", "check", "analyze"})
      if (line.starts_with(std::string(".B ") + family + ' ') && line.find("--") > line.size())
        documented.insert(line.substr(3));
  }
  EXPECT_EQ(documented, all_lab_commands());
  for (const std::string& command : all_lab_commands()) {
    const Ended help = lab(command + " --help");
    EXPECT_EQ(help.status, 0) << command;
    EXPECT_THAT(help.out, ::testing::Not(::testing::ContainsRegex(
                              "tempo (sim|check|analyze|report|sweep|merge|play)")))
        << command;
    for (const std::string& line : lines_of(help.out)) {
      if (!line.starts_with("  --")) continue;
      const std::string option = line.substr(2, line.find_first_of(" ,=", 2) - 2);
      EXPECT_THAT(page, ::testing::HasSubstr(option)) << command;
    }
  }
  for (const char* status : {"0", "1", "2", "130"})
    EXPECT_THAT(page, ::testing::HasSubstr(std::string("\n") + status + "\t")) << status;
}

TEST(Manual, HasEveryExitStatus) {
  const std::string page = page_text("tempo.1");
  for (const char* status : {"0", "1", "2", "3", "4", "100", "101", "102", "103", "104", "105",
                             "106", "107", "108", "109", "126", "127", "130"})
    EXPECT_THAT(page, ::testing::HasSubstr(std::string("\n") + status + "\t")) << status;
}

TEST(Help, ListsTheTopicsInOrder) {
  const std::string help = tempo("--help").out;
  std::size_t last = 0;
  for (const char* topic : {"\nTime:\n", "\nLocks:\n", "\nGroups:\n", "\nOperations:\n"}) {
    const std::size_t at = help.find(topic);
    ASSERT_NE(at, std::string::npos) << topic;
    EXPECT_GT(at, last) << topic;
    last = at;
  }
}

// No control characters and no C++ names.
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

// The help of `elect` had a line of 230 columns, which no terminal shows well.
TEST(Help, FitsInto100Columns) {
  const auto expect_narrow = [](const std::string& command, const std::string& help) {
    for (const std::string& line : lines_of(help)) EXPECT_LE(line.size(), 100U) << command;
  };
  for (const std::string& command : all_commands())
    expect_narrow(command, tempo(command + " --help").out);
  for (const std::string& command : all_lab_commands())
    expect_narrow(command, lab(command + " --help").out);
}

// All commands that connect to tempod take its socket in the same way.
TEST(Help, NamesTheEnvironmentVariableOfTheSocket) {
  int connecting = 0;
  for (const std::string& command : all_commands()) {
    const std::string help = tempo(command + " --help").out;
    if (help.find("--socket") == std::string::npos) continue;
    ++connecting;
    EXPECT_THAT(help, ::testing::HasSubstr("TEMPO_SOCKET")) << command;
  }
  EXPECT_GE(connecting, 15);
}

TEST(Help, TheEnvironmentSetsTheSocket) {
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

TEST(MetricsPage, HasEveryMetricAsTheCode) {
  std::ifstream page(TEMPO_METRICS_PAGE);
  ASSERT_TRUE(page) << "the page does not exist";
  std::vector<std::string> documented;
  for (std::string line; std::getline(page, line);)
    if (line.starts_with("| `")) documented.push_back(line);
  std::vector<std::string> wanted;
  for (const obs::MetricHelp& help : obs::all_metrics())
    wanted.push_back(fmt::format("| `{}` | {} | {} | {} | {} |", help.name, help.type, help.unit,
                                 help.labels, help.meaning));
  EXPECT_EQ(documented, wanted);
}

TEST(Manual, IsWellFormed) {
  for (const char* name :
       {"tempo.1", "tempo-lab.1", "tempod.8", "tempo-etcd.8", "tempo-web.8", "tempo.toml.5"}) {
    std::set<std::string> sections;
    for (const std::string& line : lines_of_page(name))
      if (line.starts_with(".SH ")) {
        EXPECT_TRUE(sections.insert(line.substr(4)).second) << line;
      }
    for (const char* section : {"NAME", "SYNOPSIS", "DESCRIPTION", "FILES", "SEE ALSO"})
      EXPECT_TRUE(sections.contains(section)) << name << " lacks " << section;
  }
}

// Each code of `tempo doctor` has one section with its title, in their order, and a cure.
TEST(Troubleshooting, ExplainsEveryCodeOfTheDoctor) {
  std::ifstream page(TEMPO_TROUBLESHOOTING);
  ASSERT_TRUE(page) << "the page does not exist";
  std::vector<std::string> headings;
  std::size_t cures = 0;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("### T")) headings.push_back(line.substr(4));
    if (line.starts_with("- Cure: ")) ++cures;
  }
  std::vector<std::string> wanted;
  for (const ipc::FindingKind& kind : ipc::kFindingKinds)
    wanted.push_back(std::string(kind.code) + ": " + std::string(kind.title));
  EXPECT_EQ(headings, wanted);
  EXPECT_EQ(cures, wanted.size());
}

}  // namespace
}  // namespace tempo
