#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "api/metrics/lock_waits.h"
#include "api/metrics/metrics.h"
#include "base/check.h"

namespace tempo::obs {
namespace {

using ipc::LocksView;
using ipc::LockView;

constexpr auto kMetrics = std::to_array<MetricHelp>({
    {"tempo_info", "gauge", "", "version, name, id, cluster, profile, clock", "always 1"},
    {"tempo_uptime_seconds", "gauge", "seconds", "", "time since the start of tempod"},
    {"tempo_status", "gauge", "", "status", "1 for the current status, 0 for the others"},
    {"tempo_offset_seconds", "gauge", "seconds", "",
     "this clock minus network time, by the last estimate"},
    {"tempo_bound_seconds", "gauge", "seconds", "",
     "largest error of the clock; absent without network time"},
    {"tempo_earliest_seconds", "gauge", "seconds", "",
     "network time since 1970 is not before this; absent without network time"},
    {"tempo_latest_seconds", "gauge", "seconds", "",
     "network time since 1970 is not after this; absent without network time"},
    {"tempo_bound_part_seconds", "gauge", "seconds", "part",
     "parts of the error bound of a follower: round_trip, drift, reference, other"},
    {"tempo_bound_age_seconds", "gauge", "seconds", "",
     "on a follower: time since the newest timestamp exchange"},
    {"tempo_utc_bound_seconds", "gauge", "seconds", "",
     "largest error of the UTC that this machine carries; absent if it carries none"},
    {"tempo_rate_ppm", "gauge", "ppm", "", "rate of this clock over the raw clock"},
    {"tempo_timescale_generation", "gauge", "", "", "how often network time was set by hand"},
    {"tempo_exchanges_total", "counter", "", "", "timestamp exchanges with the reference"},
    {"tempo_may_lead", "gauge", "", "", "1 if this machine may become master"},
    {"tempo_authenticated", "gauge", "", "", "1 if datagrams without a key are refused"},
    {"tempo_keys", "gauge", "", "", "number of valid keys"},
    {"tempo_warnings", "gauge", "", "", "number of warnings in tempo status"},
    {"tempo_members", "gauge", "", "", "number of known machines, including this one"},
    {"tempo_members_in_state", "gauge", "", "state",
     "number of known machines in this state: up, silent, stopped, gone"},
    {"tempo_hosts_known", "gauge", "", "", "number of host ids that tempod remembers"},
    {"tempo_hosts_evicted_total", "counter", "", "", "host ids that tempod had no room for"},
    {"tempo_stalls_total", "counter", "", "", "times that tempod did not run for 100 ms or more"},
    {"tempo_datagrams_total", "counter", "", "outcome",
     "datagrams by outcome; outcomes refused_, malformed_ and not_sent_ name the reason"},
    {"tempo_events_total", "counter", "", "event",
     "events by name, as listed in tempod(8); absent until the first"},
    {"tempo_reelections_total", "counter", "", "result",
     "requests of other machines to resign: honoured, refused"},
    {"tempo_joins_total", "counter", "", "result",
     "newcomers with an invitation of this machine: joined, refused"},
    {"tempo_network_state", "gauge", "", "network, state", "always 1; the state of the election"},
    {"tempo_network_master", "gauge", "", "network", "1 if this machine is master of the network"},
    {"tempo_network_has_master", "gauge", "", "network",
     "1 if this machine knows a master of the network"},
    {"tempo_network_epoch", "gauge", "", "network", "round of the current epoch"},
    {"tempo_network_listed", "gauge", "", "network",
     "on a master: number of followers on its list"},
    {"tempo_network_hops", "gauge", "", "network",
     "networks between this machine and the source of time"},
    {"tempo_network_kernel_stamps", "gauge", "", "network", "1 if the kernel timestamps datagrams"},
    {"tempo_network_hardware_stamps", "gauge", "", "network",
     "1 if the network card timestamps datagrams"},
    {"tempo_member_heard_seconds", "gauge", "seconds", "member, id",
     "time since the last datagram of the member"},
    {"tempo_member_faulty", "gauge", "", "member, id",
     "1 if the master excludes its clock from the average"},
    {"tempo_member_offset_seconds", "gauge", "seconds", "member, id",
     "clock of the member minus network time"},
    {"tempo_member_rate_ppm", "gauge", "ppm", "member, id",
     "rate of the member's raw clock against the master's"},
    {"tempo_member_sigma_seconds", "gauge", "seconds", "member, id",
     "scatter of the member's measurements"},
    {"tempo_member_bound_seconds", "gauge", "seconds", "member, id",
     "largest error of the member's clock"},
    {"tempo_group_leads", "gauge", "", "group", "1 if this machine leads the group"},
    {"tempo_group_has_leader", "gauge", "", "group",
     "1 if this machine knows a leader of the group"},
    {"tempo_group_candidates", "gauge", "", "group", "candidates of the group"},
    {"tempo_locks_requested_total", "counter", "", "",
     "requests of programs and groups of this machine for locks"},
    {"tempo_locks_granted_total", "counter", "", "", "of these, requests that were granted"},
    {"tempo_locks_lost_total", "counter", "", "", "locks that were lost while they were held"},
    {"tempo_locks_refused_total", "counter", "", "reason", "requests for locks that were refused"},
    {"tempo_lock_wait_seconds", "histogram", "seconds", "",
     "time from the request of a program of this machine to the grant"},
    {"tempo_locks_obstacle", "gauge", "", "obstacle",
     "1 for the reason why this machine grants no locks; 0 for the others"},
    {"tempo_locks_known", "gauge", "", "", "locks that this machine knows"},
    {"tempo_locks_held", "gauge", "", "", "locks whose lease this machine has"},
    {"tempo_lock_clients_inside", "gauge", "", "",
     "programs and groups of this machine that hold a lock"},
    {"tempo_lock_clients_waiting", "gauge", "", "",
     "programs and groups of this machine that wait for a lock"},
    {"tempo_lock_longest_wait_seconds", "gauge", "seconds", "",
     "how long the first of those has waited so far; 0: none waits"},
    {"tempo_lock_voters", "gauge", "", "", "voters of locks; 0: not known"},
    {"tempo_lock_votes_needed", "gauge", "", "", "votes that a lock needs"},
    {"tempo_lock_losses_survived", "gauge", "", "",
     "voters that may still fail; absent if too few are reachable"},
    {"tempo_lock_voter_reachable", "gauge", "", "voter", "1 if this machine hears the voter"},
});

std::string label_text(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n')
      text += "\\n";
    else
      text += c;
  }
  return text;
}

std::string label(std::string_view name, std::string_view value) {
  return fmt::format("{}=\"{}\"", name, label_text(value));
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Inf" : "+Inf";
  return fmt::format("{}", value);
}

std::string number(std::uint64_t value) { return fmt::format("{}", value); }

struct Page {
  MetricsFormat format;
  std::string text{};
};

// One metric family: its comment lines before the first sample, then its samples.
class Family {
 public:
  Family(Page& page, std::string_view name) : page_(page), name_(name) {
    const auto found = std::ranges::find(kMetrics, name, &MetricHelp::name);
    CHECK(found != kMetrics.end());
    // The family of an OpenMetrics counter is named without the suffix of its samples.
    std::string_view family = name;
    if (page.format == MetricsFormat::openmetrics && found->type == "counter")
      family.remove_suffix(std::string_view("_total").size());
    head_ = fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", family, found->meaning, found->type);
    if (!found->unit.empty()) head_ += fmt::format("# UNIT {} {}\n", family, found->unit);
  }

