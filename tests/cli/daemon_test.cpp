// The commands that connect to tempod, run against a fake tempod with canned answers.
#include <filesystem>
#include <fstream>
#include <iterator>
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
json parsed(const Ended& ended) { return data_of(ended.out); }

// --- answers ---

TEST(StatusCommand, PrintsTextJsonAndMetrics) {
  const FakeDaemon daemon({{"status", {line_of(ship())}}, {"locks", {ipc::locks_line({})}}});
  const Ended text = run(daemon, "status");
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, StartsWith("bow: synchronized to stern, within 12.3 us\n"));
  EXPECT_EQ(parsed(run(daemon, "status --json")), json::parse(to_json(ship())));
  EXPECT_THAT(run(daemon, "status --metrics").out,
              HasSubstr("tempo_status{status=\"synchronized\"} 1\n"));
  EXPECT_EQ(run(daemon, "status --metrics --json").status, 2);
  EXPECT_EQ(run(daemon, "status --output /nonexistent").status, 2);
}

TEST(StatusCommand, ReplacesAFileByTheMetrics) {
  const FakeDaemon daemon({{"status", {line_of(ship())}}, {"locks", {ipc::locks_line({})}}});
  const std::filesystem::path file = daemon.path() + ".prom";
  std::ofstream(file) << "old";
  const Ended written = run(daemon, "status --metrics --output " + file.string());
  EXPECT_EQ(written.status, 0) << written.err;
  EXPECT_EQ(written.out, "");
  std::ifstream in(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}),
            run(daemon, "status --metrics").out);
  std::filesystem::remove(file);
  EXPECT_THAT(run(daemon, "status --metrics --output /nonexistent/x.prom").err,
              HasSubstr("/nonexistent/x.prom"));
}

// Fields that only a newer tempod sends.
TEST(StatusCommand, PrintsUnknownFieldsAsJson) {
  const FakeDaemon daemon({{"status", {ipc::status_line(R"({"name":"a","invented":[1]})")}}});
  EXPECT_EQ(parsed(run(daemon, "status --json"))["invented"], json::array({1}));
}

TEST(MembersCommand, ListsMembers) {
  const FakeDaemon daemon({{"members", {ipc::members_line(members_json(ship()))}}});
  const Ended text = run(daemon, "members");
  EXPECT_EQ(text.status, 0) << text.err;
  ASSERT_EQ(lines_of(text.out).size(), 3U);
  EXPECT_THAT(lines_of(text.out)[2], StartsWith("* bow"));
  EXPECT_EQ(parsed(run(daemon, "members --json"))[0]["name"], "stern");
  EXPECT_THAT(daemon.asked()[0], R"({"v":1,"do":"members"})");
}

