// Locks that survive a restart of tempod. On each of three hosts a command runs under a lock of its
// own, and on the next host another command waits for it. Every tempod is restarted in turn:
// stopped and started, its worker killed, parent and worker killed. Each command ends by itself
// under the token it began with, and the waiting command does not begin before. One trial, or as
// many as TEMPO_RESUME_TRIALS says: `make soak ONLY=resume` runs 100.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "held_lock.h"
#include "tempo/lock.h"

namespace tempo::faults {
namespace {

int trials() {
  const char* const count = std::getenv("TEMPO_RESUME_TRIALS");
  return count == nullptr ? 1 : std::max(std::atoi(count), 1);
}

const Nanos kLongLease = trials() > 1 ? 3s : 2s;
const Nanos kSpan = 5 * kLongLease + 1s;  // of a command: longer than all restarts of a trial

class ResumedLock : public LockTrial {
 protected:
  static void SetUpTestSuite() {
    skip_reason = testbed::Site::obstacle();
    if (!skip_reason.empty()) return;
    site = std::make_unique<testbed::Site>(testbed::Site::Options{
        .tempod = TEMPO_TEMPOD,
        .profile = "fast",
        .realtime = true,
        .arguments = {"--set", fmt::format("locks.expect={}", kHosts), "--set",
                      fmt::format("locks.lease-ms={}", kLongLease / 1ms)}});
    for (std::uint32_t i = 0; i < kHosts; ++i) site->add();
    site->start_all();
  }

  static std::uint64_t token_of(std::uint32_t host, const std::string& name) {
    for (const auto& client : clients(host, name))
      if (client.inside) return client.token;
    return 0;
  }
  // Waits until the host serves the client of an earlier incarnation, and then until it votes.
  static bool comes_back(std::uint32_t host, const std::string& name) {
    return site->wait(10s, [&] { return token_of(host, name) != 0; }) && site->wait(20s, all_ready);
  }

  // Until the voters know the holder: a 250th of a lease after the grant.
  static void wait_for_registration() {
    const BootTime granted = sys::boot_clock();
    EXPECT_TRUE(site->wait(20s, [&] { return sys::boot_clock() > granted + kLongLease / 20; }));
  }

