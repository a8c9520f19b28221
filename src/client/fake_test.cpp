// The fake network, and through it libtempo's locks, status and watch: the code behind the types is
// the code that talks to tempod.
#include "tempo/fake.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/fake_test_waits.h"

namespace tempo {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const AcquireOptions kWaiting{.shared = false, .wait = 10s};

Locks connected(const FakeNetwork& network) {
  auto locks = network.locks();
  if (!locks) ADD_FAILURE() << locks.error().message;
  return *std::move(locks);
}

TEST(FakeNetwork, GrantsInOrderWithRisingTokens) {
  const FakeNetwork network;
  Locks locks = connected(network);
  Locks others = connected(network);
  auto lock = locks.acquire("door");
  ASSERT_TRUE(lock);
  EXPECT_GT(lock->remaining(), 0s);
  EXPECT_LE(lock->remaining(), 2s);
  const auto refused = others.try_acquire("door");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::timed_out);
  EXPECT_TRUE(
      eventually([&] { return network.waiters("door") == 0; }));  // the request was cancelled
  const std::uint64_t first = lock->token();
  lock->release();
  EXPECT_EQ(lock->remaining(), 0s);
  const auto next = others.acquire("door");
  ASSERT_TRUE(next);
  EXPECT_GT(next->token(), first);
}

TEST(FakeNetwork, SharesAmongReadersAndExcludesWriters) {
  const FakeNetwork network;
  Locks locks = connected(network);
  Locks others = connected(network);
  auto reader = locks.acquire_shared("plan");
  auto another = others.acquire_shared("plan", kWaiting);
  ASSERT_TRUE(reader && another);
  EXPECT_GT(reader->remaining(), 0s);
  EXPECT_GT(another->remaining(), 0s);
  EXPECT_FALSE(locks.try_acquire("plan"));
  reader->release();
  another->release();
  EXPECT_TRUE(locks.acquire("plan", kWaiting));
}

TEST(FakeNetwork, ReportsALostLock) {
  FakeNetwork network;
  Locks locks = connected(network);
  auto lock = locks.acquire("door");
  ASSERT_TRUE(lock);
  network.lose("door");
  EXPECT_EQ(lock->remaining(), 0s);
  EXPECT_TRUE(locks.acquire("door"));
}

TEST(FakeNetwork, ExpiresLeasesWhilePaused) {
  FakeNetwork network({.lease = 10s});
  Locks locks = connected(network);
  auto lock = locks.acquire("door");
  ASSERT_TRUE(lock);
  network.advance(25s);  // more than two leases, extended meanwhile
  EXPECT_GT(lock->remaining(), 8s);
  network.pause();
  network.advance(6s);
  EXPECT_GT(lock->remaining(), 0s);
  EXPECT_LE(lock->remaining(), 4s);
  network.advance(6s);
  EXPECT_EQ(lock->remaining(), 0s);
  network.resume();
  EXPECT_TRUE(locks.acquire("door", kWaiting));
}

TEST(FakeNetwork, KeepsLocksUntilTheirDeadlinesAfterARestart) {
  FakeNetwork network({.lease = 10s});
  Locks before = connected(network);
  auto lock = before.acquire("door");
  ASSERT_TRUE(lock);
  network.restart();
  ASSERT_TRUE(readable(before.descriptor(), 10s));
  EXPECT_GT(lock->remaining(), 5s);  // the granted lock lasts
  const auto again = before.acquire("door");
  ASSERT_FALSE(again);  // the connection is closed
  EXPECT_EQ(again.error().code, ErrorCode::no_daemon);
  Locks after = connected(network);
  EXPECT_FALSE(after.try_acquire("door"));
  network.advance(10s);
  EXPECT_EQ(lock->remaining(), 0s);
  const auto next = after.acquire("door", {.shared = false, .wait = 10s});
  ASSERT_TRUE(next);
  EXPECT_GT(next->token(), lock->token());
}

TEST(FakeNetwork, LetsAnotherMachineHoldALock) {
  FakeNetwork network;
  Locks locks = connected(network);
  network.acquire_elsewhere("door");
  EXPECT_FALSE(locks.try_acquire("door"));
  network.release_elsewhere("door");
  EXPECT_TRUE(locks.acquire("door", kWaiting));
}

TEST(FakeNetwork, RefusesOnRequest) {
  FakeNetwork network;
  Locks locks = connected(network);
  network.refuse(ErrorCode::not_allowed, "permission denied");
  const auto lock = locks.acquire("door");
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code, ErrorCode::not_allowed);
  EXPECT_EQ(lock.error().message, "permission denied");
  network.refuse(ErrorCode::refused, "");
  EXPECT_TRUE(locks.acquire("door"));
}

