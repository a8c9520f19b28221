// Candidacies, consistency, operation without epochs, and the field list of the machine.
#include "protocol/election/master.h"

#include <algorithm>
#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/field_mutator.h"
#include "protocol/election/master_test_harness.h"

namespace tempo::election {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// --- candidacies ---

TEST(Candidacy, IsProlongedByAcceptsButEndsWithinHalfAnAcceptTimer) {
  Harness harness;
  bring_to(harness, State::candidate);
  const Instant stood = harness.now();
  for (std::uint32_t i = 2; i < 9; ++i) {
    harness.sleep(90ms);
    if (harness.state() != State::candidate ||
        harness.machine().timers().at(Timer::candidate) <= harness.now())
      break;
    Peer other = peer(20 + i);
    harness.receive(other, Kind::accept, answering(kOurElection));
    EXPECT_EQ(harness.machine().timers().at(Timer::candidate),
              std::min(harness.now() + 200ms, stood + 500ms));
  }
  EXPECT_EQ(harness.machine().timers().at(Timer::candidate), stood + 500ms);
}

TEST(Candidacy, DoublesTheRangeAfterEachCollisionUpToSixteen) {
  Harness harness;
  harness.draw_share(1);
  bring_to(harness, State::slave);
  std::uint32_t refusing = 20;
  for (const std::uint32_t backoff : {2U, 4U, 8U, 16U, 16U}) {
    harness.command(Command::stand);
    Peer other = peer(++refusing);
    harness.receive(other, Kind::refuse, answering(harness.sent(Kind::election).sequence));
    EXPECT_EQ(harness.machine().backoff(), backoff);
    EXPECT_EQ(harness.left(Timer::election), 2500ms + backoff * 2500ms);
  }
  Peer newer = master_of(11, 6);
  harness.receive(newer, Kind::masterup);
  EXPECT_EQ(harness.machine().backoff(), 1U);
  EXPECT_EQ(harness.left(Timer::election), 5s);
}

TEST(Candidacy, EndsInSlaveWhenOverdueByMoreThanItsTimer) {
  Harness prompt;
  bring_to(prompt, State::candidate);
  prompt.sleep(400ms);
  prompt.on_timer(Timer::candidate);
  EXPECT_EQ(prompt.state(), State::master);
  Harness late;
  bring_to(late, State::candidate);
  late.sleep(400ms + 1ns);
  EXPECT_THAT(late.on_timer(Timer::candidate), IsEmpty());
  EXPECT_EQ(late.state(), State::slave);
}

TEST(NoMaster, StartsAgainWhenOverdue) {
  Harness prompt;
  bring_to(prompt, State::no_master);
  prompt.sleep(700ms);
  EXPECT_THAT(prompt.on_timer(Timer::no_master), ElementsAre("masterup to all"));
  Harness late;
  bring_to(late, State::no_master);
  late.sleep(700ms + 1ns);
  EXPECT_THAT(late.on_timer(Timer::no_master), ElementsAre("masterreq to all"));
  EXPECT_EQ(late.state(), State::startup);
}

// --- consistency ---

TEST(Consistency, SendsConflictToTheFirstMasterAndFollowsTheHigher) {
  Harness harness;
  bring_to(harness, State::consistency);
  Peer higher = master_of(11, 6);
  EXPECT_THAT(harness.receive(higher, Kind::masterack),
              ElementsAre("slaveup to 6", "conflict to 9"));
  EXPECT_EQ(harness.state(), State::slave);
  EXPECT_EQ(harness.machine().master(), higher.id);
  Harness other;
  bring_to(other, State::consistency);
  Peer lower = master_of(9, 6);
  EXPECT_THAT(other.receive(lower, Kind::masterack), ElementsAre("stale to 6", "conflict to 9"));
  EXPECT_EQ(other.state(), State::slave);
  EXPECT_EQ(other.machine().master(), NodeId{9});
}

// --- without epochs ---

TEST(NoEpoch, MasterWithTheSmallerIdSendsQuitToTheOther) {
  Harness harness("lan", 0, {.no_epoch = true});
  harness.start();
  harness.run_out(Timer::startup);
  harness.run_out(Timer::no_master);
  ASSERT_EQ(harness.state(), State::master);
  Peer larger = master_of(0, 6);
  EXPECT_THAT(harness.receive(larger, Kind::loop), ElementsAre("quit to 6"));
  Peer smaller = master_of(0, 0);
  EXPECT_THAT(harness.receive(smaller, Kind::loop), IsEmpty());
  EXPECT_THAT(harness.receive(smaller, Kind::quit), ElementsAre("ack to 0"));
  EXPECT_EQ(harness.state(), State::slave);
}

TEST(NoEpoch, AMasterAppliesNoCorrection) {
  Harness harness("lan", 0, {.no_epoch = true});
  harness.start();
  harness.run_out(Timer::startup);
  harness.run_out(Timer::no_master);
  Peer other = master_of(0, 6);
  EXPECT_THAT(harness.receive(other, Kind::adjtime), ElementsAre("ack to 6"));
  EXPECT_THAT(harness.receive(other, Kind::masterup), IsEmpty());
  EXPECT_EQ(harness.state(), State::master);
}

// Two masters that learn of a conflict at the same time receive each other's Resolve. A master
// answers only the Resolve of a smaller id.
TEST(NoEpoch, InConflictAnswersOnlyTheResolveOfASmallerId) {
  for (const bool kills_both : {false, true}) {
    Harness harness("lan", 0, {.no_epoch = true, .conflict_kills_both = kills_both});
    harness.start();
    harness.run_out(Timer::startup);
    harness.run_out(Timer::no_master);
    Peer newcomer = peer(4);
    ASSERT_THAT(harness.receive(newcomer, Kind::conflict),
                ElementsAre("ack to 4", "resolve to all"));
    Peer smaller = master_of(0, 0);
    EXPECT_THAT(harness.receive(smaller, Kind::resolve), ElementsAre("masterack to 0"));
    Peer larger = master_of(0, 6);
    const auto answer = harness.receive(larger, Kind::resolve);
    EXPECT_EQ(answer, kills_both ? Lines{"masterack to 6"} : Lines{});
    EXPECT_THAT(harness.receive(larger, Kind::masterack),
                ElementsAre("quit to 6", "resolve to all"));
    EXPECT_EQ(harness.left(Timer::conflict), 300ms);
  }
}

// By 5.3 a master that receives Conflict asks for its rival by Conflict, which no node answers.
TEST(NoEpoch, ConflictForResolveBroadcastsConflict) {
  Harness harness("lan", 0, {.no_epoch = true, .conflict_for_resolve = true});
  harness.start();
  harness.run_out(Timer::startup);
  harness.run_out(Timer::no_master);
  Peer newcomer = peer(4);
  EXPECT_THAT(harness.receive(newcomer, Kind::conflict),
              ElementsAre("ack to 4", "conflict to all"));
  EXPECT_EQ(harness.state(), State::conflict);
  EXPECT_THAT(harness.run_out(Timer::conflict), ElementsAre("masterup to all"));
}

// --- the field list ---

// The sample is a master with an element in every container and all deadlines in the future.
TEST(Fields, AllAffectThePackedForm) {
  Harness harness("lan", 4);
  bring_to(harness, State::master);
  Peer slave = peer(3), newcomer = peer(4);
  harness.receive(slave, Kind::slaveup);
  harness.receive(newcomer, Kind::masterreq);
  ASSERT_TRUE(harness.runs(Timer::retransmit));
  const Writes writes = write_into_every_field(harness.machine(), harness.now());
  EXPECT_THAT(writes.unnoticed, IsEmpty());
  EXPECT_GT(writes.tried, 40U);
  // The pointer to the rules is not a field, because the rules never change.
}

TEST(Fields, OfAMessageAllAffectThePackedForm) {
  const Message accept{.kind = Kind::accept};
  EXPECT_THAT(write_into_every_field(accept, kStart).unnoticed, IsEmpty());
  // Sequence numbers that no receiver reads are left out: that of an Ack; both of a Loop.
  const Message ack{.kind = Kind::ack};
  EXPECT_THAT(write_into_every_field(ack, kStart).unnoticed, IsEmpty());
  const Notice notice{};
  EXPECT_THAT(unnoticed_writes(notice, kStart), IsEmpty());
}

}  // namespace
}  // namespace tempo::election