TEST(MasterCommand, NamesTheMaster) {
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

TEST(MasterCommand, ReportsThatThereIsNoMaster) {
  obs::Snapshot snapshot = ship();
  snapshot.networks[0].master.clear();
  const FakeDaemon daemon({{"status", {line_of(snapshot)}}});
  const Ended text = run(daemon, "master");
  EXPECT_EQ(text.status, 1);
  EXPECT_EQ(text.out, "eth0: no master; an election is in progress\n");
  snapshot.networks.clear();
  const FakeDaemon alone({{"status", {line_of(snapshot)}}});
  EXPECT_EQ(run(alone, "master").status, 1);
  EXPECT_THAT(run(alone, "master").err, HasSubstr("tempod uses no network; run 'tempo doctor'"));
}

TEST(NowCommand, PrintsTheTimeWithItsBounds) {
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
  EXPECT_EQ(parsed(run(daemon, "now --json"))["earliest_ns"], "1700000000123444489");
}

TEST(NowCommand, ReportsThatThereIsNoNetworkTime) {
  const FakeDaemon daemon({{"now", {ipc::now_line({1, 0, 0, "unsynchronized"})}}});
  const Ended text = run(daemon, "now");
  EXPECT_EQ(text.status, 1);
  EXPECT_THAT(
      text.err,
      HasSubstr("no network time yet, this is the time of this machine; 'tempo wait-sync'"));
  const Ended as_json = run(daemon, "now --json");
  EXPECT_EQ(as_json.status, 1);
  EXPECT_EQ(parsed(as_json)["status"], "unsynchronized");
  EXPECT_EQ(json::parse(as_json.out)["error"]["code"], "no");
}

// Only the master measures the others: the error of a follower names the master.
TEST(ClockdiffCommand, NamesTheMasterForUnknownOffsets) {
  obs::Snapshot follower = ship();
  follower.networks[0].root = "stern";
  follower.offset_us = 3.5;
  for (obs::MemberView& member : follower.members) member.offset_us.reset();
  obs::MemberView& keel = follower.members.emplace_back();
  keel.name = "keel";
  keel.role = "follower";
  const FakeDaemon daemon({{"status", {line_of(follower)}}});
  const Ended other = run(daemon, "clockdiff keel");
  EXPECT_EQ(other.status, 1);
  EXPECT_EQ(
      other.err,
      "tempo: this machine has no offset of keel; the master measures it: run 'tempo clockdiff "
      "keel' on stern\n");
  const Ended own = run(daemon, "clockdiff bow stern");
  EXPECT_EQ(own.status, 0) << own.err;
  const json list = parsed(run(daemon, "clockdiff bow stern --json"));
  EXPECT_EQ(list[0]["offset_us"], 3.5);
  EXPECT_EQ(list[1]["offset_us"], 0.0) << "the master is the reference";
}

TEST(ClockdiffCommand, ReportsThatAMasterHasNotMeasuredYet) {
  obs::Snapshot master = ship("leads");
  master.networks[0].state = "master";
  master.networks[0].master = "bow";
  master.members[0].role = "follower";
  master.members[1].offset_us.reset();
  const FakeDaemon daemon({{"status", {line_of(master)}}});
  EXPECT_EQ(run(daemon, "clockdiff bow").status, 0);
  const Ended other = run(daemon, "clockdiff stern");
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.err, StartsWith("tempo: no offset of stern is known yet; try again"));
}

TEST(ClockdiffCommand, ShowsTheGivenMembers) {
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
  EXPECT_EQ(both.status, 1) << "one offset is unknown";
  const Ended unknown = run(daemon, "clockdiff bow keel");
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.out, HasSubstr("bow"));
  EXPECT_EQ(unknown.err, "tempo: unknown member keel; the members are stern, bow\n");
  EXPECT_EQ(run(daemon, "clockdiff").status, 2);
}

// --- requests ---

TEST(Requests, AreSent) {
  const FakeDaemon daemon(
      {{"reelect", {ipc::reelected_line({"stern", "eth0"})}}, {"v", {ipc::done_line()}}});
  for (const char* line :
       {"reelect", "set-time --by -250ms", "set-time --by +1.5s", "trace on", "trace off"}) {
    const Ended ended = run(daemon, line);
    EXPECT_EQ(ended.status, 0) << line << ": " << ended.err;
    EXPECT_THAT(ended.out, Not(IsEmpty())) << line;
  }
  Words words = with(daemon, "set-time --json --to");
  words.insert(words.begin() + 3, "2023-11-14 22:13:20.5");
  const Ended ended = Child(words).wait();
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(parsed(ended), json::object());
  EXPECT_THAT(
      daemon.asked(),
      ElementsAre(R"({"v":1,"do":"reelect"})", R"({"v":1,"do":"set-time","by_ns":-250000000})",
                  R"({"v":1,"do":"set-time","by_ns":1500000000})",
                  R"({"v":1,"do":"trace","on":true})", R"({"v":1,"do":"trace","on":false})",
                  R"({"v":1,"do":"set-time","to_ns":1700000000500000000})"));
}

TEST(Requests, ReelectNamesTheMasterAndItsNetworks) {
  const FakeDaemon one({{"reelect", {ipc::reelected_line({"stern", "eth0"})}}});
  EXPECT_EQ(run(one, "reelect").out,
            "Master stern of network eth0 has resigned. The members elect a new master; 'tempo "
            "watch' shows the election.\n");
  EXPECT_EQ(parsed(run(one, "reelect --json")),
            json::parse(R"({"reelect": {"master": "stern", "network": "eth0"}})"));
  const FakeDaemon two({{"reelect", {ipc::reelected_line({"stern", "eth0, eth1"})}}});
  EXPECT_THAT(run(two, "reelect").out, StartsWith("Master stern of networks eth0, eth1 has"));
}