// --- pending locks ---

TEST(PendingLock, SignalsTheGrantOnTheDescriptor) {
  const FakeNetwork network;
  Locks locks = connected(network);
  Locks others = connected(network);
  auto lock = locks.acquire("door");
  auto pending = others.acquire_async("door");
  ASSERT_TRUE(lock && pending);
  ASSERT_TRUE(eventually([&] { return network.waiters("door") == 1; }));
  auto polled = pending->poll();
  ASSERT_TRUE(polled);
  EXPECT_FALSE(*polled);
  EXPECT_GT(pending->timeout(), 1h);
  lock->release();
  ASSERT_TRUE(readable(others.descriptor(), 10s));
  polled = pending->poll();
  ASSERT_TRUE(polled && *polled);
  EXPECT_GT((*polled)->token(), lock->token());
  EXPECT_GT((*polled)->remaining(), 0s);
  EXPECT_FALSE(pending->poll());  // the request is over
}

TEST(PendingLock, TimesOut) {
  FakeNetwork network;
  Locks locks = connected(network);
  network.acquire_elsewhere("door");
  auto pending = locks.acquire_async("door", {.shared = false, .wait = 60s});
  ASSERT_TRUE(pending);
  ASSERT_TRUE(pending->poll());
  network.advance(61s);
  EXPECT_EQ(pending->timeout(), 0s);
  const auto polled = pending->poll();
  ASSERT_FALSE(polled);
  EXPECT_EQ(polled.error().code, ErrorCode::timed_out);
  EXPECT_THAT(polled.error().message, HasSubstr("timed out after 60s"));
}

TEST(PendingLock, DestructorCancelsTheRequest) {
  FakeNetwork network;
  Locks locks = connected(network);
  network.acquire_elsewhere("door");
  {
    const auto pending = locks.acquire_async("door");
    ASSERT_TRUE(pending);
    ASSERT_TRUE(eventually([&] { return network.waiters("door") == 1; }));
  }
  EXPECT_TRUE(eventually([&] { return network.waiters("door") == 0; }));
}

TEST(Locks, CancelAWaitByDescriptor) {
  FakeNetwork network;
  Locks locks = connected(network);
  network.acquire_elsewhere("door");
  const int cancel = eventfd(0, EFD_CLOEXEC);
  std::thread other([&] {
    if (!eventually([&] { return network.waiters("door") == 1; })) ADD_FAILURE();
    eventfd_write(cancel, 1);
  });
  AcquireOptions options;
  options.cancel = cancel;
  const auto lock = locks.acquire("door", options);
  other.join();
  close(cancel);
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code, ErrorCode::cancelled);
}

TEST(Locks, TimeOutOnTheNetworksClock) {
  FakeNetwork network;
  Locks locks = connected(network);
  network.acquire_elsewhere("door");
  std::thread other([&] {
    if (!eventually([&] { return network.waiters("door") == 1; })) ADD_FAILURE();
    network.advance(2h);
  });
  const auto lock = locks.acquire("door", {.shared = false, .wait = 1h});
  other.join();
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code, ErrorCode::timed_out);
}

