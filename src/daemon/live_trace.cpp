#include "daemon/live_trace.h"

#include <chrono>
#include <utility>

#include <fmt/core.h>

#include "base/span_text.h"

namespace tempo::daemon {

LiveTrace::LiveTrace(Instant start, const Who& self) : start_(start) { number(self); }

void LiveTrace::keep(Instant now, bool on) {
  if (on && !this->on()) begin(now);
  kept_ = on;
}

void LiveTrace::follow(Instant now) {
  if (!on()) begin(now);
  ++followers_;
}

void LiveTrace::unfollow() { --followers_; }

// A trace that begins in the middle says what stands then.
void LiveTrace::begin(Instant now) {
  lines_.clear();
  if (!state_.empty()) add(fmt::format("{} 1 becomes {}", at(now), state_));
}

// To the microsecond: finer is the daemon's own pace.
std::string LiveTrace::at(Instant now) const {
  return milliseconds_text(std::chrono::floor<std::chrono::microseconds>(now - start_));
}

std::string LiveTrace::number(const Who& who) {
  if (who.node == kNobody) return "*";
  const auto [place, fresh] = numbers_.try_emplace(who.node, numbers_.size() + 1);
  if (fresh) {
    names_.push_back(fmt::format("# {} is {}", place->second, who.name));
    if (on()) add(names_.back());
  }
  return std::to_string(place->second);
}

void LiveTrace::add(std::string line) {
  lines_.push_back(std::move(line));
  if (lines_.size() > kMost) lines_.pop_front();
  ++so_far_;
}

void LiveTrace::sent(Instant now, const Who& to, std::string_view message) {
  if (!on()) return;
  const std::string whom = number(to);
  add(fmt::format("{} 1->{} {}", at(now), whom, message));
}

void LiveTrace::received(Instant now, const Who& from, std::string_view message) {
  if (!on()) return;
  const std::string who = number(from);
  add(fmt::format("{} {}->1 {} received", at(now), who, message));
}

void LiveTrace::becomes(Instant now, std::string_view state) {
  state_ = state;
  if (on()) add(fmt::format("{} 1 becomes {}", at(now), state));
}

}  // namespace tempo::daemon
