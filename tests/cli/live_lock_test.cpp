// Locks of three real daemons on loopback addresses, and `tempo lock`.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

#include "base/number_text.h"
#include "client/client.h"
#include "lock_daemons.h"
#include "program.h"
#include "tempo/lock.h"

namespace tempo {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class LiveLock : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    daemons = std::make_unique<Daemons>(3);
    ASSERT_TRUE(
        wait_for(60s, [] { return daemons->all_report("3 voters; locks survive the loss of 1"); }));
  }
  static void TearDownTestSuite() { daemons.reset(); }
  void SetUp() override {
    ASSERT_TRUE(
        wait_for(30s, [] { return daemons->all_report("3 voters; locks survive the loss of 1"); }));
  }

  static std::string stamping(const std::string& file) { return daemons->stamping(file); }
  static std::vector<std::int64_t> stamps(const std::string& file) { return daemons->stamps(file); }
  static bool runs(const std::string& file) { return daemons->runs(file); }

  static std::unique_ptr<Daemons> daemons;
};
std::unique_ptr<Daemons> LiveLock::daemons;

TEST_F(LiveLock, IsOneForAllHosts) {
  std::uint64_t last = 0;
  for (const std::size_t host : {0UL, 1UL, 2UL, 0UL}) {
    const Ended ended =
        Child(daemons->lock(host, "one", "echo $TEMPO_LOCK_TOKEN $TEMPO_LOCK_NAME")).wait();
    ASSERT_EQ(ended.status, 0) << ended.err;
    const Words words = words_of(ended.out);
    ASSERT_EQ(words.size(), 2) << ended.out;
    EXPECT_EQ(words[1], "one");
    const auto token = parse_number<std::uint64_t>(words[0]);
    ASSERT_TRUE(token);
    EXPECT_GT(*token, last);
    last = *token;
  }
}

TEST_F(LiveLock, ReturnsTheExitStatusOfTheCommand) {
  EXPECT_EQ(Child(daemons->lock(0, "end", "exit 7")).wait().status, 7);
  EXPECT_EQ(Child(daemons->lock(0, "end", "kill -9 $$")).wait().status, 128 + 9);
  const Ended missing = Child(daemons->lock(0, "end -- /nonexistent/program")).wait();
  EXPECT_EQ(missing.status, 127);
  EXPECT_THAT(missing.err, HasSubstr("cannot run '/nonexistent/program'"));
  EXPECT_EQ(Child(daemons->lock(0, "end -- /etc")).wait().status, 126);
}

TEST_F(LiveLock, GivesUpWithoutWaitingOrAfterATimeout) {
  Child holder(daemons->lock(0, "busy", stamping("busy")));
  ASSERT_TRUE(runs("busy"));
  // A voter that was not needed for the majority learns the holder with an extension, and forgets
  // it if the next one is late: on a busy machine a command may not know the holder.
  const auto named = [&](std::size_t host, const std::string& words, const std::string& text) {
    return wait_for(20s, [&] {
      const Ended ended = Child(daemons->lock(host, words)).wait();
      EXPECT_EQ(ended.status, 100) << ended.err;
      return ended.status != 100 || ended.err == text;
    });
  };
  EXPECT_TRUE(
      named(1, "--no-wait busy -- true", "tempo: lock 'busy' is held by host0; not waiting\n"));
  EXPECT_TRUE(named(2, "--wait 300ms busy -- true",
                    "tempo: timed out after 300ms waiting for lock 'busy', held by host0\n"));
  const Ended same_host = Child(daemons->lock(0, "--no-wait busy -- true")).wait();
  EXPECT_EQ(same_host.status, 100);
  EXPECT_THAT(same_host.err, HasSubstr("lock 'busy' is held by host0 (for "));
  const Ended list = Child(words_of("locks --socket " + daemons->socket(0))).wait();
  EXPECT_THAT(list.out, HasSubstr(fmt::format("host0 pid {}", holder.id())));
  kill(holder.id(), SIGTERM);
  EXPECT_EQ(holder.wait().status, 128 + SIGTERM) << "the signal is for the command";
  EXPECT_EQ(Child(daemons->lock(1, "--wait 20s busy -- true")).wait().status, 0);
}

