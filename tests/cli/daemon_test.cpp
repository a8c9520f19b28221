// The commands that talk to tempod, run as a user runs them against one that answers from a list.
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/control_protocol.h"
#include "api/snapshot.h"
#include "client/client_test_daemon.h"
#include "program.h"

namespace tempo {
namespace {

using client::FakeDaemon;
using client::Then;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

obs::Snapshot ship(const std::string& status = "synchronized") {
  obs::Snapshot snapshot;
  snapshot.version = "0.1.0";
  snapshot.name = "bow";
  snapshot.id = "00000000000000b0";
  snapshot.cluster = "ship";
  snapshot.profile = "lan";
  snapshot.clock = "software";
  snapshot.status = status;
  snapshot.time_ns = 1'700'000'000'123'456'789;
  snapshot.earliest_ns = snapshot.time_ns - 12'300;
  snapshot.latest_ns = snapshot.time_ns + 12'300;
  snapshot.reference = "stern";
  obs::NetworkView& network = snapshot.networks.emplace_back();
  network.name = "eth0";
  network.state = "follower";
  network.master = "stern";
  network.master_id = "00000000000000a0";
  network.epoch_round = 7;
  obs::MemberView& stern = snapshot.members.emplace_back();
  stern.name = "stern";
  stern.id = "00000000000000a0";
  stern.address = "192.0.2.1";
  stern.role = "master";
  obs::MemberView& bow = snapshot.members.emplace_back();
  bow.name = "bow";
  bow.id = "00000000000000b0";
  bow.role = "follower";
  bow.self = true;
  bow.offset_us = -1.25;
  bow.bound_us = 12.3;
  return snapshot;
}

std::string line_of(const obs::Snapshot& snapshot) { return ipc::status_line(to_json(snapshot)); }

// `line` with the daemon's socket.
Words with(const FakeDaemon& daemon, std::string_view line) {
  Words words = words_of(line);
  words.insert(words.end(), {"--socket", daemon.path()});
  return words;
}
Ended run(const FakeDaemon& daemon, std::string_view line) {
  return Child(with(daemon, line)).wait();
}
json parsed(const Ended& ended) { return json::parse(ended.out, nullptr, false); }

// --- what it answers ---

TEST(StatusCommand, TellsPeopleProgramsAndPrometheus) {
  const FakeDaemon daemon({{"status", {line_of(ship())}}});
  const Ended text = run(daemon, "status");
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, StartsWith("bow: synchronized to stern, within 12.3 us\n"));
  EXPECT_EQ(parsed(run(daemon, "status --json")), json::parse(to_json(ship())));
  EXPECT_THAT(run(daemon, "status --metrics").out,
              HasSubstr("tempo_status{status=\"synchronized\"} 1\n"));
  EXPECT_EQ(run(daemon, "status --metrics --json").status, 2);
}

// What only a newer tempod knows is passed on to programs.
TEST(StatusCommand, PassesOnWhatItDoesNotKnow) {
  const FakeDaemon daemon({{"status", {ipc::status_line(R"({"name":"a","invented":[1]})")}}});
  EXPECT_EQ(parsed(run(daemon, "status --json"))["invented"], json::array({1}));
}

TEST(MembersCommand, ListsThem) {
  const FakeDaemon daemon({{"members", {ipc::members_line(members_json(ship()))}}});
  const Ended text = run(daemon, "members");
  EXPECT_EQ(text.status, 0) << text.err;
  ASSERT_EQ(lines_of(text.out).size(), 3U);
  EXPECT_THAT(lines_of(text.out)[2], StartsWith("* bow"));
  EXPECT_EQ(parsed(run(daemon, "members --json"))[0]["name"], "stern");
  EXPECT_THAT(daemon.asked()[0], R"({"v":1,"do":"members"})");
}

TEST(MasterCommand, NamesWhoLeads) {
  obs::Snapshot snapshot = ship();
  snapshot.networks.push_back(snapshot.networks[0]);
  snapshot.networks[1].name = "eth1";
  snapshot.networks[1].state = "master";
  const FakeDaemon daemon({{"status", {line_of(snapshot)}}});
  const Ended text = run(daemon, "master");
  EXPECT_EQ(text.status, 0);
  EXPECT_EQ(text.out, "eth0: stern, epoch 7\neth1: bow (this machine), epoch 7\n");
  const json list = parsed(run(daemon, "master --json"));
  EXPECT_EQ(list[0]["master"], "stern");
  EXPECT_EQ(list[0]["self"], false);
  EXPECT_EQ(list[1]["id"], "00000000000000b0");
}

TEST(MasterCommand, SaysWhenNobodyLeads) {
  obs::Snapshot snapshot = ship();
  snapshot.networks[0].master.clear();
  const FakeDaemon daemon({{"status", {line_of(snapshot)}}});
  const Ended text = run(daemon, "master");
  EXPECT_EQ(text.status, 1);
  EXPECT_EQ(text.out, "eth0: no master now; an election is under way\n");
  snapshot.networks.clear();
  const FakeDaemon alone({{"status", {line_of(snapshot)}}});
  EXPECT_EQ(run(alone, "master").status, 1);
  EXPECT_THAT(run(alone, "master").err,
              HasSubstr("tempod takes part in no network; 'tempo doctor'"));
}

TEST(NowCommand, GivesTheTimeWithItsBounds) {
  const FakeDaemon daemon({{"now",
                            {ipc::now_line({1'700'000'000'123'456'789, 1'700'000'000'123'444'489,
                                            1'700'000'000'123'469'089, "synchronized"})}}});
  const Ended text = run(daemon, "now");
  EXPECT_EQ(text.status, 0);
  EXPECT_EQ(text.out,
            "2023-11-14 22:13:20.123456789 UTC\n"
            "earliest  2023-11-14 22:13:20.123444489\n"
            "latest    2023-11-14 22:13:20.123469089\n"
            "within    12.3 us\n");
  EXPECT_EQ(parsed(run(daemon, "now --json"))["earliest_ns"], 1'700'000'000'123'444'489);
}

TEST(NowCommand, DoesNotPassTheMachinesOwnTimeOffAsTheNetworks) {
  const FakeDaemon daemon({{"now", {ipc::now_line({1, 0, 0, "unsynchronized"})}}});
  const Ended text = run(daemon, "now");
  EXPECT_EQ(text.status, 1);
  EXPECT_THAT(text.err, HasSubstr("there is no network time yet; 'tempo wait-sync'"));
  EXPECT_EQ(run(daemon, "now --json").status, 1);
}

// Who does not measure the others says who does.
TEST(ClockdiffCommand, NamesWhoKnowsWhatASlaveDoesNot) {
  obs::Snapshot slave = ship();
  slave.networks[0].root = "stern";
  slave.offset_us = 3.5;
  for (obs::MemberView& member : slave.members) member.offset_us.reset();
  obs::MemberView& keel = slave.members.emplace_back();
  keel.name = "keel";
  keel.role = "follower";
  const FakeDaemon daemon({{"status", {line_of(slave)}}});
  const Ended other = run(daemon, "clockdiff keel");
  EXPECT_EQ(other.status, 1);
  EXPECT_EQ(other.err,
            "tempo: no figure for keel here: the master measures them; ask on stern, with 'tempo "
            "clockdiff keel'\n");
  const Ended own = run(daemon, "clockdiff bow stern");
  EXPECT_EQ(own.status, 0) << own.err;
  const json list = parsed(run(daemon, "clockdiff bow stern --json"));
  EXPECT_EQ(list[0]["offset_us"], 3.5);
  EXPECT_EQ(list[1]["offset_us"], 0.0) << "it leads: all others are compared with it";
}

TEST(ClockdiffCommand, SaysWhenAMasterHasNotMeasuredYet) {
  obs::Snapshot master = ship("leads");
  master.networks[0].state = "master";
  master.networks[0].master = "bow";
  master.members[0].role = "follower";
  master.members[1].offset_us.reset();
  const FakeDaemon daemon({{"status", {line_of(master)}}});
  EXPECT_EQ(run(daemon, "clockdiff bow").status, 0);
  const Ended other = run(daemon, "clockdiff stern");
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.err, StartsWith("tempo: no figure for stern yet; ask again"));
}

