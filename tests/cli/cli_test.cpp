// The built program, run as a user runs it: what it prints, what it writes, how it ends.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/sim/election/script.h"

namespace tempo {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

using Words = std::vector<std::string>;

Words words_of(std::string_view line) {
  Words words;
  std::istringstream in{std::string(line)};
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// --- a child process ---

struct Ended {
  int status = -1;  // of exit; 1000 + the signal's number if one ended it
  std::string out, err;
};

class Child {
 public:
  explicit Child(const Words& words) {
    std::array<int, 2> out{}, err{};
    if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0) std::abort();
    Words all = words;
    all.insert(all.begin(), TEMPO_BINARY);
    std::vector<char*> arguments;
    for (std::string& word : all) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    id_ = fork();
    if (id_ == 0) {
      dup2(out[1], STDOUT_FILENO);
      dup2(err[1], STDERR_FILENO);
      execv(TEMPO_BINARY, arguments.data());
      _exit(127);
    }
    close(out[1]);
    close(err[1]);
    out_ = out[0];
    err_ = err[0];
  }
  ~Child() {
    if (id_ > 0 && !over_) {
      kill(id_, SIGKILL);
      waitpid(id_, nullptr, 0);
    }
    close(out_);
    close(err_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t id() const { return id_; }

  // Reads until `done()` or the child has closed both its ends; says whether `done()` came true.
  bool read_until(const std::function<bool()>& done) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    std::array<pollfd, 2> ends{pollfd{out_, POLLIN, 0}, pollfd{err_, POLLIN, 0}};
    while (ends[0].fd >= 0 || ends[1].fd >= 0) {
      if (done()) return true;
      if (std::chrono::steady_clock::now() > deadline) return false;
      if (poll(ends.data(), ends.size(), 20) < 0 && errno != EINTR) return false;
      take(ends[0], ended_.out);
      take(ends[1], ended_.err);
    }
    return false;
  }
  Ended wait() {
    read_until([] { return false; });
    int status = 0;
    waitpid(id_, &status, 0);
    over_ = true;
    ended_.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    return ended_;
  }

 private:
  static void take(pollfd& end, std::string& into) {
    if (end.fd < 0 || (end.revents & (POLLIN | POLLHUP)) == 0) return;
    std::array<char, 65536> buffer{};
    const ssize_t got = read(end.fd, buffer.data(), buffer.size());
    if (got > 0)
      into.append(buffer.data(), static_cast<std::size_t>(got));
    else
      end.fd = -1;
  }

  pid_t id_ = -1;
  int out_ = -1, err_ = -1;
  bool over_ = false;
  Ended ended_;
};

Ended tempo(std::string_view line) { return Child(words_of(line)).wait(); }

// What it printed as JSON, after it ended well.
json answer(std::string_view line) {
  const Ended ended = tempo(line);
  EXPECT_EQ(ended.status, 0) << line << "\n" << ended.err;
  EXPECT_THAT(ended.err, IsEmpty()) << line;
  return json::parse(ended.out, nullptr, false);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in{text};
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// A file that is gone when the test is over.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view name)
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("tempo_cli_test_{}_{}", getpid(), name)) {}
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  std::string path() const { return path_.string(); }
  std::string text() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }

 private:
  std::filesystem::path path_;
};

constexpr std::string_view kMessageNames[] = {
    "masterreq", "masterack", "masterup", "slaveup", "election", "accept", "refuse", "conflict",
    "resolve",   "quit",      "ack",      "adjtime", "settime",  "loop",   "stale",  "masterdown"};

