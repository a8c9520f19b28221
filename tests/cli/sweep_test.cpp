// `tempo-lab sweep` and `tempo-lab merge`: the results are the same bytes for every distribution of
// the cells and after every interruption.
#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lab_program.h"

namespace tempo {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A directory that the test removes at its end.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "tempo_sweep_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string at(const std::string& name) const { return (path_ / name).string(); }
  std::string put(const std::string& name, const std::string& text) const {
    std::ofstream(at(name), std::ios::binary) << text;
    return at(name);
  }
  std::string text(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(at(name), std::ios::binary).rdbuf();
    return text.str();
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      all.push_back(entry.path().filename().string());
    std::ranges::sort(all);
    return all;
  }

 private:
  std::filesystem::path path_;
};

constexpr const char* kElections =
    "command = \"sim election\"\n"
    "seeds = 2\n"
    "[options]\n"
    "scenario = \"churn\"\n"
    "runs = 3\n"
    "[grid]\n"
    "nodes = [3, 4, 5]\n"
    "loss = { from = 0, to = 0.2, step = 0.1 }\n";

constexpr const char* kLocks =
    "command = \"sim lock\"\n"
    "[options]\n"
    "entries = 5000\n"
    "[grid]\n"
    "seed = { from = 1, to = 24 }\n";

Ended sweep(const Folder& folder, const std::string& more) {
  return lab("sweep " + folder.at("spec.toml") + " " + more);
}

TEST(Sweep, DoesNotDependOnThreadsAndShards) {
  const Folder folder;
  folder.put("spec.toml", kElections);
  EXPECT_EQ(sweep(folder, "--threads 1 --out " + folder.at("one")).status, 0);
  EXPECT_EQ(sweep(folder, "--threads 2 --out " + folder.at("two")).status, 0);
  std::string parts;
  for (const char* shard : {"1/3", "3/3", "2/3"}) {
    const Ended ended =
        sweep(folder, std::string("--shard ") + shard + " --out " + folder.at("part"));
    EXPECT_EQ(ended.status, 0) << ended.err;
  }
  for (const char* part : {"part.2-of-3.jsonl", "part.1-of-3.jsonl", "part.3-of-3.jsonl"})
    parts += " " + folder.at(part);
  EXPECT_EQ(lab("merge --out " + folder.at("merged") + parts).status, 0);

  const std::string whole = folder.text("one.jsonl");
  ASSERT_EQ(count(whole, "\n"), 1U + 3 * 3 * 2);
  EXPECT_EQ(folder.text("two.jsonl"), whole);
  EXPECT_EQ(folder.text("merged.jsonl"), whole);
  const std::string table = folder.text("one.csv");
  EXPECT_THAT(table, ::testing::StartsWith("cell,nodes,loss,seed,status,"));
  EXPECT_EQ(count(table, "\n"), 1U + 3 * 3 * 2);
  EXPECT_EQ(folder.text("two.csv"), table);
  EXPECT_EQ(folder.text("merged.csv"), table);
  for (const std::string& name : folder.names()) EXPECT_EQ(name.find(".part"), std::string::npos);
}

// The result of a cell is the data of the command, without fields that depend on the machine.
TEST(Sweep, RunsTheCommandInEveryCell) {
  const Folder folder;
  folder.put("spec.toml", kElections);
  ASSERT_EQ(sweep(folder, "").status, 0);
  const json cell = json::parse(lines_of(folder.text("spec.jsonl"))[1 + 15]);
  EXPECT_EQ(cell["parameters"], (json{{"nodes", 5}, {"loss", 0.1}, {"seed", 2}}));
  json alone =
      lab_answer("sim election --scenario churn --runs 3 --nodes 5 --loss 0.1 --seed 2 --json");
  alone.erase("threads");
  alone.erase("events_per_second");
  EXPECT_EQ(cell["result"], alone);
}

// All commands that can be swept, from the help.
std::set<std::string> sweepable_commands() {
  std::set<std::string> all;
  for (const std::string group : {"sim", "check", "analyze"}) {
    const std::string help = lab(group + " --help").out;
    std::istringstream below(help.substr(std::min(help.find("Subcommands:"), help.size())));
    for (std::string line; std::getline(below, line);)
      if (line.starts_with("  ") && line[2] != ' ')
        all.insert(group + ' ' + line.substr(2, line.find(' ', 2) - 2));
  }
  for (const char* reads_files : {"sim replay", "sim merge"}) all.erase(reads_files);
  return all;
}