  struct Pair {
    std::string name;
    std::string file;
    std::unique_ptr<Program> holder;
    std::unique_ptr<Program> other;
    std::uint64_t token = 0;
  };
  static std::vector<Pair> begin_trial() {
    static int begun = 0;
    ++begun;
    std::vector<Pair> pairs(kHosts);
    for (std::uint32_t i = 0; i < kHosts; ++i) {
      Pair& pair = pairs[i];
      pair.name = fmt::format("job-{}-{}", begun, i);
      pair.file = site->directory() + '/' + pair.name;
      pair.holder = std::make_unique<Program>(
          under_lock(i, pair.name, {.file = pair.file + "-a", .span = kSpan}), pair.file + "-err");
    }
    for (std::uint32_t i = 0; i < kHosts; ++i) {
      Pair& pair = pairs[i];
      EXPECT_TRUE(site->wait(20s, [&] { return stamps_in(pair.file + "-a").has_value(); }));
      pair.token = token_of(i, pair.name);
      EXPECT_NE(pair.token, 0U);
      const std::uint32_t next = (i + 1) % kHosts;
      pair.other = std::make_unique<Program>(
          under_lock(next, pair.name, {.file = pair.file + "-b", .span = 20ms}));
      EXPECT_TRUE(site->wait(20s, [&] { return waits(next, pair.name); }));
    }
    wait_for_registration();
    return pairs;
  }
  static void end_trial(Pair& pair) {
    EXPECT_EQ(pair.holder->wait(), 0) << text_of(pair.file + "-err");
    EXPECT_EQ(pair.other->wait(), 0);
    const auto first = stamps_in(pair.file + "-a");
    const auto second = stamps_in(pair.file + "-b");
    ASSERT_TRUE(first && second);
    EXPECT_GE(first->last - first->first, kSpan - 1ms) << "the command was stopped";
    EXPECT_GE(second->first, first->last) << "both commands ran";
  }
};

TEST_F(ResumedLock, CommandsOutliveEveryDaemonInTurn) {
  const std::vector<std::function<void(testbed::Host&)>> restarts{
      [](testbed::Host& host) {
        host.stop();
        host.start();
      },
      [](testbed::Host& host) { host.kill_worker(); },  // the parent starts another
      [](testbed::Host& host) {
        host.kill_all();
        host.start();
      }};
  for (std::size_t trial = 0; trial < static_cast<std::size_t>(trials()); ++trial) {
    ASSERT_TRUE(site->wait(20s, all_ready)) << site->describe();
    std::vector<Pair> pairs = begin_trial();
    for (std::uint32_t i = 0; i < kHosts; ++i) {
      restarts[(trial + i) % restarts.size()](site->host(i));
      EXPECT_TRUE(comes_back(i, pairs[i].name)) << site->host(i).log();
    }
    for (std::uint32_t i = 0; i < kHosts; ++i)
      EXPECT_EQ(token_of(i, pairs[i].name), pairs[i].token) << "trial " << trial;
    for (Pair& pair : pairs) end_trial(pair);
  }
}

// A program that only calls `remaining` keeps its lock; its Locks works on, and a request that
// waits keeps waiting.
TEST_F(ResumedLock, ProgramsOutliveTheirDaemon) {
  auto locks = Locks::connect(site->host(0).socket());
  ASSERT_TRUE(locks) << locks.error().message;
  auto lock = locks->acquire("program", {.wait = 20s});
  ASSERT_TRUE(lock) << lock.error().message;
  const std::uint64_t token = lock->token();
  const Nanos before = lock->deadline();
  auto others = Locks::connect(site->host(1).socket());
  ASSERT_TRUE(others) << others.error().message;
  auto next = others->acquire_async("program", {.wait = 120s});
  ASSERT_TRUE(next) << next.error().message;
  const auto waiting = [&] {
    const auto polled = next->poll();
    EXPECT_TRUE(polled) << polled.error().message;
    return polled && !*polled;
  };
  EXPECT_TRUE(site->wait(20s, [&] { return waits(1, "program"); }));
  wait_for_registration();

  for (const std::uint32_t host : {0U, 1U}) {
    site->host(host).stop();
    site->host(host).start();
    bool held = true;
    EXPECT_TRUE(site->wait(20s, [&] {
      held = held && lock->remaining() > Nanos{0};
      return !held || (waiting() && all_ready());
    }));
    ASSERT_TRUE(held) << "restart of host " << host << '\n' << site->describe();
  }
  EXPECT_GT(lock->deadline(), before);
  EXPECT_EQ(lock->token(), token);
  EXPECT_EQ(token_of(0, "program"), token);
  EXPECT_TRUE(locks->acquire("another", {.wait = 20s}));

  lock->release();
  std::optional<Lock> got;
  EXPECT_TRUE(site->wait(20s, [&] {
    auto polled = next->poll();
    if (!polled || !*polled) return false;
    got = **std::move(polled);
    return true;
  }));
  ASSERT_TRUE(got);
  EXPECT_GT(got->token(), token);
}

// A program that ends while tempod is down does not hold its lock any longer than its lease.
TEST_F(ResumedLock, AProgramThatEndedDoesNotComeBack) {
  Program holder(under_lock(0, "ended", {.file = site->directory() + "/ended-a", .span = kLong}));
  ASSERT_TRUE(
      site->wait(20s, [&] { return stamps_in(site->directory() + "/ended-a").has_value(); }));
  site->host(0).kill_all();
  holder.send(SIGKILL);
  holder.wait();
  site->host(0).start();
  auto others = Locks::connect(site->host(1).socket());
  ASSERT_TRUE(others) << others.error().message;
  EXPECT_TRUE(others->acquire("ended", {.wait = 30s}));
}

// tempo lock is killed after its tempod was restarted: the guard stops the command, and only then
// does another client get the lock.
TEST_F(ResumedLock, StaysExclusiveWhenTheWrapperIsKilledAfterwards) {
  const std::string file = site->directory() + "/killed";
  Program holder(
      under_lock(0, "killed", {.file = file + "-a", .span = kLong, .ignore_term = true}));
  ASSERT_TRUE(site->wait(20s, [&] { return stamps_in(file + "-a").has_value(); }));
  Program other(under_lock(1, "killed", {.file = file + "-b", .span = 20ms}));
  ASSERT_TRUE(site->wait(20s, [&] { return waits(1, "killed"); }));
  wait_for_registration();
  site->host(0).stop();
  site->host(0).start();
  ASSERT_TRUE(comes_back(0, "killed"));
  holder.send(SIGKILL);
  EXPECT_EQ(other.wait(), 0);
  const auto first = stamps_in(file + "-a");
  const auto second = stamps_in(file + "-b");
  ASSERT_TRUE(first && second);
  EXPECT_GE(second->first, first->last) << "both commands ran";
}

// Another candidate stands by. The leader's worker dies, then its whole tempod is restarted.
TEST_F(ResumedLock, TheLeaderLeadsOn) {
  const std::string file = site->directory() + "/led";
  const auto candidate = [&](std::uint32_t host, const char* suffix, Nanos span) {
    std::vector<std::string> arguments{
        TEMPO_BINARY,  "elect",    "--socket", site->host(host).socket(),
        "--criterion", "weight=5", "led",      "--"};
    for (std::string& argument : stamp_command({.file = file + suffix, .span = span}))
      arguments.push_back(std::move(argument));
    return arguments;
  };
  const Nanos span = 3 * kLongLease + 2s;
  Program leader(candidate(0, "-a", span), file + "-err");
  ASSERT_TRUE(site->wait(20s, [&] { return stamps_in(file + "-a").has_value(); }));
  Program other(candidate(1, "-b", 20ms));
  wait_for_registration();
  site->host(0).kill_worker();
  EXPECT_TRUE(site->wait(20s, all_ready)) << site->describe();
  site->host(0).stop();
  site->host(0).start();
  EXPECT_EQ(leader.wait(), 0) << text_of(file + "-err");
  EXPECT_EQ(other.wait(), 0);
  const auto first = stamps_in(file + "-a");
  const auto second = stamps_in(file + "-b");
  ASSERT_TRUE(first && second);
  EXPECT_GE(first->last - first->first, span - 1ms) << "the command was stopped";
  EXPECT_GE(second->first, first->last) << "both commands ran";
}

}  // namespace
}  // namespace tempo::faults
