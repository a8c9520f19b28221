// A snapshot for Prometheus: text exposition format 0.0.4.
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
    {"tempo_info", "gauge", "1; version, name, id, cluster, profile and clock as labels"},
    {"tempo_uptime_seconds", "gauge", "since tempod started"},
    {"tempo_status", "gauge", "1 for the status that holds, 0 for the others"},
    {"tempo_offset_seconds", "gauge", "our clock minus network time, by the last estimate"},
    {"tempo_bound_seconds", "gauge", "the clock is off by less; absent without network time"},
    {"tempo_rate_ppm", "gauge", "rate of our clock over the raw one"},
    {"tempo_scale", "gauge", "number of the time scale; a new one may be stepped to"},
    {"tempo_exchanges_total", "counter", "exchanges of time stamps with the reference"},
    {"tempo_may_lead", "gauge", "1 if this machine may become master"},
    {"tempo_authenticated", "gauge", "1 if a key is in use"},
    {"tempo_keys", "gauge", "valid keys"},
    {"tempo_warnings", "gauge", "warnings that tempo status shows"},
    {"tempo_members", "gauge", "machines known here, this one counted"},
    {"tempo_datagrams_total", "counter", "datagrams by what became of them"},
    {"tempo_network_state", "gauge", "1; the election's state as a label"},
    {"tempo_network_master", "gauge", "1 if this machine is master there"},
    {"tempo_network_epoch", "gauge", "round of the mastership that is obeyed"},
    {"tempo_network_listed", "gauge", "followers on this master's list"},
    {"tempo_network_hops", "gauge", "networks between here and the source of time"},
    {"tempo_network_kernel_stamps", "gauge", "1 if the kernel stamps datagrams there"},
    {"tempo_network_hardware_stamps", "gauge", "1 if the card there stamps them itself"},
    {"tempo_member_heard_seconds", "gauge", "since a member was last heard"},
    {"tempo_member_faulty", "gauge", "1 if its clock is not averaged"},
    {"tempo_member_offset_seconds", "gauge", "its clock minus network time"},
    {"tempo_member_rate_ppm", "gauge", "rate of its raw clock against the master's"},
    {"tempo_member_sigma_seconds", "gauge", "scatter of its measurements"},
    {"tempo_member_bound_seconds", "gauge", "its clock is off by less"},
    {"tempo_earliest_seconds", "gauge", "network time is not before it"},
    {"tempo_latest_seconds", "gauge", "network time is not after it"},
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

// One family: its two comment lines, then its samples.
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

// Exact: a double has no room for nanoseconds since 1970.
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
  for (const char* name : {"unsynchronized", "holdover", "synchronized", "leads"})
    status.sample(label("status", name), s.status == name ? 1 : 0);
  Family(out, "tempo_offset_seconds").sample("", s.offset_us / 1e6);
  if (const auto bound = s.bound_us()) {
    Family(out, "tempo_bound_seconds").sample("", *bound / 1e6);
    Family(out, "tempo_earliest_seconds").sample("", seconds_text(s.earliest_ns));
    Family(out, "tempo_latest_seconds").sample("", seconds_text(s.latest_ns));
  }
  Family(out, "tempo_rate_ppm").sample("", s.rate_ppm);
  Family(out, "tempo_scale").sample("", s.scale);
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

// One family after the other, as the format wants it, over all networks or members.
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
