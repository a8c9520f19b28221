// Locks and the daemon's state for programs in C, with the network that users test with.
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

TEST(LocksForC, AreTakenSharedWaitedForAndCancelled) {
  FakeNetwork network;
  char code[200];
  tempo_locks* locks = tempo_locks_connect(network.socket().c_str(), code, sizeof code);
  ASSERT_NE(locks, nullptr) << code;
  tempo_lock_options options = tempo_lock_default_options();
  options.shared = 1;
  tempo_lock* lock = tempo_lock_take(locks, "plan", &options, nullptr, code, sizeof code);
  ASSERT_NE(lock, nullptr) << code;
  EXPECT_GT(tempo_lock_remaining_ns(lock), 0);
  EXPECT_GT(tempo_lock_deadline_ns(lock), tempo_lock_remaining_ns(lock));

  options = tempo_lock_default_options();
  options.wait_ns = 0;
  tempo_error why = TEMPO_NO_DAEMON;
  EXPECT_EQ(tempo_lock_take(locks, "plan", &options, &why, code, sizeof code), nullptr);
  EXPECT_EQ(why, TEMPO_TOO_LATE);
  EXPECT_THAT(code, HasSubstr("was not to be had"));
  options.wait_ns = -1;
  options.cancel = eventfd(1, EFD_CLOEXEC);
  EXPECT_EQ(tempo_lock_take(locks, "plan", &options, &why, nullptr, 0), nullptr);
  EXPECT_EQ(why, TEMPO_CANCELLED);
  close(options.cancel);

  tempo_wish* pending = tempo_lock_want(locks, "plan", nullptr, &why, code, sizeof code);
  ASSERT_NE(pending, nullptr) << code;
  tempo_lock* writer = nullptr;
  EXPECT_EQ(tempo_wish_look(pending, &writer, &why, code, sizeof code), 1);
  EXPECT_EQ(writer, nullptr);
  EXPECT_GT(tempo_wish_patience_ns(pending), 0);
  const std::uint64_t token = tempo_lock_token(lock);
  tempo_lock_release(lock);
  ASSERT_TRUE(comes_true([&] {
    return tempo_wish_look(pending, &writer, &why, code, sizeof code) != 1 || writer != nullptr;
  }));
  ASSERT_NE(writer, nullptr) << code;
  EXPECT_GT(tempo_lock_token(writer), token);
  tempo_wish_drop(pending);
  EXPECT_EQ(network.holders("plan"), 1U);
  tempo_lock_release(writer);
  tempo_locks_close(locks);
  EXPECT_TRUE(comes_true([&] { return network.holders("plan") == 0; }));
}

TEST(LocksForC, HaveTheKindAndTheLeaseThatAreAskedFor) {
  FakeNetwork network({.lease = 2s});
  char code[200];
  tempo_locks* locks = tempo_locks_connect(network.socket().c_str(), code, sizeof code);
  ASSERT_NE(locks, nullptr) << code;
  tempo_lock_options options = tempo_lock_default_options();
  for (const tempo_lock_kind kind : {TEMPO_LEASE, TEMPO_SILENT, TEMPO_EXPLICIT}) {
    options.kind = kind;
    const std::string name = "kind" + std::to_string(kind);
    tempo_lock* lock = tempo_lock_take(locks, name.c_str(), &options, nullptr, code, sizeof code);
    ASSERT_NE(lock, nullptr) << code;
    EXPECT_EQ(tempo_lock_token(lock) != 0, kind == TEMPO_LEASE) << name;
    tempo_lock_release(lock);
  }
  options.kind = static_cast<tempo_lock_kind>(3);
  tempo_error why = TEMPO_NO_DAEMON;
  EXPECT_EQ(tempo_lock_take(locks, "x", &options, &why, code, sizeof code), nullptr);
  EXPECT_EQ(why, TEMPO_REFUSED);
  EXPECT_THAT(code, HasSubstr("TEMPO_LEASE"));
  EXPECT_EQ(tempo_lock_want(locks, "x", &options, &why, code, sizeof code), nullptr);

  options = tempo_lock_default_options();
  options.lease_ns = 10'000'000'000;
  tempo_lock* lock = tempo_lock_take(locks, "long", &options, nullptr, code, sizeof code);
  ASSERT_NE(lock, nullptr) << code;
  EXPECT_GT(tempo_lock_remaining_ns(lock), 5'000'000'000);
  tempo_lock_release(lock);
  tempo_locks_close(locks);
}

TEST(DaemonForC, SaysWhatItKnowsAndWhatChanges) {
  FakeNetwork network;
  char code[200];
  tempo_daemon* daemon = tempo_daemon_connect(network.socket().c_str(), code, sizeof code);
  ASSERT_NE(daemon, nullptr) << code;
  tempo_picture* picture = tempo_daemon_status(daemon, nullptr, code, sizeof code);
  ASSERT_NE(picture, nullptr) << code;
  EXPECT_STREQ(tempo_picture_name(picture), "fake");
  EXPECT_STREQ(tempo_picture_master(picture), "fake");
  EXPECT_THAT(tempo_picture_locks(picture), HasSubstr("1 voter; locks need fake"));
  EXPECT_THAT(tempo_picture_json(picture), HasSubstr("\"members\""));
  EXPECT_EQ(tempo_picture_now(picture).status, TEMPO_SYNCHRONIZED);
  tempo_picture_free(picture);

  tempo_watch* watch = tempo_daemon_watch(daemon, nullptr, code, sizeof code);
  ASSERT_NE(watch, nullptr) << code;
  tempo_daemon_close(daemon);
  picture = tempo_watch_next(watch, 10'000'000'000, -1, nullptr, code, sizeof code);
  ASSERT_NE(picture, nullptr) << code;
  tempo_picture_free(picture);
  tempo_error why = TEMPO_NO_DAEMON;
  EXPECT_EQ(tempo_watch_next(watch, 0, -1, &why, code, sizeof code), nullptr);
  EXPECT_EQ(why, TEMPO_TOO_LATE);
  network.set_now(FakeNetwork::synchronized_at(NetworkTime{1000s}));
  ASSERT_TRUE(readable(tempo_watch_descriptor(watch), 10s));
  picture = tempo_watch_next(watch, 0, -1, nullptr, code, sizeof code);
  ASSERT_NE(picture, nullptr) << code;
  EXPECT_GE(tempo_picture_now(picture).time_ns, 1'000'000'000'000);
  tempo_picture_free(picture);
  tempo_watch_close(watch);
}

}  // namespace
}  // namespace tempo
