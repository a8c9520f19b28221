// `tempo configure expect`, run against a fake tempod: it proposes, asks, and sends what was
// agreed.
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/control_protocol.h"
#include "api/snapshot.h"
#include "client/client_test_daemon.h"
#include "program.h"

namespace tempo {
namespace {

using client::FakeDaemon;
using ::testing::HasSubstr;
using ::testing::Not;

// "mast" is this machine, "keel" is silent, and all others are up.
std::string fleet() {
  obs::Snapshot snapshot;
  for (const std::string name : {"stern", "mast", "keel", "bow"}) {
    obs::MemberView& member = snapshot.members.emplace_back();
    member.name = name;
    member.id = "00000000000000" + name.substr(0, 2);
    member.self = name == "mast";
    member.state = name == "keel" ? "silent" : "up";
  }
  return ipc::status_line(to_json(snapshot));
}

std::string voters(const std::vector<std::string>& names) {
  ipc::LocksView view{.guarantee = "as you see"};
  for (const std::string& name : names) view.voters.push_back({.host = name, .state = "up"});
  return ipc::locks_line(view);
}

struct Configure : ::testing::Test {
  Ended run(const std::vector<std::string>& names, const std::string& line) {
    const FakeDaemon daemon(
        {{"\"locks\"", {voters(names)}}, {"\"status\"", {fleet()}}, {"v", {ipc::done_line()}}});
    Words words = words_of("configure expect " + line);
    words.insert(words.end(), {"--socket", daemon.path()});
    Ended ended = Child(words).wait();
    last = daemon.asked().empty() ? "" : daemon.asked().back();
    return ended;
  }
  std::string last{};  // request
};

TEST_F(Configure, ProposesThisMachineAndOthersThatAreUp) {
  const Ended ended = run({}, "3 --yes");
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(
      last,
      R"({"v":1,"do":"nominate-voters","hosts":["00000000000000ma","00000000000000bo","00000000000000st"]})");
  EXPECT_EQ(ended.out,
            "mast (this machine), bow, stern vote on locks; 'tempo locks --voters' shows them.\n");
}

TEST_F(Configure, ChangesNothingWithoutAnAnswer) {
  const Ended ended = run({}, "2");
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("These machines will vote on locks: mast (this machine), bow:"));
  EXPECT_THAT(ended.err, HasSubstr("add --yes to agree"));
  EXPECT_THAT(last, Not(HasSubstr("nominate")));
}

TEST_F(Configure, NeedsEnoughMachines) {
  const Ended ended = run({}, "5 --yes");
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, HasSubstr("5 more voters are needed, but only 3 machines without a vote"));
  EXPECT_THAT(last, Not(HasSubstr("nominate")));
}

TEST_F(Configure, GivesMoreMachinesAVote) {
  const Ended ended = run({"mast", "bow"}, "3 --yes");
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(last, R"({"v":1,"do":"admit","host":"00000000000000st"})");
  EXPECT_EQ(run({"mast", "bow", "keel"}, "3 --yes").status, 0) << "nothing to do";
  const Ended fewer = run({"mast", "bow", "keel"}, "1 --yes");
  EXPECT_EQ(fewer.status, 1);
  EXPECT_THAT(fewer.err, HasSubstr("tempo forget HOST"));
  EXPECT_EQ(run({}, "9 --yes").status, 2);
}

TEST_F(Configure, AsksOnATerminal) {
  if (!TerminalChild::possible()) GTEST_SKIP() << "no terminal is available";
  const FakeDaemon daemon(
      {{"\"locks\"", {voters({})}}, {"\"status\"", {fleet()}}, {"v", {ipc::done_line()}}});
  Words words = words_of("configure expect 3");
  words.insert(words.end(), {"--socket", daemon.path()});
  TerminalChild agrees(words);
  agrees.type("y\n");
  EXPECT_EQ(agrees.wait(), 0) << agrees.out();
  EXPECT_THAT(agrees.out(), HasSubstr("mast (this machine), bow, stern. Go on? [y/N]"));
  EXPECT_THAT(daemon.asked().back(), HasSubstr("nominate-voters"));
}

}  // namespace
}  // namespace tempo
