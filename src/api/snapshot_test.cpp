// A snapshot as JSON and text, and the refusals.
#include "api/snapshot.h"

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::obs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Snapshot sample() {
  Snapshot snapshot{.version = "0.1.0",
                    .name = "bow",
                    .id = "00000000000000b0",
                    .cluster = "ship",
                    .pid = 4242,
                    .uptime_s = 3725.5,
                    .profile = "lan",
                    .authenticated = true,
                    .keys = 1,
                    .sealing_key = "d9d0f181",
                    .opening_key = "",
                    .key_change = "",
                    .keys_since_s = 60,
                    .user = "tempo",
                    .capabilities = {"net_bind_service", "sys_time"},
                    .system_call_filter = true,
                    .clock = "system",
                    .status = "synchronized",
                    .time_ns = 1'700'000'000'123'456'789,
                    .earliest_ns = 1'700'000'000'123'444'489,
                    .latest_ns = 1'700'000'000'123'469'089,
                    .offset_us = -1.25,
                    .rate_ppm = 3.5,
                    .timescale_generation = 2,
                    .exchanges = 99,
                    .reference = "stern",
                    .may_lead = true,
                    .locks = "3 voters; locks survive the loss of 1",
                    .warnings = {},
                    .networks = {},
                    .members = {},
                    .groups = {},
                    .counters = {{"accepted", 12}, {"bad \"version\"", 3}}};
  snapshot.networks.push_back({.name = "eth0",
                               .state = "follower",
                               .master = "stern",
                               .master_id = "00000000000000a0",
                               .epoch_round = 7,
                               .listed = 0,
                               .heir = "bow",
                               .root = "stern",
                               .hops = 1,
                               .kernel_stamps = true,
                               .hardware_stamps = false});
  snapshot.members.push_back({.name = "stern",
                              .id = "00000000000000a0",
                              .address = "192.0.2.1",
                              .role = "master",
                              .self = false,
                              .faulty = false,
                              .heard_ago_s = 0.25,
                              .state = "up",
                              .status = "leads",
                              .uptime_s = 3700,
                              .revision = 2,
                              .version = "1.2",
                              .profile = "lan",
                              .timers = "12345678",
                              .expect = 3,
                              .lease_ms = 2000,
                              .lease_max_ms = 4000,
                              .hears = 2,
                              .misses_this_host_s = {},
                              .seals = "deadbeef",
                              .opens = {"deadbeef"},
                              .rate_ppm = {},
                              .sigma_us = {},
                              .bound_us = {},
                              .offset_us = {}});
  snapshot.members.push_back({.name = "bow",
                              .id = "00000000000000b0",
                              .address = "192.0.2.2",
                              .role = "follower",
                              .self = true,
                              .faulty = false,
                              .heard_ago_s = 0,
                              .rate_ppm = -12.3456,
                              .sigma_us = 0.64,
                              .bound_us = 12.3,
                              .offset_us = -1.25});
  snapshot.members.push_back({.name = "mast",
                              .id = "00000000000000c0",
                              .address = "",
                              .role = "follower",
                              .self = false,
                              .faulty = true,
                              .heard_ago_s = 61.04,
                              .state = "silent",
                              .rate_ppm = 500,
                              .sigma_us = 1250,
                              .bound_us = 3.2e6,
                              .offset_us = 4e4});
  snapshot.groups.push_back({.name = "web",
                             .leader = "stern",
                             .term = "1099528404993",
                             .here = false,
                             .state = "follow",
                             .criterion = "load",
                             .algorithm = "b1",
                             .held = "b1",
                             .candidates = 3});
  return snapshot;
}

// --- JSON ---

