// Every mutation of the lease lock, and the simulation or scripted run that must fail because of
// it.
#include "protocol/lock/lease/lease_mutation.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lab/check/expect.h"
#include "lab/check/explore.h"
#include "lab/studies/lock/lease_model.h"
#include "lab/studies/lock/lease_run.h"
#include "mutation_suite.h"
#include "protocol/lock/lease/lease_clone_test_runs.h"
#include "protocol/lock/lease/lease_message.h"
#include "protocol/lock/lease/lease_test_cluster.h"

namespace tempo::sim::lease {
namespace {

namespace clone_runs = tempo::lock::lease::clone_runs;
using tempo::lock::lease::Mutation;

// --- simulations ---

// The first violated property, or "nothing".
std::string broken_in(Setup setup, std::uint64_t seeds) {
  for (setup.seed = 1; setup.seed <= seeds; ++setup.seed) {
    const Outcome outcome = run(setup);
    if (outcome.tally.violations > 0) return "exclusion";
    if (outcome.tally.token_disorder > 0) return "token-order";
    if (outcome.revivals > 0) return "revival";
    if (!outcome.kept()) return "progress";
  }
  return "nothing";
}

std::string without_faults() { return broken_in({.entries = 200}, 1); }
std::string readers() { return broken_in({.readers = 0.6, .entries = 400}, 1); }
std::string losses() { return broken_in({.entries = 400, .faults = {.loss = 0.3}}, 16); }
std::string restarts() {
  return broken_in({.entries = 400,
                    .stay = 20ms,
                    .faults = {.loss = 0.2, .crashes_per_s = 10, .blackouts_per_s = 2}},
                   3);
}
std::string blackouts() { return broken_in({.entries = 200, .faults = {.blackouts_per_s = 3}}, 2); }
std::string pauses() {
  return broken_in({.entries = 400, .stay = 20ms, .faults = {.loss = 0.1, .pauses_per_s = 20}}, 8);
}
std::string partitions() {
  return broken_in({.sites = 4, .entries = 300, .faults = {.partitions_per_s = 10}}, 2);
}
std::string bad_clocks() {
  Setup setup{.entries = 300, .stay = 60ms, .faults = {.crashes_per_s = 5}};
  setup.rules.drift = Ppb{50'000'000};
  return broken_in(setup, 6);
}
Setup late_and_worse() {
  return {.entries = 400,
          .stay = 20ms,
          .faults = {.loss = 0.1,
                     .duplicate = 0.3,
                     .late = 0.3,
                     .crashes_per_s = 3,
                     .pauses_per_s = 5,
                     .partitions_per_s = 5}};
}
std::string late_messages() { return broken_in(late_and_worse(), 2); }
std::string more_late_messages() { return broken_in(late_and_worse(), 16); }
// A lock that is forgotten between two requests, and old messages that arrive later.
std::string seldom_used() {
  return broken_in({.contending = 2,
                    .clients = 1,
                    .entries = 300,
                    .stay = 1ms,
                    .think = 80ms,
                    .network_time = false,
                    .faults = {.loss = 0.4, .duplicate = 0.9, .late = 0.3}},
                   8);
}
std::string quick_restarts() {
  return broken_in({.clients = 1,
                    .entries = 300,
                    .stay = 1ms,
                    .long_stays = 0.3,
                    .think = 60ms,
                    .delay = 10ms,
                    .faults = {.duplicate = 0.5, .late = 0.3, .crashes_per_s = 20}},
                   16);
}

// Leases shorter and longer than the default, in use while daemons crash and messages are late.
std::string other_lengths() {
  Setup setup{.readers = 0.3,
              .entries = 400,
              .stay = 30ms,
              .other_lengths = 0.7,
              .faults = {.loss = 0.1, .late = 0.3, .crashes_per_s = 5, .pauses_per_s = 5}};
  setup.rules.longest = 4 * setup.rules.lease;
  return broken_in(setup, 32);
}

std::string trusted_time() {
  Setup setup{.entries = 400,
              .stay = 60ms,
              .time_bound = 5ms,
              .faults = {.late = 0.3, .crashes_per_s = 10}};
  setup.rules.trust_time = true;
  return broken_in(setup, 6);
}

// Daemons restart beside clients that resume. Readers come back one by one.
Setup resuming() {
  return {.readers = 0.6,
          .entries = 1'000,
          .stay = 30ms,
          .long_stays = 0.3,
          .resume = 0.9,
          .hang_ups = 0.2,
          .faults = {.loss = 0.05, .crashes_per_s = 15}};
}
std::string resumes() { return broken_in(resuming(), 24); }

// --- scripted runs ---

using tempo::lock::LockId;
using tempo::lock::lease::Cluster;
using tempo::lock::lease::Command;
using tempo::lock::lease::Kind;
using tempo::lock::lease::Message;
using tempo::lock::lease::one_vote_each;
using tempo::lock::lease::Rules;
using tempo::lock::lease::View;

constexpr Rules kRules{};

// When the lease is over but its timer has not fired yet, one client requests the lock and another
// releases it.
std::string after_the_end() {
  Cluster cluster(3, kRules);
  cluster.acquire(0, 1);
  cluster.set_delivery([](const Cluster::Datagram&) { return false; });
  cluster.pass(cluster.granted(0, 1)->deadline - cluster.now());
  cluster.acquire(0, 2);
  cluster.release(0, 1);
  return cluster.granted(0, 2) ? "a grant after the end" : "nothing";
}

// The last extension that a holder requested is under way for most of a lease. Meanwhile the holder
// is stopped, and another member acquires and releases the lock.
std::string late_extension() {
  Cluster cluster(3, kRules);
  cluster.acquire(0, 1);
  cluster.set_delivery([](const Cluster::Datagram&) { return false; });
  cluster.pass(cluster.granted(0, 1)->deadline - cluster.now() - 1ns);
  const Message extension = cluster.sent().back();
  cluster.crash(0);
  cluster.set_delivery(nullptr);
  cluster.pass(1ns + kRules.keep(kRules.lease) - kRules.hold());
  cluster.acquire(1, 1);
  cluster.release(1, 1);
  cluster.pass(kRules.lease * 5 / 6);
  cluster.resume(0);
  cluster.inject(NodeId{0}, 2, extension);
  cluster.release(0, 1);
  cluster.acquire(0, 2);
  if (extension.kind != Kind::ask || !cluster.granted(1, 1) || !cluster.granted(0, 2))
    return "nothing";
  return cluster.granted(0, 2)->token > cluster.granted(1, 1)->token ? "nothing" : "token-order";
}

// Three grants of an attempt are late. Meanwhile their ballot is freed for a member that has waited
// longer, and that member acquires the lock.
std::string late_grants() {
  Cluster cluster(5, kRules);
  cluster.set_delivery(
      [](const Cluster::Datagram& datagram) { return datagram.from != NodeId{1}; });
  cluster.acquire(1, 1);
  cluster.set_delivery(
      [](const Cluster::Datagram& datagram) { return datagram.message.kind != Kind::grant; });
  cluster.acquire(0, 1);
  std::vector<Message> grants;
  for (const Message& message : cluster.sent())
    if (message.kind == Kind::grant) grants.push_back(message);
  cluster.set_delivery(nullptr);
  cluster.acquire(1, 2);  // makes site 1 ask again
  cluster.pass(kRules.retry() * 5 / 4);
  if (grants.size() != 3 || !cluster.granted(1, 1) || cluster.granted(0, 1))
    return "the run went differently";
  for (std::uint32_t i = 0; i < 3; ++i) cluster.inject(NodeId{2 + i}, 0, grants[i]);
  return cluster.granted(0, 1) ? "exclusion" : "nothing";
}

// Site 0 hands the lease to site 1, which uses it, frees it and forgets the lock; site 0 does not
// learn of it. After site 2 has also held the lock, an old ASK of site 1 arrives at site 0 again.
std::string old_ask() {
  Cluster cluster(3, kRules);
  cluster.acquire(0, 1);
  cluster.acquire(1, 1);
  const auto asked = std::ranges::find_if(cluster.sent(), [](const Message& message) {
    return message.kind == Kind::ask && message.ballot.origin == NodeId{1};
  });
  if (asked == cluster.sent().end()) return "the run went differently";
  const Message ask = *asked;
  cluster.release(0, 1);
  cluster.release(1, 1);
  cluster.set_delivery([](const Cluster::Datagram& datagram) { return datagram.to != NodeId{0}; });
  cluster.pass(kRules.lease * 5 / 6);
  cluster.set_delivery(nullptr);
  cluster.acquire(2, 1, tempo::lock::Mode::shared);
  cluster.acquire(1, 2);
  cluster.set_delivery(
      [](const Cluster::Datagram& datagram) { return datagram.message.kind != Kind::grant; });
  cluster.release(2, 1);
  cluster.set_delivery(nullptr);
  if (!cluster.granted(1, 1) || !cluster.granted(2, 1) || cluster.granted(1, 2))
    return "the run went differently";
  cluster.inject(NodeId{1}, 0, ask);
  if (!cluster.granted(1, 2)) return "nothing";
  return cluster.granted(1, 2)->token > cluster.granted(2, 1)->token ? "nothing" : "token-order";
}

// Site 0 has the lock with the vote of site 2 alone. Then site 2 loses its disk and site 0 crashes.
// The remaining sites know site 0's counter only if they asked while it was alive.
std::string lost_disk() {
  Cluster cluster(3, kRules);
  cluster.set_delivery([](const Cluster::Datagram& datagram) { return datagram.to != NodeId{1}; });
  cluster.acquire(0, 1);
  cluster.release(0, 1);
  cluster.pass(2 * kRules.lease);
  cluster.set_delivery(nullptr);
  cluster.crash(2);
  cluster.lose_disk(2);
  cluster.restart(2);
  cluster.pass(2 * kRules.lease);
  cluster.crash(0);
  cluster.acquire(1, 1);
  cluster.pass(kRules.lease);
  if (!cluster.granted(0, 1) || !cluster.granted(1, 1)) return "the run went differently";
  return cluster.granted(1, 1)->token > cluster.granted(0, 1)->token ? "nothing" : "token-order";
}

// A lock is used, forgotten by all members, and used again.
std::string forgotten_lock() {
  Cluster cluster(3, kRules);
  cluster.acquire(0, 1);
  cluster.release(0, 1);
  cluster.pass(2 * kRules.lease);
  cluster.acquire(1, 1);
  if (!cluster.granted(0, 1) || !cluster.granted(1, 1)) return "the run went differently";
  return cluster.granted(1, 1)->token > cluster.granted(0, 1)->token ? "nothing" : "token-order";
}

// An extension requested while a writer held the lock arrives again while only a reader holds it.
// Other readers must not wait for it.
std::string old_extension() {
  using tempo::lock::Mode;
  Cluster cluster(3, kRules);
  cluster.acquire(0, 1);
  cluster.pass(kRules.lease * 5 / 8);
  const auto extended =
      std::ranges::find_if(cluster.sent(), [](const Message& message) { return message.held; });
  if (extended == cluster.sent().end()) return "the run went differently";
  const Message extension = *extended;
  cluster.acquire(0, 2, Mode::shared);
  cluster.acquire(2, 1, Mode::shared);
  cluster.release(0, 1);
  if (!cluster.granted(0, 2) || !cluster.granted(2, 1)) return "the run went differently";
  cluster.release(2, 1);
  cluster.pass(kRules.lease);
  if (cluster.lock(2).lease() || cluster.lost(0, 2)) return "the run went differently";
  cluster.inject(NodeId{0}, 1, extension);
  cluster.inject(NodeId{0}, 2, extension);
  cluster.acquire(2, 2, Mode::shared);
  return cluster.granted(2, 2) ? "nothing" : "a reader waits";
}

// Either of two members is enough, and they do not hear each other.
std::string each_alone() {
  Cluster cluster(2, kRules, two_members(tempo::lock::lease::TwoNode::available));
  cluster.set_delivery([](const Cluster::Datagram&) { return false; });
  cluster.acquire(0, 1);
  cluster.acquire(1, 1);
  cluster.pass(kRules.lease / 2);
  if (!cluster.granted(0, 1) || !cluster.granted(1, 1)) return "the run went differently";
  return cluster.granted(0, 1)->token == cluster.granted(1, 1)->token ? "same-token" : "nothing";
}

// Site 0 has the lock by its own vote and that of site 1. After site 3 gains a vote and site 1
// loses its vote, sites 2 and 3 are a quorum.
std::string two_changes() {
  Cluster cluster(4, kRules, one_vote_each(3));
  cluster.set_delivery([](const Cluster::Datagram& datagram) {
    return datagram.message.lock != LockId{0} || datagram.to == NodeId{1} ||
           datagram.to == NodeId{0};
  });
  cluster.acquire(0, 1);
  cluster.set_delivery([](const Cluster::Datagram& datagram) {
    return datagram.message.lock != LockId{0} || datagram.from != NodeId{0};
  });
  cluster.command(2, Command::change(NodeId{3}, 1));
  cluster.command(2, Command::change(NodeId{1}, 0));
  if (!cluster.granted(0, 1) || cluster.member(2).state().view().number < 2)
    return "the run went differently";
  cluster.acquire(2, 1);
  return cluster.granted(2, 1) ? "exclusion" : "nothing";
}

// The same after a crash of site 0: its counter is known only to a site that has no vote any more.
std::string counter_continues() {
  Rules rules = kRules;
  rules.max_sub = 1;  // one ballot for each grant
  Cluster cluster(4, rules, one_vote_each(3));
  cluster.set_delivery([](const Cluster::Datagram& datagram) {
    return datagram.message.lock != LockId{0} || datagram.to == NodeId{1} ||
           datagram.to == NodeId{0};
  });
  for (std::uint32_t i = 1; i <= 5; ++i) {
    cluster.acquire(0, i);
    cluster.release(0, i);
  }
  cluster.crash(0);
  cluster.command(2, Command::change(NodeId{3}, 1));
  cluster.pass(2 * rules.lease);
  cluster.command(2, Command::change(NodeId{1}, 0));
  cluster.pass(2 * rules.lease);
  cluster.set_delivery(nullptr);
  cluster.acquire(2, 1);
  if (!cluster.granted(0, 5) || cluster.member(2).state().view().number != 3)
    return "the run went differently";
  if (!cluster.granted(2, 1)) return "the run went differently";
  return cluster.granted(2, 1)->token > cluster.granted(0, 5)->token ? "nothing" : "token-order";
}

// Site 0 gives a vote to site 3, with sites 1 and 3, and crashes before any other site learns of
// it. Site 1 restarts, and site 2 requests a vote for site 4.
std::string two_next_views() {
  Cluster cluster(5, kRules, one_vote_each(3));
  cluster.set_delivery([](const Cluster::Datagram& datagram) {
    return datagram.to != NodeId{2} && datagram.message.kind != Kind::record;
  });
  cluster.command(0, Command::change(NodeId{3}, 1));
  const View first = cluster.member(0).state().view();
  for (const std::uint32_t site : {0U, 1U, 3U}) cluster.crash(site);
  cluster.set_delivery(nullptr);
  cluster.restart(1);
  cluster.pass(2 * kRules.lease);
  cluster.command(2, Command::change(NodeId{4}, 1));
  cluster.pass(kRules.lease / 2);
  cluster.restart(3);
  cluster.pass(4 * kRules.lease);
  if (first.number != 2 || cluster.views(2).size() < 2) return "the run went differently";
  return cluster.views(2)[0] == cluster.views(2)[1] ? "nothing" : "two views of one number";
}

// Site 0 gives a vote to site 5 and crashes. Sites 3 and 4, which have no votes, request one each;
// site 3 gets @view, and site 4, of which only site 3 has heard, has waited longer.
std::string handed_over() {
  Cluster cluster(6, kRules, one_vote_each(3));
  cluster.set_delivery([](const Cluster::Datagram& datagram) {
    return datagram.to != NodeId{2} && datagram.message.kind != Kind::record;
  });
  cluster.command(0, Command::change(NodeId{5}, 1));
  cluster.crash(0);
  cluster.set_delivery([](const Cluster::Datagram& datagram) {
    return datagram.from != NodeId{4} || datagram.to == NodeId{3};
  });
  cluster.command(4, Command::change(NodeId{4}, 1));
  cluster.set_delivery(nullptr);
  cluster.command(3, Command::change(NodeId{3}, 1));
  cluster.pass(kRules.lease);
  if (cluster.views(2).size() < 2) return "the run went differently";
  return cluster.views(2)[0] == cluster.views(2)[1] ? "nothing" : "two views of one number";
}

// --- scripted restarts of a holder's daemon ---

using tempo::lock::lease::Grantor;
using tempo::lock::lease::Notice;
using tempo::lock::lease::Why;

constexpr Nanos kRegistered = kRules.lease / 64 + 1ns;

// Site 0 hands the lease over, and one voter of five alone, beside the taker, hears of it. The
// daemon of site 0 restarts, and its former client, which has left, claims the lock.
std::string client_that_left() {
  Cluster cluster(5, kRules);
  cluster.acquire_resumable(0, 1);
  cluster.pass(kRegistered);
  const Notice first = *cluster.granted(0, 1);
  cluster.acquire(1, 7);
  cluster.release(0, 1);
  if (!cluster.granted(1, 7)) return "the run went differently";
  cluster.restart(0);
  cluster.command(0, Cluster::resume_of(first, first.deadline));
  return cluster.lock(0).lease() ? "exclusion" : "nothing";
}

// A grantor knows a later client of this lease.
std::string earlier_client() {
  Grantor grantor;
  const tempo::lock::lease::Ballot ballot{1, NodeId{0}};
  grantor.decide({.ballot = ballot,
                  .held = true,
                  .length = 2s,
                  .registers = {NodeId{1}, tempo::lock::lease::Boot{1}, 2, {}}},
                 tempo::BootTime{1ns}, kRules);
  bool confirmed = false;
  const Why why = grantor.resume({.ballot = ballot,
                                  .length = 2s,
                                  .holder = NodeId{0},
                                  .boot = tempo::lock::lease::Boot{2},
                                  .client = {1, {5, 5}}},
                                 tempo::BootTime{2ns}, kRules, confirmed);
  return why == Why::none ? "a client that left has a promise" : "nothing";
}

// A grantor without the promise has accepted a larger count.
std::string smaller_count() {
  Grantor grantor;
  grantor.raise(9);
  bool confirmed = false;
  const Why why = grantor.resume({.ballot = {8, NodeId{0}},
                                  .length = 2s,
                                  .holder = NodeId{0},
                                  .boot = tempo::lock::lease::Boot{2},
                                  .client = {1, {5, 5}}},
                                 tempo::BootTime{2ns}, kRules, confirmed);
  return why == Why::none ? "a promise below top" : "nothing";
}

// Site 1 missed the registration of site 0's client and has the lease now; site 2 missed that.
std::string held_elsewhere() {
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
  if (!cluster.granted(1, 7)) return "the run went differently";
  cluster.restart(0);
  cluster.command(0, Cluster::resume_of(first, first.deadline));
  return cluster.lock(0).lease() ? "exclusion" : "nothing";
}

// A forked child shows its parent's session.
std::string forked_child() {
  Cluster cluster(3, kRules);
  cluster.acquire_resumable(0, 1);
  cluster.pass(kRegistered);
  const Notice first = *cluster.granted(0, 1);
  cluster.restart(0);
  Command forked = Cluster::resume_of(first, first.deadline);
  forked.session.process = 99;
  cluster.command(0, forked);
  return cluster.lock(0).lease() ? "a child has its parent's lock" : "nothing";
}

// One voter of three answers.
std::string one_answer() {
  Cluster cluster(5, kRules);
  cluster.acquire_resumable(0, 1);
  cluster.pass(kRegistered);
  for (const std::uint32_t site : {2U, 3U, 4U}) cluster.crash(site);
  cluster.restart_and_resume(0, 1);
  return cluster.lock(0).lease() ? "resumed by a minority" : "nothing";
}

// No voter has heard of the client.
std::string unknown_client() {
  Cluster cluster(3, kRules);
  cluster.acquire_resumable(0, 1);
  cluster.set_delivery([](const Cluster::Datagram& datagram) {
    return datagram.message.inside.empty() || datagram.message.kind == Kind::resume;
  });
  cluster.pass(kRegistered);
  cluster.restart_and_resume(0, 1);
  return cluster.lock(0).lease() ? "resumed without a confirmation" : "nothing";
}

// The answers arrive when the client's deadline has passed.
std::string late_answers() {
  Cluster cluster(3, kRules);
  cluster.acquire_resumable(0, 1);
  cluster.pass(kRegistered);
  std::vector<Cluster::Datagram> answers;
  cluster.set_delivery([&](const Cluster::Datagram& datagram) {
    const bool answer = datagram.message.kind == Kind::grant && datagram.message.sub != 0;
    if (answer) answers.push_back(datagram);
    return !answer;
  });
  const tempo::BootTime deadline = cluster.lock(0).lease()->until;
  cluster.restart_and_resume(0, 1);
  cluster.pass(deadline - cluster.now());
  cluster.set_delivery(nullptr);
  for (const auto& answer : answers) cluster.inject(answer.from, 0, answer.message);
  return cluster.lock(0).lease() ? "revival" : "nothing";
}

// Two readers are inside when the daemon restarts. One comes back and leaves; a writer waits
// elsewhere, or at the same site.
std::string reader_not_back(bool here) {
  using tempo::lock::Mode;
  Cluster cluster(3, kRules);
  cluster.acquire_resumable(0, 1, Mode::shared);
  cluster.acquire_resumable(0, 2, Mode::shared);
  cluster.pass(kRegistered);
  const Notice one = *cluster.granted(0, 1);
  if (!here) cluster.acquire(1, 7);
  cluster.restart(0);
  cluster.command(0, Cluster::resume_of(one, one.deadline));
  if (!cluster.lock(0).lease()) return "the run went differently";
  if (here) cluster.acquire(0, 8, Mode::shared);
  if (here) return cluster.granted(0, 8) ? "a resumed lease has a new client" : "nothing";
  cluster.release(0, 1);
  cluster.pass(one.deadline - cluster.now() - 1ms);
  return cluster.granted(1, 7) ? "exclusion" : "nothing";
}
std::string reader_elsewhere() { return reader_not_back(false); }
std::string new_client() { return reader_not_back(true); }

// Site 0 restarts, and as soon as it votes again the holder's daemon does; a client waits at
// site 2.
std::string restarts_in_turn() {
  Cluster cluster(3, kRules);
  cluster.acquire_resumable(1, 1);
  cluster.pass(kRegistered);
  cluster.acquire(2, 7);
  cluster.restart(0);
  cluster.pass(kRules.keep(kRules.longest) + kRules.retry() * 5 / 4);
  cluster.restart_and_resume(1, 1);
  cluster.pass(kRules.lease / 4);
  return cluster.lock(1).lease() ? "nothing" : "the lock is not resumed";
}

std::string nobody_resumes() {
  const Outcome outcome = run(resuming());
  return outcome.orphans > 20 && outcome.resumes == 0 ? "nobody resumes" : "nothing";
}

// --- the table ---

constexpr MutationRow<Mutation> kRows[] = {
    {Mutation::no_abstention, "no_abstention", restarts},
    {Mutation::no_drift_margin, "no_drift_margin", bad_clocks},
    {Mutation::half_is_enough, "half_is_enough", partitions},
    {Mutation::no_low_test, "no_low_test", losses},
    {Mutation::sub_not_raised, "sub_not_raised", without_faults},
    {Mutation::taker_counts_from_receipt, "taker_counts_from_receipt", late_messages},
    {Mutation::pass_accepted_twice, "pass_accepted_twice", late_messages},
    {Mutation::gives_while_inside, "gives_while_inside", without_faults},
    {Mutation::free_after_pass, "free_after_pass", without_faults},
    {Mutation::expired_lease_extended, "expired_lease_extended", late_extension},
    {Mutation::freed_ballot_reused, "freed_ballot_reused", late_grants},
    {Mutation::reserve_not_durable, "reserve_not_durable", blackouts},
    {Mutation::boot_not_raised, "boot_not_raised", quick_restarts},
    {Mutation::pass_to_newer_boot, "pass_to_newer_boot", more_late_messages},
    {Mutation::client_without_clock_test, "client_without_clock_test", pauses},
    {Mutation::gives_after_v, "gives_after_v", after_the_end},
    {Mutation::shared_raised, "shared_raised", readers},
    {Mutation::exclusive_kept, "exclusive_kept", readers},
    {Mutation::promise_before_receipt, "promise_before_receipt", pauses},
    {Mutation::tickets_forgotten, "tickets_forgotten", seldom_used},
    {Mutation::pass_on_old_word, "pass_on_old_word", old_ask},
    {Mutation::view_unsettled, "view_unsettled", two_changes},
    {Mutation::view_without_floor, "view_without_floor", counter_continues},
    {Mutation::view_passed, "view_passed", handed_over},
    {Mutation::proposal_forgotten, "proposal_forgotten", two_next_views},
    {Mutation::acceptance_not_durable, "acceptance_not_durable", two_next_views},
    {Mutation::time_without_bound, "time_without_bound", trusted_time},
    {Mutation::shared_promise_raised, "shared_promise_raised", old_extension},
    {Mutation::any_life_continues, "any_life_continues", clone_runs::confirmed_clone},
    {Mutation::claim_unconfirmed, "claim_unconfirmed", clone_runs::confirmed_clone},
    {Mutation::claim_votes_at_once, "claim_votes_at_once", clone_runs::lease_of_the_voter},
    {Mutation::claim_not_durable, "claim_not_durable", clone_runs::confirmed_clone_and_a_restart},
    {Mutation::claim_keeps_grants, "claim_keeps_grants", clone_runs::asker_that_hears_the_clone},
    {Mutation::claims_not_told, "claims_not_told", clone_runs::asker_that_hears_the_voter},
    {Mutation::claim_of_low_boot, "claim_of_low_boot", clone_runs::clone_of_a_forgotten_voter},
    {Mutation::retired_votes, "retired_votes", clone_runs::vote_of_a_retired_voter},
    {Mutation::own_claim_raises, "own_claim_raises", clone_runs::answer_to_an_earlier_claim},
    {Mutation::blank_at_once, "blank_at_once", lost_disk},
    {Mutation::floor_forgotten, "floor_forgotten", forgotten_lock},
    {Mutation::counts_alike, "counts_alike", each_alone},
    {Mutation::grant_by_other_length, "grant_by_other_length", other_lengths},
    {Mutation::promise_of_own_length, "promise_of_own_length", other_lengths},
    {Mutation::abstains_for_own_length, "abstains_for_own_length", other_lengths},
    {Mutation::clients_not_registered, "clients_not_registered", nobody_resumes},
    {Mutation::pass_keeps_clients, "pass_keeps_clients", client_that_left},
    {Mutation::resume_of_any_client, "resume_of_any_client", earlier_client},
    {Mutation::resume_below_top, "resume_below_top", smaller_count},
    {Mutation::resume_of_held, "resume_of_held", held_elsewhere},
    {Mutation::session_of_any_process, "session_of_any_process", forked_child},
    {Mutation::resumed_by_minority, "resumed_by_minority", one_answer},
    {Mutation::resumed_unconfirmed, "resumed_unconfirmed", unknown_client},
    {Mutation::resumed_after_deadline, "resumed_after_deadline", late_answers},
    {Mutation::resumed_lease_gives, "resumed_lease_gives", new_client},
    {Mutation::abstaining_voter_forgets, "abstaining_voter_forgets", restarts_in_turn},
    {Mutation::resumed_readers_freed, "resumed_readers_freed", reader_elsewhere},
    {Mutation::closed_is_done, "closed_is_done", resumes},
};

const MutationSuite<Mutation> kSuite{"Lease", kRows};

// The checker finds them too, in worlds that are sound without a mutation.
constexpr std::pair<NodeId, tempo::lock::Mode> kWriter0{NodeId{0}, tempo::lock::Mode::exclusive};
constexpr std::pair<NodeId, tempo::lock::Mode> kWriter1{NodeId{1}, tempo::lock::Mode::exclusive};

std::string broken_by(Mutation mutation, const check::LeaseWorld& world) {
  active_mutation<Mutation> = mutation;
  const check::Finding finding = check::in_space(world, [](check::Space<check::LeaseModel>& space) {
    return check::Search<check::LeaseModel>(space, {.fingerprints = true}).run();
  });
  active_mutation<Mutation> = Mutation::none;
  return finding.violation ? finding.violation->property : "nothing";
}

// A grant is lost, its grantor crashes and forgets it, and the writer of a crashed daemon holds the
// lock at the same time as the writer of the daemon's next incarnation.
TEST(LeaseMutationsExplored, NoAbstention) {
  EXPECT_EQ(broken_by(Mutation::no_abstention, {.wishes = {kWriter0, kWriter0},
                                                .lease = 8,
                                                .crashes = 1,
                                                .budget = {.losses = 1},
                                                .orderly = true}),
            "exclusion");
}
TEST(LeaseMutationsExplored, BlankAtOnce) {
  if (!check::soak()) GTEST_SKIP() << "runs in make soak";
  EXPECT_EQ(broken_by(Mutation::blank_at_once, {.wishes = {kWriter0, kWriter1},
                                                .crashes = 1,
                                                .lost_disks = true,
                                                .budget = {.losses = 1},
                                                .orderly = true}),
            "token-order");
}
TEST(LeaseMutationsExplored, FloorForgotten) {
  EXPECT_EQ(broken_by(Mutation::floor_forgotten, {.wishes = {kWriter0, kWriter0}, .orderly = true}),
            "token-order");
}
TEST(LeaseMutationsExplored, ReserveNotDurable) {
  EXPECT_EQ(broken_by(Mutation::reserve_not_durable,
                      {.sites = 2, .wishes = {kWriter0, kWriter0}, .crashes = 2, .orderly = true}),
            "token-order");
}
TEST(LeaseMutationsExplored, CountsAlike) {
  EXPECT_EQ(broken_by(Mutation::counts_alike, {.sites = 2,
                                               .wishes = {kWriter0, kWriter1},
                                               .lease = 12,
                                               .policy = tempo::lock::lease::TwoNode::available,
                                               .budget = {.losses = 2},
                                               .orderly = true,
                                               .ballots = 4,
                                               .exclusion = false}),
            "same-token");
}

}  // namespace
}  // namespace tempo::sim::lease
