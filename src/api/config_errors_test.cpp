// Every kind of mistake that a configuration can have, and all of them at once.
#include <string>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/settings.h"
#include "api/settings_test_harness.h"

namespace tempo::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Mistakes, AreReportedTogetherWithLineAndColumn) {
  EXPECT_THAT(
      bad("port = 70000\n"
          "prot = 525\n"
          "may-lead = \"yes\"\n"
          "key-file = \"key\"\n"
          "clock = \"atomic\"\n"
          "profile = \"slow\"\n"
          "\n"
          "[timers]\n"
          "  loop_ms = 3\n"
          "  sends = 0\n"),
      ElementsAre(
          "tempo.toml:1:8: port must be a whole number from 1 to 65535, not 70000",
          "tempo.toml:2:1: unknown key 'prot'; did you mean 'port'?",
          "tempo.toml:3:12: may-lead must be true or false, not \"yes\"",
          "tempo.toml:4:12: key-file must be an absolute path that begins with '/', not 'key'",
          "tempo.toml:5:9: clock must be system, software or none, not 'atomic'",
          "tempo.toml:6:11: profile must be classic, lan or fast, not 'slow'",
          "tempo.toml:9:3: unknown key 'timers.loop_ms'; did you mean 'timers.loop-ms'?",
          "tempo.toml:10:11: timers.sends must be a whole number from 1 to 16, not 0"));
}

TEST(Mistakes, OfGrammarAreReportedTogetherWithTheOthers) {
  const auto lines = bad("port = \nname = 3\ncluster = \"a\"\ncluster = \"b\"\n");
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(lines[0], HasSubstr("tempo.toml:1:"));
  EXPECT_EQ(lines[1], "tempo.toml:2:8: name must be a host name, not 3");
  EXPECT_THAT(lines[2], HasSubstr("tempo.toml:4:"));
}

// The keys below a broken table header are not in a known table.
TEST(Mistakes, AfterABrokenTableHeaderAreNotReported) {
  const auto lines = bad("[timers\nloop-ms = 3\n");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], HasSubstr("tempo.toml:1:"));
}

// Found by fuzzing: the parser's own assertions fail on such a name.
TEST(Mistakes, InATableNameDoNotAbort) {
  EXPECT_THAT(bad("port = 5\n [?timers]\nloop-ms = 3\n"),
              ElementsAre("tempo.toml:2:2: invalid table header; write it as [name]"));
  EXPECT_EQ(bad("[\x01").size(), 1U);
  EXPECT_EQ(bad("p\xd4\xd4ort = 1\n[\x01\x02\nloop-ms = 250.5\n").size(), 2U);
}

// Found by fuzzing: the parser aborts on characters outside ASCII that it takes for blanks.
TEST(Mistakes, OfCharactersOutsideAscii) {
  EXPECT_THAT(
      bad("port = 0\ncl\u00e9 = 1\n"),
      ElementsAre(
          "tempo.toml:1:8: port must be a whole number from 1 to 65535, not 0",
          "tempo.toml:2:3: non-ASCII character outside quotes and comments; put it in quotes"));
  EXPECT_EQ(bad("port = \ncl\u00e9 = 1\nname = 3\n").size(), 3U);
  EXPECT_EQ(bad("hook = \"\"\"/a\\\u00e9\"\"\"\n").size(), 1U);
  EXPECT_THAT(refused({"port=\u00e9"}), ElementsAre(HasSubstr("--port: port must be a whole")));
  // Quotes and comments may contain them.
  EXPECT_EQ(good("# d\u00e9j\u00e0 vu\nhook = \"/\u00e9\" # \u00e9\n").hook, "/\u00e9");
  EXPECT_EQ(good("hook = '''/\u00e9'\\'''\n").hook, "/\u00e9'\\");
  EXPECT_EQ(good("hook = \"\"\"/\u00e9\\\"\"\"\"\"\nport = 5\n").hook, "/\u00e9\"\"");
}

TEST(Mistakes, NameTheTableOfAKey) {
  EXPECT_THAT(bad("loop-ms = 250\n"),
              ElementsAre("tempo.toml:1:1: unknown key 'loop-ms' outside a table; did you mean "
                          "'loop-ms' in [timers]?"));
  EXPECT_THAT(bad("[timers]\nport = 525\n"),
              ElementsAre("tempo.toml:2:1: unknown key 'timers.port'; did you mean 'port'?"));
  EXPECT_THAT(bad("[timer]\nloop-ms = 1\n"),
              ElementsAre("tempo.toml:1:2: unknown key 'timer'; did you mean 'timers'?"));
  EXPECT_THAT(
      bad("timers = 3\n"),
      ElementsAre("tempo.toml:1:1: timers is a table; write [timers] and put its keys below"));
  EXPECT_THAT(bad("port.x = 3\n"),
              ElementsAre(HasSubstr("port must be a whole number from 1 to 65535, not a table")));
}

TEST(Mistakes, NameTheNewNameOfARenamedKey) {
  EXPECT_THAT(bad("lead-priority = 3\n"),
              ElementsAre("tempo.toml:1:1: lead-priority was renamed to 'priority'"));
  EXPECT_THAT(refused({"lead-priority=3"}),
              ElementsAre("--lead-priority: lead-priority was renamed to 'priority'"));
}

