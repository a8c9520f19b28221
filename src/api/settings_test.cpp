// Every key, from a file and from the command line.
#include "api/settings.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "api/settings_test_harness.h"

namespace tempo::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view text)
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("tempo_config_test_{}.toml", getpid())) {
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// A value for each key that is not its default, as in a file.
const std::map<std::string, std::string>& samples() {
  static const std::map<std::string, std::string> table{
      {"mode", "\"classic\""},
      {"classic.peers", "[\"192.0.2.7\"]"},
      {"classic.correction-limit-ms", "5000"},
      {"classic.setdate", "true"},
      {"cluster", "\"ship\""},
      {"name", "\"bow\""},
      {"profile", "\"fast\""},
      {"port", "5250"},
      {"interfaces", "[\"eth0\", \"eth1\"]"},
      {"peers", "[\"192.0.2.7\", \"[fe80::1%eth0]:525\"]"},
      {"bind", "[\"127.0.0.3\"]"},
      {"broadcast", "\"127.255.255.255\""},
      {"ipv6", "true"},
      {"hardware-stamps", "false"},
      {"key-file", "\"/tmp/key\""},
      {"trusted", "false"},
      {"may-lead", "false"},
      {"priority", "3"},
      {"clock", "\"software\""},
      {"step-limit-ms", "250.5"},
      {"max-delay-ms", "20"},
      {"drift-allowance-ppm", "1"},
      {"rate-jump-max-ppm", "5"},
      {"bound-alarm-us", "750"},
      {"claims-limit-ms", "20"},
      {"kernel-claims", "\"utc\""},
      {"tai-offset-s", "37"},
      {"utc.source.path", "\"/run/tempo/gps.sock\""},
      {"utc.source.error-us", "20"},
      {"utc.source.priority", "3"},
      {"doors.clockbound", "\"/run/clockbound/shm0\""},
      {"doors.chrony", "\"/run/chrony/tempo.sock\""},
      {"log-level", "\"error\""},
      {"state-dir", "\"/tmp/state\""},
      {"socket", "\"/tmp/tempod.sock\""},
      {"user", "\"\""},
      {"hook", "\"/usr/local/bin/notify\""},
      {"hook-user", "\"operator\""},
      {"system-call-filter", "false"},
      {"remote-read", "\"open\""},
      {"realtime", "false"},
      {"machine-id", "\"0123\""},
      {"timers.adjtime-ms", "900"},
      {"timers.loop-ms", "240"},
      {"timers.election-min-ms", "2400"},
      {"timers.election-max-ms", "4800"},
      {"timers.startup-ms", "510"},
      {"timers.no-master-ms", "520"},
      {"timers.candidate-ms", "210"},
      {"timers.accept-ms", "1100"},
      {"timers.consistency-ms", "110"},
      {"timers.conflict-ms", "310"},
      {"timers.retransmit-ms", "51.5"},
      {"timers.sends", "4"},
      {"timers.delay-ms", "49"},
      {"timers.loops-per-election", "4"},
      {"timers.loops-per-startup", "2"},
      {"locks.expect", "3"},
      {"locks.voters", "[\"bow\", \"stern\"]"},
      {"locks.lease-ms", "500"},
      {"locks.lease-max-ms", "10000"},
      {"locks.delay-max-ms", "2.5"},
      {"locks.policy", "\"witness\""},
      {"locks.policy-host", "\"stern\""},
      {"locks.back-end", "\"etcd\""},
      {"locks.etcd-endpoints", "[\"http://10.0.0.1:2379\", \"https://etcd.ship:2379\"]"},
      {"locks.etcd-socket", "\"/run/x/etcd.sock\""},
      {"locks.etcd-ca-file", "\"/etc/tempo/ca.pem\""},
      {"locks.etcd-cert-file", "\"/etc/tempo/etcd.pem\""},
      {"locks.etcd-key-file", "\"/etc/tempo/etcd.key\""},
      {"groups.node-key-file", "\"/etc/tempo/node-key\""},
      {"groups.node-list-file", "\"/etc/tempo/node-list\""},
      {"ntp.listen", "[\"192.0.2.7\", \"[2001:db8::7]:1123\"]"},
      {"ntp.port", "1123"},
      {"ntp.serve", "false"},
      {"ntp.servers", "[\"192.0.2.9\"]"},
      {"ntp.feed", "\"/run/tempo/ntp.sock\""},
      {"groups.users", "[\"tempo-vip\", \"web\"]"},
      {"vip.group", "\"web\""},
      {"vip.interface", "\"eth0\""},
      {"vip.addresses", "[\"192.0.2.10/24\", \"2001:db8::10/64\"]"},
      {"vip.weight", "5"},
      {"vip.min-stay-ms", "1000"},
      {"vip.announcements", "3"},
      {"vip.check", "\"curl -fs localhost\""},
      {"vip.check-interval-ms", "500"},
      {"software-clock.offset-ms", "-12.5"},
      {"software-clock.drift-ppm", "50"},
      {"software-clock.wander-ppb-per-sqrt-s", "1.5"},
      {"software-clock.seed", "77"},
  };
  return table;
}

// --- files ---

TEST(Settings, HaveDefaultsForEverything) {
  const Settings settings = good("");
  EXPECT_EQ(settings.cluster, "tempo");
  EXPECT_EQ(settings.port, 525);
  EXPECT_EQ(settings.timing.adjtime, 1s);  // the profile's, not zero
  EXPECT_EQ(settings.timing.sends, 5U);
  EXPECT_FALSE(settings.key_file_given);
  EXPECT_EQ(settings.clock, ClockKind::system);
}

TEST(Settings, ReadEveryKeyOfAFile) {
  const Settings settings = good(R"(
    cluster = "ship"
    name = "bow"
    port = 5250
    peers = ["192.0.2.7", "192.0.2.8:5250", "fe80::1%eth0", "[fe80::1%eth0]:525"]
    bind = ["127.0.0.3"]
    broadcast = "127.255.255.255"
    ipv6 = true
    hardware-stamps = false
    key-file = "/tmp/key"
    may-lead = false
    priority = 3
    clock = "software"
    step-limit-ms = 250.5
    max-delay-ms = 20
    drift-allowance-ppm = 1
    rate-jump-max-ppm = 5
    bound-alarm-us = 750
    state-dir = "/tmp/state"
    socket = "/tmp/tempod.sock"
    user = ""
    hook = "/usr/local/bin/notify"
    realtime = false
    machine-id = "0123"
    [timers]
    adjtime-ms = 900
    loop-ms = 240
    election-min-ms = 2400
    election-max-ms = 4800
    startup-ms = 510
    no-master-ms = 520
    candidate-ms = 210
    accept-ms = 1100
    consistency-ms = 110
    conflict-ms = 310
    retransmit-ms = 51.5
    sends = 4
    delay-ms = 49
    loops-per-election = 4
    loops-per-startup = 2
    [software-clock]
    offset-ms = -12.5
    drift-ppm = 50
    wander-ppb-per-sqrt-s = 1.5
    seed = 77
  )");
  EXPECT_EQ(settings.cluster, "ship");
  EXPECT_EQ(settings.name, "bow");
  EXPECT_EQ(settings.port, 5250);
  EXPECT_EQ(settings.peers.size(), 4U);
  EXPECT_THAT(settings.bind, ElementsAre("127.0.0.3"));
  EXPECT_EQ(settings.broadcast, "127.255.255.255");
  EXPECT_TRUE(settings.ipv6);
  EXPECT_FALSE(settings.hardware_stamps);
  EXPECT_EQ(settings.key_file, "/tmp/key");
  EXPECT_TRUE(settings.key_file_given);
  EXPECT_FALSE(settings.may_lead);
  EXPECT_EQ(settings.priority, 3);
  EXPECT_EQ(settings.clock, ClockKind::software);
  EXPECT_EQ(settings.step_limit, 250500us);
  EXPECT_EQ(settings.bound_alarm, 750us);
  EXPECT_EQ(settings.state_dir, "/tmp/state");
  EXPECT_EQ(settings.socket, "/tmp/tempod.sock");
  EXPECT_EQ(settings.user, "");
  EXPECT_EQ(settings.hook, "/usr/local/bin/notify");
  EXPECT_FALSE(settings.realtime);
  EXPECT_EQ(settings.machine_id, "0123");
  EXPECT_EQ(settings.timing.adjtime, 900ms);
  EXPECT_EQ(settings.timing.loop, 240ms);
  EXPECT_EQ(settings.timing.election_min, 2400ms);
  EXPECT_EQ(settings.timing.election_max, 4800ms);
  EXPECT_EQ(settings.timing.startup, 510ms);
  EXPECT_EQ(settings.timing.no_master, 520ms);
  EXPECT_EQ(settings.timing.candidate, 210ms);
  EXPECT_EQ(settings.timing.accept, 1100ms);
  EXPECT_EQ(settings.timing.consistency, 110ms);
  EXPECT_EQ(settings.timing.conflict, 310ms);
  EXPECT_EQ(settings.timing.retransmit, 51500us);
  EXPECT_EQ(settings.timing.sends, 4U);
  EXPECT_EQ(settings.timing.delay, 49ms);
  EXPECT_EQ(settings.timing.loops_per_election, 4U);
  EXPECT_EQ(settings.timing.loops_per_startup, 2U);
  EXPECT_EQ(settings.software.offset, -12500us);
  EXPECT_DOUBLE_EQ(settings.software.drift, 50e-6);
  EXPECT_DOUBLE_EQ(settings.software.wander, 1.5e-9);
  EXPECT_EQ(settings.software.seed, 77U);
}

TEST(Settings, ReadInterfaces) {
  EXPECT_THAT(good("interfaces = [\"eth0\", \"eth1\"]").interfaces, ElementsAre("eth0", "eth1"));
}

// The timers change the profile, in any order of the keys.
TEST(Settings, LetTimersChangeTheProfile) {
  const Settings settings = good("timers.adjtime-ms = 2000\nprofile = \"fast\"\n");
  EXPECT_EQ(settings.timing.adjtime, 2s);
  EXPECT_EQ(settings.timing.loop, 5ms);
}

TEST(Settings, CheckThePolicyForTwoMachines) {
  const auto mistakes = [](std::uint32_t expect, const std::string& rest) {
    return bad(fmt::format("[locks]\nexpect = {}\n{}\n", expect, rest));
  };
  EXPECT_THAT(mistakes(2, "policy = \"strict\""), IsEmpty());
  EXPECT_THAT(mistakes(2, "policy = \"available\""), IsEmpty());
  EXPECT_THAT(mistakes(2, "policy = \"preferred\"\npolicy-host = \"bow\""), IsEmpty());
  EXPECT_THAT(mistakes(3, "policy = \"witness\"\npolicy-host = \"bow\""), IsEmpty());
  EXPECT_THAT(mistakes(3, "policy = \"available\""), ElementsAre(HasSubstr("locks.expect = 2")));
  EXPECT_THAT(mistakes(2, "policy = \"witness\"\npolicy-host = \"bow\""),
              ElementsAre(HasSubstr("locks.expect = 3")));
  EXPECT_THAT(mistakes(2, "policy = \"preferred\""), ElementsAre(HasSubstr("locks.policy-host")));
  EXPECT_THAT(mistakes(2, "policy-host = \"bow\""), ElementsAre(HasSubstr("remove it")));
  EXPECT_THAT(mistakes(2, "policy = \"brave\""), ElementsAre(HasSubstr("not 'brave'")));
}

TEST(Settings, NameTheVoters) {
  const Settings named = good("[locks]\nvoters = [\"bow\", \"stern\"]");
  EXPECT_THAT(named.lock_voters, ElementsAre("bow", "stern"));
  EXPECT_EQ(named.lock_expect, 2U) << "their number";
  EXPECT_EQ(good("[locks]\nvoters = [\"bow\"]\nexpect = 1").lock_expect, 1U);
  EXPECT_THAT(bad("[locks]\nvoters = [\"bow\"]\nexpect = 2"),
              ElementsAre(HasSubstr("make them equal")));
  EXPECT_THAT(bad("[locks]\nvoters = []"), ElementsAre(HasSubstr("name 1 to 8")));
  EXPECT_THAT(bad("[locks]\nvoters = [\"bow\", \"bow\"]"), ElementsAre(HasSubstr("bow twice")));
}

TEST(Settings, AcceptATrustedClock) {
  const auto settings = read_settings("trusted = true\nclock = \"none\"\n", "tempo.toml");
  ASSERT_TRUE(settings);
  EXPECT_TRUE(settings->trusted);
}

// --- several tables of one name ---

TEST(UtcSourceTables, AreReadInTheirOrder) {
  const Settings settings = good(R"(
    [[utc.source]]
    path = "/run/tempo/gps.sock"
    error-us = 0.5
    [[utc.source]]
    priority = 3
    path = "/run/tempo/ntp.sock"
  )");
  ASSERT_EQ(settings.utc_sources.size(), 2U);
  EXPECT_EQ(settings.utc_sources[0].path, "/run/tempo/gps.sock");
  EXPECT_EQ(settings.utc_sources[0].error, 500ns);
  EXPECT_EQ(settings.utc_sources[0].priority, 9);
  EXPECT_EQ(settings.utc_sources[1].path, "/run/tempo/ntp.sock");
  EXPECT_EQ(settings.utc_sources[1].error, 1ms);
  EXPECT_EQ(settings.utc_sources[1].priority, 3);
}

TEST(UtcSourceTables, MayBeASingleOne) {
  EXPECT_EQ(good("[utc.source]\npath = \"/x\"\n").utc_sources.size(), 1U);
  EXPECT_EQ(changed({"utc.source.path=/x", "utc.source.error-us=3"}).utc_sources.at(0).error, 3us);
}

TEST(UtcSourceTables, ReportTheirMistakesWithTheirPlaces) {
  EXPECT_THAT(
      bad("[[utc.source]]\npath = \"/x\"\n[[utc.source]]\npath = \"/x\"\n"),
      ElementsAre("tempo.toml:4:8: two sources of UTC have the path /x; give each its own"));
  EXPECT_THAT(bad("[[utc.source]]\npriority = 3\n"),
              ElementsAre(HasSubstr("tempo.toml:2:12: a source of UTC needs path")));
  EXPECT_THAT(bad("[[utc.source]]\npath = \"x\"\n"), ElementsAre(HasSubstr("tempo.toml:2:8: ")));
  EXPECT_THAT(bad("[[utc.source]]\npath = \"/x\"\ncolour = 3\n"),
              ElementsAre(HasSubstr("tempo.toml:3:1: unknown key 'utc.source.colour'")));
  EXPECT_THAT(bad("trusted = true\nclock = \"none\"\n[[utc.source]]\npath = \"/x\"\n"),
              ElementsAre(HasSubstr("utc.source and trusted exclude each other")));
  EXPECT_THAT(bad("[utc]\nsource = [3]\n"), ElementsAre(HasSubstr("write [[utc.source]]")));
  EXPECT_THAT(bad("[utc]\nsource = 3\n"), ElementsAre(HasSubstr("utc.source is a table")));
  EXPECT_THAT(bad("[[timers]]\nloop-ms = 3\n"), ElementsAre(HasSubstr("write [timers]")));
  std::string many;
  for (int i = 0; i < 9; ++i) many += fmt::format("[[utc.source]]\npath = \"/{}\"\n", i);
  EXPECT_THAT(bad(many), ElementsAre(HasSubstr("9 [[utc.source]] are too many; the most are 8")));
}

TEST(VipTables, AreReadInTheirOrder) {
  const Settings settings = good(R"(
    [[vip]]
    group = "web"
    interface = "eth0"
    addresses = ["192.0.2.10/24", "2001:db8::10/64"]
    [[vip]]
    group = "mail"
    interface = "eth0"
    addresses = ["192.0.2.11/32"]
    weight = 7
    check = "true"
  )");
  ASSERT_EQ(settings.vips.size(), 2U);
  EXPECT_THAT(settings.vips[0].addresses, ElementsAre("192.0.2.10/24", "2001:db8::10/64"));
  EXPECT_EQ(settings.vips[0].min_stay, 30s);
  EXPECT_EQ(settings.vips[1].group, "mail");
  EXPECT_EQ(settings.vips[1].weight, 7);
}

TEST(VipTables, ReportTheirMistakesWithTheirPlaces) {
  const std::string head = "[[vip]]\ngroup = \"web\"\ninterface = \"eth0\"\n";
  const std::string whole = head + "addresses = [\"192.0.2.10/24\"]\n";
  EXPECT_THAT(bad(head), ElementsAre("tempo.toml:2:9: [[vip]] needs addresses; set it"));
  EXPECT_THAT(bad(whole + whole), ElementsAre(HasSubstr("two [[vip]] have the group 'web'"),
                                              HasSubstr("have the address 192.0.2.10/24")));
  for (const char* wrong : {"192.0.2.10", "192.0.2.10/33", "192.0.2.10/", "192.0.2.10/-1",
                            "192.0.2.10/0", "host/24", "/24", "2001:db8::1/129", ""})
    EXPECT_THAT(bad(fmt::format("{}addresses = [\"{}\"]\n", head, wrong)),
                ElementsAre(HasSubstr("is not an IP address with a prefix length")))
        << wrong;
  EXPECT_THAT(bad(head + "addresses = []\n"), ElementsAre(HasSubstr("must have 1 to 16")));
  EXPECT_THAT(bad(whole + "weight = -1\n"), ElementsAre(HasSubstr("vip.weight must be")));
  EXPECT_THAT(bad("[vip]\ngroup = \"a b\"\ninterface = \"eth0\"\naddresses = "
                  "[\"192.0.2.10/24\"]\n"),
              ElementsAre(HasSubstr("without spaces")));
}

TEST(NtpServers, NeedASourceOfUtcToFeed) {
  const std::string source = "[[utc.source]]\npath = \"/x\"\n[ntp]\n";
  EXPECT_THAT(bad(source + "servers = [\"192.0.2.1\"]\nfeed = \"/x\"\n"), IsEmpty());
  EXPECT_THAT(bad(source + "servers = [\"192.0.2.1\"]\n"),
              ElementsAre(HasSubstr("ntp.servers and ntp.feed need each other")));
  EXPECT_THAT(bad(source + "servers = [\"192.0.2.1\"]\nfeed = \"/y\"\n"),
              ElementsAre(HasSubstr("ntp.feed must be the path of a [[utc.source]]")));
  EXPECT_THAT(bad(source + "servers = [\"::1\", \"::2\", \"::3\", \"::4\", \"::5\"]\nfeed = "
                           "\"/x\"\n"),
              ElementsAre(HasSubstr("5 servers are too many; the most are 4")));
  EXPECT_THAT(bad("[ntp]\nserve = false\n"), ElementsAre(HasSubstr("has nothing to do")));
}

// --- classic mode ---

TEST(ClassicSettings, HaveTheTimersOfTheHistoricalDaemons) {
  EXPECT_EQ(good("mode = \"classic\"\n").timing.adjtime, 240s);
  EXPECT_EQ(good("mode = \"classic\"\nprofile = \"fast\"\n").timing.adjtime, 1s);
  EXPECT_EQ(good("").mode, Mode::tempo);
}

TEST(ClassicSettings, AreRefusedWithAKey) {
  EXPECT_THAT(
      bad("mode = \"classic\"\nkey-file = \"/tmp/key\"\n"),
      ElementsAre("tempo.toml:2:12: mode = \"classic\" and key-file exclude each other: TSP has no "
                  "authentication, so a key would protect nothing; remove key-file, or set mode = "
                  "\"tempo\""));
  EXPECT_THAT(bad("mode = \"classic\"\nkey-file = \"\"\n"), IsEmpty());
}

TEST(ClassicSettings, AreRefusedWithWhatTspLacks) {
  for (const char* other :
       {"ipv6 = true", "clock = \"none\"", "locks.expect = 3", "locks.back-end = \"etcd\"",
        "doors.chrony = \"/x\"", "doors.clockbound = \"/x\"",
        "groups.node-key-file = \"/x\"\ngroups.node-list-file = \"/x\"",
        "utc.source.path = \"/x\""})
    EXPECT_THAT(bad(fmt::format("mode = \"classic\"\n{}\n", other)),
                ElementsAre(HasSubstr("mode = \"classic\" and")))
        << other;
}

TEST(ClassicSettings, NeedTheirMode) {
  EXPECT_THAT(bad("[classic]\nsetdate = true\n"),
              ElementsAre("tempo.toml:2:11: classic.setdate needs mode = \"classic\"; set mode or "
                          "remove classic.setdate"));
  EXPECT_THAT(bad("mode = \"tsp\"\n"),
              ElementsAre("tempo.toml:1:8: mode must be tempo or classic, not 'tsp'"));
}

// --- the table of keys ---

TEST(Keys, AreAllAccepted) {
  std::set<std::string> listed;
  for (const KeyHelp& help : all_keys()) {
    const std::string key(help.key);
    listed.insert(key);
    ASSERT_TRUE(samples().contains(key)) << "no sample for " << key;
    // Some keys need others.
    std::string with = key == "broadcast" ? "bind = [\"127.0.0.2\"]\n" : "";
    if (key.starts_with("classic.")) with = "mode = \"classic\"\n";
    if (key == "locks.policy") with = "locks.expect = 3\nlocks.policy-host = \"stern\"\n";
    if (key == "locks.policy-host") with = "locks.expect = 3\nlocks.policy = \"witness\"\n";
    if (key == "locks.etcd-cert-file") with = "locks.etcd-key-file = \"/x\"\n";
    if (key == "locks.etcd-key-file") with = "locks.etcd-cert-file = \"/x\"\n";
    if (key.starts_with("utc.source.") && key != "utc.source.path")
      with = "utc.source.path = \"/x\"\n";
    const std::string feed = "utc.source.path = \"/run/tempo/ntp.sock\"\n";
    if (key == "ntp.feed" || key == "ntp.serve") with = feed + "ntp.servers = [\"192.0.2.9\"]\n";
    if (key == "ntp.servers" || key == "ntp.serve")
      with += (with.empty() ? feed : "") + "ntp.feed = \"/run/tempo/ntp.sock\"\n";
    for (const char* needed : {"vip.group", "vip.interface", "vip.addresses"})
      if (key.starts_with("vip.") && key != needed)
        with += fmt::format("{} = {}\n", needed, samples().at(needed));
    if (key == "groups.node-key-file") with = "groups.node-list-file = \"/x\"\n";
    if (key == "groups.node-list-file") with = "groups.node-key-file = \"/x\"\n";
    EXPECT_THAT(bad(fmt::format("{}{} = {}\n", with, key, samples().at(key))), IsEmpty()) << key;
    EXPECT_FALSE(help.type.empty()) << key;
    EXPECT_FALSE(help.fallback.empty()) << key;
    EXPECT_FALSE(help.meaning.empty()) << key;
  }
  EXPECT_EQ(listed.size(), samples().size());
}

TEST(Keys, RefuseAValueOfAnotherType) {
  for (const KeyHelp& help : all_keys()) {
    const std::string key(help.key);
    EXPECT_THAT(bad(fmt::format("{} = 2024-01-01\n", key)),
                ElementsAre(fmt::format("tempo.toml:1:{}: {} must be {}, not a date or time",
                                        key.size() + 4, key, help.type)));
    EXPECT_THAT(bad(fmt::format("{} = [1]\n", key)),
                ElementsAre(HasSubstr(fmt::format("{} must be {}, not", key, help.type))));
  }
}

// --- files and the command line ---

TEST(Loading, NeedsNoFile) {
  EXPECT_EQ(changed({}).port, 525);
  const auto lines = mistakes_in(load_settings("/nonexistent/tempo.toml", true, {}));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], HasSubstr("/nonexistent/tempo.toml: cannot be read (No such file"));
}