TEST(Requests, PrintTheRefusalOfTempod) {
  const FakeDaemon daemon(
      {{"v", {ipc::refusal_line({ipc::Code::not_master, "only the master can; ask stern"})}}});
  for (const char* line : {"reelect", "set-time --by 1s", "trace on", "trace follow"}) {
    const Ended ended = run(daemon, line);
    EXPECT_EQ(ended.status, 4) << line;
    EXPECT_EQ(ended.err, "tempo: only the master can; ask stern\n") << line;
    EXPECT_THAT(ended.out, IsEmpty()) << line;
    const Ended as_json = run(daemon, std::string(line) + " --json");
    EXPECT_EQ(as_json.status, 4) << line;
    EXPECT_THAT(as_json.err, IsEmpty()) << line;
    const json error = json::parse(as_json.out)["error"];
    EXPECT_EQ(error["status"], 4) << line;
    EXPECT_EQ(error["code"], "refused") << line;
    EXPECT_EQ(error["message"], "only the master can; ask stern") << line;
  }
}

TEST(Requests, NameTheReplacementOfARemovedCommand) {
  const Ended ended = tempo("resign");
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.err, "tempo: 'resign' was merged into 'reelect'; run 'tempo reelect'\n");
}

TEST(Requests, AreNotSentIfTheyAreInvalid) {
  const FakeDaemon daemon({});
  for (const char* line : {"set-time", "set-time --by 1s --to @5", "set-time --by tomorrow",
                           "set-time --to tomorrow", "trace", "trace sideways",
                           "status --timeout long", "wait-sync --within far", "watch --lines -1"})
    EXPECT_EQ(run(daemon, line).status, 2) << line;
  EXPECT_THAT(daemon.asked(), IsEmpty());
}

TEST(SetTimeCommand, AsksBeforeItMovesTimeFar) {
  if (!TerminalChild::possible()) GTEST_SKIP() << "no terminal is available";
  const FakeDaemon daemon({{"status", {line_of(ship())}}, {"v", {ipc::done_line()}}});
  TerminalChild refusing(with(daemon, "set-time --by -2h"));
  ASSERT_TRUE(refusing.read_until("moves network time by -2 h 0 min")) << refusing.out();
  refusing.type("n\n");
  EXPECT_EQ(refusing.wait(), 1);
  EXPECT_THAT(daemon.asked(), IsEmpty());
  TerminalChild agreeing(with(daemon, "set-time --to @1700003600"));
  ASSERT_TRUE(agreeing.read_until("moves network time by +59 min")) << agreeing.out();
  agreeing.type("y\n");
  EXPECT_EQ(agreeing.wait(), 0) << agreeing.out();
  TerminalChild sure(with(daemon, "set-time --by -2h --yes"));
  EXPECT_EQ(sure.wait(), 0) << sure.out();
  TerminalChild near(with(daemon, "set-time --by 1s"));
  EXPECT_EQ(near.wait(), 0) << near.out();
  EXPECT_EQ(daemon.asked().size(), 4U);  // status and three orders
}

// --- waiting ---

TEST(WaitSyncCommand, EndsWhenTheBoundIsSmallEnough) {
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

TEST(WaitSyncCommand, TimesOut) {
  const FakeDaemon daemon({{"status", {line_of(ship())}}});
  const Ended ended = run(daemon, "wait-sync --within 1us --timeout 1ms");
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err,
              StartsWith("tempo: timed out after 1ms waiting for synchronization within 1us: this "
                         "machine is synchronized, within 12.3 us (its bound is too wide); run "
                         "'tempo doctor'"));
  // Holdover is not synchronized, even with a small bound.
  const FakeDaemon alone({{"status", {line_of(ship("holdover"))}}});
  EXPECT_EQ(run(alone, "wait-sync --timeout 1ms").status, 1);
  EXPECT_EQ(tempo("wait-sync --timeout 1ms --socket /nonexistent/sock").status, 3);
}

