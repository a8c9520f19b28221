// A snapshot as text: a few lines about this machine, and a table of all members.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include <fmt/core.h>

#include "api/snapshot.h"

namespace tempo::obs {
namespace {

std::string line(std::string_view label, const std::string& text) {
  return fmt::format("  {:<9} {}\n", label, text);
}

// The parts that are not empty, separated by commas.
std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts)
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string headline(const Snapshot& snapshot) {
  const auto bound = snapshot.bound_us();
  const std::string within = bound ? fmt::format(", within {}", micros_text(*bound)) : "";
  if (snapshot.status == "leads") return fmt::format("master{}", within);
  if (snapshot.status == "synchronized")
    return fmt::format("synchronized{}{}",
                       snapshot.reference.empty() ? "" : " to " + snapshot.reference, within);
  if (snapshot.status == "holdover")
    return fmt::format("holdover: no master, running at the last good rate{}", within);
  if (snapshot.status == "minority")
    return fmt::format("minority: cut off from the main part, at the last good rate{}", within);
  if (snapshot.status == "alone")
    return "alone: no other machine heard, network time is the clock of this machine";
  return "unsynchronized: no network time yet";
}

std::string network_text(const NetworkView& network) {
  std::string role = network.state;
  if (network.state == "master")
    role += fmt::format(" of {} follower{}", network.listed, network.listed == 1 ? "" : "s");
  else if (network.state == "follower" && !network.master.empty())
    role += " of " + network.master;
  return fmt::format(
      "{}: {}", network.name,
      joined({role, network.epoch_round == 0 ? "" : fmt::format("epoch {}", network.epoch_round),
              network.heir.empty() ? "" : "heir " + network.heir,
              network.root.empty() ? ""
                                   : fmt::format("time from {}, {} hop{}", network.root,
                                                 network.hops, network.hops == 1 ? "" : "s"),
              network.hardware_stamps ? "hardware timestamps"
              : network.kernel_stamps ? "kernel timestamps"
                                      : "no kernel timestamps"}));
}

std::string group_text(const GroupView& group) {
  return fmt::format(
      "{}: {}", group.name,
      joined({group.leader.empty() ? "no leader"
                                   : fmt::format("{} leads, term {}", group.leader, group.term),
              fmt::format("{} candidate{}", group.candidates, group.candidates == 1 ? "" : "s"),
              "by " + group.criterion, "algorithm " + group.algorithm,
              group.held.empty() || group.held == group.algorithm ? "" : "held by " + group.held}));
}

std::string confinement_text(const Snapshot& snapshot) {
  constexpr std::size_t kMaxCapabilities = 8;
  const std::size_t count = snapshot.capabilities.size();
  const std::string all = joined(snapshot.capabilities);
  return joined({"user " + snapshot.user,
                 count == 0                 ? "no capabilities"
                 : count > kMaxCapabilities ? fmt::format("{} capabilities", count)
                                            : all,
                 snapshot.system_call_filter ? "system call filter" : "no system call filter"});
}

std::string optional_micros(const std::optional<double>& us) { return us ? micros_text(*us) : "-"; }

// A member without a state is one of a tempod that announces none.
bool is_up(const MemberView& member) { return member.state.empty() || member.state == "up"; }

// "up", "silent for 12 s", "stopped 3 min 2 s ago", "gone for 2 h 0 min".
std::string state_text(const MemberView& member) {
  if (is_up(member)) return member.misses_this_host_s ? "up, does not hear this machine" : "up";
  const std::string ago = uptime_text(member.heard_ago_s);
  if (member.state == "stopped") return fmt::format("stopped {} ago", ago);
  return fmt::format("{} for {}", member.state, ago);
}

std::string role_text(const MemberView& member) {
  if (!is_up(member)) return "-";
  std::string text = member.role.empty() ? "-" : member.role;
  if (member.faulty) text += ", faulty";
  return text;
}

constexpr std::size_t kMaxGroupsShown = 8;
constexpr std::size_t kColumns = 9;
using Row = std::array<std::string, kColumns>;

// Number of characters of UTF-8 text, for the width of a column.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

std::string micros_text(double us) {
  const double size = std::abs(us);
  if (size < 0.9995) return fmt::format("{:.0f} ns", us * 1000);
  if (size < 999.5) return fmt::format("{:.3g} us", us);
  if (size < 999'500) return fmt::format("{:.3g} ms", us / 1000);
  if (size < 1e12) return fmt::format("{:.3g} s", us / 1e6);
  return us < 0 ? "less than -11 days" : "more than 11 days";
}

std::string utc_text(std::int64_t ns) {
  namespace chrono = std::chrono;
  const chrono::sys_time<chrono::nanoseconds> at{chrono::nanoseconds{ns}};
  const auto day = chrono::floor<chrono::days>(at);
  const chrono::year_month_day date{day};
  const chrono::hh_mm_ss<chrono::nanoseconds> time{at - day};
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:09}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count(),
                     time.subseconds().count());
}