TEST(ClockdiffCommand, ShowsTheMembersThatAreNamed) {
  const FakeDaemon daemon({{"status", {line_of(ship())}}});
  const Ended text = run(daemon, "clockdiff bow");
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("-1.25 us"));
  EXPECT_THAT(text.out, Not(HasSubstr("stern")));
  const Ended both = run(daemon, "clockdiff 192.0.2.1 00000000000000b0 --json");
  const json list = parsed(both);
  EXPECT_EQ(list[0]["name"], "stern");
  EXPECT_TRUE(list[0]["offset_us"].is_null());
  EXPECT_EQ(list[1]["offset_us"], -1.25);
  EXPECT_EQ(both.status, 1) << "one of them is not known";
  const Ended unknown = run(daemon, "clockdiff bow keel");
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.out, HasSubstr("bow"));
  EXPECT_EQ(unknown.err, "tempo: tempod knows no member keel; it knows stern, bow\n");
  EXPECT_EQ(run(daemon, "clockdiff").status, 2);
}

// --- orders ---

TEST(Orders, AreGiven) {
  const FakeDaemon daemon({{"v", {ipc::done_line()}}});
  for (const char* line : {"reelect", "resign", "set-time --by -250ms", "set-time --by +1.5s",
                           "trace on", "trace off"}) {
    const Ended ended = run(daemon, line);
    EXPECT_EQ(ended.status, 0) << line << ": " << ended.err;
    EXPECT_THAT(ended.out, Not(IsEmpty())) << line;
  }
  Words words = with(daemon, "set-time --json --to");
  words.insert(words.begin() + 3, "2023-11-14 22:13:20.5");
  const Ended ended = Child(words).wait();
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(parsed(ended)["ok"], true);
  EXPECT_THAT(daemon.asked(),
              ElementsAre(R"({"v":1,"do":"reelect"})", R"({"v":1,"do":"resign"})",
                          R"({"v":1,"do":"set-time","by_ns":-250000000})",
                          R"({"v":1,"do":"set-time","by_ns":1500000000})",
                          R"({"v":1,"do":"trace","on":true})", R"({"v":1,"do":"trace","on":false})",
                          R"({"v":1,"do":"set-time","to_ns":1700000000500000000})"));
}