// A machine that had never heard anybody was taken for synchronized.
TEST(WaitSyncCommand, WantsAnotherMemberOrUtc) {
  obs::Snapshot lonely = ship("leads");
  lonely.reference.clear();
  std::erase_if(lonely.members, [](const obs::MemberView& member) { return !member.self; });
  const FakeDaemon daemon({{"status", {line_of(lonely)}}});
  const Ended ended = run(daemon, "wait-sync --timeout 1ms");
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, HasSubstr("no other member was heard, and it carries no UTC"));
  EXPECT_EQ(run(daemon, "wait-sync --alone --timeout 1ms").status, 0);
  EXPECT_EQ(run(daemon, "wait-sync --utc --timeout 1ms").status, 1);
  EXPECT_EQ(run(daemon, "wait-sync --utc --alone").status, 2);
  lonely.utc_bound_us = 1000;
  const FakeDaemon gps({{"status", {line_of(lonely)}}});
  EXPECT_EQ(run(gps, "wait-sync --timeout 1ms").status, 0);
  EXPECT_EQ(run(gps, "wait-sync --utc --timeout 1ms").status, 0);
  obs::Snapshot master = ship("leads");
  master.reference.clear();
  obs::MemberView follower;
  follower.name = "mast";
  follower.offset_us = 1;
  master.members.push_back(follower);
  const FakeDaemon led({{"status", {line_of(master)}}});
  EXPECT_EQ(run(led, "wait-sync --timeout 1ms").status, 0);
}

TEST(WaitSyncCommand, ShowsItsStateOnATerminal) {
  if (!TerminalChild::possible()) GTEST_SKIP() << "no terminal is available";
  const FakeDaemon daemon({{"status", {line_of(ship("holdover"))}}});
  TerminalChild child(with(daemon, "wait-sync --timeout 1s"));
  EXPECT_TRUE(child.read_until("waiting for synchronization: holdover, within 12.3 us"))
      << child.out();
  EXPECT_EQ(child.wait(), 1);
  EXPECT_THAT(child.out(), HasSubstr("\r\x1b[Ktempo: timed out"));  // the line is cleared
}

// --- streams ---

TEST(TraceCommand, FollowsUntilTheEnd) {
  const FakeDaemon daemon({{"trace-follow",
                            {ipc::done_line(), ipc::trace_line("1000 1 becomes master"),
                             ipc::trace_line("1001 1->* masterup")},
                            Then::close}});
  const Ended ended = run(daemon, "trace follow");
  EXPECT_EQ(ended.out, "1000 1 becomes master\n1001 1->* masterup\n");
  EXPECT_EQ(ended.status, 3);  // tempod closed the connection
  EXPECT_THAT(run(daemon, "trace follow --json").out,
              StartsWith("{\"version\":1,\"data\":{\"trace\":\"1000 1 becomes master\"}}\n"));
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
      {{"watch",
        {ipc::done_line(), line_of(ship()),
         ipc::event_line({"lost-master", 1'700'000'000'000'000'000, "stern is gone"}),
         line_of(ship("leads"))}}});
  const Ended ended = run(daemon, "watch --lines 3");
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("22:13:20.123  bow  synchronized, within 12.3 us  offset 0 ns  "
                                   "members 2  eth0=follower,stern,7\n"));
  EXPECT_THAT(ended.out, HasSubstr("22:13:20.000  stern is gone\n"));
  std::size_t events = 0, statuses = 0;
  for (const std::string& line : lines_of(run(daemon, "watch --json --lines 3").out)) {
    const json one = data_of(line);
    events += one.contains("event") ? 1U : 0U;
    statuses += one.contains("status") ? 1U : 0U;
  }
  EXPECT_EQ(events, 1U);
  EXPECT_EQ(statuses, 2U);
}

// The verb `watch` carries the events too: a second stream would show each of them twice.
TEST(WatchCommand, OpensOneStream) {
  const FakeDaemon daemon({{"watch", {line_of(ship())}}});
  EXPECT_EQ(run(daemon, "watch --lines 1").status, 0);
  EXPECT_THAT(daemon.asked(), ElementsAre(R"({"v":1,"do":"watch"})"));
}

