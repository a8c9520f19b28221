// Silent locks between real daemons: they exclude others, fall back to explicit replies when the
// network violates its bounds, and report the reason.
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "netns.h"
#include "tempo/lock.h"

namespace tempo::testbed {
namespace {

using std::chrono::steady_clock;
using testing::HasSubstr;

// The delays allow for a machine that is busy with other tests.
Site::Options lock_options() {
  return {.tempod = TEMPO_TEMPOD,
          .profile = "fast",
          .arguments = {"--set", "locks.expect=3", "--set", "locks.lease-ms=2000", "--set",
                        "locks.delay-max-ms=150"}};
}

std::string lock_status(const Host& host) {
  const auto status = host.status();
  return status ? status->locks : "";
}

bool all_report(Site& site, const std::string& what) {
  return site.wait(40s, [&] {
    for (std::size_t i = 0; i < site.size(); ++i)
      if (lock_status(site.host(i)).find(what) == std::string::npos) return false;
    return true;
  });
}

// A client on each host takes the lock repeatedly until stopped.
class Clients {
 public:
  Clients(Site& site, LockKind kind) {
    for (std::size_t i = 0; i < site.size(); ++i)
      threads_.emplace_back([this, socket = site.host(i).socket(), kind] { work(socket, kind); });
  }
  ~Clients() { stop(); }
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;
  void stop() {
    stop_ = true;
    for (std::thread& thread : threads_)
      if (thread.joinable()) thread.join();
  }
  std::size_t entries() {
    const std::scoped_lock guard(mutex_);
    return stays_.size();
  }
  // No two clients held the lock at the same time, by their own records.
  void expect_apart() {
    stop();
    std::ranges::sort(stays_);
    for (std::size_t i = 1; i < stays_.size(); ++i)
      EXPECT_LE(stays_[i - 1].second, stays_[i].first) << i << " of " << stays_.size();
  }

 private:
  void work(const std::string& socket, LockKind kind) {
    auto locks = Locks::connect(socket, 30s);
    ASSERT_TRUE(locks) << locks.error().message;
    while (!stop_) {
      AcquireOptions options{.wait = 500ms};
      options.kind = kind;
      auto lock = locks->acquire("door", options);
      if (!lock) {
        ASSERT_EQ(lock.error().code, ErrorCode::timed_out) << lock.error().message;
        continue;
      }
      EXPECT_EQ(lock->token(), 0U);
      const auto from = steady_clock::now();
      std::this_thread::sleep_for(2ms);
      const auto to = steady_clock::now();
      if (lock->remaining() > 0ns) {
        const std::scoped_lock guard(mutex_);
        stays_.emplace_back(from, to);
      }
      lock->release();
      // Without a pause a daemon with sanitizers is so slow that it looks like a lossy network.
      std::this_thread::sleep_for(40ms);
    }
  }

  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::vector<std::pair<steady_clock::time_point, steady_clock::time_point>> stays_;
  std::vector<std::thread> threads_;
};

TEST_F(Netns, SilentLocksFallBackWhenDatagramsAreLostAndRecover) {
  if (run({"nft", "--version"}) != 0) GTEST_SKIP() << "needs nft";
  Site site(lock_options());
  populate(site, 3);
  ASSERT_TRUE(all_report(site, "3 voters; locks survive the loss of 1")) << logs(site);
  EXPECT_THAT(lock_status(site.host(0)), testing::Not(HasSubstr("silent")));

  Clients clients(site, LockKind::silent);
  ASSERT_TRUE(all_report(site, "silent locks treat silence as consent"))
      << lock_status(site.host(0));
  const std::size_t before = clients.entries();
  ASSERT_TRUE(site.wait(20s, [&] { return clients.entries() > before + 20; }));

  site.filter({"numgen random mod 100 < 30 drop"});
  ASSERT_TRUE(all_report(site, "silent locks wait for explicit replies, because "))
      << lock_status(site.host(0));
  const std::size_t meanwhile = clients.entries();
  ASSERT_TRUE(site.wait(30s, [&] { return clients.entries() > meanwhile + 5; }))
      << "lost replies are repeated";

  site.filter({});
  ASSERT_TRUE(all_report(site, "silent locks treat silence as consent"))
      << lock_status(site.host(0));
  const std::size_t after = clients.entries();
  ASSERT_TRUE(site.wait(20s, [&] { return clients.entries() > after + 20; }));
  clients.expect_apart();
}

// A daemon that dies while its client holds the lock blocks the lock; its next incarnation releases
// it.
TEST_F(Netns, ExplicitLocksWaitForADeadDaemon) {
  Site site(lock_options());
  populate(site, 3);
  ASSERT_TRUE(all_report(site, "3 voters; locks survive the loss of 1")) << logs(site);
  auto first = Locks::connect(site.host(0).socket(), 30s);
  auto second = Locks::connect(site.host(1).socket(), 30s);
  ASSERT_TRUE(first && second);
  AcquireOptions options{.wait = 20s};
  options.kind = LockKind::explicit_replies;
  auto held = first->acquire("door", options);
  ASSERT_TRUE(held) << held.error().message;
  EXPECT_GT(held->remaining(), 0ns);
  EXPECT_LE(held->remaining(), 2s);
  site.host(0).kill_all();
  options.wait = 4s;
  auto waited = second->acquire("door", options);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, ErrorCode::timed_out);
  EXPECT_EQ(held->remaining(), 0ns) << "its own deadline has passed";
  site.host(0).start();
  options.wait = 40s;
  auto got = second->acquire("door", options);
  EXPECT_TRUE(got) << got.error().message;
}

}  // namespace
}  // namespace tempo::testbed
