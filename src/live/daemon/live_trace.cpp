#include "live/daemon/live_trace.h"

#include <utility>

#include <fmt/core.h>

namespace tempo::daemon {

std::string LiveTrace::at(Instant now) const {
  return fmt::format("{:.3f}", std::chrono::duration<double, std::milli>(now - start_).count());
}

std::string LiveTrace::number(NodeId node) {
  if (node == kNobody) return "*";
  const auto [place, fresh] =
      numbers_.try_emplace(node, static_cast<std::uint32_t>(numbers_.size() + 1));
  return std::to_string(place->second);
}

void LiveTrace::add(std::string line) {
  lines_.push_back(std::move(line));
  if (lines_.size() > kMost) lines_.pop_front();
  ++so_far_;
}

void LiveTrace::name(NodeId node, std::string_view name) {
  if (!on_ || numbers_.contains(node)) return;
  const std::string given = number(node);
  add(fmt::format("# {} is {}", given, name));
}

void LiveTrace::sent(Instant now, NodeId from, NodeId to, std::string_view message) {
  if (on_) add(fmt::format("{} {}->{} {}", at(now), number(from), number(to), message));
}

void LiveTrace::received(Instant now, NodeId from, NodeId to, std::string_view message) {
  if (on_) add(fmt::format("{} {}->{} {} received", at(now), number(from), number(to), message));
}

void LiveTrace::becomes(Instant now, NodeId node, std::string_view state) {
  if (on_) add(fmt::format("{} {} becomes {}", at(now), number(node), state));
}

}  // namespace tempo::daemon
