// `tempo-lab sim replay` with traces of a simulation and of daemons on this machine.
#include <cstdlib>
#include <filesystem>

#include "lab_program.h"

namespace tempo {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

void write(const TemporaryFile& file, const std::string& text) {
  std::ofstream(file.path()) << text;
}

TEST(ReplayOfTrace, HasTheHashOfItsSimulation) {
  const TemporaryFile trace{"trace"};
  const std::string run = "sim election --nodes 4 --scenario master-crash --loss 0.1 --seed 3";
  const Ended traced = lab(run + " --trace");
  ASSERT_EQ(traced.status, 0) << traced.err;
  write(trace, traced.out);
  const json replayed = lab_answer("sim replay --json " + trace.path());
  EXPECT_EQ(replayed["trace_hash"], lab_answer(run + " --json")["trace_hash"]);
  EXPECT_EQ(replayed["nodes"], 4);
  EXPECT_THAT(lab("sim replay --trace " + trace.path()).out, StartsWith(traced.out));
}

TEST(ReplayOfTrace, RefusesInvalidLines) {
  const TemporaryFile trace{"trace"};
  write(trace, "1 1 becomes master\nnonsense\n");
  const Ended ended = lab("sim replay " + trace.path());
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("line 2 is not a line of a trace: 'nonsense'"));
}

// A tempod on 127.0.0.`number` with its own directory.
class Daemon {
 public:
  explicit Daemon(int number)
      : directory_(std::filesystem::temp_directory_path() /
                   fmt::format("tempo_replay_test_{}_{}", getpid(), number)),
        made_(std::filesystem::create_directories(directory_)),
        child_(words_of(fmt::format(
                   "--config /dev/null --name host{0} --profile fast --port 15312 --clock software "
                   "--state-dir {1} --socket {2} --set user=\"\" --set realtime=false "
                   "--set key-file=\"\" --set cluster=\"replay-{3}\" --set bind=[\"127.0.0.{0}\"] "
                   "--set broadcast=\"127.255.255.255\" --set machine-id=\"replay-{0}\"",
                   number, directory_.string(), socket(), getpid())),
               TEMPO_TEMPOD) {}
  ~Daemon() {
    kill(child_.id(), SIGTERM);
    child_.wait();
    std::filesystem::remove_all(directory_);
  }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  std::string socket() const { return (directory_ / "socket").string(); }

 private:
  std::filesystem::path directory_;
  bool made_;
  Child child_;
};

TEST(ReplayOfTrace, DrawsTheTraceOfADaemon) {
  const Daemon first(1);
  ASSERT_EQ(tempo("wait-sync --alone --timeout 20s --socket " + first.socket()).status, 0);
  Child follow(words_of("trace follow --socket " + first.socket()));
  ASSERT_TRUE(follow.read_until([&] { return count(follow.out(), " becomes master\n") == 1; }))
      << follow.out();
  const Daemon second(2);
  ASSERT_TRUE(follow.read_until([&] {
    return count(follow.out(), "2->1 probe received\n") > 0 &&
           count(follow.out(), " 1->2 echo\n") > 0;
  })) << follow.out();
  kill(follow.id(), SIGINT);
  const Ended ended = follow.wait();
  EXPECT_EQ(ended.status, 130);
  ASSERT_THAT(ended.out, StartsWith("# 1 is host1\n"));
  EXPECT_THAT(ended.out, HasSubstr("\n# 2 is host2\n"));

  const TemporaryFile trace{"trace"};
  write(trace, ended.out);
  const json replayed = lab_answer("sim replay --json " + trace.path());
  EXPECT_EQ(replayed["names"], json::array({"host1", "host2"}));
  EXPECT_EQ(replayed["states"][0], "master");
  std::string events;
  for (const std::string& line : lines_of(ended.out))
    if (!line.starts_with('#')) events += line + '\n';
  EXPECT_THAT(lab("sim replay --trace " + trace.path()).out, StartsWith(events));

  const TemporaryFile page{"page.html"};
  ASSERT_EQ(lab("sim replay " + trace.path() + " --diagram " + page.path()).status, 0);
  EXPECT_EQ(count(page.text(), "class=\"arrow\""), count(events, " received\n"));
  EXPECT_EQ(count(page.text(), "class=\"state\""), count(events, " becomes "));
  EXPECT_THAT(page.text(), HasSubstr("host2"));
  const Ended drawn = lab("sim replay " + trace.path() + " --diagram -");
  EXPECT_EQ(drawn.status, 0);
  EXPECT_THAT(drawn.out, HasSubstr("host1"));
  EXPECT_THAT(drawn.out, HasSubstr("probe"));
}

}  // namespace
}  // namespace tempo
