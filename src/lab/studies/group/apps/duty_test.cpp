// A whole member: carrier, election and duty, without a network.
#include "lab/studies/group/apps/duty.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/studies/group/apps/apps_test_harness.h"
#include "lab/studies/group/apps/group_server.h"

namespace tempo::apps {
namespace {

using M = App<GroupServer>;
using election::CapacityB1;
using Elected = election::capacity::Notice;

class OneMember : public MachineHarness<M> {
 public:
  OneMember() {
    make(M::Carrier(kSelf, Incarnation{1}, carrier_),
         Member<GroupServer>(CapacityB1(kSelf, election_), GroupServer(kSelf, rules_)));
  }
  OneMember(const OneMember&) = delete;
  OneMember& operator=(const OneMember&) = delete;

  Nanos bound() const { return carrier_.bound(); }
  void ask() { command(M::Command::of<1>(apps::Command::ask(1))); }
  // A datagram of the other member, whose clock is ahead by more than the precision.
  void receive_from_the_future() {
    receive(NodeId{0}, {.sender = NodeId{0},
                        .number = 1,
                        .stamp = now().time_since_epoch() + 10 * carrier_.precision,
                        .delay = carrier_.delay});
  }

  std::vector<Elected> elections;
  std::vector<Notice> notices;

 private:
  std::string text_of(const Output<M>& output) override {
    if (output.kind != OutputKind::notice) return "";
    if (const auto* member = std::get_if<1>(&output.notice.body)) {
      if (const auto* elected = std::get_if<0>(&member->body)) elections.push_back(*elected);
      if (const auto* notice = std::get_if<1>(&member->body)) notices.push_back(*notice);
    }
    return "";
  }

  broadcast::Rules carrier_{.members = 2, .delay = 1ms, .precision = 100us};
  Rules rules_{.members = 2, .bound = carrier_.bound(), .work = carrier_.bound()};
  election::capacity::Rules election_{.members = 2, .bound = carrier_.bound()};
};

TEST(MemberOfAGroup, ElectsItselfAndDoesTheRequestedWork) {
  OneMember member;
  member.ask();
  member.pass(8 * member.bound());
  ASSERT_EQ(member.elections.size(), 1U);
  EXPECT_EQ(member.elections[0].kind, Elected::Kind::elected);
  EXPECT_EQ(member.elections[0].master, kSelf);
  ASSERT_FALSE(member.notices.empty());
  EXPECT_EQ(member.notices.back().kind, Notice::Kind::done);
  EXPECT_EQ(member.notices.back().node, kSelf);
}

TEST(MemberOfAGroup, AbandonsItsElectionWhenTheBoundsBreak) {
  OneMember member;
  member.ask();
  member.pass(2 * member.bound());
  member.receive_from_the_future();
  ASSERT_EQ(member.elections.size(), 1U);
  EXPECT_EQ(member.elections[0].kind, Elected::Kind::given_up);
  member.pass(30 * member.bound());
  EXPECT_EQ(member.notices.back().kind, Notice::Kind::done) << "the member must try again";
}

}  // namespace
}  // namespace tempo::apps
