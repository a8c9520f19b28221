// The lease lock after a restart of the holder's daemon: which clients are inside again, and what
// each rule of doc/internals/lease.md, section 3, is for.
#include <algorithm>

#include <gtest/gtest.h>

#include "protocol/lock/lease/lease_grantor.h"
#include "protocol/lock/lease/lease_member.h"
#include "protocol/lock/lease/lease_test_cluster.h"

namespace tempo::lock::lease {
namespace {

constexpr Nanos kRegistered = kRules.lease / 64 + 1ns;

// Whether the client is inside under this token, by the last notice of its site.
bool inside_again(const Cluster& cluster, std::uint32_t site, std::uint32_t client, Token token) {
  const auto& clients = cluster.lock(site).clients();
  return std::ranges::any_of(clients, [&](const Client& one) {
    return one.inside && one.id == ClientId{client} &&
           Held{cluster.lock(site).lease()->ballot.count, one.insider.sub}.token() == token;
  });
}

TEST(LeaseResume, AClientKeepsItsTokenAcrossARestart) {
  Cluster cluster(3, kRules);
  cluster.acquire_resumable(0, 1);
  cluster.pass(kRegistered);
  const Notice first = *cluster.granted(0, 1);
  cluster.crash(0);
  cluster.pass(kRules.lease / 4);
  cluster.acquire(1, 7);
  cluster.restart_and_resume(0, 1);
  ASSERT_TRUE(inside_again(cluster, 0, 1, first.token));
  EXPECT_EQ(cluster.granted(0, 1)->token, first.token);
  EXPECT_EQ(cluster.granted(0, 1)->deadline, cluster.now() + kRules.hold());
  EXPECT_TRUE(cluster.lock(0).lease()->resumed);
  // It extends while its daemon abstains, and nobody else enters.
  cluster.pass(3 * kRules.lease);
  EXPECT_TRUE(inside_again(cluster, 0, 1, first.token));
  EXPECT_FALSE(cluster.granted(1, 7));
  cluster.release(0, 1);
  cluster.pass(kRules.lease);
  ASSERT_TRUE(cluster.granted(1, 7));
  EXPECT_GT(cluster.granted(1, 7)->token, first.token);
}

TEST(LeaseResume, RegistersOnceForEachGrantThatLasts) {
  Cluster cluster(3, kRules);
  cluster.acquire_resumable(0, 1);
  cluster.clear_counts();
  cluster.release(0, 1);
  cluster.pass(kRegistered);
  EXPECT_EQ(cluster.total_sent(), 0U) << "a lock that was held shortly costs nothing more";
  cluster.acquire_resumable(0, 2);
  cluster.pass(kRegistered);
  EXPECT_EQ(cluster.sent_count(Kind::ask), 1U);
  EXPECT_EQ(cluster.sent_count(Kind::grant), 2U);
  cluster.clear_counts();
  cluster.acquire(0, 3);
  cluster.release(0, 2);
  cluster.pass(kRegistered);
  EXPECT_EQ(cluster.total_sent(), 0U) << "a client without a session is not registered";
}

TEST(LeaseResume, AnUnregisteredClientIsLostAtItsDeadline) {
  Cluster cluster(3, kRules);
  cluster.acquire_resumable(0, 1);
  const Notice first = *cluster.granted(0, 1);
  cluster.restart_and_resume(0, 1);
  EXPECT_FALSE(cluster.lock(0).lease());
  cluster.pass(first.deadline - cluster.now() - 1ns);
  EXPECT_FALSE(cluster.lost(0, 1));
  EXPECT_GT(cluster.sent_count(Kind::resume), 10U) << "it asks until the deadline";
  cluster.pass(2ns);
  EXPECT_TRUE(cluster.lost(0, 1));
  cluster.pass(2 * kRules.lease);
  cluster.acquire(1, 7);
  EXPECT_TRUE(cluster.granted(1, 7));
}

TEST(LeaseResume, TwoRestartsInARow) {
  Cluster cluster(3, kRules);
  cluster.acquire_resumable(0, 1);
  cluster.pass(kRegistered);
  const Token token = cluster.granted(0, 1)->token;
  for (int i = 0; i < 3; ++i) {
    cluster.restart_and_resume(0, 1);
    ASSERT_TRUE(inside_again(cluster, 0, 1, token)) << i;
  }
}

// The other daemons restart too, one after the other: an extension registers the client again.
TEST(LeaseResume, EveryDaemonRestartsInTurn) {
  Cluster cluster(3, kRules);
  cluster.acquire_resumable(0, 1);
  cluster.pass(kRegistered);
  const Token token = cluster.granted(0, 1)->token;
  for (int i = 0; i < 2; ++i) {
    cluster.restart_and_resume(0, 1);
    cluster.pass(2 * kRules.lease);
    for (const std::uint32_t site : {1U, 2U}) {
      cluster.restart(site);
      cluster.pass(2 * kRules.lease);
    }
    ASSERT_TRUE(inside_again(cluster, 0, 1, token)) << i;
  }
}

// Site 0 restarts; as soon as it votes again, the holder's daemon restarts. A client waits at site
// 2: without the extensions that site 0 heard while it abstained, its first vote would be for
// site 2.
TEST(LeaseResume, AnAbstainingVoterRemembersLeasesInUse) {
  Cluster cluster(3, kRules);
  cluster.acquire_resumable(1, 1);
  cluster.pass(kRegistered);
  const Token token = cluster.granted(1, 1)->token;
  cluster.acquire(2, 7);
  cluster.restart(0);
  cluster.pass(kRules.keep(kRules.longest) + kRules.retry() * 5 / 4);
  cluster.restart_and_resume(1, 1);
  cluster.pass(kRules.lease / 4);
  EXPECT_TRUE(inside_again(cluster, 1, 1, token));
}

// A client waits at site 1 all the time. When site 0 votes again, its vote is for its own lease,
// which then survives the loss of another voter.
TEST(LeaseResume, TheRestartedVoterVotesForItsOwnLease) {
  Cluster cluster(3, kRules);
  cluster.acquire_resumable(0, 1);
  cluster.pass(kRegistered);
  const Token token = cluster.granted(0, 1)->token;
  cluster.acquire(1, 7);
  cluster.restart_and_resume(0, 1);
  cluster.pass(2 * kRules.lease);
  cluster.crash(2);
  cluster.pass(4 * kRules.lease);
  EXPECT_TRUE(inside_again(cluster, 0, 1, token));
  EXPECT_FALSE(cluster.granted(1, 7));
}

// As on a live network: only as many voters answer as are needed, and another daemon, whose client
// waits, restarts as soon as the first votes again.
TEST(LeaseResume, SurvivesTheRestartOfAnotherDaemon) {
  Rules rules = kRules;
  rules.suppress_replies = true;
  Cluster cluster(3, rules);
  cluster.acquire_resumable(0, 1);
  cluster.pass(kRegistered);
  const Token token = cluster.granted(0, 1)->token;
  cluster.acquire(1, 7);
  cluster.pass(rules.lease / 3);
  cluster.restart_and_resume(0, 1);
  cluster.pass(rules.keep(rules.longest) + 50ms);
  ASSERT_TRUE(inside_again(cluster, 0, 1, token));
  cluster.crash(1);
  cluster.pass(rules.lease / 10);
  cluster.restart(1);
  cluster.acquire(1, 8);
  cluster.pass(4 * rules.lease);
  EXPECT_TRUE(inside_again(cluster, 0, 1, token));
  EXPECT_FALSE(cluster.granted(1, 8));
}

TEST(LeaseResume, ReadersComeBackOneByOne) {
  Cluster cluster(3, kRules);
  cluster.acquire_resumable(0, 1, Mode::shared);
  cluster.acquire_resumable(0, 2, Mode::shared);
  cluster.pass(kRegistered);
  const Notice one = *cluster.granted(0, 1);
  const Notice other = *cluster.granted(0, 2);
  cluster.acquire(1, 7);  // a writer
  cluster.restart(0);
  cluster.command(0, Cluster::resume_of(one, one.deadline));
  ASSERT_TRUE(inside_again(cluster, 0, 1, one.token));
  cluster.release(0, 1);
  EXPECT_FALSE(cluster.granted(1, 7)) << "the other reader is not back yet";
  cluster.command(0, Cluster::resume_of(other, other.deadline));
  ASSERT_TRUE(inside_again(cluster, 0, 2, other.token));
  cluster.pass(kRules.keep(kRules.longest) + 1ms);
  EXPECT_FALSE(cluster.granted(1, 7));
  cluster.release(0, 2);
  cluster.pass(kRules.lease);
  EXPECT_TRUE(cluster.granted(1, 7));
}

// The first reader leaves and its lease runs out, although the daemon still abstains: the other
// reader's longer lease holds the writer off.
TEST(LeaseResume, AnEndedSharedLeaseDoesNotAnnounceItsEnd) {
  Rules rules = kRules;
  rules.longest = 5 * rules.lease;
  Cluster cluster(3, rules);
  cluster.command(0, Command::acquire(LockId{0}, ClientId{1}, Mode::shared, 1, rules.longest,
                                      Cluster::session_of(1)));
  cluster.command(0, Command::acquire(LockId{0}, ClientId{2}, Mode::shared, 2, rules.longest,
                                      Cluster::session_of(2)));
  cluster.pass(rules.longest / 64 + 1ns);
  const Notice one = *cluster.granted(0, 1);
  const Notice other = *cluster.granted(0, 2);
  cluster.restart(0);
  Command back = Cluster::resume_of(one, cluster.now() + rules.lease / 8);
  back.length = rules.lease / 8;
  cluster.command(0, back);
  ASSERT_TRUE(inside_again(cluster, 0, 1, one.token));
  cluster.release(0, 1);
  cluster.acquire(1, 7);
  cluster.acquire(0, 8, Mode::shared);
  cluster.pass(other.deadline - cluster.now() - 1ns);
  EXPECT_FALSE(cluster.granted(1, 7));
  EXPECT_FALSE(cluster.granted(0, 8));
}

TEST(LeaseResume, AResumedLeaseServesNobodyElse) {
  Cluster cluster(3, kRules);
  cluster.acquire_resumable(0, 1, Mode::shared);
  cluster.pass(kRegistered);
  cluster.restart_and_resume(0, 1);
  cluster.acquire(0, 2, Mode::shared);
  cluster.pass(4 * kRules.lease);
  EXPECT_FALSE(cluster.granted(0, 2));
  cluster.release(0, 1);
  cluster.pass(kRules.lease);
  ASSERT_TRUE(cluster.granted(0, 2));
  EXPECT_GT(cluster.granted(0, 2)->token, cluster.granted(0, 1)->token);
}

TEST(LeaseResume, NeedsAMajorityOfTheOthers) {
  Cluster cluster(5, kRules);
  cluster.acquire_resumable(0, 1);
  cluster.pass(kRegistered);
  for (const std::uint32_t site : {3U, 4U}) cluster.crash(site);
  cluster.restart_and_resume(0, 1);
  EXPECT_FALSE(cluster.lock(0).lease()) << "two of five";
  cluster.resume(3);
  cluster.pass(kRules.lease / 8);
  EXPECT_TRUE(cluster.lock(0).lease()) << "asked again, three of five";
}

TEST(LeaseResume, NeedsOneVoterThatKnowsTheClient) {
  Cluster cluster(3, kRules);
  cluster.acquire_resumable(0, 1);
  cluster.set_delivery([](const Cluster::Datagram& datagram) {
    return datagram.message.inside.empty() || datagram.message.kind == Kind::resume;
  });
  cluster.pass(kRegistered);
  cluster.restart_and_resume(0, 1);
  EXPECT_EQ(cluster.sent_count(Kind::resume), 1U);
  EXPECT_FALSE(cluster.lock(0).lease());
}

TEST(LeaseResume, AVoterThatMissedTheRegistrationJoins) {
  Cluster cluster(3, kRules);
  cluster.acquire_resumable(0, 1);
  cluster.set_delivery([](const Cluster::Datagram& datagram) {
    return datagram.message.kind != Kind::ask || datagram.to == NodeId{1};
  });
  cluster.pass(kRegistered);
  cluster.restart_and_resume(0, 1);
  EXPECT_TRUE(cluster.lock(0).lease());
}

TEST(LeaseResume, AnswersAfterTheDeadlineDoNotCount) {
  Cluster cluster(3, kRules);
  cluster.acquire_resumable(0, 1);
  cluster.pass(kRegistered);
  std::vector<Cluster::Datagram> answers;
  cluster.set_delivery([&](const Cluster::Datagram& datagram) {
    const bool answer = datagram.message.kind == Kind::grant && datagram.message.sub != 0;
    if (answer) answers.push_back(datagram);
    return !answer;
  });
  const BootTime deadline = cluster.lock(0).lease()->until;
  cluster.restart_and_resume(0, 1);
  cluster.pass(deadline - cluster.now());
  cluster.set_delivery(nullptr);
  for (const auto& answer : answers) cluster.inject(answer.from, 0, answer.message);
  EXPECT_TRUE(cluster.lost(0, 1));
  EXPECT_FALSE(cluster.lock(0).lease());
}

TEST(LeaseResume, AHandOverEndsTheSession) {
  Cluster cluster(3, kRules);
  cluster.acquire_resumable(0, 1);
  cluster.pass(kRegistered);
  const Notice first = *cluster.granted(0, 1);
  cluster.acquire(1, 7);
  cluster.release(0, 1);
  ASSERT_TRUE(cluster.granted(1, 7));
  cluster.restart(0);
  cluster.command(0, Cluster::resume_of(first, first.deadline));
  EXPECT_FALSE(cluster.lock(0).lease());
}

TEST(LeaseResume, AnotherProcessCannotResume) {
  Cluster cluster(3, kRules);
  cluster.acquire_resumable(0, 1);
  cluster.pass(kRegistered);
  const Notice first = *cluster.granted(0, 1);
  cluster.restart(0);
  Command forked = Cluster::resume_of(first, first.deadline);
  forked.session.process = 99;
  cluster.command(0, forked);
  EXPECT_FALSE(cluster.lock(0).lease());
}

TEST(LeaseResume, RefusesWhatCannotHaveBeenGranted) {
  Cluster cluster(3, kRules);
  cluster.acquire_resumable(0, 1);
  cluster.pass(kRegistered);
  const Notice first = *cluster.granted(0, 1);
  const auto lost_with = [&](auto change) {
    cluster.clear_counts();
    Command command = Cluster::resume_of(first, first.deadline);
    change(command);
    cluster.command(0, command);
    return cluster.lost(0, 1).has_value() && cluster.total_sent() == 0;
  };
  cluster.restart(0);
  EXPECT_TRUE(lost_with([](Command& command) { command.session.number = 0; }));
  EXPECT_TRUE(lost_with([](Command& command) { command.ballot.count = 0; }));
  EXPECT_TRUE(lost_with([](Command& command) { command.sub = 0; }));
  EXPECT_TRUE(lost_with([&](Command& command) { command.deadline = cluster.now(); }));
  EXPECT_TRUE(lost_with([&](Command& command) {
    command.deadline = cluster.now() + kRules.longest + 1ns;
  })) << "no lease is longer";
  cluster.pass(kRules.keep(kRules.longest));
  EXPECT_TRUE(lost_with([&](Command& command) { command.deadline = cluster.now() + 1s; }))
      << "no earlier incarnation's grant lasts that long";
}

TEST(LeaseResume, ASharedPromiseIsNotResumedAsAnExclusiveOne) {
  Grantor grantor;
  const BootTime now{Nanos{1}};
  ASSERT_EQ(
      grantor.decide({.ballot = {1, NodeId{0}}, .mode = Mode::shared, .length = 2s}, now, kRules),
      Why::none);
  bool confirmed = false;
  EXPECT_EQ(grantor.resume({.ballot = {1, NodeId{0}},
                            .mode = Mode::exclusive,
                            .length = 2s,
                            .holder = NodeId{0},
                            .boot = Boot{2},
                            .client = {1, {5, 5}}},
                           now, kRules, confirmed),
            Why::busy);
  EXPECT_EQ(grantor.check(), nullptr);
}

TEST(LeaseResume, AVoterThatAcceptedMoreDoesNotJoin) {
  Grantor grantor;
  grantor.raise(9);
  const ResumeRequest request{.ballot = {8, NodeId{0}},
                              .length = 2s,
                              .holder = NodeId{0},
                              .boot = Boot{2},
                              .client = {1, {5, 5}}};
  bool confirmed = false;
  EXPECT_EQ(grantor.resume(request, BootTime{Nanos{1}}, kRules, confirmed), Why::low);
  EXPECT_TRUE(grantor.idle());
}

// Site 1 did not hear of the registration, and only site 1 hears of the hand-over to it.
TEST(LeaseResume, TheHolderOfALeaseRefuses) {
  Cluster cluster(3, kRules);
  cluster.acquire_resumable(0, 1);
  cluster.set_delivery([](const Cluster::Datagram& datagram) {
    return datagram.message.inside.empty() || datagram.to != NodeId{1};
  });
  cluster.pass(kRegistered);
  const Notice first = *cluster.granted(0, 1);
  cluster.acquire(1, 7);
  cluster.set_delivery([](const Cluster::Datagram& datagram) {
    return datagram.message.kind != Kind::pass || datagram.to == NodeId{1};
  });
  cluster.release(0, 1);
  ASSERT_TRUE(cluster.granted(1, 7));
  cluster.restart(0);
  cluster.command(0, Cluster::resume_of(first, first.deadline));
  EXPECT_FALSE(cluster.lock(0).lease());
}

}  // namespace
}  // namespace tempo::lock::lease
