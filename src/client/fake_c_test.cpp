// The C interface of locks and of the daemon's status, with a fake network.
#include <chrono>
#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "client/fake_test_waits.h"
#include "tempo/daemon_c.h"
#include "tempo/fake.h"
#include "tempo/lock_c.h"

namespace tempo {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(LocksForC, AcquireShareWaitAndCancel) {
  FakeNetwork network;
  char message[200];
  tempo_locks* locks =
      tempo_locks_connect(network.socket().c_str(), nullptr, message, sizeof message);
  ASSERT_NE(locks, nullptr) << message;
  tempo_acquire_options options = tempo_acquire_default_options();
  options.shared = 1;
  tempo_lock* lock = tempo_lock_acquire(locks, "plan", &options, nullptr, message, sizeof message);
  ASSERT_NE(lock, nullptr) << message;
  EXPECT_GT(tempo_lock_remaining_ns(lock), 0);
  EXPECT_GT(tempo_lock_deadline_ns(lock), tempo_lock_remaining_ns(lock));

  options = tempo_acquire_default_options();
  options.wait_ns = 0;
  tempo_error error = TEMPO_ERROR_NO_DAEMON;
  EXPECT_EQ(tempo_lock_acquire(locks, "plan", &options, &error, message, sizeof message), nullptr);
  EXPECT_EQ(error, TEMPO_ERROR_TIMED_OUT);
  EXPECT_THAT(message, HasSubstr("is not available (not waiting)"));
  options.wait_ns = -1;
  options.cancel = eventfd(1, EFD_CLOEXEC);
  EXPECT_EQ(tempo_lock_acquire(locks, "plan", &options, &error, nullptr, 0), nullptr);
  EXPECT_EQ(error, TEMPO_ERROR_CANCELLED);
  close(options.cancel);

  tempo_pending_lock* pending =
      tempo_lock_acquire_async(locks, "plan", nullptr, &error, message, sizeof message);
  ASSERT_NE(pending, nullptr) << message;
  tempo_lock* writer = nullptr;
  EXPECT_EQ(tempo_pending_lock_poll(pending, &writer, &error, message, sizeof message), 1);
  EXPECT_EQ(writer, nullptr);
  EXPECT_GT(tempo_pending_lock_timeout_ns(pending), 0);
  const std::uint64_t token = tempo_lock_token(lock);
  tempo_lock_release(lock);
  ASSERT_TRUE(eventually([&] {
    return tempo_pending_lock_poll(pending, &writer, &error, message, sizeof message) != 1 ||
           writer != nullptr;
  }));
  ASSERT_NE(writer, nullptr) << message;
  EXPECT_GT(tempo_lock_token(writer), token);
  tempo_pending_lock_close(pending);
  EXPECT_EQ(network.holders("plan"), 1U);
  tempo_lock_release(writer);
  tempo_locks_close(locks);
  EXPECT_TRUE(eventually([&] { return network.holders("plan") == 0; }));
}

TEST(LocksForC, HonorKindAndLease) {
  FakeNetwork network({.lease = 2s});
  char message[200];
  tempo_locks* locks =
      tempo_locks_connect(network.socket().c_str(), nullptr, message, sizeof message);
  ASSERT_NE(locks, nullptr) << message;
  tempo_acquire_options options = tempo_acquire_default_options();
  for (const tempo_lock_kind kind : {TEMPO_LOCK_LEASE, TEMPO_LOCK_SILENT, TEMPO_LOCK_EXPLICIT}) {
    options.kind = kind;
    const std::string name = "kind" + std::to_string(kind);
    tempo_lock* lock =
        tempo_lock_acquire(locks, name.c_str(), &options, nullptr, message, sizeof message);
    ASSERT_NE(lock, nullptr) << message;
    EXPECT_EQ(tempo_lock_token(lock) != 0, kind == TEMPO_LOCK_LEASE) << name;
    tempo_lock_release(lock);
  }
  options.kind = static_cast<tempo_lock_kind>(3);
  tempo_error error = TEMPO_ERROR_NO_DAEMON;
  EXPECT_EQ(tempo_lock_acquire(locks, "x", &options, &error, message, sizeof message), nullptr);
  EXPECT_EQ(error, TEMPO_ERROR_REFUSED);
  EXPECT_THAT(message, HasSubstr("TEMPO_LOCK_LEASE"));
  EXPECT_EQ(tempo_lock_acquire_async(locks, "x", &options, &error, message, sizeof message),
            nullptr);

  options = tempo_acquire_default_options();
  options.lease_ns = 10'000'000'000;
  tempo_lock* lock = tempo_lock_acquire(locks, "long", &options, nullptr, message, sizeof message);
  ASSERT_NE(lock, nullptr) << message;
  EXPECT_GT(tempo_lock_remaining_ns(lock), 5'000'000'000);
  tempo_lock_release(lock);
  tempo_locks_close(locks);
}

TEST(DaemonForC, ReturnsStatusAndUpdates) {
  FakeNetwork network;
  char message[200];
  tempo_daemon* daemon =
      tempo_daemon_connect(network.socket().c_str(), nullptr, message, sizeof message);
  ASSERT_NE(daemon, nullptr) << message;
  tempo_status* status = tempo_daemon_status(daemon, nullptr, message, sizeof message);
  ASSERT_NE(status, nullptr) << message;
  EXPECT_STREQ(tempo_status_name(status), "fake");
  EXPECT_STREQ(tempo_status_master(status), "fake");
  EXPECT_THAT(tempo_status_locks(status), HasSubstr("1 voter; locks need fake"));
  EXPECT_THAT(tempo_status_json(status), HasSubstr("\"members\""));
  EXPECT_EQ(tempo_status_now(status).status, TEMPO_TIME_SYNCHRONIZED);
  tempo_status_free(status);

  tempo_watch* watch = tempo_daemon_watch(daemon, nullptr, message, sizeof message);
  ASSERT_NE(watch, nullptr) << message;
  tempo_daemon_close(daemon);
  status = tempo_watch_next(watch, 10'000'000'000, -1, nullptr, message, sizeof message);
  ASSERT_NE(status, nullptr) << message;
  tempo_status_free(status);
  tempo_error error = TEMPO_ERROR_NO_DAEMON;
  EXPECT_EQ(tempo_watch_next(watch, 0, -1, &error, message, sizeof message), nullptr);
  EXPECT_EQ(error, TEMPO_ERROR_TIMED_OUT);
  network.set_now(FakeNetwork::synchronized_at(NetworkTime{1000s}));
  ASSERT_TRUE(readable(tempo_watch_descriptor(watch), 10s));
  status = tempo_watch_next(watch, 0, -1, nullptr, message, sizeof message);
  ASSERT_NE(status, nullptr) << message;
  EXPECT_GE(tempo_status_now(status).time_ns, 1'000'000'000'000);
  tempo_status_free(status);
  tempo_watch_close(watch);
}

}  // namespace
}  // namespace tempo
