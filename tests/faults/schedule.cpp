#include "schedule.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/random.h"
#include "base/span_text.h"

namespace tempo::faults {
namespace {

constexpr std::uint32_t kCause = 1;  // number of the random stream of schedules
constexpr std::uint64_t kMinFaults = 4;
constexpr std::uint64_t kMaxFaults = 9;
constexpr int kScheduleLeases = 6;  // length of a schedule, in lease times
constexpr int kMaxFaultLeases = 3;  // longest fault, in lease times

constexpr auto kNames = std::to_array<std::string_view>(
    {"is killed", "loses its worker", "is stopped", "is restarted", "loses its link",
     "receives nothing", "are cut off", "loses datagrams", "is killed", "is stopped"});
static_assert(kNames.size() == std::to_underlying(Fault::Kind::count));

std::string hosts_text(std::uint32_t hosts) {
  std::string text;
  for (std::uint32_t i = 0; hosts >> i != 0; ++i)
    if ((hosts >> i & 1U) != 0) text += fmt::format("{}host {}", text.empty() ? "" : ", ", i);
  return text;
}

std::string subject(const Fault& fault) {
  if (fault.kind == Fault::Kind::kill_client || fault.kind == Fault::Kind::stop_client)
    return fmt::format("client {}", fault.client);
  if (fault.kind == Fault::Kind::loss) return "the network";
  return hosts_text(fault.hosts);
}

}  // namespace

std::string text_of(const Fault& fault) {
  return fmt::format("{}..{} {} {}{}", span_text(fault.begin), span_text(fault.end), subject(fault),
                     kNames[std::to_underlying(fault.kind)],
                     fault.percent == 0 ? "" : fmt::format(", {} %", fault.percent));
}

std::string text_of(const Schedule& schedule) {
  std::string text;
  for (const Fault& fault : schedule.faults) text += text_of(fault) + '\n';
  return text;
}

Schedule schedule_of(std::uint64_t seed, const Shape& shape) {
  Stream random(seed, kCause, 0);
  Schedule schedule{.faults = {}, .length = kScheduleLeases * shape.lease};
  const auto milliseconds = [&](Nanos low, Nanos high) {
    return std::chrono::floor<std::chrono::milliseconds>(random.uniform(low, high));
  };
  const std::uint64_t count = kMinFaults + random.below(kMaxFaults - kMinFaults + 1);
  for (std::uint64_t i = 0; i < count; ++i) {
    Fault fault;
    fault.kind = static_cast<Fault::Kind>(random.below(std::to_underlying(Fault::Kind::count)));
    fault.begin = milliseconds(Nanos{0}, schedule.length - shape.lease);
    fault.end =
        std::min<Nanos>(fault.begin + milliseconds(shape.lease / 8, kMaxFaultLeases * shape.lease),
                        schedule.length);
    // Drawn for every kind, so that a new kind does not change the following draws.
    const auto host = static_cast<std::uint32_t>(random.below(shape.hosts));
    const auto side = static_cast<std::uint32_t>(1 + random.below((1U << shape.hosts) - 2));
    const auto client = static_cast<std::uint32_t>(random.below(shape.clients));
    const auto percent = static_cast<unsigned>(10 + 10 * random.below(6));
    switch (fault.kind) {
      case Fault::Kind::partition:
        fault.hosts = side;
        break;
      case Fault::Kind::loss:
        fault.percent = percent;
        break;
      case Fault::Kind::kill_client:
      case Fault::Kind::stop_client:
        fault.client = client;
        break;
      default:
        fault.hosts = 1U << host;
    }
    schedule.faults.push_back(fault);
  }
  std::ranges::stable_sort(schedule.faults, {}, &Fault::begin);
  return schedule;
}

}  // namespace tempo::faults