// No command prints anything that depends on time or threads.
TEST(Sweep, IsReproducibleForEveryCommand) {
  std::set<std::string> tried;
  struct Case {
    const char* command;
    const char* options;
    const char* grid;
  };
  for (const Case& one : {
           Case{"sim election", "", "nodes = [3, 4]"},
           Case{"sim election", "runs = 2\nbaselines = true", "nodes = [3, 4]"},
           Case{"sim capacity", "runs = 5", "algorithm = [\"a\", \"c\"]"},
           Case{"sim daemon", "until = \"20s\"", "seed = [1, 2]"},
           Case{"sim sync", "clients = 2\nseconds = 1200", "seed = [1, 2]"},
           Case{"sim app", "runs = 2", "seed = [1, 2]"},
           Case{"sim ring", "runs = 20", "stations = [3, 5]"},
           Case{"sim lock", "entries = 200", "kind = [\"mutex\", \"rw\", \"explicit\", \"lease\"]"},
           Case{"check election", "nodes = 2", "losses = [0, 1]"},
           Case{"check lock", "sites = 2", "hold = [1, 2]"},
           Case{"check ring", "", "stations = [2, 3]"},
           Case{"check core-model", "", "timeouts = [1, 2]"},
           Case{"check capacity", "nodes = 2", "algorithm = [\"a\", \"b1\", \"b2\", \"c\"]"},
           Case{"check broadcast", "", "faults = [\"omission\", \"malicious\"]"},
           Case{"analyze ring", "range = 2", "stations = [3, 4]"},
           Case{"analyze anonymous-ring", "stations = 8", "stages = [1, 2]"},
           Case{"analyze collision", "window = \"10ms\"\nwidth = \"2s\"", "daemons = [3, 4]"},
           Case{"analyze algorithm-c", "loss = \"3/10\"", "candidates = [\"2\", \"2..5\"]"},
       }) {
    const Folder folder;
    folder.put("spec.toml", fmt::format("command = \"{}\"\n[options]\n{}\n[grid]\n{}\n",
                                        one.command, one.options, one.grid));
    const Ended first = sweep(folder, "--threads 1 --out " + folder.at("one"));
    EXPECT_EQ(first.status, 0) << one.command << ": " << first.err;
    EXPECT_EQ(sweep(folder, "--threads 2 --out " + folder.at("two")).status, 0) << one.command;
    EXPECT_EQ(folder.text("one.jsonl"), folder.text("two.jsonl")) << one.command;
    EXPECT_GE(count(folder.text("one.jsonl"), "\n"), 3U) << one.command;
    tried.insert(one.command);
  }
  EXPECT_EQ(tried, sweepable_commands());
}

// The sweep is killed and cannot clean up.
TEST(Sweep, ResumesAfterKill) {
  const Folder folder;
  folder.put("spec.toml", kLocks);
  ASSERT_EQ(sweep(folder, "--out " + folder.at("whole")).status, 0);
  // On a busy machine the sweep may end before the kill; then try again.
  for (int tries = 0; tries < 20; ++tries) {
    std::filesystem::remove(folder.at("spec.jsonl"));
    Child child(words_of("sweep " + folder.at("spec.toml") + " --threads 1"), TEMPO_LAB_BINARY);
    child.read_until([&] { return count(folder.text("spec.part"), "\n") >= 4; });
    kill(child.id(), SIGKILL);
    child.wait();
    if (!std::filesystem::exists(folder.at("spec.jsonl"))) break;
  }
  EXPECT_FALSE(std::filesystem::exists(folder.at("spec.jsonl")));
  const std::size_t done = count(folder.text("spec.part"), "\n") - 1;
  ASSERT_GE(done, 3U);
  // An incomplete last line.
  folder.put("spec.part", folder.text("spec.part") + "{\"cell\":23,\"par");
  const Ended again = sweep(folder, "--json");
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(data_in(again)["resumed"], done);
  EXPECT_EQ(folder.text("spec.jsonl"), folder.text("whole.jsonl"));
  EXPECT_EQ(folder.text("spec.csv"), folder.text("whole.csv"));
  EXPECT_FALSE(std::filesystem::exists(folder.at("spec.part")));
}

TEST(Sweep, IgnoresThePartFileOfAnotherSweep) {
  const Folder folder;
  folder.put("spec.toml", kElections);
  ASSERT_EQ(sweep(folder, "").status, 0);
  const std::string whole = folder.text("spec.jsonl");
  std::string other = whole;
  other.replace(other.find("\"runs\":3"), 8, "\"runs\":4");
  folder.put("spec.part", other);
  const Ended again = sweep(folder, "--json");
  EXPECT_EQ(data_in(again)["resumed"], 0);
  EXPECT_EQ(folder.text("spec.jsonl"), whole);
}

