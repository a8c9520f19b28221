#include "lab/studies/sync/round.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/check.h"
#include "lab/studies/sync/network.h"

namespace tempo::sim::sync {
namespace {

constexpr Nanos kLongEnough = 10s;  // time until all nodes have started and completed a round
constexpr Nanos kMargin = 1ms;
constexpr Nanos kAcknowledged = 6ms;  // time for the acknowledgements to arrive
// After this time every client has applied the master's correction.
constexpr Nanos kAnswered = 100ms;

bool is(const Happening& it, What what, std::string_view label) {
  return it.what == what && it.label.starts_with(label);
}

// Time of the first average over all clocks.
Instant first_average(const std::vector<Happening>& all, std::uint32_t clocks) {
  const auto found = std::ranges::find_if(all, [&](const Happening& it) {
    return is(it, What::becomes, fmt::format("averages {} clocks", clocks));
  });
  CHECK(found != all.end());
  return found->at;
}

// Earliest of the clients' last probes before `round`.
Instant first_of_last_probes(const std::vector<Happening>& all, std::uint32_t nodes,
                             Instant round) {
  std::vector<Instant> last(nodes, round);
  for (const Happening& it : all)
    if (it.at < round && is(it, What::sent, "probe")) last[index(it.node)] = it.at;
  return *std::ranges::min_element(last);
}

Instant last_correction(const std::vector<Happening>& all, Instant round) {
  Instant last = round;
  for (const Happening& it : all)
    if (it.at > round && it.at < round + kAnswered && is(it, What::becomes, "corrects"))
      last = it.at;
  return last;
}

Nanos farthest(const Network& network) {
  const WallTime truth = network.reading(0).time;
  Nanos most{0};
  for (std::uint32_t i = 1; i < network.size(); ++i)
    most = std::max(most, std::chrono::abs(network.reading(i).time - truth));
  return most;
}

}  // namespace

Round first_round(const Experiment& experiment) {
  Network first_pass(experiment);
  first_pass.begin_trace();
  first_pass.run_until(Instant{kLongEnough});
  const std::unique_ptr<const ClockTracer> whole = first_pass.end_trace();
  const std::vector<Happening>& all = whole->trace().happenings();
  const Instant round = first_average(all, first_pass.size());
  Round found{.from = first_of_last_probes(all, first_pass.size(), round) - kMargin,
              .to = last_correction(all, round) + kAcknowledged};

  // The same run again, now that the time of the round is known.
  Network network(experiment);
  network.run_until(found.from);
  network.begin_trace();
  found.before = farthest(network);
  network.run_until(found.to);
  found.drawn = network.end_trace();
  network.run_until(found.from + 1s);
  found.after = farthest(network);
  return found;
}

}  // namespace tempo::sim::sync