  Family& sample(const std::string& labels, const std::string& value,
                 std::string_view suffix = "") {
    page_.text += std::exchange(head_, {});
    page_.text += labels.empty() ? fmt::format("{}{} {}\n", name_, suffix, value)
                                 : fmt::format("{}{}{{{}}} {}\n", name_, suffix, labels, value);
    return *this;
  }
  Family& sample(const std::string& labels, double value) { return sample(labels, number(value)); }

 private:
  Page& page_;
  std::string_view name_;
  std::string head_;
};

// Exact: a double cannot hold nanoseconds since 1970.
std::string seconds_text(std::int64_t ns) {
  const bool negative = ns < 0;
  const std::uint64_t size =
      negative ? std::uint64_t{0} - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  return fmt::format("{}{}.{:09}", negative ? "-" : "", size / 1'000'000'000, size % 1'000'000'000);
}

void bound_metrics(Page& page, const Snapshot& s) {
  if (const auto bound = s.bound_us()) {
    Family(page, "tempo_bound_seconds").sample("", *bound / 1e6);
    Family(page, "tempo_earliest_seconds").sample("", seconds_text(s.earliest_ns));
    Family(page, "tempo_latest_seconds").sample("", seconds_text(s.latest_ns));
  }
  Family parts(page, "tempo_bound_part_seconds");
  const auto part = [&](const char* name, const std::optional<double>& us) {
    if (us) parts.sample(label("part", name), *us / 1e6);
  };
  part("round_trip", s.bound_round_trip_us);
  part("drift", s.bound_drift_us);
  part("reference", s.bound_reference_us);
  part("other", s.bound_other_us);
  if (s.bound_age_s) Family(page, "tempo_bound_age_seconds").sample("", *s.bound_age_s);
  if (s.utc_bound_us) Family(page, "tempo_utc_bound_seconds").sample("", *s.utc_bound_us / 1e6);
}

void clock_metrics(Page& page, const Snapshot& s) {
  Family(page, "tempo_info")
      .sample(fmt::format("{},{},{},{},{},{}", label("version", s.version), label("name", s.name),
                          label("id", s.id), label("cluster", s.cluster),
                          label("profile", s.profile), label("clock", s.clock)),
              1);
  Family(page, "tempo_uptime_seconds").sample("", s.uptime_s);
  Family status(page, "tempo_status");
  for (const char* name :
       {"unsynchronized", "holdover", "synchronized", "leads", "minority", "alone"})
    status.sample(label("status", name), s.status == name ? 1 : 0);
  Family(page, "tempo_offset_seconds").sample("", s.offset_us / 1e6);
  bound_metrics(page, s);
  Family(page, "tempo_rate_ppm").sample("", s.rate_ppm);
  Family(page, "tempo_timescale_generation").sample("", s.timescale_generation);
  Family(page, "tempo_exchanges_total").sample("", number(s.exchanges));
  Family(page, "tempo_may_lead").sample("", s.may_lead ? 1 : 0);
  Family(page, "tempo_authenticated").sample("", s.authenticated ? 1 : 0);
  Family(page, "tempo_keys").sample("", s.keys);
  Family(page, "tempo_warnings").sample("", static_cast<double>(s.warnings.size()));
  Family(page, "tempo_members").sample("", static_cast<double>(s.members.size()));
  Family states(page, "tempo_members_in_state");
  for (const char* state : {"up", "silent", "stopped", "gone"})
    states.sample(label("state", state),
                  static_cast<double>(std::ranges::count(s.members, state, &MemberView::state)));
}

// --- counters: the name says the family ---

constexpr std::string_view kEvent = "event_";
constexpr std::string_view kRefusedLock = "locks_refused_";

struct CounterFamily {
  std::string_view counter;
  std::string_view family;
  std::string_view labels;
};
constexpr auto kCounters = std::to_array<CounterFamily>({
    {"hosts_known", "tempo_hosts_known", ""},
    {"hosts_evicted", "tempo_hosts_evicted_total", ""},
    {"stalls", "tempo_stalls_total", ""},
    {"reelect_honoured", "tempo_reelections_total", "result=\"honoured\""},
    {"reelect_refused", "tempo_reelections_total", "result=\"refused\""},
    {"joined", "tempo_joins_total", "result=\"joined\""},
    {"joins_refused", "tempo_joins_total", "result=\"refused\""},
    {"locks_requested", "tempo_locks_requested_total", ""},
    {"locks_granted", "tempo_locks_granted_total", ""},
    {"locks_lost", "tempo_locks_lost_total", ""},
    {"locks_refused", "", ""},  // the sum of its reasons
});

bool is_datagram_outcome(std::string_view counter) {
  return !counter.starts_with(kEvent) && !counter.starts_with("lock_wait_") &&
         !counter.starts_with(kRefusedLock) &&
         std::ranges::find(kCounters, counter, &CounterFamily::counter) == kCounters.end();
}

void lock_wait_metric(Page& page, const std::map<std::string, std::uint64_t>& counters) {
  const auto sum = counters.find(std::string(kLockWaitSum));
  if (sum == counters.end()) return;
  Family family(page, "tempo_lock_wait_seconds");
  std::uint64_t count = 0;
  for (const LockWaitBucket& bucket : kLockWaitBuckets) {
    const auto found = counters.find(std::string(bucket.counter));
    if (found != counters.end()) count += found->second;
    const bool last = bucket.longest == Nanos::max();
    const double limit = std::chrono::duration<double>(bucket.longest).count();
    // OpenMetrics requires a floating-point number: 1.0, not 1.
    const std::string text =
        limit == std::floor(limit) ? fmt::format("{:.1f}", limit) : fmt::format("{}", limit);
    family.sample(label("le", last ? "+Inf" : text), number(count), "_bucket");
  }
  family.sample("", number(static_cast<double>(sum->second) / 1e6), "_sum");
  family.sample("", number(count), "_count");
}

void counter_metrics(Page& page, const std::map<std::string, std::uint64_t>& counters) {
  std::string_view family;
  for (const CounterFamily& entry : kCounters) {
    if (entry.family.empty() || entry.family == family) continue;
    family = entry.family;
    Family out(page, family);
    for (const CounterFamily& same : kCounters) {
      const auto found = counters.find(std::string(same.counter));
      if (same.family == family && found != counters.end())
        out.sample(std::string(same.labels), number(found->second));
    }
  }
  const auto with_prefix = [&](std::string_view name, std::string_view key,
                               std::string_view prefix) {
    Family out(page, name);
    for (const auto& [counter, count] : counters)
      if (counter.starts_with(prefix))
        out.sample(label(key, counter.substr(prefix.size())), number(count));
  };
  with_prefix("tempo_events_total", "event", kEvent);
  with_prefix("tempo_locks_refused_total", "reason", kRefusedLock);
  lock_wait_metric(page, counters);
  Family datagrams(page, "tempo_datagrams_total");
  for (const auto& [outcome, count] : counters)
    if (is_datagram_outcome(outcome)) datagrams.sample(label("outcome", outcome), number(count));
}

// --- networks, members, groups ---

// The format requires all samples of a family together: one family over all networks or members.
template <class Views, class Sample>
void each(Page& page, std::string_view name, const Views& views, const Sample& sample) {
  Family family(page, name);
  for (const auto& view : views) sample(family, view);
}

void network_metrics(Page& page, const std::vector<NetworkView>& networks) {
  const auto gauge = [&](std::string_view name, auto value_of) {
    each(page, name, networks, [&](Family& family, const NetworkView& network) {
      family.sample(label("network", network.name), static_cast<double>(value_of(network)));
    });
  };
  each(page, "tempo_network_state", networks, [](Family& family, const NetworkView& network) {
    family.sample(label("network", network.name) + ',' + label("state", network.state), 1);
  });
  gauge("tempo_network_master", [](const NetworkView& n) { return n.state == "master" ? 1 : 0; });
  gauge("tempo_network_has_master", [](const NetworkView& n) { return n.master.empty() ? 0 : 1; });
  gauge("tempo_network_epoch", [](const NetworkView& n) { return n.epoch_round; });
  gauge("tempo_network_listed", [](const NetworkView& n) { return n.listed; });
  gauge("tempo_network_hops", [](const NetworkView& n) { return n.hops; });
  gauge("tempo_network_kernel_stamps",
        [](const NetworkView& n) { return n.kernel_stamps ? 1 : 0; });
  gauge("tempo_network_hardware_stamps",
        [](const NetworkView& n) { return n.hardware_stamps ? 1 : 0; });
}

void member_metrics(Page& page, const std::vector<MemberView>& members) {
  const auto gauge = [&](std::string_view name, auto value_of) {
    each(page, name, members, [&](Family& family, const MemberView& member) {
      const std::optional<double> value = value_of(member);
      if (value) family.sample(label("member", member.name) + ',' + label("id", member.id), *value);
    });
  };
  const auto seconds = [](const std::optional<double>& us) {
    return us ? std::optional(*us / 1e6) : std::nullopt;
  };
  gauge("tempo_member_heard_seconds",
        [](const MemberView& m) { return m.self ? std::nullopt : std::optional(m.heard_ago_s); });
  gauge("tempo_member_faulty",
        [](const MemberView& m) { return std::optional(m.faulty ? 1.0 : 0.0); });
  gauge("tempo_member_offset_seconds", [&](const MemberView& m) { return seconds(m.offset_us); });
  gauge("tempo_member_rate_ppm", [](const MemberView& m) { return m.rate_ppm; });
  gauge("tempo_member_sigma_seconds", [&](const MemberView& m) { return seconds(m.sigma_us); });
  gauge("tempo_member_bound_seconds", [&](const MemberView& m) { return seconds(m.bound_us); });
}

void group_metrics(Page& page, const std::vector<GroupView>& groups) {
  const auto gauge = [&](std::string_view name, auto value_of) {
    each(page, name, groups, [&](Family& family, const GroupView& group) {
      family.sample(label("group", group.name), static_cast<double>(value_of(group)));
    });
  };
  gauge("tempo_group_leads", [](const GroupView& g) { return g.here ? 1 : 0; });
  gauge("tempo_group_has_leader", [](const GroupView& g) { return g.leader.empty() ? 0 : 1; });
  gauge("tempo_group_candidates", [](const GroupView& g) { return g.candidates; });
}

// --- locks ---

void voter_metrics(Page& page, const LocksView& view) {
  Family(page, "tempo_lock_voters").sample("", static_cast<double>(view.voters.size()));
  Family(page, "tempo_lock_votes_needed").sample("", view.votes_needed);
  if (view.losses_survived)
    Family(page, "tempo_lock_losses_survived").sample("", *view.losses_survived);
  Family reachable(page, "tempo_lock_voter_reachable");
  for (const ipc::VoterView& voter : view.voters)
    reachable.sample(label("voter", voter.host), voter.reachable ? 1 : 0);
}

void lock_metrics(Page& page, const LocksView& view) {
  Family obstacle(page, "tempo_locks_obstacle");
  for (auto i = std::to_underlying(ipc::LockObstacle::none) + 1;
       i < std::to_underlying(ipc::LockObstacle::count); ++i) {
    const auto one = static_cast<ipc::LockObstacle>(i);
    obstacle.sample(label("obstacle", ipc::name_of(one)), view.obstacle == one ? 1 : 0);
  }
  std::uint64_t inside = 0;
  std::uint64_t waiting = 0;
  double longest = 0;
  for (const LockView& lock : view.locks)
    for (const LockView::Client& client : lock.clients) {
      ++(client.inside ? inside : waiting);
      if (!client.inside) longest = std::max(longest, client.since_s);
    }
  Family(page, "tempo_locks_known").sample("", static_cast<double>(view.locks.size()));
  Family(page, "tempo_locks_held")
      .sample("", static_cast<double>(std::ranges::count(view.locks, true, &LockView::here)));
  Family(page, "tempo_lock_clients_inside").sample("", number(inside));
  Family(page, "tempo_lock_clients_waiting").sample("", number(waiting));
  Family(page, "tempo_lock_longest_wait_seconds").sample("", longest);
  voter_metrics(page, view);
}

}  // namespace

std::string metrics_text(const Snapshot& snapshot, const std::optional<LocksView>& locks,
                         MetricsFormat format) {
  Page page{.format = format};
  clock_metrics(page, snapshot);
  counter_metrics(page, snapshot.counters);
  network_metrics(page, snapshot.networks);
  member_metrics(page, snapshot.members);
  group_metrics(page, snapshot.groups);
  if (locks) lock_metrics(page, *locks);
  if (format == MetricsFormat::openmetrics) page.text += "# EOF\n";
  return page.text;
}

std::vector<MetricHelp> all_metrics() { return {kMetrics.begin(), kMetrics.end()}; }

}  // namespace tempo::obs
