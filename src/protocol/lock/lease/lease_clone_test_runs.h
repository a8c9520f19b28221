// Runs with a clone of a voter: another machine with its number and a copy of its record. Each
// returns the property that is violated, or "nothing". The tests expect "nothing"; the mutations of
// the rules about claims must violate it.
#pragma once

#include <string>

#include "protocol/lock/lease/lease_test_cluster.h"

namespace tempo::lock::lease::clone_runs {

inline constexpr Nanos kLonger = 2 * kRules.longest;

// Whether clients of both sites are inside at once.
inline std::string both_inside(const Cluster& cluster, std::uint32_t one, std::uint32_t other) {
  const auto inside = [&](std::uint32_t site) {
    const auto granted = cluster.granted(site, 1);
    const auto& lease = cluster.lock(site).lease();
    return granted && !cluster.lost(site, 1) && lease && lease->until > cluster.now();
  };
  return inside(one) && inside(other) ? "exclusion" : "nothing";
}

// The voter's side and the clone's side want the lock.
inline std::string two_sides(Cluster& cluster, std::uint32_t clone) {
  cluster.part({0, 2}, {1, clone});
  cluster.acquire(0, 1);
  cluster.acquire(1, 1);
  cluster.pass(kLonger);
  return both_inside(cluster, 0, 1);
}

// The partition is older than the clone, so for one side the clone looks like a restarted voter.
inline std::string clone_beyond_a_partition() {
  Cluster cluster(3, kRules);
  cluster.part({0, 2}, {1});
  return two_sides(cluster, cluster.start_clone(2));
}

// The voter was cut off when the others confirmed its clone.
inline std::string confirmed_clone() {
  Cluster cluster(3, kRules);
  cluster.part({0, 1, 3}, {2});
  const std::uint32_t clone = cluster.start_clone(2);
  cluster.pass(kLonger);
  if (cluster.member(clone).blank()) return "the run went differently";
  return two_sides(cluster, clone);
}

// The same, and one of the others restarts.
inline std::string confirmed_clone_and_a_restart() {
  Cluster cluster(3, kRules);
  cluster.part({0, 1, 3}, {2});
  const std::uint32_t clone = cluster.start_clone(2);
  cluster.pass(kLonger);
  if (cluster.member(clone).blank()) return "the run went differently";
  cluster.part({0}, {});
  cluster.restart(0);
  cluster.pass(kLonger);
  return two_sides(cluster, clone);
}

// The others have restarted and remember nothing of the voter.
inline std::string clone_of_a_forgotten_voter() {
  Cluster cluster(3, kRules);
  for (int i = 0; i < 2; ++i) cluster.restart(2);
  cluster.part({0, 1}, {2});
  for (const std::uint32_t site : {0U, 1U}) cluster.restart(site);
  cluster.part({0, 1, 3}, {2});
  const std::uint32_t clone = cluster.start_clone(2);
  cluster.pass(kLonger);
  if (cluster.member(clone).blank()) return "the run went differently";
  return two_sides(cluster, clone);
}

// A lease rests on the vote of the voter when the others confirm its clone, which has run for so
// long that it abstains no more for its start.
inline std::string lease_of_the_voter() {
  Cluster cluster(3, kRules);
  cluster.part({0, 2}, {1});
  const std::uint32_t clone = cluster.start_clone(2);
  cluster.pass(kLonger);
  cluster.acquire(0, 1);
  if (!cluster.granted(0, 1)) return "the run went differently";
  cluster.part({0, 1, clone}, {2});
  cluster.pass(kRules.retry() * 5 / 4);
  if (cluster.member(clone).blank()) return "the run went differently";
  cluster.part({1, clone}, {0});
  cluster.acquire(1, 1);
  return both_inside(cluster, 0, 1);
}

// A member without a vote has a fresh grant of the voter, and then one of a voter that has
// confirmed the clone. Before that it may hear the clone itself.
inline std::string asker_without_a_vote(bool hears_clone) {
  Cluster cluster(4, kRules, one_vote_each(3));
  cluster.part({0, 1, 4}, {2, 3});
  cluster.acquire(3, 1);
  const std::uint32_t clone = cluster.start_clone(2);
  cluster.pass(kLonger);  // site 3 asks again and again
  if (cluster.member(clone).blank()) return "the run went differently";
  cluster.part({1, clone}, {2, 3});
  if (hears_clone)
    cluster.set_delivery([=](const Cluster::Datagram& datagram) {
      return datagram.from == NodeId{clone} && datagram.to != NodeId{2};
    });
  if (hears_clone) cluster.acquire(clone, 2, Mode::exclusive, LockId{1});
  cluster.part({1, clone}, {});
  cluster.acquire(1, 1);
  cluster.part({0, 3}, {});
  cluster.pass(kRules.retry() * 3 / 2);
  return both_inside(cluster, 1, 3);
}
inline std::string asker_that_hears_the_voter() { return asker_without_a_vote(false); }
inline std::string asker_that_hears_the_clone() { return asker_without_a_vote(true); }

// A voter that knows of another machine with its identity.
inline std::string vote_of_a_retired_voter() {
  Cluster cluster(3, kRules);
  cluster.command(2, Command::retire());
  cluster.crash(1);
  cluster.acquire(0, 1);
  cluster.pass(kLonger);
  return cluster.granted(0, 1) ? "a retired voter votes" : "nothing";
}

// Two claims of a voter that lost its record are under way at once. The checker found that each
// answer raised the claim again.
inline std::string answer_to_an_earlier_claim() {
  Cluster cluster(3, kRules);
  cluster.part({0, 3}, {});
  const std::uint32_t clone = cluster.start_clone(2);
  Message earlier;
  for (const Message& message : cluster.sent())
    if (message.kind == Kind::record && !message.claims.empty()) earlier = message;
  if (earlier.claims.empty() || !cluster.member(clone).blank()) return "the run went differently";
  Message higher = earlier;  // as if site 0 remembered another boot
  higher.claims = {};
  higher.to_boot = Boot{5};
  cluster.clear_counts();
  cluster.inject(NodeId{0}, clone, higher);
  if (cluster.sent_count(Kind::query) != 1) return "the run went differently";
  cluster.inject(NodeId{0}, clone, earlier);
  return cluster.sent_count(Kind::query) == 1 ? "nothing" : "the claim is raised again";
}

// A voter begins again with an old copy of its record, and with a boot that it had before. It asks
// with a ballot that it has used: another site holds the lease of that ballot.
inline std::string ask_with_an_old_copy() {
  Cluster cluster(3, kRules);
  const Record copy = *cluster.disk(2);
  cluster.restart(2);
  cluster.pass(kLonger);
  cluster.acquire(2, 1);
  cluster.acquire(1, 1);
  cluster.release(2, 1);
  if (!cluster.granted(1, 1)) return "the run went differently";
  cluster.crash(2);
  cluster.restore_disk(2, copy);
  cluster.restart(2);
  cluster.pass(kLonger);
  cluster.acquire(2, 2);
  const auto again = cluster.granted(2, 2);
  return again && !cluster.lost(1, 1) ? "exclusion" : "nothing";
}

// Others tell such a voter that they know a later incarnation. Then a voter that forgot it needs
// its vote.
inline std::string vote_with_an_old_copy() {
  Rules rules = kRules;
  rules.block = 2;
  rules.max_sub = 1;  // one ballot for each grant
  Cluster cluster(3, rules);
  const Record copy = *cluster.disk(2);
  for (int i = 0; i < 2; ++i) cluster.restart(2);
  cluster.pass(kLonger);
  cluster.part({0, 2}, {1});
  constexpr std::uint32_t kGrants = 20;
  for (std::uint32_t i = 1; i <= kGrants; ++i) {
    cluster.acquire(0, i);
    cluster.release(0, i);
    cluster.pass(rules.lease / 4);
  }
  cluster.crash(2);
  cluster.restore_disk(2, copy);
  cluster.restart(2);
  cluster.pass(kLonger);
  cluster.acquire(0, kGrants + 1);
  cluster.pass(kLonger);
  cluster.restart(1);
  cluster.part({1, 2}, {0});
  cluster.pass(kLonger);
  cluster.acquire(1, 1);
  cluster.pass(kLonger);
  const auto last = cluster.granted(0, kGrants);
  const auto next = cluster.granted(1, 1);
  if (!last || cluster.granted(0, kGrants + 1)) return "the run went differently";
  return next && next->token <= last->token ? "token-order" : "nothing";
}

// A voter with a lost record comes back while another one is down later.
inline std::string vote_after_a_lost_record() {
  Cluster cluster(3, kRules);
  cluster.crash(2);
  cluster.damage_disk(2);
  cluster.restart(2);
  cluster.pass(kLonger);
  cluster.crash(1);
  cluster.acquire(0, 1);
  cluster.pass(kLonger);
  return cluster.granted(0, 1) ? "nothing" : "progress";
}

}  // namespace tempo::lock::lease::clone_runs