TEST(WatchCommand, PrintsALineOnlyForAChange) {
  obs::Snapshot later = ship();
  later.time_ns += 1'000'000'000;
  later.earliest_ns += 1'000'000'000;
  later.latest_ns += 1'000'000'000;
  obs::Snapshot off = later;
  off.offset_us = 20;
  const FakeDaemon daemon(
      {{"watch", {line_of(ship()), line_of(later), line_of(off), line_of(off)}, Then::close}});
  const Ended ended = run(daemon, "watch --plain");
  ASSERT_EQ(lines_of(ended.out).size(), 2U) << ended.out;
  EXPECT_THAT(lines_of(ended.out)[1], StartsWith("22:13:21.123  bow  synchronized"));
  EXPECT_EQ(lines_of(run(daemon, "watch --json").out).size(), 5U) << "statuses and the error";
}

TEST(WatchCommand, ReportsThatTempodIsGone) {
  const FakeDaemon daemon({{"watch", {line_of(ship())}, Then::close}});
  const Ended ended = run(daemon, "watch");
  EXPECT_EQ(ended.status, 3);
  EXPECT_THAT(ended.out, HasSubstr("bow  synchronized"));
  EXPECT_THAT(ended.err, HasSubstr("tempod closed the connection"));
}

TEST(WatchCommand, FillsAScreenAndRestoresIt) {
  if (!TerminalChild::possible()) GTEST_SKIP() << "no terminal is available";
  const FakeDaemon daemon(
      {{"watch",
        {line_of(ship()),
         ipc::event_line({"lost-master", 1'700'000'000'000'000'000, "stern is gone"})}}});
  TerminalChild child(with(daemon, "watch"));
  EXPECT_TRUE(child.read_until("stern is gone")) << child.out();
  EXPECT_THAT(child.out(), HasSubstr("\x1b[?1049h"));
  EXPECT_THAT(child.out(), HasSubstr("bow"));
  child.type("q");
  EXPECT_EQ(child.wait(), 0);
  EXPECT_THAT(child.out(), HasSubstr("\x1b[?1049l"));  // the previous screen
  EXPECT_TRUE(child.echoes());
}

TEST(WatchCommand, ShowsThatTempodIsNotReachable) {
  if (!TerminalChild::possible()) GTEST_SKIP() << "no terminal is available";
  const FakeDaemon daemon({{"watch", {line_of(ship())}, Then::close}, {"watch", {}, Then::close}});
  TerminalChild child(with(daemon, "watch"));
  EXPECT_TRUE(child.read_until("tempod has not been reachable for")) << child.out();
  child.type("q");
  EXPECT_EQ(child.wait(), 0);
}

TEST(WatchCommand, RestoresTheScreenOnCtrlC) {
  if (!TerminalChild::possible()) GTEST_SKIP() << "no terminal is available";
  const FakeDaemon daemon({{"watch", {line_of(ship())}}});
  TerminalChild child(with(daemon, "watch"));
  EXPECT_TRUE(child.read_until("bow")) << child.out();
  child.type("\x03");
  EXPECT_EQ(child.wait(), 130);
  EXPECT_THAT(child.out(), HasSubstr("\x1b[?1049l"));
  EXPECT_TRUE(child.echoes());
}

// --- errors ---