TEST(Loading, ReportsAnUnreadableFile) {
  const auto lines = mistakes_in(load_settings("/", false, {}));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], HasSubstr("/: cannot be read"));
}

TEST(Loading, LetsTheCommandLineOverrideTheFile) {
  const TemporaryFile file("port = 1\nname = \"a\"\n[timers]\nadjtime-ms = 2000\n");
  const auto settings = load_settings(file.path(), true, {"port=2", "profile=fast", "port=3"});
  ASSERT_THAT(mistakes_in(settings), IsEmpty());
  EXPECT_EQ(settings->port, 3);
  EXPECT_EQ(settings->name, "a");
  EXPECT_EQ(settings->timing.adjtime, 2s);
  EXPECT_EQ(settings->timing.loop, 5ms);
}

TEST(Loading, ReportsMistakesOfTheFileFirst) {
  const TemporaryFile file("port = 0\nnmae = \"a\"\n");
  EXPECT_THAT(mistakes_in(load_settings(file.path(), true, {"priority=12"})),
              ElementsAre(file.path() + ":1:8: port must be a whole number from 1 to 65535, not 0",
                          file.path() + ":2:1: unknown key 'nmae'; did you mean 'name'?",
                          "--priority: priority must be a whole number from 0 to 9, not 12"));
}

