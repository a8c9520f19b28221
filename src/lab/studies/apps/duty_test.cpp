// A whole member: carrier, election and duty, without a network.
#include "lab/studies/apps/duty.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/studies/apps/apps_test_harness.h"
#include "lab/studies/apps/group_server.h"

namespace tempo::apps {
namespace {

using M = App<GroupServer>;
using election::CapacityB1;
using Elected = election::capacity::Notice;

class OneMember {
 public:
  OneMember()
      : rules_{.members = 2, .bound = carrier_.bound(), .work = carrier_.bound()},
        election_{.members = 2, .bound = carrier_.bound()},
        machine_(M::Carrier(kSelf, Incarnation{1}, carrier_),
                 Member<GroupServer>(CapacityB1(kSelf, election_), GroupServer(kSelf, rules_))) {}
  OneMember(const OneMember&) = delete;
  OneMember& operator=(const OneMember&) = delete;

  Nanos bound() const { return carrier_.bound(); }
  void ask() {
    step([](M& machine, auto& turn) { machine.command(turn, M::Command::of<1>(Command::ask(1))); });
  }
  // A datagram of the other member, whose clock is ahead by more than the precision.
  void receive_from_the_future() {
    M::Message message{.sender = NodeId{0},
                       .number = 1,
                       .stamp = now_.time_since_epoch() + 10 * carrier_.precision,
                       .delay = carrier_.delay};
    step([&](M& machine, auto& turn) { machine.receive(turn, NodeId{0}, message); });
  }
  void pass(Nanos span) {
    const Instant until = now_ + span;
    while (machine_.timers().first() <= until) {
      now_ = machine_.timers().first();
      step([](M& machine, auto& turn) { machine.on_timer(turn, machine.timers().first_name()); });
    }
    now_ = until;
  }

  std::vector<Elected> elections;
  std::vector<Notice> notices;

 private:
  struct NoDraw final : Draw {
    std::uint64_t below(std::uint64_t /*limit*/) override { return 0; }
  };

  template <class Do>
  void step(Do todo) {
    out_.clear();
    NoDraw draw;
    Turn<M> turn{now_, draw, out_};
    todo(machine_, turn);
    ASSERT_EQ(machine_.check(), nullptr);
    for (const auto& output : out_) {
      if (output.kind != OutputKind::notice) continue;
      const auto* member = std::get_if<1>(&output.notice.body);
      if (member == nullptr) continue;
      if (const auto* elected = std::get_if<0>(&member->body)) elections.push_back(*elected);
      if (const auto* notice = std::get_if<1>(&member->body)) notices.push_back(*notice);
    }
  }

  broadcast::Rules carrier_{.members = 2, .delay = 1ms, .precision = 100us};
  Rules rules_;
  election::capacity::Rules election_;
  M machine_;
  Instant now_{1s};
  Outbox<M> out_;
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