TEST(Sweep, PrintsAllMistakesOfItsSpecification) {
  const Folder folder;
  folder.put("spec.toml",
             "command = \"sim election\"\n[options]\nnode = 3\ntrace = true\n[grid]\nloss = 0.1\n");
  const Ended ended = sweep(folder, "");
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("spec.toml:3:1: `tempo-lab sim election` has no option --node"));
  EXPECT_THAT(ended.err, HasSubstr("spec.toml:4:1: --trace is not allowed in a sweep"));
  EXPECT_THAT(ended.err, HasSubstr("spec.toml:6:8: loss must be a list"));
  EXPECT_EQ(count(ended.err, "\n"), 3U);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"spec.toml"});
  EXPECT_EQ(lab("sweep " + folder.at("none.toml")).status, 2);
}

TEST(Sweep, NamesTheCellThatCannotRun) {
  const Folder folder;
  folder.put("spec.toml",
             "command = \"sim lock\"\n[options]\nentries = 10\n[grid]\nsites = [3, 1]\n");
  const Ended ended = sweep(folder, "");
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.err,
            "tempo-lab: cell 1 (sim lock sites=1): --sites must be from 2 to 1000, not 1\n");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"spec.toml"});
  EXPECT_EQ(sweep(folder, "--shard 4/3").status, 2);
  EXPECT_EQ(sweep(folder, "--threads 257").err,
            "tempo-lab: --threads must be from 0 (one for each core) to 256, not 257\n");
}

TEST(Sweep, PrintsTheNumberOfCellsWithViolations) {
  const Folder folder;
  folder.put("spec.toml",
             "command = \"check lock\"\n[options]\nsites = 2\nhold = 2\n[grid]\n"
             "variant = [\"corrected\", \"as-printed\"]\n");
  const Ended ended = sweep(folder, "");
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.out, HasSubstr("in 1 of them a property was violated"));
  EXPECT_EQ(json::parse(lines_of(folder.text("spec.jsonl"))[1])["status"], 0);
  EXPECT_EQ(json::parse(lines_of(folder.text("spec.jsonl"))[2])["status"], 1);
}

// --- under mpirun ---

// Why a sweep cannot run under mpirun; empty: it can.
std::string why_no_mpirun() {
#ifdef __SANITIZE_THREAD__
  return "the thread sanitizer does not understand the synchronization of OpenMPI's threads";
#endif
  if (std::system("command -v mpirun > /dev/null") != 0)
    return "mpirun (openmpi-bin) is not installed";
  const auto module =
      std::filesystem::path(TEMPO_LAB_BINARY).parent_path() / "../lib/tempo/tempo-mpi.so";
  return std::filesystem::exists(module) ? "" : "built without MPI (libopenmpi-dev)";
}

// Arguments of a shell. MPI uses no network, and its own leaks are not reported.
Words under_mpirun(const Folder& folder, const std::string& more) {
  return {"-c",
          "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=detect_leaks=0 "
          "timeout 100 mpirun -np 2 --oversubscribe --mca plm isolated --mca btl self,vader " +
              std::string(TEMPO_LAB_BINARY) + " sweep " + folder.at("spec.toml") + " " + more};
}

Ended mpirun_sweep(const Folder& folder, const std::string& more) {
  return Child(under_mpirun(folder, more), "/bin/sh").wait();
}

TEST(Sweep, HasTheSameResultsUnderMpirun) {
  if (const std::string why = why_no_mpirun(); !why.empty()) GTEST_SKIP() << why;
  const Folder folder;
  folder.put("spec.toml", kElections);
  ASSERT_EQ(sweep(folder, "--out " + folder.at("alone")).status, 0);
  const Ended ended = mpirun_sweep(folder, "--threads 1 --out " + folder.at("many"));
  ASSERT_EQ(ended.status, 0) << ended.out << ended.err;
  EXPECT_EQ(count(ended.out, "18 cells"), 1U);  // one process prints
  EXPECT_EQ(folder.text("many.jsonl"), folder.text("alone.jsonl"));
  EXPECT_EQ(folder.text("many.csv"), folder.text("alone.csv"));
  for (const std::string& name : folder.names()) EXPECT_EQ(name.find(".part"), std::string::npos);
  // A mistake ends all processes and is printed once.
  folder.put("spec.toml", "command = \"sim nothing\"\n");
  const Ended refused = mpirun_sweep(folder, "");
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(count(refused.err, "cannot be swept"), 1U);
}