TEST(Locks, AreIndependentAcrossThreads) {
  const FakeNetwork network;
  int inside = 0;
  int entered = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      Locks locks = connected(network);
      for (int turn = 0; turn < 50; ++turn) {
        const auto lock = locks.acquire("door");
        if (!lock || ++inside != 1) ADD_FAILURE();
        ++entered;
        --inside;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(entered, 200);
}

// --- forks ---

TEST(Locks, CannotBeUsedByAForkedChild) {
  const FakeNetwork network;
  Locks locks = connected(network);
  auto lock = locks.acquire("door");
  auto waiting = locks.acquire_async("plan");
  ASSERT_TRUE(lock && waiting);
  const pid_t child = fork();
  if (child == 0) {
    const bool nothing_held = lock->remaining() == 0s && lock->deadline() == 0s;
    const auto another = locks.acquire("window");
    const auto polled = waiting->poll();
    const bool refused = !another && !polled && another.error().code == ErrorCode::refused &&
                         another.error().message.find("after fork()") != std::string::npos;
    lock->release();
    {
      const PendingLock dropped = *std::move(waiting);
    }
    _exit(nothing_held && refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_GT(lock->remaining(), 0s);
  auto polled = waiting->poll();
  ASSERT_TRUE(eventually([&] {
    if (polled && !*polled) polled = waiting->poll();
    return polled && *polled;
  }));
  // Requests of the child would have arrived before these.
  Locks others = connected(network);
  EXPECT_FALSE(others.try_acquire("door"));
  EXPECT_TRUE(locks.acquire("window"));
}

// --- time, status, watch ---

TEST(FakeNetwork, PublishesTheTimeThatIsSet) {
  FakeNetwork network;
  const auto page = network.page();
  ASSERT_TRUE(page);
  const NetworkTime noon{std::chrono::hours{12}};
  network.set_now(FakeNetwork::synchronized_at(noon, 5ms));
  Now now = page->now();
  EXPECT_EQ(now.status, TimeStatus::synchronized);
  EXPECT_GE(now.time, noon);
  EXPECT_GE(now.latest - now.earliest, 10ms);
  EXPECT_LE(now.latest - now.earliest, 10ms + 1us);
  network.advance(1h);
  now = page->now();
  EXPECT_GE(now.earliest, noon + 1h - 6ms);
  EXPECT_LE(now.earliest, noon + 1h + 60s);
  EXPECT_TRUE(page->wait_until_after(noon + 1h, 10s));
  Now unknown;
  network.set_now(unknown);
  EXPECT_EQ(page->now().status, TimeStatus::unsynchronized);
}

TEST(FakeNetwork, CancelsAWaitForATimeByDescriptor) {
  const FakeNetwork network;
  const auto page = network.page();
  ASSERT_TRUE(page);
  const int cancel = eventfd(1, EFD_CLOEXEC);
  EXPECT_FALSE(page->wait_until_after(page->now().latest + 24h, 24h, cancel));
  close(cancel);
}

TEST(Daemon, ReturnsTheStatus) {
  FakeNetwork network;
  Status status;
  status.name = "bow";
  status.cluster = "ship";
  status.version = "1";
  status.master = "stern";
  status.locks = "3 voters; locks survive the loss of 1";
  status.members = {{"bow", "10.0.0.1", "follower", true, false, 0},
                    {"stern", "10.0.0.2", "master", false, true, 1.5}};
  status.warnings = {"no key"};
  network.set_status(status);
  network.set_now(FakeNetwork::synchronized_at(NetworkTime{1000s}));
  auto daemon = network.daemon();
  ASSERT_TRUE(daemon);
  const auto read = daemon->status();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->name, "bow");
  EXPECT_EQ(read->cluster, "ship");
  EXPECT_EQ(read->version, "1");
  EXPECT_EQ(read->master, "stern");
  EXPECT_EQ(read->locks, status.locks);
  EXPECT_EQ(read->warnings, status.warnings);
  ASSERT_EQ(read->members.size(), 2U);
  EXPECT_EQ(read->members[1].name, "stern");
  EXPECT_EQ(read->members[1].address, "10.0.0.2");
  EXPECT_EQ(read->members[1].role, "master");
  EXPECT_TRUE(read->members[0].self);
  EXPECT_TRUE(read->members[1].faulty);
  EXPECT_EQ(read->members[1].heard_ago_s, 1.5);
  EXPECT_EQ(read->now.status, TimeStatus::synchronized);
  EXPECT_THAT(read->json, HasSubstr("\"cluster\":\"ship\""));
  const auto now = daemon->now();
  ASSERT_TRUE(now);
  EXPECT_GE(now->time, NetworkTime{1000s});
  EXPECT_EQ(now->latest - now->earliest, 2ms);
}

TEST(Watch, ReturnsStatusesAndEvents) {
  FakeNetwork network;
  auto daemon = network.daemon();
  ASSERT_TRUE(daemon);
  auto watch = daemon->watch();
  ASSERT_TRUE(watch);
  auto update = watch->next(10s);
  ASSERT_TRUE(update && update->status);
  EXPECT_EQ(update->status->master, "fake");
  update = watch->next(0s);
  ASSERT_FALSE(update);
  EXPECT_EQ(update.error().code, ErrorCode::timed_out);
  network.emit_event({"became-master", NetworkTime{7s}, "bow is master"});
  ASSERT_TRUE(readable(watch->descriptor(), 10s));
  update = watch->next(10s);
  ASSERT_TRUE(update && update->event);
  EXPECT_EQ(update->event->name, "became-master");
  EXPECT_EQ(update->event->at, NetworkTime{7s});
  EXPECT_EQ(update->event->text, "bow is master");
  const int cancel = eventfd(1, EFD_CLOEXEC);
  update = watch->next(1h, cancel);
  close(cancel);
  ASSERT_FALSE(update);
  EXPECT_EQ(update.error().code, ErrorCode::cancelled);
  network.restart();
  do update = watch->next(10s);
  while (update);
  EXPECT_EQ(update.error().code, ErrorCode::no_daemon);
}

}  // namespace
}  // namespace tempo