// The command line overrides an invalid value of the file.
TEST(Loading, IgnoresOverriddenMistakes) {
  const TemporaryFile file("port = 0\n");
  EXPECT_THAT(mistakes_in(load_settings(file.path(), true, {"port=5"})), IsEmpty());
}

TEST(CommandLine, AcceptsUnquotedStringsAndToml) {
  EXPECT_EQ(changed({"name=5"}).name, "5");
  EXPECT_EQ(changed({"user=\"a b\""}).user, "a b");
  EXPECT_EQ(changed({"user="}).user, "");
  EXPECT_THAT(changed({"interfaces=eth0,eth1"}).interfaces, ElementsAre("eth0", "eth1"));
  EXPECT_THAT(changed({"interfaces=[\"eth0\"]"}).interfaces, ElementsAre("eth0"));
  EXPECT_THAT(changed({"interfaces="}).interfaces, IsEmpty());
  EXPECT_TRUE(changed({"ipv6=true"}).ipv6);
  EXPECT_EQ(changed({"timers.adjtime-ms=1500.5"}).timing.adjtime, 1500500us);
  EXPECT_TRUE(changed({"key-file=/tmp/key"}).key_file_given);
}

TEST(CommandLine, ReportsAllMistakes) {
  EXPECT_THAT(
      refused({"port=abc", "ipv6=yes", "prot=1", "loop", "timers.loop-ms=1\nport = 5", "name=\"a",
               "clock=sundial"}),
      ElementsAre("--port: port must be a whole number from 1 to 65535, not 'abc'",
                  "--ipv6: ipv6 must be true or false, not 'yes'",
                  "--prot: unknown key 'prot'; did you mean 'port'?",
                  "loop: expected key=value, for example port=5250",
                  "--timers.loop-ms: timers.loop-ms must be a number from 0.001 to 86400000, "
                  "not '1\nport = 5'",
                  "--name: name must be a host name, not '\"a'",
                  "--clock: clock must be system, software or none, not 'sundial'"));
}

// --- the manual page ---

TEST(ManualPage, DocumentsExactlyTheKnownKeys) {
  const auto here = std::filesystem::path(TEMPO_TESTDATA).parent_path();
  std::ifstream page(here / "../../man/tempo.toml.5");
  ASSERT_TRUE(page) << "man/tempo.toml.5 is missing";
  std::set<std::string> documented;
  std::string table;
  for (std::string line; std::getline(page, line);) {
    std::erase(line, '\\');  // roff writes a hyphen as \-
    std::istringstream words(line);
    std::string macro, word;
    words >> macro >> word;
    if (macro == ".SS") {
      // [table] or [[table]].
      const std::size_t name = word.find_first_not_of('[');
      table = name > 0 ? word.substr(name, word.find(']') - name) + '.' : "";
    } else if (macro == ".B" && line.find(" = ") != std::string::npos) {
      documented.insert(table + word);
    }
  }
  std::set<std::string> known;
  for (const KeyHelp& help : all_keys()) known.insert(std::string(help.key));
  EXPECT_EQ(documented, known);
}

}  // namespace
}  // namespace tempo::config