TEST(SnapshotJson, HasThisForm) {
  Snapshot snapshot;
  snapshot.version = "1";
  snapshot.name = "a\nb";
  snapshot.members.emplace_back().name = "c";
  EXPECT_EQ(
      to_json(snapshot),
      R"({"version":"1","name":"a\nb","id":"","cluster":"","pid":0,"uptime_s":0.0,)"
      R"("profile":"","authenticated":false,"keys":0,"sealing_key":"","opening_key":"",)"
      R"("key_change":"","keys_since_s":0.0,"user":"","capabilities":[],)"
      R"("system_call_filter":false,"clock":"","status":"","time_ns":"0",)"
      R"("earliest_ns":"0","latest_ns":"0","offset_us":0.0,"rate_ppm":0.0,"timescale_generation":0,)"
      R"("exchanges":0,"reference":"","may_lead":true,"locks":"","warnings":[],"networks":[],)"
      R"("members":[{"name":"c","id":"","address":"","role":"","self":false,)"
      R"("faulty":false,"heard_ago_s":0.0,"state":"","only_mentioned":false,"status":"","revision":0,)"
      R"("version":"","profile":"","timers":"","expect":0,"lease_ms":0.0,"lease_max_ms":0.0,)"
      R"("seals":"","opens":[]}],"groups":[],"counters":{}})");
}

TEST(SnapshotJson, RoundTrips) { EXPECT_EQ(from_json(to_json(sample())), sample()); }

TEST(SnapshotJson, ListsMembersAlone) {
  const auto read = from_json("{\"members\":" + members_json(sample()) + "}");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->members, sample().members);
}

TEST(SnapshotJson, OfANeighbouringVersionIsAccepted) {
  const auto snapshot = from_json(R"({"name":"a","invented_later":[1,{"x":2}],"members":[{}]})");
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(snapshot->name, "a");
  EXPECT_EQ(snapshot->members.size(), 1U);
  EXPECT_TRUE(snapshot->may_lead);
}

TEST(SnapshotJson, IsRefusedWithTheReason) {
  const auto why = [](std::string_view text) {
    const auto snapshot = from_json(text);
    return snapshot ? std::string("accepted") : snapshot.error();
  };
  EXPECT_EQ(why("{"), "not valid JSON");
  EXPECT_EQ(why("{} {}"), "not valid JSON");
  EXPECT_EQ(why("[]"), "it is not a JSON object");
  EXPECT_EQ(why(R"({"name":3})"), "member 'name' is not a string");
  EXPECT_EQ(why(R"({"pid":-1})"), "member 'pid' is not a whole number from 0 to 4294967295");
  EXPECT_EQ(why(R"({"pid":4294967296})"),
            "member 'pid' is not a whole number from 0 to 4294967295");
  EXPECT_EQ(why(R"({"exchanges":1.5})"), "member 'exchanges' is not a whole number from 0");
  EXPECT_EQ(why(R"({"time_ns":9223372036854775808})"), "member 'time_ns' is not a whole number");
  EXPECT_EQ(why(R"({"offset_us":"1"})"), "member 'offset_us' is not a number");
  EXPECT_EQ(why(R"({"may_lead":1})"), "member 'may_lead' is not true or false");
  EXPECT_EQ(why(R"({"warnings":"x"})"), "member 'warnings' is not a list");
  EXPECT_EQ(why(R"({"warnings":[1]})"), "member 'warnings' is not a list of strings");
  EXPECT_EQ(why(R"({"members":[1]})"), "member 'members' is not a list of objects");
  EXPECT_EQ(why(R"({"members":[{"bound_us":true}]})"), "member 'bound_us' is not a number");
  EXPECT_EQ(why(R"({"counters":[]})"), "member 'counters' is not an object");
  EXPECT_EQ(why(R"({"counters":{"a":-1}})"),
            "member 'counters' is not an object of whole numbers from 0");
}

// A host name may have any bytes, and a number may not be finite: neither stops the daemon.
TEST(SnapshotJson, CanAlwaysBeWritten) {
  Snapshot snapshot = sample();
  snapshot.name = "a\xff";
  snapshot.offset_us = std::numeric_limits<double>::quiet_NaN();
  snapshot.members[0].bound_us = std::numeric_limits<double>::infinity();
  const auto read = from_json(to_json(snapshot));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->name, "a\xef\xbf\xbd");
  EXPECT_EQ(read->offset_us, 0);
  EXPECT_EQ(read->members[0].bound_us, std::nullopt);
}

