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

}  // namespace
}  // namespace tempo::cli
