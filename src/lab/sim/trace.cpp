#include "lab/sim/trace.h"

#include <fmt/core.h>

#include "base/span_text.h"

namespace tempo::sim {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 29);
}

void Trace::mix(std::uint64_t value) { hash_ = mixed(hash_, value); }

void Trace::add(const Happening& happening) {
  mix(static_cast<std::uint64_t>(happening.at.time_since_epoch().count()));
  mix(std::uint64_t{index(happening.node)} << 32 | index(happening.peer));
  std::uint64_t label = static_cast<std::uint64_t>(happening.what);
  for (const char letter : happening.label)
    label = label * 131 + static_cast<unsigned char>(letter);
  mix(label);
  if (!keep_) return;
  if (happenings_.size() < kMaxHappenings)
    happenings_.push_back(happening);
  else
    complete_ = false;
}

std::string milliseconds(Instant at) { return milliseconds_text(at.time_since_epoch()); }

namespace {
std::string name(NodeId node) { return node == kNobody ? "*" : fmt::format("{}", index(node) + 1); }
}  // namespace

std::string line(const Happening& happening) {
  const std::string at = milliseconds(happening.at);
  switch (happening.what) {
    case What::sent:
      return fmt::format("{} {}->{} {}", at, name(happening.node), name(happening.peer),
                         happening.label);
    case What::received:
      return fmt::format("{} {}->{} {} received", at, name(happening.node), name(happening.peer),
                         happening.label);
    case What::lost:
      return fmt::format("{} {}->{} {} lost", at, name(happening.node), name(happening.peer),
                         happening.label);
    case What::becomes:
      return fmt::format("{} {} becomes {}", at, name(happening.node), happening.label);
    case What::disturbed:
      return happening.node == kNobody
                 ? fmt::format("{} network: {}", at, happening.label)
                 : fmt::format("{} {} {}", at, name(happening.node), happening.label);
  }
  return {};
}

std::string text(const Trace& trace, bool with_receptions) {
  std::string all;
  for (const Happening& happening : trace.happenings()) {
    if (happening.what == What::received && !with_receptions) continue;
    all += line(happening);
    all += '\n';
  }
  if (!trace.complete())
    all += fmt::format("(only the first {} happenings were kept)\n", Trace::kMaxHappenings);
  return all;
}

}  // namespace tempo::sim