TEST_F(LiveLock, IsGivenBackIfAnOperatorAsksForIt) {
  Child holder(daemons->lock(0, "asked", stamping("asked")));
  ASSERT_TRUE(runs("asked"));
  const auto unlock = [](std::size_t host, const std::string& name) {
    return Child(words_of("unlock " + name + " --socket " + daemons->socket(host))).wait();
  };
  const Ended nobody = unlock(0, "unknown");
  EXPECT_EQ(nobody.status, 4);
  EXPECT_THAT(nobody.err, HasSubstr("no program on this machine holds lock 'unknown'"));
  EXPECT_EQ(unlock(1, "asked").status, 4) << "another machine holds it";
  const Ended given_back = unlock(0, "asked");
  EXPECT_EQ(given_back.status, 0) << given_back.err;
  const Ended ended = holder.wait();
  EXPECT_EQ(ended.status, 101);
  EXPECT_THAT(ended.err, HasSubstr("lock 'asked' was given back, as 'tempo unlock' asked"));
  EXPECT_EQ(Child(daemons->lock(1, "--wait 20s asked -- true")).wait().status, 0);
}

TEST_F(LiveLock, IsCounted) {
  const auto counter = [](const std::string& name) {
    const json status =
        data_of(Child(words_of("status --json --socket " + daemons->socket(2))).wait().out);
    return status.is_object() ? status["counters"][name].get<std::uint64_t>() : 0;
  };
  const std::uint64_t requested = counter("locks_requested");
  const std::uint64_t granted = counter("locks_granted");
  const std::uint64_t refused = counter("locks_refused");
  ASSERT_EQ(Child(daemons->lock(2, "--wait 20s counted -- true")).wait().status, 0);
  EXPECT_EQ(Child(daemons->lock(2, "--lease 1ms counted -- true")).wait().status, 103);
  EXPECT_EQ(counter("locks_requested"), requested + 2);
  EXPECT_EQ(counter("locks_granted"), granted + 1);
  EXPECT_EQ(counter("locks_refused"), refused + 1);
}

TEST_F(LiveLock, IsHeldByReadersTogether) {
  Child first(daemons->lock(0, "--shared plan", stamping("plan-a")));
  Child second(daemons->lock(1, "--shared plan", stamping("plan-b")));
  EXPECT_TRUE(runs("plan-a") && runs("plan-b"));
  EXPECT_EQ(Child(daemons->lock(2, "--no-wait plan -- true")).wait().status, 100);
  for (Child* child : {&first, &second}) {
    kill(child->id(), SIGTERM);
    child->wait();
  }
  EXPECT_EQ(Child(daemons->lock(2, "--wait 20s plan -- true")).wait().status, 0);
}

TEST_F(LiveLock, IsFreeAfterTempoWasKilled) {
  const auto start = steady_clock::now();
  daemons->holder_exits_after("killed", [](Child& holder) { kill(holder.id(), SIGKILL); });
  EXPECT_LT(steady_clock::now() - start, 20s);
}

TEST_F(LiveLock, IsLostIfTempoIsPaused) {
  EXPECT_EQ(daemons->holder_exits_after(
                "paused", [](Child& holder) { kill(holder.id(), SIGSTOP); },
                [](Child& holder) { kill(holder.id(), SIGCONT); }),
            101);
}

TEST_F(LiveLock, IsLostIfTempodIsPaused) {
  EXPECT_EQ(daemons->holder_exits_after(
                "frozen", [](Child&) { daemons->pause(0, true); },
                [](Child&) { daemons->pause(0, false); }),
            101);
}