TEST(Orders, AreRefusedInTheDaemonsWords) {
  const FakeDaemon daemon(
      {{"v", {ipc::refusal_line({ipc::Code::not_master, "only the master can; ask stern"})}}});
  for (const char* line : {"reelect", "resign", "set-time --by 1s", "trace on", "trace follow"}) {
    const Ended ended = run(daemon, line);
    EXPECT_EQ(ended.status, 4) << line;
    EXPECT_EQ(ended.err, "tempo: only the master can; ask stern\n") << line;
    EXPECT_THAT(ended.out, IsEmpty()) << line;
  }
}

TEST(Orders, ThatMakeNoSenseAreNotSent) {
  const FakeDaemon daemon({});
  for (const char* line : {"set-time", "set-time --by 1s --to @5", "set-time --by tomorrow",
                           "set-time --to tomorrow", "trace", "trace sideways",
                           "status --timeout long", "wait-sync --within far", "watch --lines -1"})
    EXPECT_EQ(run(daemon, line).status, 2) << line;
  EXPECT_THAT(daemon.asked(), IsEmpty());
}

// --- waiting ---

TEST(WaitSyncCommand, EndsWhenTheBoundIsGoodEnough) {
  obs::Snapshot rough = ship();
  rough.latest_ns += 10'000'000;
  const FakeDaemon daemon({{"status", {line_of(ship("unsynchronized"))}},
                           {"status", {line_of(rough)}},
                           {"status", {line_of(ship())}}});
  const Ended ended = run(daemon, "wait-sync");
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(ended.out, "synchronized, within 12.3 us\n");
  EXPECT_EQ(daemon.asked().size(), 3U);
  EXPECT_EQ(parsed(run(daemon, "wait-sync --json"))["bound_us"], 12.3);
}

TEST(WaitSyncCommand, GivesUpInTime) {
  const FakeDaemon daemon({{"status", {line_of(ship())}}});
  const Ended ended = run(daemon, "wait-sync --within 1us --timeout 1ms");
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err,
              StartsWith("tempo: after 1ms this machine is synchronized, within 12.3 us, "
                         "not within 1us; 'tempo doctor'"));
  // In holdover nobody is followed, however small the bound still is.
  const FakeDaemon alone({{"status", {line_of(ship("holdover"))}}});
  EXPECT_EQ(run(alone, "wait-sync --timeout 1ms").status, 1);
  EXPECT_EQ(tempo("wait-sync --timeout 1ms --socket /nonexistent/sock").status, 3);
}

