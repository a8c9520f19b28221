// Texts about the holder of a lock.
#include "cli/locks/lock_wait.h"

#include <chrono>

#include <gtest/gtest.h>

namespace tempo::cli {
namespace {

using namespace std::chrono_literals;

TEST(LockHolder, IsTheHostAndTheTimeOfItsOwnClients) {
  ipc::LockView here{.name = "a", .holder = "node1", .here = true, .clients = {}};
  here.clients.push_back({.pid = 7, .since_s = 9});
  here.clients.push_back({.pid = 8, .inside = true, .since_s = 2.1});
  const ipc::LockView elsewhere{.name = "b", .holder = "node2", .clients = {}};
  EXPECT_EQ(holder_of({here, elsewhere}, "a").host, "node1");
  EXPECT_EQ(holder_of({here, elsewhere}, "a").held_s, 2.1);
  EXPECT_EQ(holder_of({here, elsewhere}, "b").host, "node2");
  EXPECT_EQ(holder_of({here, elsewhere}, "b").held_s, std::nullopt);
  EXPECT_EQ(holder_of({here, elsewhere}, "c").host, "");
}

TEST(LockHolder, IsNamedWhileACommandWaits) {
  EXPECT_EQ(waiting_text("a", {.host = "node1", .held_s = 2.1}, "3 voters"),
            "waiting for lock 'a', held by node1 for 2.1 s");
  EXPECT_EQ(waiting_text("a", {.host = "node1", .held_s = 3700}, ""),
            "waiting for lock 'a', held by node1 for 1 h 1 min");
  EXPECT_EQ(waiting_text("a", {.host = "node1", .held_s = {}}, "3 voters"),
            "waiting for lock 'a', held by node1");
  EXPECT_EQ(waiting_text("a", {}, "3 voters"), "waiting for lock 'a': 3 voters");
  EXPECT_EQ(waiting_text("a", {}, ""), "waiting for lock 'a'");
}

TEST(LockHolder, IsNamedWhenACommandGivesUp) {
  EXPECT_EQ(not_acquired_text("a", {.host = "node1", .held_s = 2.1}, 0s),
            "lock 'a' is held by node1 (for 2.1 s); not waiting");
  EXPECT_EQ(not_acquired_text("a", {.host = "node1", .held_s = {}}, 5s),
            "timed out after 5s waiting for lock 'a', held by node1");
  EXPECT_EQ(not_acquired_text("a", {}, 5s), std::nullopt);
}

ipc::LocksView blocked(ipc::LockObstacle obstacle, const char* guarantee) {
  return {.guarantee = guarantee, .obstacle = obstacle};
}

// Each reason has an exit status of its own.
TEST(NotGranted, SaysWhyALockTimedOut) {
  using Obstacle = ipc::LockObstacle;
  const auto no_majority =
      why_timed_out(blocked(Obstacle::no_majority, "no locks: 1 of 3 voters reachable"), "a",
                    ipc::LockKind::lease, 0s);
  ASSERT_TRUE(no_majority);
  EXPECT_EQ(no_majority->status, 105);
  EXPECT_EQ(no_majority->why,
            "lock 'a' was not granted: no locks: 1 of 3 voters reachable; see 'tempo locks "
            "--voters'");
  const auto status_of = [](Obstacle obstacle) {
    const auto reason = why_timed_out(blocked(obstacle, "why"), "a", ipc::LockKind::lease, 0s);
    return reason ? reason->status : 0;
  };
  EXPECT_EQ(status_of(Obstacle::no_voters), 106);
  EXPECT_EQ(status_of(Obstacle::abstaining), 107);
  EXPECT_EQ(status_of(Obstacle::unwritable), 108);
  EXPECT_EQ(status_of(Obstacle::record_lost), 108);
  EXPECT_EQ(status_of(Obstacle::clone), 108);
  EXPECT_EQ(status_of(Obstacle::too_many_machines), 106);
  EXPECT_FALSE(why_timed_out(blocked(Obstacle::no_majority, ""), "a", ipc::LockKind::silent, 0s))
      << "a silent lock needs no majority";
  EXPECT_EQ(status_of(Obstacle::none), 0) << "no holder is known";
  ipc::LocksView held;
  held.locks.push_back({.name = "a", .holder = "node1", .clients = {}});
  EXPECT_EQ(why_timed_out(held, "a", ipc::LockKind::lease, 0s)->status, 100);
}

TEST(NotGranted, SaysWhyALockWasRefused) {
  ipc::LocksView used;
  used.locks.push_back(
      {.name = "a", .kind = ipc::LockKind::silent, .holder = "node1", .clients = {}});
  EXPECT_EQ(why_refused(used, "a", ipc::LockKind::lease, "another kind").status, 109);
  EXPECT_EQ(why_refused(used, "b", ipc::LockKind::lease, "bad name").status, 103);
  EXPECT_EQ(why_refused(used, "b", ipc::LockKind::lease, "bad name").why, "bad name");
  EXPECT_EQ(why_refused(blocked(ipc::LockObstacle::no_voters, "waiting for voters: 1 of 3 found"),
                        "a", ipc::LockKind::lease, "")
                .why,
            "lock 'a' was not granted: waiting for voters: 1 of 3 found; start tempod on the other "
            "machines");
  EXPECT_EQ(why_refused(blocked(ipc::LockObstacle::no_majority, "why"), "a", ipc::LockKind::lease,
                        "bad name")
                .status,
            103);
}

}  // namespace
}  // namespace tempo::cli
