// Metrics of a snapshot and of locks, in both formats.
#include "api/metrics/metrics.h"

#include <map>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/metrics/lock_waits.h"

namespace tempo::obs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Snapshot sample() {
  Snapshot s;
  s.version = "0.1.0";
  s.name = "bow";
  s.id = "00000000000000b0";
  s.cluster = "ship";
  s.profile = "lan";
  s.clock = "system";
  s.status = "synchronized";
  s.time_ns = 1'700'000'000'123'456'789;
  s.earliest_ns = 1'700'000'000'123'444'489;
  s.latest_ns = 1'700'000'000'123'469'089;
  s.offset_us = -1.25;
  s.bound_round_trip_us = 4;
  s.bound_age_s = 0.5;
  s.utc_bound_us = 20;
  NetworkView& network = s.networks.emplace_back();
  network.name = "eth0";
  network.state = "follower";
  network.master = "stern";
  network.epoch_round = 7;
  MemberView mast;
  mast.name = "mast";
  mast.id = "00000000000000c0";
  mast.state = "silent";
  mast.faulty = true;
  mast.offset_us = 4e4;
  mast.sigma_us = 1250;
  mast.bound_us = 10;
  mast.rate_ppm = 500;
  MemberView bow;
  bow.name = "bow";
  bow.id = "00000000000000b0";
  bow.state = "up";
  bow.self = true;
  s.members = {mast, bow};
  GroupView& group = s.groups.emplace_back();
  group.name = "web";
  group.leader = "stern";
  group.candidates = 3;
  s.counters = {{"accepted", 12},        {"bad \"version\"", 3}, {"stalls", 2},
                {"hosts_known", 5},      {"hosts_evicted", 0},   {"reelect_honoured", 1},
                {"joined", 1},           {"locks_requested", 9}, {"locks_granted", 8},
                {"locks_lost", 1},       {"locks_refused", 1},   {"locks_refused_queue_full", 1},
                {"event_lost-master", 4}};
  LockWaits waits;
  waits.record(90us);
  waits.record(2ms);
  waits.record(1h);
  waits.add_to(s.counters);
  return s;
}

ipc::LocksView locks() {
  ipc::LocksView view;
  view.obstacle = ipc::LockObstacle::no_majority;
  view.voters.resize(2);
  view.voters[0].host = "bow";
  view.voters[0].reachable = true;
  view.voters[1].host = "mast";
  view.votes_needed = 2;
  view.losses_survived = 0;
  ipc::LockView lock;
  lock.name = "backup";
  lock.here = true;
  lock.clients.resize(3);
  lock.clients[0].inside = true;
  lock.clients[0].since_s = 100;
  lock.clients[1].since_s = 5;
  lock.clients[2].since_s = 7.5;
  view.locks.push_back(lock);
  return view;
}

TEST(Metrics, HaveTheseValues) {
  const std::string text = metrics_text(sample(), locks());
  for (const char* line :
       {"# HELP tempo_offset_seconds this clock minus network time, by the last estimate\n"
        "# TYPE tempo_offset_seconds gauge\n"
        "# UNIT tempo_offset_seconds seconds\n"
        "tempo_offset_seconds -1.25e-06\n",
        "tempo_info{version=\"0.1.0\",name=\"bow\",id=\"00000000000000b0\",cluster=\"ship\","
        "profile=\"lan\",clock=\"system\"} 1\n",
        "tempo_status{status=\"synchronized\"} 1\n",
        "tempo_status{status=\"leads\"} 0\n",
        "tempo_earliest_seconds 1700000000.123444489\n",
        "tempo_bound_part_seconds{part=\"round_trip\"} 4e-06\n",
        "tempo_bound_age_seconds 0.5\n",
        "tempo_utc_bound_seconds 2e-05\n",
        "tempo_members_in_state{state=\"silent\"} 1\n",
        "# TYPE tempo_datagrams_total counter\n",
        "tempo_datagrams_total{outcome=\"accepted\"} 12\n",
        "tempo_datagrams_total{outcome=\"bad \\\"version\\\"\"} 3\n",
        "tempo_stalls_total 2\n",
        "tempo_reelections_total{result=\"honoured\"} 1\n",
        "tempo_events_total{event=\"lost-master\"} 4\n",
        "tempo_network_state{network=\"eth0\",state=\"follower\"} 1\n",
        "tempo_network_epoch{network=\"eth0\"} 7\n",
        "tempo_network_master{network=\"eth0\"} 0\n",
        "tempo_network_has_master{network=\"eth0\"} 1\n",
        "tempo_member_faulty{member=\"mast\",id=\"00000000000000c0\"} 1\n",
        "tempo_member_offset_seconds{member=\"mast\",id=\"00000000000000c0\"} 0.04\n",
        "tempo_member_sigma_seconds{member=\"mast\",id=\"00000000000000c0\"} 0.00125\n",
        "tempo_group_candidates{group=\"web\"} 3\n",
        "tempo_locks_refused_total{reason=\"queue_full\"} 1\n",
        "tempo_locks_granted_total 8\n",
        "tempo_locks_obstacle{obstacle=\"no-majority\"} 1\n",
        "tempo_locks_obstacle{obstacle=\"clone\"} 0\n",
        "tempo_locks_held 1\n",
        "tempo_lock_clients_inside 1\n",
        "tempo_lock_clients_waiting 2\n",
        "tempo_lock_longest_wait_seconds 7.5\n",
        "tempo_lock_voters 2\n",
        "tempo_lock_losses_survived 0\n",
        "tempo_lock_voter_reachable{voter=\"mast\"} 0\n"})
    EXPECT_THAT(text, HasSubstr(line));
  // Unknown values are absent, not zero.
  EXPECT_THAT(text, Not(HasSubstr("tempo_member_rate_ppm{member=\"bow\"")));
  EXPECT_THAT(text, Not(HasSubstr("tempo_member_heard_seconds{member=\"bow\"")));
  EXPECT_THAT(metrics_text(sample(), std::nullopt), Not(HasSubstr("tempo_lock_voters")));
}