bool is_hash(const json& value) {
  const auto text = value.get<std::string>();
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// --- one run ---

// 20 survivors: Election 1, Accept 19, Ack 19, Masterup 1, Slaveup 19.
TEST(OneRun, CostsAsThePaperSays) {
  json run = answer("sim election --nodes 21 --scenario master-crash --repeats 0 --json");
  EXPECT_EQ(run["election_messages"], 59);
  EXPECT_EQ(run["nodes"], 21);
  EXPECT_EQ(run["survivors"], 20);
  EXPECT_EQ(run["masters"], 1);
  EXPECT_EQ(run["repeats_sent"], 0);
  EXPECT_EQ(run["violations"], json::array());
  EXPECT_EQ(run["messages"]["election"], 1);
  EXPECT_EQ(run["messages"]["accept"], 19);
  EXPECT_EQ(run["messages"]["masterup"], 1);
  EXPECT_EQ(run["messages"]["slaveup"], 19);
  EXPECT_EQ(run["messages"]["refuse"], 0);
}

TEST(OneRun, HasTheseFields) {
  json run = answer("sim election --nodes 4 --loss 0.2 --json");
  for (const char* name : {"nodes", "survivors", "election_messages", "repeats_sent", "masters"})
    EXPECT_TRUE(run[name].is_number_unsigned()) << name;
  EXPECT_TRUE(run["time_to_master_s"].is_number_float());
  EXPECT_TRUE(run["violations"].is_array());
  EXPECT_TRUE(is_hash(run["trace_hash"]));
  ASSERT_TRUE(run["messages"].is_object());
  EXPECT_EQ(run["messages"].size(), std::size(kMessageNames));
  for (const std::string_view name : kMessageNames)
    EXPECT_TRUE(run["messages"][std::string(name)].is_number_unsigned()) << name;
}

// Without a master there is no time to it.
TEST(OneRun, SaysNullForATimeThatNeverCame) {
  const Ended ended = tempo("sim election --nodes 3 --until 100ms --json");
  EXPECT_EQ(ended.status, 1);
  json run = json::parse(ended.out, nullptr, false);
  EXPECT_TRUE(run["time_to_master_s"].is_null());
  EXPECT_EQ(run["masters"], 0);
  ASSERT_EQ(run["violations"].size(), 1U);
  EXPECT_EQ(run["violations"][0]["promise"], "one-master");
}

TEST(OneRun, TellsAPersonInATable) {
  const Ended ended = tempo("sim election --nodes 21 --scenario master-crash --repeats 0");
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.err, IsEmpty());
  EXPECT_THAT(ended.out, ::testing::ContainsRegex("election messages +59\n"));
  EXPECT_THAT(ended.out, ::testing::ContainsRegex("nodes / survivors +21 / 20\n"));
}

TEST(OneRun, ComparesWithTheBaselines) {
  json run =
      answer("sim election --nodes 9 --scenario master-crash --repeats 0 --baselines --json");
  ASSERT_GE(run["baselines"].size(), 2U);
  for (json& baseline : run["baselines"]) {
    EXPECT_EQ(baseline["one_leader"], true) << baseline;
    EXPECT_EQ(baseline["messages"], baseline["predicted"]) << baseline;
  }
}

// --- many runs ---

TEST(ManyRuns, HaveTheseFields) {
  json runs = answer("sim election --nodes 5 --scenario master-crash --runs 40 --json");
  for (const char* name : {"runs", "one_master", "no_master", "several_masters", "ever_two_masters",
                           "collisions", "violations"})
    EXPECT_TRUE(runs[name].is_number_unsigned()) << name;
  EXPECT_EQ(runs["runs"], 40);
  EXPECT_EQ(runs["one_master"].get<int>() + runs["no_master"].get<int>() +
                runs["several_masters"].get<int>(),
            40);
  json& time = runs["time_to_master_s"];
  for (const char* name : {"mean", "p50", "p99", "max"})
    EXPECT_TRUE(time[name].is_number_float()) << name;
  EXPECT_LE(time["p50"], time["p99"]);
  EXPECT_LE(time["p99"], time["max"]);
  EXPECT_GT(time["mean"], 0);
  EXPECT_TRUE(runs["election_messages"]["mean"].is_number_float());
  EXPECT_TRUE(runs["election_messages"]["max"].is_number_unsigned());
  EXPECT_GT(runs["events_per_second"], 0);
  EXPECT_TRUE(is_hash(runs["trace_hash"]));
}

TEST(ManyRuns, AverageTheSingleOnes) {
  double sum = 0, longest = 0;
  for (int seed = 5; seed < 9; ++seed) {
    json run = answer(
        fmt::format("sim election --nodes 4 --scenario master-crash --seed {} --json", seed));
    sum += run["time_to_master_s"].get<double>();
    longest = std::max(longest, run["time_to_master_s"].get<double>());
  }
  json runs = answer("sim election --nodes 4 --scenario master-crash --seed 5 --runs 4 --json");
  EXPECT_NEAR(runs["time_to_master_s"]["mean"], sum / 4, 1e-9);
  EXPECT_EQ(runs["time_to_master_s"]["max"], longest);
}

// --- the same again ---