// Exact to the nanosecond; the larger side counts.
TEST(SnapshotBound, IsExact) {
  Snapshot snapshot = sample();
  EXPECT_EQ(snapshot.bound_us(), 12.3);
  snapshot.latest_ns = snapshot.time_ns + 13;
  EXPECT_EQ(snapshot.bound_us(), 12.3);
  snapshot.earliest_ns = snapshot.time_ns - 7;
  EXPECT_EQ(snapshot.bound_us(), 0.013);
  snapshot.status = "unsynchronized";
  EXPECT_EQ(snapshot.bound_us(), std::nullopt);
}

// --- text ---

TEST(StatusText, OfAFollower) {
  EXPECT_EQ(
      status_text(sample()),
      "bow: synchronized to stern, within 12.3 us\n"
      "  time      2023-11-14 22:13:20.123456789 UTC\n"
      "  clock     system, offset -1.25 us, rate +3.500 ppm, 99 exchanges\n"
      "  network   eth0: follower of stern, epoch 7, heir bow, time from stern, 1 hop, "
      "kernel timestamps\n"
      "  cluster   ship, 3 members, profile lan, authenticated with a key\n"
      "  locks     3 voters; locks survive the loss of 1\n"
      "  group     web: stern leads, term 1099528404993, 3 candidates, by load, algorithm b1\n"
      "  tempod    0.1.0, id 00000000000000b0, process 4242, up 1 h 2 min\n"
      "  runs as   user tempo, net_bind_service, sys_time, system call filter\n");
}

TEST(StatusText, SaysWhatTheBoundConsistsOf) {
  Snapshot snapshot = sample();
  EXPECT_THAT(status_text(snapshot), Not(HasSubstr("  bound ")));
  snapshot.bound_age_s = 0.44;
  snapshot.bound_round_trip_us = 9.8;
  snapshot.bound_drift_us = 1.2;
  snapshot.bound_reference_us = 1.3;
  snapshot.bound_other_us = 0;
  EXPECT_THAT(status_text(snapshot),
              HasSubstr("  bound     9.8 us round trip + 1.2 us drift in 0.4 s + 1.3 us master\n"));
  EXPECT_EQ(from_json(to_json(snapshot)), snapshot);
}

TEST(StatusText, OfAProcessThatIsNotConfined) {
  Snapshot snapshot = sample();
  snapshot.user = "root";
  snapshot.capabilities.assign(41, "any");
  snapshot.system_call_filter = false;
  EXPECT_THAT(status_text(snapshot),
              HasSubstr("  runs as   user root, 41 capabilities, no system call filter\n"));
  snapshot.capabilities.clear();
  EXPECT_THAT(status_text(snapshot), HasSubstr("user root, no capabilities, no system"));
}

TEST(StatusText, OfAGroupWithoutLeader) {
  Snapshot snapshot = sample();
  snapshot.groups[0].leader.clear();
  snapshot.groups[0].held = "c";
  snapshot.groups[0].candidates = 1;
  EXPECT_THAT(status_text(snapshot),
              HasSubstr("  group     web: no leader, 1 candidate, by load, algorithm b1, held by "
                        "c\n"));
}

TEST(StatusText, ListsTheFirstGroups) {
  Snapshot snapshot = sample();
  for (int i = 1; i < 20; ++i) {
    snapshot.groups.push_back(snapshot.groups[0]);
    snapshot.groups.back().name = "web" + std::to_string(i);
  }
  EXPECT_THAT(status_text(snapshot), HasSubstr("web7: "));
  EXPECT_THAT(status_text(snapshot), Not(HasSubstr("web8: ")));
  EXPECT_THAT(status_text(snapshot),
              HasSubstr("  groups    12 more; 'tempo groups' lists them all\n"));
}

TEST(StatusText, ShowsHardwareTimestamps) {
  Snapshot snapshot = sample();
  snapshot.networks[0].hardware_stamps = true;
  EXPECT_THAT(status_text(snapshot), HasSubstr("time from stern, 1 hop, hardware timestamps\n"));
}