std::string uptime_text(double seconds) {
  const double whole = std::clamp(std::floor(seconds), 0.0, 1e12);
  const auto s = static_cast<std::int64_t>(whole);
  if (s >= 86400) return fmt::format("{} d {} h", s / 86400, s % 86400 / 3600);
  if (s >= 3600) return fmt::format("{} h {} min", s / 3600, s % 3600 / 60);
  if (s >= 60) return fmt::format("{} min {} s", s / 60, s % 60);
  return fmt::format("{} s", s);
}

std::string status_text(const Snapshot& snapshot) {
  std::string text = fmt::format("{}: {}\n", snapshot.name, headline(snapshot));
  text += line("time", utc_text(snapshot.time_ns) + " UTC");
  text += line("clock",
               fmt::format("{}, offset {}, rate {:+.3f} ppm, {} exchanges", snapshot.clock,
                           micros_text(snapshot.offset_us), snapshot.rate_ppm, snapshot.exchanges));
  for (const NetworkView& network : snapshot.networks)
    text += line("network", network_text(network));
  if (snapshot.networks.empty()) text += line("network", "none");
  text += line(
      "cluster",
      fmt::format("{}, {} member{}, profile {}, {}{}", snapshot.cluster, snapshot.members.size(),
                  snapshot.members.size() == 1 ? "" : "s", snapshot.profile,
                  snapshot.keys == 0        ? std::string("no key")
                  : !snapshot.authenticated ? std::string("datagrams without a key are accepted")
                  : snapshot.keys == 1      ? std::string("authenticated with a key")
                                       : fmt::format("authenticated, {} keys valid", snapshot.keys),
                  snapshot.may_lead ? "" : ", may not lead"));
  if (!snapshot.locks.empty()) text += line("locks", snapshot.locks);
  const std::size_t shown = std::min(snapshot.groups.size(), kMaxGroupsShown);
  for (std::size_t i = 0; i < shown; ++i) text += line("group", group_text(snapshot.groups[i]));
  if (shown < snapshot.groups.size())
    text += line("groups", fmt::format("{} more; 'tempo groups' lists them all",
                                       snapshot.groups.size() - shown));
  text += line("tempod", fmt::format("{}, id {}, process {}, up {}", snapshot.version, snapshot.id,
                                     snapshot.pid, uptime_text(snapshot.uptime_s)));
  if (!snapshot.user.empty()) text += line("runs as", confinement_text(snapshot));
  for (const std::string& warning : snapshot.warnings) text += line("warning", warning);
  return text;
}

std::string members_text(const Snapshot& snapshot) {
  std::vector<Row> rows{
      {"  name", "state", "role", "address", "key", "offset", "bound", "revision", "up"}};
  for (const MemberView& member : snapshot.members)
    rows.push_back({(member.self ? "* " : "  ") + member.name, state_text(member),
                    role_text(member), member.address.empty() ? "-" : member.address,
                    member.seals.empty() ? "-" : member.seals, optional_micros(member.offset_us),
                    optional_micros(member.bound_us),
                    member.revision == 0 ? "-" : fmt::format("{}", member.revision),
                    member.uptime_s && is_up(member) ? uptime_text(*member.uptime_s) : "-"});
  std::array<std::size_t, kColumns> widths{};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], width(row[i]));
  std::string text;
  for (const Row& row : rows) {
    std::string whole;
    for (std::size_t i = 0; i < kColumns; ++i) {
      const std::string pad(widths[i] - width(row[i]), ' ');
      // Text columns are aligned to the left, numbers to the right.
      whole += (i == 0 ? "" : "  ") + (i < 5 ? row[i] + pad : pad + row[i]);
    }
    text += whole + '\n';
  }
  return text;
}

}  // namespace tempo::obs