TEST(EveryCommand, ReportsThatTempodIsNotRunning) {
  for (const char* line : {"status", "members", "master", "now", "watch", "reelect",
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

TEST(EveryCommand, TimesOut) {
  const FakeDaemon daemon({});
  const Ended ended = run(daemon, "status --timeout 1ms");
  EXPECT_EQ(ended.status, 3);
  EXPECT_THAT(ended.err, StartsWith("tempo: tempod did not answer within 1ms;"));
}

TEST(EveryCommand, RefusesInvalidReplies) {
  const FakeDaemon daemon({{"v", {ipc::done_line()}}});
  for (const char* line : {"status", "members", "master", "now", "clockdiff a", "reelect"}) {
    const Ended ended = run(daemon, line);
    EXPECT_EQ(ended.status, 3) << line;
    EXPECT_THAT(ended.err, HasSubstr("use the tempo that came with it")) << line;
  }
}

TEST(EveryCommand, HasHelpWithExamplesAndStatuses) {
  for (const char* line :
       {"status",      "members",      "master",      "now",       "watch",        "reelect",
        "set-time",    "wait-sync",    "trace on",    "trace off", "trace follow", "clockdiff",
        "doctor",      "keygen",       "lock",        "locks",     "unlock",       "forget",
        "admit",       "replace",      "fence-check", "elect",     "leader",       "groups",
        "watch-group", "resign-group", "demo"}) {
    const Ended ended = tempo(std::string(line) + " --help");
    EXPECT_EQ(ended.status, 0) << line;
    EXPECT_THAT(ended.out, HasSubstr("--json")) << line;
    EXPECT_THAT(ended.out, HasSubstr("Exit status: 0")) << line;
    EXPECT_THAT(ended.out, HasSubstr("Examples:\n  ")) << line;
  }
}

// --- doctor ---

TEST(DoctorCommand, IncludesTheFindingsOfTempod) {
  const FakeDaemon daemon({{"doctor",
                            {ipc::findings_line({{"problem", "the clock cannot be set",
                                                  "give CAP_SYS_TIME", "T029", "EPERM"}})}}});
  const Ended ended = run(daemon, "doctor --config /nonexistent/tempo.toml");
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.out, HasSubstr("ok       tempod answers at " + daemon.path() + "\n"));
  EXPECT_THAT(ended.out, HasSubstr("problem  T029 the clock cannot be set\n         EPERM\n"
                                   "         -> give CAP_SYS_TIME\n"));
  EXPECT_THAT(lines_of(ended.out).back(), ::testing::MatchesRegex("[0-9]+ problems? found\\."));
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
  EXPECT_THAT(ended.out, HasSubstr("ok       stern: no problems found\n"));
  EXPECT_THAT(ended.out, HasSubstr("problem  mast: it burns\n         -> put it out\n"));
  EXPECT_THAT(ended.out, HasSubstr("note     T040 mast: 1 finding lost\n"));
  EXPECT_THAT(ended.out, HasSubstr("problem  T036 keel: does not answer\n"));
}

TEST(DoctorCommand, FindsMistakesInTheConfiguration) {
  const TemporaryFile file("tempo.toml");
  std::ofstream(file.path()) << "prot = 1\n";
  const Ended ended =
      tempo("doctor --socket /nonexistent/sock --timeout 10ms --config " + file.path());
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.out, HasSubstr(file.path() + ":1:1: unknown key 'prot'; did you mean 'port'?"));
  EXPECT_THAT(ended.out, HasSubstr("problem  T001 tempod is not running here"));
}

// --- colours ---

TEST(Colors, AreForTerminalsWithoutNoColor) {
  if (!TerminalChild::possible()) GTEST_SKIP() << "no terminal is available";
  const FakeDaemon daemon({{"status", {line_of(ship())}}, {"doctor", {ipc::findings_line({})}}});
  TerminalChild colored(with(daemon, "status"), {{"NO_COLOR", ""}});
  EXPECT_EQ(colored.wait(), 0);
  EXPECT_THAT(colored.out(), HasSubstr("bow: \x1b[32msynchronized to stern"));
  TerminalChild plain(with(daemon, "status"), {{"NO_COLOR", "1"}});
  EXPECT_EQ(plain.wait(), 0);
  EXPECT_THAT(plain.out(), HasSubstr("bow: synchronized to stern"));
  TerminalChild doctor(with(daemon, "doctor --config /nonexistent/tempo.toml"), {{"NO_COLOR", ""}});
  doctor.wait();
  EXPECT_THAT(doctor.out(), HasSubstr("\x1b[32mok      \x1b[0m tempod answers at "));
  EXPECT_THAT(run(daemon, "status").out, Not(HasSubstr("\x1b"))) << "piped";
}

}  // namespace
}  // namespace tempo