// Standard error is a pipe under mpirun, and each process runs half of the cells.
TEST(Sweep, PrintsTheProgressOfAllProcesses) {
  if (const std::string why = why_no_mpirun(); !why.empty()) GTEST_SKIP() << why;
  const Folder folder;
  folder.put("spec.toml", kElections);
  const Ended ended = mpirun_sweep(folder, "--threads 1");
  ASSERT_EQ(ended.status, 0) << ended.out << ended.err;
  EXPECT_EQ(count(ended.err, "sweep 100%  18/18 cells  "), 1U) << ended.err;
  EXPECT_EQ(count(ended.err, "\r"), 0U) << ended.err;
}

// The processes that mpirun started for a sweep of this folder.
std::vector<pid_t> processes_of(const Folder& folder) {
  std::vector<pid_t> found;
  const std::string own = std::string(TEMPO_LAB_BINARY) + '\0' + "sweep" + '\0' + folder.at("");
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const int id = std::atoi(entry.path().filename().c_str());
    if (id <= 0) continue;
    std::ostringstream line;
    line << std::ifstream(entry.path() / "cmdline").rdbuf();
    if (line.str().starts_with(own)) found.push_back(id);
  }
  return found;
}

TEST(Sweep, ResumesAfterKillUnderMpirun) {
  if (const std::string why = why_no_mpirun(); !why.empty()) GTEST_SKIP() << why;
  const Folder folder;
  folder.put("spec.toml", kLocks);
  ASSERT_EQ(sweep(folder, "--out " + folder.at("whole")).status, 0);
  const auto done = [&] {
    return std::min(count(folder.text("spec.part"), "\n"), count(folder.text("spec.part.1"), "\n"));
  };
  // On a busy machine the sweep may end before the kill; then try again.
  for (int tries = 0; tries < 20; ++tries) {
    std::filesystem::remove(folder.at("spec.jsonl"));
    Child child(under_mpirun(folder, "--threads 1"), "/bin/sh");
    child.read_until([&] { return done() >= 3; });
    for (const pid_t id : processes_of(folder)) kill(id, SIGKILL);
    if (child.wait().status != 0) break;
  }
  ASSERT_FALSE(std::filesystem::exists(folder.at("spec.jsonl")));
  ASSERT_GE(done(), 3U);
  const std::size_t kept =
      count(folder.text("spec.part"), "\n") + count(folder.text("spec.part.1"), "\n") - 2;
  const Ended again = mpirun_sweep(folder, "--json");
  ASSERT_EQ(again.status, 0) << again.out << again.err;
  EXPECT_EQ(data_of(again.out)["resumed"], kept);
  EXPECT_EQ(count(again.err, "sweep 100%  24/24 cells"), 1U) << again.err;
  EXPECT_EQ(folder.text("spec.jsonl"), folder.text("whole.jsonl"));
  EXPECT_EQ(folder.text("spec.csv"), folder.text("whole.csv"));
  for (const std::string& name : folder.names()) EXPECT_EQ(name.find(".part"), std::string::npos);
}

// --- merge ---

TEST(Merge, RequiresAllShardsOfOneSweep) {
  const Folder folder;
  folder.put("spec.toml", kElections);
  for (const char* shard : {"1/2", "2/2"})
    ASSERT_EQ(sweep(folder, std::string("--shard ") + shard).status, 0);
  const std::string one = folder.at("spec.1-of-2.jsonl");
  const std::string two = folder.at("spec.2-of-2.jsonl");
  const Ended missing = lab("merge --out " + folder.at("all") + " " + one);
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr("9 of 18 cells are missing, the first is 1"));
  EXPECT_EQ(lab("merge " + one + " " + two).status, 2);  // --out is missing
  EXPECT_EQ(lab("merge --out x " + folder.at("none")).status, 2);
  EXPECT_EQ(lab("merge --out x " + folder.at("spec.toml")).status, 2);
  folder.put("other.jsonl", [&] {
    std::string text = folder.text("spec.2-of-2.jsonl");
    return text.replace(text.find("churn"), 5, "churm");
  }());
  EXPECT_THAT(lab("merge --out x " + one + " " + folder.at("other.jsonl")).err,
              HasSubstr("different sweeps"));
  EXPECT_FALSE(std::filesystem::exists(folder.at("all.jsonl")));
}

TEST(Merge, AddsTheShardsOfARing) {
  const Folder folder;
  for (const char* shard : {"1", "2"})
    folder.put(shard, lab(std::string("sim ring --runs 50 --json --shard ") + shard + "/2").out);
  const std::string files = folder.at("1") + " " + folder.at("2");
  const json sum = lab_answer("merge --json " + files);
  EXPECT_EQ(sum, lab_answer("sim merge --json " + files));
  EXPECT_EQ(sum["runs"], 50);
  EXPECT_EQ(lab("merge " + folder.put("other.json", "{\"version\":1}")).status, 2);
}

}  // namespace
}  // namespace tempo