// --- streams ---

TEST(TraceCommand, FollowsUntilTheEnd) {
  const FakeDaemon daemon({{"trace-follow",
                            {ipc::done_line(), ipc::trace_line("1000 1 becomes master"),
                             ipc::trace_line("1001 1->* masterup")},
                            Then::close}});
  const Ended ended = run(daemon, "trace follow");
  EXPECT_EQ(ended.out, "1000 1 becomes master\n1001 1->* masterup\n");
  EXPECT_EQ(ended.status, 3);  // tempod went away
  EXPECT_THAT(run(daemon, "trace follow --json").out,
              StartsWith("{\"trace\":\"1000 1 becomes master\"}\n"));
}

TEST(TraceCommand, EndsOnCtrlC) {
  const FakeDaemon daemon({{"trace-follow", {ipc::trace_line("a")}}});
  Child child(with(daemon, "trace follow"));
  EXPECT_TRUE(child.read_until([&] { return child.out() == "a\n"; }));
  kill(child.id(), SIGINT);
  EXPECT_EQ(child.wait().status, 130);
}

TEST(WatchCommand, PrintsLinesWhenPiped) {
  const FakeDaemon daemon(
      {{"watch", {line_of(ship()), line_of(ship("leads"))}},
       {"events", {ipc::event_line({"lost-master", 1'700'000'000'000'000'000, "stern is gone"})}}});
  const Ended ended = run(daemon, "watch --lines 3");
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("22:13:20.123  bow  synchronized, within 12.3 us  offset 0 ns  "
                                   "members 2  eth0=follower,stern,7\n"));
  EXPECT_THAT(ended.out, HasSubstr("22:13:20.000  stern is gone\n"));
  std::size_t events = 0, statuses = 0;
  for (const std::string& line : lines_of(run(daemon, "watch --json --lines 3").out)) {
    const json one = json::parse(line, nullptr, false);
    events += one.contains("event") ? 1U : 0U;
    statuses += one.contains("status") ? 1U : 0U;
  }
  EXPECT_EQ(events, 1U);
  EXPECT_EQ(statuses, 2U);
}

TEST(WatchCommand, SaysThatTempodIsGone) {
  const FakeDaemon daemon({{"watch", {line_of(ship())}, Then::close}});
  const Ended ended = run(daemon, "watch");
  EXPECT_EQ(ended.status, 3);
  EXPECT_THAT(ended.out, HasSubstr("bow  synchronized"));
  EXPECT_THAT(ended.err, HasSubstr("tempod closed the connection"));
}

TEST(WatchCommand, FillsAScreenAndGivesItBack) {
  if (!TerminalChild::possible()) GTEST_SKIP() << "no terminal is to be had";
  const FakeDaemon daemon(
      {{"watch", {line_of(ship())}},
       {"events", {ipc::event_line({"lost-master", 1'700'000'000'000'000'000, "stern is gone"})}}});
  TerminalChild child(with(daemon, "watch"));
  EXPECT_TRUE(child.read_until("stern is gone")) << child.out();
  EXPECT_THAT(child.out(), HasSubstr("\x1b[?1049h"));
  EXPECT_THAT(child.out(), HasSubstr("bow"));
  child.type("q");
  EXPECT_EQ(child.wait(), 0);
  EXPECT_THAT(child.out(), HasSubstr("\x1b[?1049l"));  // the screen of before
  EXPECT_TRUE(child.echoes());
}

TEST(WatchCommand, GivesTheScreenBackOnCtrlC) {
  if (!TerminalChild::possible()) GTEST_SKIP() << "no terminal is to be had";
  const FakeDaemon daemon({{"watch", {line_of(ship())}}});
  TerminalChild child(with(daemon, "watch"));
  EXPECT_TRUE(child.read_until("bow")) << child.out();
  child.type("\x03");
  EXPECT_EQ(child.wait(), 130);
  EXPECT_THAT(child.out(), HasSubstr("\x1b[?1049l"));
  EXPECT_TRUE(child.echoes());
}

// --- what goes wrong ---