TEST(SameSeed, SameHashOnAnyNumberOfThreads) {
  const std::string line =
      "sim election --nodes 5 --scenario churn --loss 0.1 --seed 7 --runs 12 --json --threads ";
  json one = answer(line + "1");
  json two = answer(line + "2");
  EXPECT_EQ(one["trace_hash"], two["trace_hash"]);
  EXPECT_EQ(one["time_to_master_s"], two["time_to_master_s"]);
  EXPECT_EQ(one["election_messages"], two["election_messages"]);
  json other = answer(
      "sim election --nodes 5 --scenario churn --loss 0.1 --seed 8 --runs 12 --json --threads 2");
  EXPECT_NE(other["trace_hash"], one["trace_hash"]);
}

// The one number here that comes from the program itself. This test runs in every build, with and
// without sanitizers and optimisation: the number says that all of them do the same, bit for bit.
// Update it when elections change on purpose, and look at two builds when you do.
TEST(SameSeed, SameHashInEveryBuild) {
  json run = answer(
      "sim election --nodes 7 --scenario churn --loss 0.1 --duplicate 0.05 --reorder 0.1 "
      "--delay 100us+exp:200us --seed 42 --json");
  EXPECT_EQ(run["trace_hash"], "dcd7e27b2ee91d54");
}

// --- bad usage: nothing is done, one sentence says why ---

class BadUsage : public ::testing::TestWithParam<std::string_view> {};