// Buckets are cumulative.
TEST(Metrics, CountWaitsForLocks) {
  const std::string text = metrics_text(sample(), std::nullopt);
  for (const char* line :
       {"# TYPE tempo_lock_wait_seconds histogram\n",
        "tempo_lock_wait_seconds_bucket{le=\"0.0001\"} 1\n",
        "tempo_lock_wait_seconds_bucket{le=\"0.001\"} 1\n",
        "tempo_lock_wait_seconds_bucket{le=\"0.0025\"} 2\n",
        "tempo_lock_wait_seconds_bucket{le=\"1.0\"} 2\n",
        "tempo_lock_wait_seconds_bucket{le=\"+Inf\"} 3\n",
        "tempo_lock_wait_seconds_sum 3600.00209\n", "tempo_lock_wait_seconds_count 3\n"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(Metrics, HaveNoBoundWithoutNetworkTime) {
  Snapshot snapshot = sample();
  snapshot.status = "unsynchronized";
  const std::string text = metrics_text(snapshot, std::nullopt);
  EXPECT_THAT(text, Not(HasSubstr("tempo_bound_seconds")));
  EXPECT_THAT(text, Not(HasSubstr("tempo_latest_seconds")));
}

// Every family has one header, before its samples, and its samples are consecutive.
TEST(Metrics, AreInPrometheusFormat) {
  std::set<std::string> announced;
  std::string current;
  std::istringstream in{metrics_text(sample(), locks())};
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("# HELP ")) {
      current = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(announced.insert(current).second) << current << " twice";
    } else if (!line.starts_with("# TYPE ") && !line.starts_with("# UNIT ")) {
      EXPECT_EQ(line.substr(0, line.find_first_of("{ ")).find(current), 0U) << line;
    }
  }
  std::set<std::string> known;
  for (const MetricHelp& help : all_metrics()) known.insert(std::string(help.name));
  EXPECT_EQ(announced, known);
}

TEST(Metrics, FollowTheConventionsOfPrometheus) {
  for (const MetricHelp& help : all_metrics()) {
    EXPECT_TRUE(help.name.starts_with("tempo_")) << help.name;
    EXPECT_EQ(help.name.ends_with("_total"), help.type == "counter") << help.name;
    EXPECT_TRUE(help.name.ends_with(help.unit)) << help.name;
    for (const char* unit : {"seconds", "ppm", "bytes"})
      EXPECT_EQ(help.name.ends_with(unit), help.unit == unit) << help.name;
  }
}

// OpenMetrics names the family of a counter without _total, and ends with a mark.
TEST(Metrics, AreInOpenMetricsFormat) {
  const std::string text = metrics_text(sample(), locks(), MetricsFormat::openmetrics);
  EXPECT_THAT(text, HasSubstr("# TYPE tempo_stalls counter\ntempo_stalls_total 2\n"));
  EXPECT_TRUE(text.ends_with("# EOF\n"));
  EXPECT_THAT(metrics_text(sample(), locks()), Not(HasSubstr("# EOF")));
}

}  // namespace
}  // namespace tempo::obs