TEST(StatusText, OfAMasterWithWarnings) {
  Snapshot snapshot = sample();
  snapshot.status = "leads";
  snapshot.authenticated = false;
  snapshot.keys = 0;
  snapshot.may_lead = false;
  snapshot.networks[0].state = "master";
  snapshot.networks[0].listed = 2;
  snapshot.networks[0].kernel_stamps = false;
  snapshot.networks[0].root.clear();
  snapshot.networks[0].heir.clear();
  snapshot.warnings = {"no key: anybody on this network can set the time"};
  const std::string text = status_text(snapshot);
  EXPECT_THAT(text, HasSubstr("bow: master, within 12.3 us\n"));
  EXPECT_THAT(
      text, HasSubstr("  network   eth0: master of 2 followers, epoch 7, no kernel timestamps\n"));
  EXPECT_THAT(text, HasSubstr("profile lan, no key, may not lead\n"));
  EXPECT_THAT(text, HasSubstr("  warning   no key: anybody on this network can set the time\n"));
}

TEST(StatusText, WithoutNetworkTimeHasNoBound) {
  Snapshot snapshot = sample();
  snapshot.status = "unsynchronized";
  snapshot.earliest_ns = std::numeric_limits<std::int64_t>::min();
  snapshot.latest_ns = std::numeric_limits<std::int64_t>::max();
  snapshot.networks.clear();
  const std::string text = status_text(snapshot);
  EXPECT_THAT(text, HasSubstr("bow: unsynchronized: no network time yet\n"));
  EXPECT_THAT(text, Not(HasSubstr("within")));
  EXPECT_THAT(text, HasSubstr("  network   none\n"));
  snapshot.status = "holdover";
  EXPECT_THAT(status_text(snapshot), HasSubstr("holdover: no master"));
}

TEST(MembersText, IsATable) {
  EXPECT_EQ(members_text(sample()),
            "  name   state                 role      address    key         offset    bound  "
            "revision         up\n"
            "  stern  up                    master    192.0.2.1  deadbeef         -        -  "
            "       2  1 h 1 min\n"
            "* bow    up                    follower  192.0.2.2  -         -1.25 us  12.3 us  "
            "       -          -\n"
            "  mast   silent for 1 min 1 s  -         -          -            40 ms    3.2 s  "
            "       -          -\n");
}

TEST(MembersText, SaysSinceWhenAMemberIsNotUp) {
  Snapshot snapshot;
  MemberView& member = snapshot.members.emplace_back();
  member.name = "bow";
  member.heard_ago_s = 125;
  member.uptime_s = 10;
  const auto text = [&](const char* name) {
    member.state = name;
    return members_text(snapshot);
  };
  EXPECT_THAT(text("silent"), HasSubstr("bow   silent for 2 min 5 s  -"));
  EXPECT_THAT(text("stopped"), HasSubstr("bow   stopped 2 min 5 s ago  -"));
  EXPECT_THAT(text("gone"), HasSubstr("bow   gone for 2 min 5 s  -"));
  EXPECT_THAT(text("up"), HasSubstr("bow   up "));
  member.misses_this_host_s = 9;
  EXPECT_THAT(text("up"), HasSubstr("bow   up, does not hear this machine  "));
}

TEST(TextOf, Spans) {
  EXPECT_EQ(micros_text(0), "0 ns");
  EXPECT_EQ(micros_text(-0.5), "-500 ns");
  EXPECT_EQ(micros_text(0.9996), "1 us");
  EXPECT_EQ(micros_text(999.4), "999 us");
  EXPECT_EQ(micros_text(999.6), "1 ms");
  EXPECT_EQ(micros_text(1.5e6), "1.5 s");
  EXPECT_EQ(micros_text(1e13), "more than 11 days");
  EXPECT_EQ(uptime_text(-1), "0 s");
  EXPECT_EQ(uptime_text(61), "1 min 1 s");
  EXPECT_EQ(uptime_text(90000), "1 d 1 h");
}

TEST(TextOf, Instants) {
  EXPECT_EQ(utc_text(0), "1970-01-01 00:00:00.000000000");
  EXPECT_EQ(utc_text(-1), "1969-12-31 23:59:59.999999999");
  EXPECT_EQ(utc_text(std::numeric_limits<std::int64_t>::max()), "2262-04-11 23:47:16.854775807");
}

}  // namespace
}  // namespace tempo::obs