TEST_F(LiveLock, IsLostIfBothArePausedAndTheCommandIgnoresTerm) {
  EXPECT_EQ(daemons->holder_exits_after(
                "both",
                [](Child& holder) {
                  kill(holder.id(), SIGSTOP);
                  daemons->pause(0, true);
                },
                [](Child& holder) {
                  daemons->pause(0, false);
                  kill(holder.id(), SIGCONT);
                },
                "trap '' TERM; "),
            101);
}

TEST_F(LiveLock, StopsChildrenOfTheCommand) {
  daemons->holder_exits_after(
      "family", [](Child& holder) { kill(holder.id(), SIGKILL); }, [](Child&) {},
      "trap '' TERM; (trap '' TERM; " + stamping("family-a") + ") & ");
}

// The guard is killed: tempo stops the children of the command before it releases the lock.
TEST_F(LiveLock, StopsChildrenOfTheCommandWithoutAGuard) {
  EXPECT_EQ(
      daemons->holder_exits_after(
          "unguarded", [](Child& holder) { kill(child_of(holder.id()), SIGKILL); }, [](Child&) {},
          "exec >/dev/null 2>&1; trap '' TERM; (trap '' TERM; " + stamping("unguarded-a") + ") & "),
      101);
  const auto last = stamps("unguarded-a");
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(stamps("unguarded-a"), last) << "its children still run";
}

TEST_F(LiveLock, IsFreeAgainAfterTempodDied) {
  EXPECT_EQ(daemons->holder_exits_after(
                "dead", [](Child&) { daemons->kill_all(0); }, [](Child&) { daemons->start(0); }),
            101);
  ASSERT_TRUE(
      wait_for(30s, [] { return daemons->all_report("3 voters; locks survive the loss of 1"); }));
  EXPECT_EQ(Child(daemons->lock(0, "--wait 20s dead -- true")).wait().status, 0);
}

TEST_F(LiveLock, CanBeHeldByAProgram) {
  auto locks = Locks::connect(daemons->socket(0));
  ASSERT_TRUE(locks) << locks.error().message;
  auto lock = locks->acquire("program");
  ASSERT_TRUE(lock) << lock.error().message;
  EXPECT_GT(lock->remaining(), 0s);
  EXPECT_LE(lock->remaining(), 1s);
  // The lease is extended while it is held.
  const auto deadline = lock->deadline();
  EXPECT_TRUE(wait_for(20s, [&] { return lock->deadline() > deadline; }));

  auto others = Locks::connect(daemons->socket(1));
  ASSERT_TRUE(others);
  const auto refused = others->acquire("program", {.wait = 0s});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::timed_out);
  const std::uint64_t first = lock->token();
  lock->release();
  EXPECT_EQ(lock->remaining(), 0s);
  const auto later = others->acquire("program", {.wait = 20s});
  ASSERT_TRUE(later) << later.error().message;
  EXPECT_GT(later->token(), first);
}