TEST_P(BadUsage, IsAnsweredBySentenceAndStatus) {
  const Ended ended = tempo(GetParam());
  EXPECT_EQ(ended.status, 2) << ended.err;
  EXPECT_THAT(ended.out, IsEmpty());
  const std::vector<std::string> lines = lines_of(ended.err);
  ASSERT_FALSE(lines.empty());
  EXPECT_GT(lines[0].size(), 10U) << "a sentence";
  // What the option parser says itself is followed by a pointer to the help.
  ASSERT_LE(lines.size(), 2U) << ended.err;
  if (lines.size() == 2) {
    EXPECT_EQ(lines[1], "Run with --help for more information.");
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, BadUsage,
    ::testing::Values(
        "", "dance", "sim", "sim dance", "--nodes 5", "sim election extra", "sim election --dance",
        "sim election --nodes", "sim election --nodes five", "sim election --nodes 0",
        "sim election --nodes -1", "sim election --nodes 2001", "sim election --nodes 99999999999",
        "sim election --nodes 3 --nodes 4", "sim election --nodes 1 --scenario master-crash",
        "sim election --nodes 3 --scenario missed-election", "sim election --scenario dance",
        "sim election --profile dance", "sim election --variant dance",
        "sim election --variant no-loop,", "sim election --election-timer 3s",
        "sim election --election-timer 3s..x", "sim election --election-timer 5s..3s",
        "sim election --election-timer 1ms..2ms", "sim election --repeats 5",
        "sim election --repeats x", "sim election --loss 1", "sim election --loss -0.1",
        "sim election --loss nan", "sim election --loss x", "sim election --duplicate 1",
        "sim election --reorder 1.5", "sim election --delay dance", "sim election --delay 0",
        "sim election --delay uniform:2ms..1ms",
        "sim election --scenario collision --delay exp:1ms", "sim election --seed x",
        "sim election --seed -1", "sim election --runs 0", "sim election --runs 1000001",
        "sim election --runs x", "sim election --threads x",
        "sim election --threads 100000 --runs 2", "sim election --until 0",
        "sim election --until soon", "sim election --runs 2 --trace",
        "sim election --runs 2 --diagram -", "sim election --trace --json",
        "sim election --diagram /nonexistent/directory/election.html",
        "sim election --script /nonexistent/directory/election.txt", "play --nodes 2",
        "play --nodes 21", "play --seconds -1", "play --seconds x", "play --dance"),
    [](const auto& row) {
      std::string name = fmt::format("{}_{}", row.index, row.param);
      std::ranges::replace_if(
          name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
      return name;
    });

// --- a broken promise ---

// Without Loops a healed network keeps both its masters.
constexpr std::string_view kBroken =
    "sim election --nodes 4 --scenario partition-heal --variant no-loop --until 60s";

TEST(BrokenPromise, IsSaidWithALineThatReplaysIt) {
  const Ended ended = tempo(kBroken);
  EXPECT_EQ(ended.status, 1);
  const std::vector<std::string> lines = lines_of(ended.err);
  ASSERT_GE(lines.size(), 2U);
  EXPECT_THAT(lines[0], AllOf(StartsWith("broken: one-master at "), EndsWith("are both masters")));
  ASSERT_THAT(lines.back(), StartsWith("replay: tempo sim election "));
  const Ended again = tempo(lines.back().substr(std::string_view("replay: tempo ").size()));
  EXPECT_EQ(again.status, 1);
  EXPECT_EQ(again.out, ended.out);
  EXPECT_EQ(again.err, ended.err);
}

TEST(BrokenPromise, AmongManyRunsTheFirstIsReplayed) {
  const Ended ended = tempo(std::string(kBroken) + " --runs 3 --seed 10 --json");
  EXPECT_EQ(ended.status, 1);
  EXPECT_GE(json::parse(ended.out, nullptr, false)["violations"], 3);
  EXPECT_THAT(lines_of(ended.err).back(), EndsWith("--seed 10"));
}

// --- scripts ---

TEST(Script, OfARunRepeatsIt) {
  const TemporaryFile file("kept.txt");
  json run = answer("sim election --nodes 5 --scenario two-candidates --seed 3 --json --script " +
                    file.path());
  const std::string script = file.text();
  const Result<std::string> again = sim::election::answered(script);
  ASSERT_TRUE(again.has_value()) << again.error();
  EXPECT_EQ(*again, script);
  EXPECT_THAT(script, AllOf(StartsWith("# A run that keeps its promises.\n"), HasSubstr("\n----\n"),
                            HasSubstr("promises are kept\none-master holds\n")));
  EXPECT_THAT(script,
              HasSubstr(fmt::format(" {} becomes master\n", run["master_nodes"][0].get<int>())));
}

TEST(Script, OfABrokenPromiseIsShrunkAndStillBreaksIt) {
  const TemporaryFile file("broken.txt");
  EXPECT_EQ(tempo(std::string(kBroken) + " --script " + file.path()).status, 1);
  const std::string script = file.text();
  EXPECT_THAT(script, StartsWith("# Breaks one-master: "));
  EXPECT_THAT(script, HasSubstr("one-master does not hold: "));
  const Result<std::string> again = sim::election::answered(script);
  ASSERT_TRUE(again.has_value()) << again.error();
  EXPECT_EQ(*again, script);
}

// --- diagrams ---

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++found;
  return found;
}

TEST(Diagram, HasAnArrowForEveryReception) {
  for (const char* more : {"", " --loss 0.3", " --duplicate 0.5 --reorder 0.3"}) {
    const std::string line =
        fmt::format("sim election --nodes 4 --scenario start --seed 2{}", more);
    const TemporaryFile file("diagram.html");
    EXPECT_EQ(tempo(line + " --diagram " + file.path()).status, 0);
    const Ended trace = tempo(line + " --trace");
    const std::size_t received = count(trace.out, " received\n");
    ASSERT_GT(received, 20U);
    EXPECT_EQ(count(file.text(), "class=\"arrow\""), received) << line;
    EXPECT_EQ(count(file.text(), "class=\"lost\""), count(trace.out, " lost\n")) << line;
  }
}

TEST(Diagram, NeedsNothingElse) {
  const TemporaryFile file("alone.html");
  EXPECT_EQ(tempo("sim election --nodes 3 --diagram " + file.path()).status, 0);
  const std::string page = file.text();
  EXPECT_THAT(page, StartsWith("<!doctype html>"));
  EXPECT_THAT(page, EndsWith("</html>\n"));
  for (const char* foreign : {"http:", "https:", "<link", " src=", "@import", "url("})
    EXPECT_THAT(page, Not(HasSubstr(foreign))) << foreign;
  EXPECT_THAT(page, HasSubstr("tempo sim election --nodes 3")) << "it says how it was made";
}

TEST(Diagram, IsDrawnInTheTerminalToo) {
  const Ended ended = tempo("sim election --nodes 3 --diagram -");
  EXPECT_EQ(ended.status, 0);
  EXPECT_GT(lines_of(ended.out).size(), 20U);
  EXPECT_THAT(ended.out, HasSubstr("masterup"));
}

// --- traces ---

TEST(Trace, TellsEveryMessageAndState) {
  const Ended ended = tempo("sim election --nodes 2 --delay 1ms --repeats 0 --trace");
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

TEST_P(Helps, MentionEverything) {
  const Ended ended = tempo(std::string(GetParam().command) + " --help");
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.err, IsEmpty());
  for (const std::string_view mention : GetParam().mentions)
    EXPECT_THAT(ended.out, HasSubstr(mention));
}

INSTANTIATE_TEST_SUITE_P(
    All, Helps,
    ::testing::Values(Help{"", {"play", "sim", "--version", "--help"}},
                      Help{"sim", {"election", "--help"}},
                      Help{"play", {"--nodes", "--seed", "--seconds", "--plain", "--help"}},
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
                            "130"}}),
    [](const auto& row) {
      std::string name = row.param.command.empty() ? "tempo" : std::string(row.param.command);
      std::ranges::replace(name, ' ', '_');
      return name;
    });

