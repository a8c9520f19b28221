// A snapshot as Prometheus metrics: text exposition format 0.0.4.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "api/snapshot.h"
#include "base/check.h"

namespace tempo::obs {
namespace {

constexpr std::array<MetricHelp, 29> kMetrics{{
    {"tempo_info", "gauge", "always 1; labels: version, name, id, cluster, profile, clock"},
    {"tempo_uptime_seconds", "gauge", "time since the start of tempod"},
    {"tempo_status", "gauge", "1 for the current status, 0 for the others"},
    {"tempo_offset_seconds", "gauge", "this clock minus network time, by the last estimate"},
    {"tempo_bound_seconds", "gauge", "largest error of the clock; absent without network time"},
    {"tempo_rate_ppm", "gauge", "rate of this clock over the raw clock"},
    {"tempo_timescale_generation", "gauge", "how often network time was set by hand"},
    {"tempo_exchanges_total", "counter", "timestamp exchanges with the reference"},
    {"tempo_may_lead", "gauge", "1 if this machine may become master"},
    {"tempo_authenticated", "gauge", "1 if datagrams without a key are refused"},
    {"tempo_keys", "gauge", "number of valid keys"},
    {"tempo_warnings", "gauge", "number of warnings in tempo status"},
    {"tempo_members", "gauge", "number of known machines, including this one"},
    {"tempo_datagrams_total", "counter", "datagrams by outcome"},
    {"tempo_network_state", "gauge", "always 1; label: state of the election"},
    {"tempo_network_master", "gauge", "1 if this machine is master of the network"},
    {"tempo_network_epoch", "gauge", "round of the current epoch"},
    {"tempo_network_listed", "gauge", "on a master: number of followers on its list"},
    {"tempo_network_hops", "gauge", "networks between this machine and the source of time"},
    {"tempo_network_kernel_stamps", "gauge", "1 if the kernel timestamps datagrams"},
    {"tempo_network_hardware_stamps", "gauge", "1 if the network card timestamps datagrams"},
    {"tempo_member_heard_seconds", "gauge", "time since the last datagram of the member"},
    {"tempo_member_faulty", "gauge", "1 if the master excludes its clock from the average"},
    {"tempo_member_offset_seconds", "gauge", "clock of the member minus network time"},
    {"tempo_member_rate_ppm", "gauge", "rate of the member's raw clock against the master's"},
    {"tempo_member_sigma_seconds", "gauge", "scatter of the member's measurements"},
    {"tempo_member_bound_seconds", "gauge", "largest error of the member's clock"},
    {"tempo_earliest_seconds", "gauge", "network time is not before this"},
    {"tempo_latest_seconds", "gauge", "network time is not after this"},
}};

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

// One metric family: two comment lines, then its samples.
class Family {
 public:
  Family(std::string& out, std::string_view name) : out_(out), name_(name) {
    const auto found = std::ranges::find(kMetrics, name, &MetricHelp::name);
    CHECK(found != kMetrics.end());
    head_ = fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, found->meaning, found->type);
  }

  Family& sample(const std::string& labels, const std::string& value) {
    out_ += std::exchange(head_, {});
    out_ += labels.empty() ? fmt::format("{} {}\n", name_, value)
                           : fmt::format("{}{{{}}} {}\n", name_, labels, value);
    return *this;
  }
  Family& sample(const std::string& labels, double value) { return sample(labels, number(value)); }

 private:
  std::string& out_;
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

void clock_metrics(std::string& out, const Snapshot& s) {
  Family(out, "tempo_info")
      .sample(fmt::format("{},{},{},{},{},{}", label("version", s.version), label("name", s.name),
                          label("id", s.id), label("cluster", s.cluster),
                          label("profile", s.profile), label("clock", s.clock)),
              1);
  Family(out, "tempo_uptime_seconds").sample("", s.uptime_s);
  Family status(out, "tempo_status");
  for (const char* name :
       {"unsynchronized", "holdover", "synchronized", "leads", "minority", "alone"})
    status.sample(label("status", name), s.status == name ? 1 : 0);
  Family(out, "tempo_offset_seconds").sample("", s.offset_us / 1e6);
  if (const auto bound = s.bound_us()) {
    Family(out, "tempo_bound_seconds").sample("", *bound / 1e6);
    Family(out, "tempo_earliest_seconds").sample("", seconds_text(s.earliest_ns));
    Family(out, "tempo_latest_seconds").sample("", seconds_text(s.latest_ns));
  }
  Family(out, "tempo_rate_ppm").sample("", s.rate_ppm);
  Family(out, "tempo_timescale_generation").sample("", s.timescale_generation);
  Family(out, "tempo_exchanges_total").sample("", fmt::format("{}", s.exchanges));
  Family(out, "tempo_may_lead").sample("", s.may_lead ? 1 : 0);
  Family(out, "tempo_authenticated").sample("", s.authenticated ? 1 : 0);
  Family(out, "tempo_keys").sample("", s.keys);
  Family(out, "tempo_warnings").sample("", static_cast<double>(s.warnings.size()));
  Family(out, "tempo_members").sample("", static_cast<double>(s.members.size()));
  Family datagrams(out, "tempo_datagrams_total");
  for (const auto& [outcome, count] : s.counters)
    datagrams.sample(label("outcome", outcome), fmt::format("{}", count));
}

// The format requires all samples of a family together: one family over all networks or members.
template <class Views, class Sample>
void each(std::string& out, std::string_view name, const Views& views, const Sample& sample) {
  Family family(out, name);
  for (const auto& view : views) sample(family, view);
}

void network_metrics(std::string& out, const std::vector<NetworkView>& networks) {
  const auto gauge = [&](std::string_view name, auto value_of) {
    each(out, name, networks, [&](Family& family, const NetworkView& network) {
      family.sample(label("network", network.name), static_cast<double>(value_of(network)));
    });
  };
  each(out, "tempo_network_state", networks, [](Family& family, const NetworkView& network) {
    family.sample(label("network", network.name) + ',' + label("state", network.state), 1);
  });
  gauge("tempo_network_master", [](const NetworkView& n) { return n.state == "master" ? 1 : 0; });
  gauge("tempo_network_epoch", [](const NetworkView& n) { return n.epoch_round; });
  gauge("tempo_network_listed", [](const NetworkView& n) { return n.listed; });
  gauge("tempo_network_hops", [](const NetworkView& n) { return n.hops; });
  gauge("tempo_network_kernel_stamps",
        [](const NetworkView& n) { return n.kernel_stamps ? 1 : 0; });
  gauge("tempo_network_hardware_stamps",
        [](const NetworkView& n) { return n.hardware_stamps ? 1 : 0; });
}

void member_metrics(std::string& out, const std::vector<MemberView>& members) {
  const auto gauge = [&](std::string_view name, auto value_of) {
    each(out, name, members, [&](Family& family, const MemberView& member) {
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

}  // namespace

std::string metrics_text(const Snapshot& snapshot) {
  std::string out;
  clock_metrics(out, snapshot);
  network_metrics(out, snapshot.networks);
  member_metrics(out, snapshot.members);
  return out;
}

std::vector<MetricHelp> all_metrics() { return {kMetrics.begin(), kMetrics.end()}; }

}  // namespace tempo::obs
