#include "daemon/drivers/live_trace.h"

#include <chrono>
#include <utility>

#include <fmt/core.h>

#include "base/span_text.h"

namespace tempo::daemon {

LiveTrace::LiveTrace(Instant start, const Peer& self) : start_(start) { number(self); }

void LiveTrace::keep(Instant now, bool on) {
  if (on && !this->on()) begin(now);
  kept_ = on;
}

void LiveTrace::follow(Instant now) {
  if (!on()) begin(now);
  ++followers_;
}

void LiveTrace::unfollow() { --followers_; }

// A trace that starts late begins with the current state.
void LiveTrace::begin(Instant now) {
  lines_.clear();
  if (!state_.empty()) add(fmt::format("{} 1 becomes {}", at(now), state_));
}

// Microseconds: the daemon itself is not more precise.
std::string LiveTrace::at(Instant now) const {
  return milliseconds_text(std::chrono::floor<std::chrono::microseconds>(now - start_));
}

std::string LiveTrace::number(const Peer& peer) {
  if (peer.node == kNobody) return "*";
  const auto [place, fresh] = numbers_.try_emplace(peer.node, numbers_.size() + 1);
  if (fresh) {
    names_.push_back(fmt::format("# {} is {}", place->second, peer.name));
    if (on()) add(names_.back());
  }
  return std::to_string(place->second);
}

void LiveTrace::add(std::string line) {
  lines_.push_back(std::move(line));
  if (lines_.size() > kMaxLines) lines_.pop_front();
  ++so_far_;
}

void LiveTrace::sent(Instant now, const Peer& to, std::string_view message) {
  if (!on()) return;
  const std::string receiver = number(to);
  add(fmt::format("{} 1->{} {}", at(now), receiver, message));
}

void LiveTrace::received(Instant now, const Peer& from, std::string_view message) {
  if (!on()) return;
  const std::string sender = number(from);
  add(fmt::format("{} {}->1 {} received", at(now), sender, message));
}

void LiveTrace::becomes(Instant now, std::string_view state) {
  state_ = state;
  if (on()) add(fmt::format("{} 1 becomes {}", at(now), state));
}

}  // namespace tempo::daemon
