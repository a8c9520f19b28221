#include "cli/time/watch_view.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>
#include <string_view>

#include <fmt/core.h>

namespace tempo::cli {
namespace {

constexpr std::array<std::string_view, 8> kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 8> kAscii{"_", ".", "-", ":", "=", "+", "*", "#"};

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string padded(const std::string& text, std::size_t width) {
  const std::size_t used = characters(text);
  return used >= width ? text : text + std::string(width - used, ' ');
}

// At most `width` characters: a longer line would wrap.
std::string cut(const std::string& text, std::size_t width) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U && ++seen > width)
      return text.substr(0, i);
  return text;
}

std::string within_text(const obs::Snapshot& snapshot) {
  const auto bound = snapshot.bound_us();
  return bound ? ", within " + obs::micros_text(*bound) : "";
}

// The offset of this machine is the estimate of its own daemon.
std::optional<double> offset_of(const obs::Snapshot& snapshot, const obs::MemberView& member) {
  if (member.offset_us) return member.offset_us;
  if (member.self && snapshot.bound_us()) return snapshot.offset_us;
  return std::nullopt;
}

std::string clock_time(std::int64_t ns) { return obs::utc_text(ns).substr(11, 12); }

}  // namespace

void OffsetHistory::add(double value) {
  if (values_.empty()) low_ = high_ = value;
  values_.push_back(value);
  if (values_.size() > kSize) values_.pop_front();
  low_ = std::min(low_, value);
  high_ = std::max(high_, value);
  if (values_.size() < kSize) return;
  const auto [low, high] = std::ranges::minmax(values_);
  if (high - low >= (high_ - low_) / 4) return;
  low_ = low;
  high_ = high;
}

std::string OffsetHistory::sparkline(std::size_t width, bool unicode) const {
  const std::size_t shown = std::min(width, values_.size());
  const double span = high_ - low_;
  const auto& marks = unicode ? kBlocks : kAscii;
  std::string text;
  for (std::size_t i = values_.size() - shown; i < values_.size(); ++i) {
    const double share = span > 0 ? (values_[i] - low_) / span : 0;
    const double step = std::clamp(std::floor(share * 8), 0.0, 7.0);
    text += marks[static_cast<std::size_t>(std::isfinite(step) ? step : 0)];
  }
  return text;
}

std::string event_text(const ipc::Event& event) {
  return fmt::format("{}  {}", clock_time(event.at_ns),
                     event.text.empty() ? event.name : event.text);
}

std::string watch_line(const obs::Snapshot& snapshot) {
  std::string networks;
  for (const obs::NetworkView& network : snapshot.networks) {
    const std::string master = network.state == "master" ? snapshot.name : network.master;
    networks +=
        fmt::format("  {}={}{}", network.name, network.state,
                    master.empty() ? "" : fmt::format(",{},{}", master, network.epoch_round));
  }
  return fmt::format("{}  {}  {}{}  offset {}  members {}{}", clock_time(snapshot.time_ns),
                     snapshot.name, snapshot.status, within_text(snapshot),
                     obs::micros_text(snapshot.offset_us), snapshot.members.size(), networks);
}

std::string change_key(const obs::Snapshot& snapshot) {
  const double size = std::abs(snapshot.offset_us);
  const double digit = size < 1 ? 1 : std::pow(10.0, std::floor(std::log10(size)));
  std::string key = fmt::format("{} {:.0f}", snapshot.status,
                                size < 1 ? 0 : std::round(snapshot.offset_us / digit) * digit);
  for (const obs::NetworkView& network : snapshot.networks)
    key += fmt::format(" {} {} {} {}", network.name, network.state, network.master,
                       network.epoch_round);
  for (const obs::MemberView& member : snapshot.members)
    key += fmt::format(" {} {} {}", member.id, member.role, member.faulty);
  return key;
}

void WatchView::take(const obs::Snapshot& snapshot) {
  last_ = snapshot;
  any_ = true;
  unreachable_.reset();
  std::map<std::string, OffsetHistory> kept;
  for (const obs::MemberView& member : snapshot.members) {
    OffsetHistory& history = kept[member.id] = std::move(offsets_[member.id]);
    if (const auto offset = offset_of(snapshot, member)) history.add(*offset);
  }
  offsets_ = std::move(kept);
}

