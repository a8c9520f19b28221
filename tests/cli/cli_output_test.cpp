// tempo-lab as a user runs it: scripts, diagrams, traces, help, play and Ctrl-C.
#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/types.h>

#include "lab/studies/election/script.h"
#include "lab_program.h"

namespace tempo {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// --- scripts ---

TEST(Script, RepeatsARun) {
  const TemporaryFile file("kept.txt");
  json run = lab_answer(
      "sim election --nodes 5 --scenario two-candidates --seed 3 --json --script " + file.path());
  const std::string script = file.text();
  const Result<std::string> again = sim::election::answered(script);
  ASSERT_TRUE(again.has_value()) << again.error();
  EXPECT_EQ(*again, script);
  EXPECT_THAT(script,
              AllOf(StartsWith("# A run that violates no property.\n"), HasSubstr("\n----\n"),
                    HasSubstr("promises are kept\none-master holds\n")));
  EXPECT_THAT(script,
              HasSubstr(fmt::format(" {} becomes master\n", run["master_nodes"][0].get<int>())));
}

TEST(Script, IsShrunkAndStillViolatesTheProperty) {
  const TemporaryFile file("broken.txt");
  EXPECT_EQ(lab(std::string(kBroken) + " --script " + file.path()).status, 1);
  const std::string script = file.text();
  EXPECT_THAT(script, StartsWith("# Violates one-master: "));
  EXPECT_THAT(script, HasSubstr("one-master does not hold: "));
  const Result<std::string> again = sim::election::answered(script);
  ASSERT_TRUE(again.has_value()) << again.error();
  EXPECT_EQ(*again, script);
}

// --- plots ---

TEST(Plot, IsASelfContainedPage) {
  const TemporaryFile file("clocks.html");
  const Ended ended = lab("sim sync --clients 3 --seconds 100 --discard 40 --html " + file.path());
  EXPECT_EQ(ended.status, 0);
  const std::string page = file.text();
  EXPECT_THAT(page, StartsWith("<!doctype html>"));
  EXPECT_THAT(page, EndsWith("</html>\n"));
  for (const char* client : {"client 1", "client 2", "client 3"})
    EXPECT_THAT(page, HasSubstr(client));
  EXPECT_THAT(page, HasSubstr("tempo-lab sim sync --clients 3")) << "the command";
  EXPECT_THAT(page, HasSubstr("error bounds violated"));
  for (const char* foreign : {"http:", "https:", "<link", " src=", "@import", "url("})
    EXPECT_THAT(page, Not(HasSubstr(foreign))) << foreign;
}

// --- diagrams ---

TEST(Diagram, HasAnArrowForEveryReception) {
  for (const char* more : {"", " --loss 0.3", " --duplicate 0.5 --reorder 0.3"}) {
    const std::string line =
        fmt::format("sim election --nodes 4 --scenario start --seed 2{}", more);
    const TemporaryFile file("diagram.html");
    EXPECT_EQ(lab(line + " --diagram " + file.path()).status, 0);
    const Ended trace = lab(line + " --trace");
    const std::size_t received = count(trace.out, " received\n");
    ASSERT_GT(received, 20U);
    EXPECT_EQ(count(file.text(), "class=\"arrow\""), received) << line;
    EXPECT_EQ(count(file.text(), "class=\"lost\""), count(trace.out, " lost\n")) << line;
  }
}

TEST(Diagram, IsASelfContainedPage) {
  const TemporaryFile file("alone.html");
  EXPECT_EQ(lab("sim election --nodes 3 --diagram " + file.path()).status, 0);
  const std::string page = file.text();
  EXPECT_THAT(page, StartsWith("<!doctype html>"));
  EXPECT_THAT(page, EndsWith("</html>\n"));
  for (const char* foreign : {"http:", "https:", "<link", " src=", "@import", "url("})
    EXPECT_THAT(page, Not(HasSubstr(foreign))) << foreign;
  EXPECT_THAT(page, HasSubstr("tempo-lab sim election --nodes 3")) << "the command";
}

TEST(Diagram, IsDrawnInTheTerminal) {
  const Ended ended = lab("sim election --nodes 3 --diagram -");
  EXPECT_EQ(ended.status, 0);
  EXPECT_GT(lines_of(ended.out).size(), 20U);
  EXPECT_THAT(ended.out, HasSubstr("masterup"));
}

// --- traces ---

TEST(Trace, PrintsEveryMessageAndState) {
  const Ended ended = lab("sim election --nodes 2 --delay 1ms --repeats 0 --trace");
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(lines_of(ended.out),
              AllOf(Contains("0 1 starts"), Contains("0 1->* masterreq"),
                    Contains(EndsWith(" becomes master")), Contains(EndsWith(" loop received"))));
}

// --- help ---

struct Help {
  std::string_view command;
  std::vector<std::string_view> mentions;
};
void PrintTo(const Help& help, std::ostream* out) { *out << help.command; }

class Helps : public ::testing::TestWithParam<Help> {};

TEST_P(Helps, MentionEveryOption) {
  const Ended ended = lab(std::string(GetParam().command) + " --help");
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.err, IsEmpty());
  for (const std::string_view mention : GetParam().mentions)
    EXPECT_THAT(ended.out, HasSubstr(mention));
}

