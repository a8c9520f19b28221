#include "daemon/reload.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/config_keys.h"

namespace tempo::daemon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;

config::Settings with(const std::vector<std::string>& changes) {
  const auto settings = config::load_settings("", false, changes);
  EXPECT_TRUE(settings) << (settings ? "" : settings.error().front().what);
  return settings.value_or(config::Settings{});
}

TEST(Reload, TellsRestartKeysApart) {
  const Difference found =
      difference(with({}), with({"may-lead=false", "port=99", "hook=/bin/true", "profile=fast"}));
  EXPECT_THAT(found.restart, ElementsAre("port"));
  EXPECT_EQ(found.now.front(), "profile");  // and the timers of the profile
  EXPECT_THAT(found.now, IsSupersetOf({"may-lead", "hook", "timers.loop-ms"}));
  EXPECT_THAT(difference(with({}), with({})).now, IsEmpty());
  EXPECT_THAT(difference(with({}), with({})).restart, IsEmpty());
}

// Changes that could end locks or cut this machine off need a restart, and say why.
TEST(Reload, RefusesUnsafeChangesWithAReason) {
  for (const char* change : {"locks.lease-ms=1000", "locks.lease-max-ms=9000", "cluster=harbour"}) {
    const Difference found = difference(with({"locks.expect=3"}), with({"locks.expect=3", change}));
    ASSERT_EQ(found.restart.size(), 1U) << change;
    EXPECT_FALSE(restart_reason(found.restart[0]).empty()) << change;
    EXPECT_THAT(found.now, IsEmpty());
  }
  // Locks begin and end with a start.
  EXPECT_THAT(difference(with({}), with({"locks.expect=3"})).restart, ElementsAre("locks.expect"));
  EXPECT_THAT(difference(with({"locks.expect=3"}), with({})).restart, ElementsAre("locks.expect"));
  EXPECT_THAT(difference(with({"locks.expect=3"}), with({"locks.expect=5"})).now,
              ElementsAre("locks.expect"));
  // `classic` exchanges every four minutes, so that processes are live for longer.
  const Difference classic = difference(with({}), with({"profile=classic"}));
  EXPECT_THAT(classic.now, IsEmpty());
  EXPECT_EQ(classic.restart.front(), "profile");
  EXPECT_EQ(changed(with({}), with({"profile=classic"})).profile, "lan");
}

TEST(Reload, CarriesTimersAndVotersToTheWorker) {
  const config::Settings sent = with({"profile=fast", "timers.loop-ms=5.05", "locks.expect=5"});
  const auto message = parse_reload(reload_text(sent, ""));
  ASSERT_TRUE(message) << message.error();
  const config::Settings after = changed(with({"locks.expect=3"}), message->settings);
  EXPECT_EQ(after.profile, "fast");
  EXPECT_EQ(after.timing.loop, 5'050us);
  EXPECT_EQ(after.timing.sends, sent.timing.sends);
  EXPECT_EQ(after.timing.election_min, sent.timing.election_min);
  EXPECT_EQ(after.lock_expect, 5);
}

// Every key is reported under its own name when its value differs. The value need not be consistent
// with the others: it is set alone.
TEST(Reload, HasEveryKeyOfTheSettings) {
  const std::vector<config::Value> values{false,
                                          true,
                                          std::int64_t{7},
                                          0.5,
                                          50.0,
                                          std::string("/x"),
                                          std::string("10.0.0.1"),
                                          std::string("fast"),
                                          std::string("none"),
                                          std::string("error"),
                                          std::string("available"),
                                          std::string("open"),
                                          std::string("etcd"),
                                          std::string("utc"),
                                          std::string("classic"),
                                          std::vector<std::string>{"10.0.0.1"},
                                          std::vector<std::string>{"http://10.0.0.1:2379"},
                                          std::vector<std::string>{"10.0.0.9/24"}};
  for (const config::KeyHelp& key : config::all_keys()) {
    bool reported = false;
    for (const config::Value& value : values) {
      config::Settings after = with({});
      if (config::set(after, *config::find_key(key.key), value)) continue;
      const Difference found = difference(with({}), after);
      reported = reported || std::ranges::count(found.now, key.key) > 0 ||
                 std::ranges::count(found.restart, key.key) > 0;
    }
    EXPECT_TRUE(reported) << key.key;
  }
}

TEST(Reload, AppliesOnlyRuntimeKeys) {
  const config::Settings before = with({"port=77"});
  const config::Settings after = with({"port=99", "may-lead=false", "bound-alarm-us=12.5"});
  const config::Settings now = changed(before, after);
  EXPECT_EQ(now.port, 77);
  EXPECT_FALSE(now.may_lead);
  EXPECT_EQ(now.bound_alarm, 12'500ns);
}

TEST(ReloadMessage, RoundTrips) {
  const config::Settings sent = with({"may-lead=false", "step-limit-ms=1.5", "bound-alarm-us=0.25",
                                      "interfaces=[\"eth0\", \"we\\\"ird\"]", "log-level=error"});
  const std::string key = "tempo-key-1 " + std::string(63, 'a') + "b\n";
  const auto message = parse_reload(reload_text(sent, key));
  ASSERT_TRUE(message) << message.error();
  EXPECT_THAT(difference(sent, message->settings).now, IsEmpty());
  EXPECT_EQ(message->keys.size(), 1U);
  const auto empty = parse_reload(reload_text(with({}), ""));
  ASSERT_TRUE(empty) << empty.error();
  EXPECT_EQ(empty->keys.size(), 0U);
  EXPECT_FALSE(empty->settings.bound_alarm);
}

TEST(ReloadMessage, RejectsDamagedText) {
  EXPECT_FALSE(parse_reload("may-lead=perhaps\n\n"));
  EXPECT_FALSE(parse_reload("may-lead=true\n\nno key\n"));
  EXPECT_FALSE(parse_reload("nonsense"));
}

}  // namespace
}  // namespace tempo::daemon