void WatchView::take(const ipc::Event& event) {
  events_.push_back(event_text(event));
  if (events_.size() > kEvents) events_.pop_front();
}

ScreenLine WatchView::member_line(const obs::MemberView& member, std::size_t name_width,
                                  std::size_t width, bool unicode) const {
  const auto offset = offset_of(last_, member);
  const std::string text = fmt::format(
      "  {} {}  {:<14} {:>9} {:>9}  ", member.self ? "*" : " ", padded(member.name, name_width),
      member.role + (member.faulty ? ", faulty" : ""), offset ? obs::micros_text(*offset) : "-",
      member.bound_us ? obs::micros_text(*member.bound_us) : "-");
  const std::size_t used = characters(text);
  const std::size_t left = used < width ? width - used : 0;
  const auto history = offsets_.find(member.id);
  return {text + (history == offsets_.end() ? "" : history->second.sparkline(left, unicode)),
          member.faulty             ? Look::warning
          : member.role == "master" ? Look::good
                                    : Look::plain};
}

std::vector<ScreenLine> WatchView::screen(std::size_t width, std::size_t height,
                                          bool unicode) const {
  std::vector<ScreenLine> lines;
  const std::string unreachable =
      unreachable_ ? fmt::format("tempod has not been reachable for {} s; retrying",
                                 std::chrono::floor<std::chrono::seconds>(*unreachable_).count())
                   : "";
  if (!any_) {
    lines.push_back({cut(unreachable_ ? unreachable : "waiting for tempod", width), Look::faint});
    return lines;
  }
  lines.push_back({fmt::format("{}  {}{}  {} UTC", last_.name, last_.status, within_text(last_),
                               obs::utc_text(last_.time_ns).substr(0, 23)),
                   Look::title});
  if (unreachable_) lines.push_back({unreachable, Look::warning});
  for (const std::string& warning : last_.warnings)
    lines.push_back({"! " + warning, Look::warning});
  for (const obs::NetworkView& network : last_.networks) {
    const bool leads = network.state == "master";
    lines.push_back(
        {fmt::format("{}  {}  master {}  epoch {}{}", network.name, network.state,
                     leads                    ? last_.name
                     : network.master.empty() ? "none"
                                              : network.master,
                     network.epoch_round, network.heir.empty() ? "" : "  heir " + network.heir),
         leads ? Look::good : Look::plain});
  }

  std::size_t name_width = 4;
  for (const obs::MemberView& member : last_.members)
    name_width = std::max(name_width, std::min<std::size_t>(characters(member.name), 24));
  lines.push_back({"", Look::plain});
  lines.push_back({fmt::format("    {}  {:<14} {:>9} {:>9}  {}", padded("name", name_width), "role",
                               "offset", "bound", "history"),
                   Look::faint});
  // Five lines stay free for events; members that do not fit are counted.
  const std::size_t reserved = lines.size() + 3 + std::min<std::size_t>(events_.size(), 5);
  const std::size_t available = height > reserved ? height - reserved : 1;
  for (std::size_t i = 0; i < last_.members.size(); ++i) {
    if (i + 1 >= available && last_.members.size() > available) {
      lines.push_back({fmt::format("    and {} more; see 'tempo members' or enlarge the terminal",
                                   last_.members.size() - i),
                       Look::faint});
      break;
    }
    lines.push_back(member_line(last_.members[i], name_width, width, unicode));
  }
  lines.push_back({"", Look::plain});
  const std::size_t left = height > lines.size() + 1 ? height - lines.size() - 1 : 0;
  const std::size_t shown = std::min(left, events_.size());
  for (std::size_t i = events_.size() - shown; i < events_.size(); ++i)
    lines.push_back({events_[i], Look::plain});
  lines.resize(std::min(lines.size(), height > 0 ? height - 1 : 0));
  lines.push_back({"q quits", Look::faint});
  for (ScreenLine& line : lines) line.text = cut(line.text, width);
  return lines;
}

}  // namespace tempo::cli