INSTANTIATE_TEST_SUITE_P(
    All, Helps,
    ::testing::Values(
        Help{"", {"play", "sim", "--version", "--help"}},
        Help{"sim", {"election", "sync", "--help"}},
        Help{"sim sync",
             {"--clients",   "--delay",     "--jitter",         "--jitter-up", "--jitter-down",
              "--wander",    "--frequency", "--rate",           "--seconds",   "--discard",
              "--loss",      "--liars",     "--kill-master-at", "--isolated",  "--trusted",
              "--utc-liars", "--leap-at",   "--seed",           "--seeds",     "--html",
              "--json"}},
        Help{"play", {"--nodes", "--seed", "--seconds", "--plain", "--json", "--help"}},
        Help{"sim election",
             {"--nodes",
              "--scenario",
              "--profile",
              "--election-timer",
              "--repeats",
              "--loss",
              "--duplicate",
              "--reorder",
              "--delay",
              "--seed",
              "--runs",
              "--threads",
              "--until",
              "--variant",
              "--trace",
              "--diagram",
              "--script",
              "--baselines",
              "--json",
              "--help",
              "start",
              "master-crash",
              "two-candidates",
              "many-candidates",
              "missed-election",
              "newcomer-conflict",
              "late-slave",
              "partition-heal",
              "crash-during-election",
              "collision",
              "churn",
              "classic",
              "lan",
              "fast",
              "corrected",
              "as-printed",
              "no-epoch",
              "no-loop",
              "refuse-duplicate",
              "conflict-kills-both",
              "conflict-for-resolve",
              "130"}}),
    [](const auto& row) {
      std::string name = row.param.command.empty() ? "tempo_lab" : std::string(row.param.command);
      std::ranges::replace(name, ' ', '_');
      return name;
    });

// The test above knows every option in the help.
TEST(Help, ShowsNoOtherOption) {
  const Ended ended = lab("sim election --help");
  for (const std::string& line : lines_of(ended.out)) {
    const std::size_t at = line.find("  --");
    if (at > 6 || line.find("tempo-lab sim election") != std::string::npos) continue;
    const std::string option = words_of(line).front();
    EXPECT_THAT(
        (std::vector<std::string>{"--nodes", "--scenario", "--profile", "--election-timer",
                                  "--repeats", "--loss", "--duplicate", "--reorder", "--delay",
                                  "--seed", "--runs", "--threads", "--until", "--variant",
                                  "--trace", "--diagram", "--script", "--baselines", "--json"}),
        Contains(option));
  }
}

TEST(Version, IsPrinted) {
  // "tempo 1.0.0-rc1 (revision 0123456789ab, release)"; sources without git have no revision.
  const std::string rest =
      " [0-9]+\\.[0-9]+\\.[0-9]+(-rc[0-9]+)? \\((revision [0-9a-f]+, )?[a-z, ]+\\)\n";
  EXPECT_THAT(tempo("--version").out, ::testing::MatchesRegex("tempo" + rest));
  const Ended ended = lab("--version");
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.out, ::testing::MatchesRegex("tempo-lab" + rest));
}

// --- play ---