TEST(EveryCommand, SaysThatTempodIsNotRunning) {
  for (const char* line : {"status", "members", "master", "now", "watch", "reelect", "resign",
                           "set-time --by 1s", "trace on", "trace follow", "clockdiff a"}) {
    const Ended ended = tempo(std::string(line) + " --socket /nonexistent/tempod.sock");
    EXPECT_EQ(ended.status, 3) << line;
    EXPECT_EQ(ended.err,
              "tempo: tempod is not running here (no socket /nonexistent/tempod.sock); start it "
              "with 'systemctl start tempod' or give --socket\n")
        << line;
    EXPECT_THAT(ended.out, IsEmpty()) << line;
  }
}

TEST(EveryCommand, IsPatientForAWhileOnly) {
  const FakeDaemon daemon({});
  const Ended ended = run(daemon, "status --timeout 1ms");
  EXPECT_EQ(ended.status, 3);
  EXPECT_THAT(ended.err, StartsWith("tempo: tempod did not answer within 1ms;"));
}

TEST(EveryCommand, RefusesAnswersItCannotUnderstand) {
  const FakeDaemon daemon({{"v", {ipc::done_line()}}});
  for (const char* line : {"status", "members", "master", "now", "clockdiff a"}) {
    const Ended ended = run(daemon, line);
    EXPECT_EQ(ended.status, 3) << line;
    EXPECT_THAT(ended.err, HasSubstr("use the tempo that came with it")) << line;
  }
}

TEST(EveryCommand, HasHelpWithExamplesAndStatuses) {
  for (const char* line :
       {"status", "members", "master", "now", "watch", "reelect", "resign", "set-time", "wait-sync",
        "trace on", "trace off", "trace follow", "clockdiff", "doctor", "keygen"}) {
    const Ended ended = tempo(std::string(line) + " --help");
    EXPECT_EQ(ended.status, 0) << line;
    EXPECT_THAT(ended.out, HasSubstr("--json")) << line;
    EXPECT_THAT(ended.out, HasSubstr("Exit status: 0")) << line;
    EXPECT_THAT(ended.out, HasSubstr("Examples:\n  ")) << line;
  }
}

// --- the doctor ---

TEST(DoctorCommand, LooksAtTheDaemonToo) {
  const FakeDaemon daemon(
      {{"doctor",
        {ipc::findings_line({{"problem", "the clock cannot be set", "give CAP_SYS_TIME"}})}}});
  const Ended ended = run(daemon, "doctor --config /nonexistent/tempo.toml");
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.out, HasSubstr("ok       tempod answers at " + daemon.path() + "\n"));
  EXPECT_THAT(ended.out,
              HasSubstr("problem  the clock cannot be set\n         -> give CAP_SYS_TIME\n"));
  for (const json& finding : parsed(run(daemon, "doctor --json")))
    EXPECT_TRUE(finding["what"].is_string() && finding["level"].is_string());
  EXPECT_THAT(daemon.asked()[0], R"({"v":1,"do":"doctor"})");
}

TEST(DoctorCommand, AsksAllMembers) {
  const FakeDaemon daemon(
      {{"doctor",
        {ipc::findings_line({}, {{.name = "stern", .answered = true},
                                 {.name = "mast",
                                  .answered = true,
                                  .missing = 1,
                                  .findings = {{"problem", "it burns", "put it out"}}},
                                 {.name = "keel"}})}}});
  const Ended ended = run(daemon, "doctor --all --config /nonexistent/tempo.toml");
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(daemon.asked()[0], R"({"v":1,"do":"doctor","all":true})");
  EXPECT_THAT(ended.out, HasSubstr("ok       stern: finds nothing wrong\n"));
  EXPECT_THAT(ended.out, HasSubstr("problem  mast: it burns\n         -> put it out\n"));
  EXPECT_THAT(ended.out, HasSubstr("note     mast: 1 of its findings were lost\n"));
  EXPECT_THAT(ended.out, HasSubstr("problem  keel: does not answer\n"));
}

TEST(DoctorCommand, FindsMistakesInTheConfiguration) {
  const TemporaryFile file("tempo.toml");
  std::ofstream(file.path()) << "prot = 1\n";
  const Ended ended =
      tempo("doctor --socket /nonexistent/sock --timeout 10ms --config " + file.path());
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.out, HasSubstr(file.path() + ":1:1: unknown key 'prot'; did you mean 'port'?"));
  EXPECT_THAT(ended.out, HasSubstr("problem  tempod is not running here"));
}

}  // namespace
}  // namespace tempo