// Every option that the help shows is one of those above: a new one is added there too.
TEST(Help, ShowsNoOptionThatNobodyKnows) {
  const Ended ended = tempo("sim election --help");
  for (const std::string& line : lines_of(ended.out)) {
    const std::size_t at = line.find("  --");
    if (at == std::string::npos || at > 6 || line.find("tempo sim election") != std::string::npos)
      continue;
    const std::string option = words_of(line).front();
    EXPECT_THAT(
        (std::vector<std::string>{"--nodes", "--scenario", "--profile", "--election-timer",
                                  "--repeats", "--loss", "--duplicate", "--reorder", "--delay",
                                  "--seed", "--runs", "--threads", "--until", "--variant",
                                  "--trace", "--diagram", "--script", "--baselines", "--json"}),
        Contains(option));
  }
}

TEST(Version, IsSaid) {
  const Ended ended = tempo("--version");
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.out, ::testing::MatchesRegex("tempo [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

// --- play ---

TEST(Play, TellsAStoryInLines) {
  const Ended ended = tempo("play --plain");
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.err, IsEmpty());
  EXPECT_THAT(ended.out, AllOf(HasSubstr("becomes candidate"), HasSubstr(" dies\n"),
                               HasSubstr("What to try next:"), Not(HasSubstr("\x1b"))));
  EXPECT_GE(count(ended.out, "becomes master\n"), 2U) << "one that dies, and its heir";
}

TEST(Play, EndsWellForAnySeedAndSize) {
  for (const int nodes : {3, 20})
    for (int seed = 1; seed <= 5; ++seed)
      EXPECT_EQ(tempo(fmt::format("play --plain --nodes {} --seed {}", nodes, seed)).status, 0)
          << nodes << ", " << seed;
}

// What the last command of its list of ideas says must work.
TEST(Play, SuggestsCommandsThatWork) {
  const Ended ended = tempo("play --plain");
  int tried = 0;
  for (const std::string& line : lines_of(ended.out)) {
    if (!line.starts_with("  tempo ")) continue;
    Words words = words_of(line);
    words.erase(words.begin());
    const TemporaryFile file("idea.html");
    std::ranges::replace(words, std::string("election.html"), file.path());
    std::ranges::replace(words, std::string("1000"), std::string("10"));
    EXPECT_EQ(Child(words).wait().status, 0) << line;
    ++tried;
  }
  EXPECT_GE(tried, 3);
}

// --- Ctrl-C ---

// Whether the process would catch this signal, and how much it has worked, in hundredths of a
// second.
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

TEST(Interrupt, GivesWhatWasDoneSoFar) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Child child(words_of(
        "sim election --nodes 3 --scenario master-crash --runs 1000000 --threads 2 --json"));
    ASSERT_TRUE(
        child.read_until([&] { return catches(child.id(), signal) && worked(child.id()) >= 30; }));
    ASSERT_EQ(kill(child.id(), signal), 0);
    const Ended ended = child.wait();
    EXPECT_EQ(ended.status, 130);
    EXPECT_THAT(ended.err,
                ::testing::ContainsRegex("tempo: interrupted after [0-9]+ of 1000000 runs\n"));
    json runs = json::parse(ended.out, nullptr, false);
    ASSERT_TRUE(runs.is_object()) << ended.out;
    EXPECT_EQ(runs["interrupted"], true);
    EXPECT_GT(runs["runs"], 0);
    EXPECT_LT(runs["runs"], 1'000'000);
    EXPECT_EQ(runs["one_master"], runs["runs"]) << "each that was done was done to its end";
    EXPECT_GT(runs["time_to_master_s"]["mean"], 0);
  }
}

}  // namespace
}  // namespace tempo