TEST(Play, PrintsLines) {
  const Ended ended = lab("play --plain");
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.err, IsEmpty());
  EXPECT_THAT(ended.out, AllOf(HasSubstr("becomes candidate"), HasSubstr(" crashes\n"),
                               HasSubstr("Try next:"), Not(HasSubstr("\x1b"))));
  EXPECT_GE(count(ended.out, "becomes master\n"), 2U) << "the first master and its successor";
}

TEST(Play, SucceedsForAnySeedAndSize) {
  for (const int nodes : {3, 20})
    for (int seed = 1; seed <= 5; ++seed)
      EXPECT_EQ(lab(fmt::format("play --plain --nodes {} --seed {}", nodes, seed)).status, 0)
          << nodes << ", " << seed;
}

TEST(Play, PrintsOneJsonObjectPerEvent) {
  const Ended ended = lab("play --json");
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.err, IsEmpty());
  const std::vector<std::string> lines = lines_of(ended.out);
  ASSERT_GT(lines.size(), 20U);
  int crashes = 0, masters = 0;
  json last;
  for (const std::string& line : lines) {
    const json object = json::parse(line, nullptr, false);
    ASSERT_EQ(object.value("version", 0), 1) << line;
    last = object["data"];
    crashes += last["event"] == "crash";
    masters += last["event"] == "state" && last["state"] == "master";
  }
  EXPECT_EQ(crashes, 1);
  EXPECT_GE(masters, 2);
  EXPECT_EQ(last["event"], "end");
  EXPECT_TRUE(last["master"].is_number_unsigned());
  const Ended refused = lab("play --json --nodes 2");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(error_message(refused), HasSubstr("--nodes must be from 3 to 20"));
}

TEST(Play, SuggestsCommandsThatWork) {
  const Ended ended = lab("play --plain");
  int tried = 0;
  for (const std::string& line : lines_of(ended.out)) {
    if (!line.starts_with("  tempo-lab ")) continue;
    Words words = words_of(line);
    words.erase(words.begin());
    const TemporaryFile file("idea.html");
    std::ranges::replace(words, std::string("election.html"), file.path());
    std::ranges::replace(words, std::string("1000"), std::string("10"));
    EXPECT_EQ(Child(words, TEMPO_LAB_BINARY).wait().status, 0) << line;
    ++tried;
  }
  EXPECT_GE(tried, 3);
}

// --- Ctrl-C ---

// Whether the process catches this signal, and its processor time in hundredths of a second.
bool catches(pid_t id, int signal) {
  std::ifstream status(fmt::format("/proc/{}/status", id));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("SigCgt:"))
      return (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1) != 0;
  return false;
}
std::uint64_t worked(pid_t id) {
  std::ifstream file(fmt::format("/proc/{}/stat", id));
  std::string text;
  std::getline(file, text);
  const Words words = words_of(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  return words.size() < 13 ? 0 : std::stoull(words[11]) + std::stoull(words[12]);
}

TEST(Interrupt, PrintsTheResultsSoFar) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Child child(
        words_of(
            "sim election --nodes 3 --scenario master-crash --runs 1000000 --threads 2 --json"),
        TEMPO_LAB_BINARY);
    // Starting takes processor time too; count only the time after it.
    ASSERT_TRUE(child.read_until([&] { return catches(child.id(), signal); }));
    const std::uint64_t ready = worked(child.id());
    ASSERT_TRUE(child.read_until([&] { return worked(child.id()) >= ready + 30; }));
    ASSERT_EQ(kill(child.id(), signal), 0);
    const Ended ended = child.wait();
    EXPECT_EQ(ended.status, 130);
    EXPECT_THAT(error_message(ended),
                ::testing::MatchesRegex("interrupted after [0-9]+ of 1000000 runs"));
    json runs = data_in(ended);
    ASSERT_TRUE(runs.is_object()) << ended.out;
    EXPECT_EQ(runs["interrupted"], true);
    EXPECT_GT(runs["runs"], 0);
    EXPECT_LT(runs["runs"], 1'000'000);
    EXPECT_EQ(runs["one_master"], runs["runs"]) << "every counted run is complete";
    EXPECT_GT(runs["time_to_master_s"]["mean"], 0);
  }
}

}  // namespace
}  // namespace tempo