TEST(Mistakes, SuggestOnlyCloseKeys) {
  EXPECT_THAT(bad("zzzzzzzz = 1\n"),
              ElementsAre("tempo.toml:1:1: unknown key 'zzzzzzzz'; tempo.toml(5) lists all keys"));
}

TEST(Mistakes, OfRange) {
  for (const char* line : {"port = 0",
                           "port = 65536",
                           "priority = 10",
                           "priority = -1",
                           "step-limit-ms = 0",
                           "step-limit-ms = nan",
                           "max-delay-ms = 0",
                           "drift-allowance-ppm = 0",
                           "rate-jump-max-ppm = -1",
                           "rate-jump-max-ppm = 201",
                           "bound-alarm-us = -1",
                           "timers.loop-ms = 0",
                           "timers.loop-ms = 1e12",
                           "timers.sends = 17",
                           "software-clock.drift-ppm = 10001",
                           "software-clock.seed = -1",
                           "software-clock.wander-ppb-per-sqrt-s = -0.5",
                           "software-clock.offset-ms = inf",
                           "cluster = \"\"",
                           "interfaces = [\"\"]",
                           "interfaces = [\"sixteen-letters!\"]",
                           "peers = [\"host.example\"]",
                           "peers = [\"192.0.2.7:66000\"]",
                           "peers = [\"[::1\"]",
                           "peers = [\"[192.0.2.7]:1\"]",
                           "bind = [\"::1::\"]",
                           "state-dir = \"here\"",
                           "hook = \"notify\"",
                           "name = \"a\\tb\"",
                           "name = \"a b\"",
                           "name = \"a_b\"",
                           "name = \"a..b\"",
                           "name = \".a\"",
                           "name = \"a.\"",
                           "name = \"-a\"",
                           "name = \"a-.b\"",
                           "socket = \"tempod.sock\""})
    EXPECT_EQ(bad(line).size(), 1U) << line;
  EXPECT_THAT(bad(fmt::format("socket = \"/{}\"", std::string(107, 'a'))),
              ElementsAre(HasSubstr("longer than 107 bytes")));
  EXPECT_THAT(bad(fmt::format("name = \"{}\"", std::string(64, 'a'))),
              ElementsAre(HasSubstr("longer than 63 characters")));
}

TEST(Mistakes, OfAHostName) {
  EXPECT_THAT(bad("name = \"two words\"\n"),
              ElementsAre("tempo.toml:1:8: name must be a host name, not 'two words'; use letters, "
                          "digits and hyphens, with dots between labels, for example node1"));
  for (const char* name : {"", "a", "9", "node-1", "node1.example", "X.y.Z", "a--b"})
    EXPECT_EQ(good(fmt::format("name = \"{}\"\n", name)).name, name);
}

TEST(Mistakes, OfMissingQuotesSayToQuote) {
  EXPECT_THAT(bad("name = node1\n"),
              ElementsAre(HasSubstr(R"(: name must be in quotes: name = "node1")")));
  EXPECT_THAT(bad("port = 5 # UDP\nbroadcast = 10.0.0.255 # all\nbind = [\"10.0.0.1\"]\n"),
              ElementsAre(HasSubstr(R"(: broadcast must be in quotes: broadcast = "10.0.0.255")")));
  EXPECT_THAT(bad("interfaces = [eth0, eth1]\n"),
              ElementsAre(HasSubstr(R"(: the elements of interfaces must be in quotes: )"
                                    R"(interfaces = ["eth0", "eth1"])")));
  EXPECT_THAT(bad("[locks]\npolicy = strict\nexpect = three\n"),
              ElementsAre(HasSubstr(R"(: locks.policy must be in quotes: policy = "strict")"),
                          HasSubstr(": locks.expect must be a whole number from 0 to 8, not "
                                    "'three'")));
  EXPECT_THAT(bad("may-lead = yes\n"),
              ElementsAre(HasSubstr(": may-lead must be true or false, not 'yes'")));
}

TEST(Mistakes, OfTimersThatDoNotFitTogether) {
  EXPECT_THAT(
      bad("\n[timers]\nelection-min-ms = 900\nelection-max-ms = 800\n"),
      ElementsAre(
          "tempo.toml:4:19: the longest election timer must not be shorter than the shortest",
          "tempo.toml:4:19: the shortest election timer (900ms) must exceed the accept timer (1s)",
          "tempo.toml:4:19: the shortest election timer (900ms) must outlast 5 Loops (1.25s)"));
  // With an invalid timer the relations are not checked.
  EXPECT_EQ(bad("[timers]\nelection-min-ms = 900\nloop-ms = -1\n").size(), 1U);
}

TEST(Mistakes, OfKeysThatExcludeEachOther) {
  EXPECT_THAT(bad("broadcast = \"10.0.0.255\"\n"),
              ElementsAre(HasSubstr("tempo.toml:1:13: broadcast needs bind")));
  EXPECT_THAT(bad("interfaces = [\"eth0\"]\nbind = [\"10.0.0.1\"]\n"),
              ElementsAre(HasSubstr("tempo.toml:2:8: bind and interfaces exclude each other")));
  EXPECT_THAT(bad("trusted = true\n"),
              ElementsAre(HasSubstr("tempo.toml:1:11: trusted needs clock = \"none\"")));
}

}  // namespace
}  // namespace tempo::config