TEST_F(LiveLock, WaitingCanBeCancelled) {
  auto locks = Locks::connect(daemons->socket(0));
  ASSERT_TRUE(locks);
  const auto held = locks->acquire("cancel");
  ASSERT_TRUE(held);
  auto others = Locks::connect(daemons->socket(1));
  ASSERT_TRUE(others);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  const auto refused = others->acquire("cancel", {.cancel = ends[0]});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::cancelled);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(LiveLock, IsReleasedWithItsConnection) {
  auto locks = std::optional(Locks::connect(daemons->socket(0)));
  ASSERT_TRUE(*locks);
  std::optional<Lock> lock = *(*locks)->acquire("closed");
  const auto name = daemons->socket(0);
  const pid_t child = fork();
  if (child == 0) {
    auto mine = Locks::connect(name);
    auto taken = mine ? mine->acquire("closed-2") : Unexpected{Error{}};
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  auto others = Locks::connect(daemons->socket(1));
  EXPECT_TRUE(others->acquire("closed-2", {.wait = 20s})) << "of a program that was killed";
}

TEST_F(LiveLock, SurvivesInvalidRequests) {
  auto client = client::Client::connect(daemons->socket(0), 5s);
  ASSERT_TRUE(client);
  const auto ask = [&](const std::string& name, std::int64_t id) {
    ipc::Request request{.verb = ipc::Verb::lock, .by_ns = {}, .to_ns = {}};
    request.name = name;
    request.id = id;
    return client->ask(request);
  };
  EXPECT_THAT(ask("@view", 1).error().message, HasSubstr("names that begin with '@' are reserved"));
  EXPECT_THAT(ask("two words", 1).error().message, HasSubstr("name has a space"));
  EXPECT_TRUE(ask("nonsense", 1));
  EXPECT_THAT(ask("nonsense", 1).error().message, HasSubstr("already has a lock with that id"));
  ipc::Request unlock{.verb = ipc::Verb::unlock, .by_ns = {}, .to_ns = {}};
  unlock.id = 77;
  EXPECT_THAT(client->ask(unlock).error().message, HasSubstr("no lock with that id"));
  const std::string endless(100'000, 'x');
  (void)!send(client->descriptor(), endless.data(), endless.size(), MSG_NOSIGNAL);
  EXPECT_TRUE(wait_for(10s, [&] { return !client->next(100ms); }))
      << "tempod did not close the connection";
  EXPECT_EQ(Child(daemons->lock(1, "--wait 20s nonsense -- true")).wait().status, 0);
}

TEST_F(LiveLock, ShowsTheHolderOnTheTerminalOfAWaiter) {
  if (!TerminalChild::possible()) GTEST_SKIP() << "no terminal is available";
  Child holder(daemons->lock(0, "shown", stamping("shown")));
  ASSERT_TRUE(runs("shown"));
  TerminalChild waiter(daemons->lock(1, "shown -- true"));
  EXPECT_TRUE(waiter.read_until("waiting for lock 'shown', held by host0")) << waiter.out();
  waiter.type("\x03");
  EXPECT_EQ(waiter.wait(), 130);
  EXPECT_THAT(waiter.out(), ::testing::EndsWith("\r\x1b[K"));
  TerminalChild here(daemons->lock(0, "shown -- true"));
  EXPECT_TRUE(here.read_until("waiting for lock 'shown', held by host0 for ")) << here.out();
  kill(holder.id(), SIGTERM);
  holder.wait();
  EXPECT_EQ(here.wait(), 0);
}

TEST_F(LiveLock, PrintsStatesAsJsonOnStandardError) {
  const Ended ended = Child(daemons->lock(0, "--json states", "echo $TEMPO_LOCK_TOKEN")).wait();
  EXPECT_EQ(ended.status, 0) << ended.err;
  std::vector<json> states;
  for (const std::string& line : lines_of(ended.err)) states.push_back(data_of(line));
  ASSERT_EQ(states.size(), 3U) << ended.err;
  EXPECT_EQ(states[0], (json{{"state", "waiting"}, {"lock", "states"}}));
  EXPECT_EQ(states[1]["state"], "acquired");
  EXPECT_EQ(states[1]["token"].get<std::string>() + '\n', ended.out);
  EXPECT_EQ(states[2], (json{{"state", "stopped"}, {"lock", "states"}, {"exit_status", 0}}));

  const Ended missing = Child(daemons->lock(0, "--json states -- /nonexistent/program")).wait();
  EXPECT_EQ(missing.status, 127);
  EXPECT_EQ(missing.out, "");
  const json error = json::parse(lines_of(missing.err).back())["error"];
  EXPECT_EQ(error["status"], 127);
  EXPECT_EQ(error["code"], "command");
  EXPECT_THAT(error["message"], HasSubstr("cannot run '/nonexistent/program'"));
}

TEST(LockCommand, ReportsThatTempodIsNotRunning) {
  const Ended ended = Child(words_of("lock --socket /nonexistent/sock x -- true")).wait();
  EXPECT_EQ(ended.status, 102);
  EXPECT_THAT(ended.err, HasSubstr("tempod is not running here"));
}

TEST(LockCommand, RunsNothingAfterBadUsage) {
  EXPECT_EQ(Child(words_of("lock x")).wait().status, 2);
  EXPECT_EQ(Child(words_of("lock")).wait().status, 2);
  const Ended both = Child(words_of("lock --wait 1s --no-wait x -- echo ran")).wait();
  EXPECT_EQ(both.status, 2);
  EXPECT_EQ(both.out, "");
  EXPECT_EQ(Child(words_of("lock --wait soon x -- true")).wait().status, 2);
}

TEST(FenceCheck, RefusesTokensOlderThanTheNewest) {
  const std::string file =
      (std::filesystem::temp_directory_path() / fmt::format("tempo-fence-{}", getpid())).string();
  const auto check = [&](const std::string& token) {
    return Child({"fence-check", file, token}).wait();
  };
  std::filesystem::remove(file);
  EXPECT_EQ(check("100").status, 0);
  EXPECT_EQ(check("100").status, 0);
  EXPECT_EQ(check("1099528404993").status, 0);
  const Ended old = check("101");
  EXPECT_EQ(old.status, 1);
  EXPECT_THAT(old.err, HasSubstr("token 101 is older than 1099528404993, the newest token seen"));
  const auto check_json = [&](const std::string& token) {
    return data_of(Child({"fence-check", "--json", file, token}).wait().out);
  };
  EXPECT_EQ(check_json("1099528404993"), (json{{"accepted", true}, {"token", "1099528404993"}}));
  EXPECT_EQ(check_json("101"),
            (json{{"accepted", false}, {"token", "101"}, {"newest", "1099528404993"}}));
  EXPECT_EQ(check("-1").status, 2);
  EXPECT_EQ(check("x").status, 2);
  std::filesystem::remove(file);
  EXPECT_EQ(Child({"fence-check", "/nonexistent/dir/file", "5"}).wait().status, 2);
}

// A crash left an empty file, and the next check accepted any token.
TEST(FenceCheck, RefusesEveryTokenIfTheNewestIsLost) {
  const std::string file =
      (std::filesystem::temp_directory_path() / fmt::format("tempo-lost-fence-{}", getpid()))
          .string();
  for (const char* text : {"", "\n", "100", "10\n99", "not a token\n", "100\n\n"}) {
    std::ofstream(file) << text;
    const Ended ended = Child({"fence-check", "--json", file, "18446744073709551615"}).wait();
    EXPECT_EQ(ended.status, 1) << text;
    EXPECT_EQ(data_of(ended.out), (json{{"accepted", false}, {"token", "18446744073709551615"}}));
    EXPECT_THAT(ended.out, HasSubstr("the newest token seen is lost"));
    std::ostringstream kept;
    kept << std::ifstream(file).rdbuf();
    EXPECT_EQ(kept.str(), text);
  }
  std::filesystem::remove(file);
}

// Checks at the same time: each of them sees the newest token of all that have ended.
TEST(FenceCheck, IsExclusive) {
  const std::string file =
      (std::filesystem::temp_directory_path() / fmt::format("tempo-busy-fence-{}", getpid()))
          .string();
  std::filesystem::remove(file);
  std::vector<std::unique_ptr<Child>> checks;
  for (int i = 1; i <= 20; ++i)
    checks.push_back(std::make_unique<Child>(Words{"fence-check", file, std::to_string(i)}));
  for (const auto& check : checks) {
    const Ended ended = check->wait();
    EXPECT_TRUE(ended.status == 0 || ended.status == 1) << ended.status << ended.err;
  }
  EXPECT_EQ(Child({"fence-check", file, "19"}).wait().status, 1);
  EXPECT_EQ(Child({"fence-check", file, "20"}).wait().status, 0);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace tempo
