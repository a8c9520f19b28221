#include "client/clock_offset.h"

#include <algorithm>
#include <chrono>
#include <ctime>

namespace tempo::client {
namespace {

Nanos raw_monotonic() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return std::chrono::seconds{now.tv_sec} + Nanos{now.tv_nsec};
}

}  // namespace

std::optional<ClockOffset> clock_offset(Client& client, int requests) {
  ipc::Request request;
  request.verb = ipc::Verb::now;
  std::optional<ClockOffset> best;
  for (int i = 0; i < requests; ++i) {
    const Nanos before = raw_monotonic();
    const auto reply = client.ask(request);
    const Nanos after = raw_monotonic();
    if (!reply) return std::nullopt;
    const auto now = ipc::now_of(*reply);
    if (!now) return std::nullopt;
    const Nanos uncertainty = (after - before) / 2;
    if (best && uncertainty >= best->uncertainty) continue;
    ClockOffset offset{.offset = Nanos{now->time_ns} - before - uncertainty,
                       .uncertainty = uncertainty};
    offset.bounded = now->status != "unsynchronized";
    if (offset.bounded)
      offset.bound =
          Nanos{std::max(now->latest_ns - now->time_ns, now->time_ns - now->earliest_ns)};
    best = offset;
  }
  return best;
}

}  // namespace tempo::client
