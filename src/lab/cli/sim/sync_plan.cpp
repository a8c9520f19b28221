#include "lab/cli/sim/sync_plan.h"

#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/span_text.h"
#include "lab/cli/parallel_runs.h"

namespace tempo::cli {
namespace {

constexpr std::uint32_t kMaxClients = 500;
constexpr std::uint32_t kMaxSeconds = 1'000'000;
constexpr std::uint32_t kLeastSeconds = 60;
constexpr std::uint32_t kMaxSeeds = 10'000;
constexpr double kMaxRate = 64;
constexpr double kMaxFrequency = 200e-6;

Result<double> frequency_at(const char* option, const std::string& text, double most) {
  TRY(value, sim::sync::parse_frequency(text));
  if (!(value >= 0 && value <= most))
    return std::unexpected(
        fmt::format("{} must be from 0 to {:g}ppm, not {}", option, most * 1e6, text));
  return value;
}

// The delay in one direction: constant delay plus jitter.
Result<sim::Delay> one_way_delay(const std::string& delay, const std::string& jitter) {
  return sim::Delay::parse(jitter.empty() || jitter == "0" ? delay : delay + "+" + jitter);
}

Result<void> check_numbers(const SimSyncArguments& arguments) {
  const auto within = [](const char* name, double value, double low, double high) -> Result<void> {
    if (value >= low && value <= high) return {};
    return std::unexpected(
        fmt::format("{} must be from {:g} to {:g}, not {:g}", name, low, high, value));
  };
  struct Limit {
    const char* name;
    double value;
    double low;
    double high;
  };
  for (const Limit& limit :
       {Limit{"--clients", static_cast<double>(arguments.clients), 1, kMaxClients},
        Limit{"--seconds", static_cast<double>(arguments.seconds), kLeastSeconds, kMaxSeconds},
        Limit{"--discard", static_cast<double>(arguments.discard), 0, kMaxSeconds},
        Limit{"--seeds", static_cast<double>(arguments.seeds), 1, kMaxSeeds},
        Limit{"--threads", static_cast<double>(arguments.threads), 0, kMaxThreads},
        Limit{"--rate", arguments.rate, 0.01, kMaxRate},
        Limit{"--wander", arguments.wander, 0, 1e-6}, Limit{"--white", arguments.white, 0, 1e-6},
        Limit{"--aging", arguments.aging, -1e-9, 1e-9},
        Limit{"--worse-half", arguments.worse_half, 1, 1000},
        Limit{"--diurnal", arguments.diurnal, 0, 1000}, Limit{"--loss", arguments.loss, 0, 0.99}})
    if (auto good = within(limit.name, limit.value, limit.low, limit.high); !good) return good;
  if (arguments.discard + kLeastSeconds / 2 > arguments.seconds)
    return std::unexpected(fmt::format(
        "--discard {} leaves too little of --seconds {} to measure; leave at least {} seconds",
        arguments.discard, arguments.seconds, kLeastSeconds / 2));
  if (arguments.churn > 0 && arguments.churn <= 60)
    return std::unexpected(fmt::format(
        "--churn must be above 60, because a crashed client returns after a minute, not {}",
        arguments.churn));
  if (arguments.trusted > arguments.clients)
    return std::unexpected(fmt::format("--trusted {} exceeds the {} clients; see --clients",
                                       arguments.trusted, arguments.clients));
  if (arguments.utc_liars > arguments.trusted)
    return std::unexpected(
        fmt::format("--utc-liars {} exceeds the {} clients with UTC; see --trusted",
                    arguments.utc_liars, arguments.trusted));
  if (arguments.leap_at && arguments.trusted == 0)
    return std::unexpected(
        std::string("--leap-at needs clients with UTC, for example --trusted 3"));
  for (const auto& [name, moment] : {std::pair{"--kill-master-at", arguments.kill_master_at},
                                     {"--change-at", arguments.change_at},
                                     {"--leap-at", arguments.leap_at}})
    if (moment && (*moment == 0 || *moment >= arguments.seconds))
      return std::unexpected(fmt::format("{} must be at least 1 and below {} (--seconds), not {}",
                                         name, arguments.seconds, *moment));
  return {};
}

}  // namespace

Result<sim::sync::Experiment> parse_plan(const SimSyncArguments& arguments) {
  if (auto good = check_numbers(arguments); !good) return std::unexpected(good.error());
  const std::string& up_text = arguments.jitter_up.empty() ? arguments.jitter : arguments.jitter_up;
  const std::string& down_text =
      arguments.jitter_down.empty() ? arguments.jitter : arguments.jitter_down;
  TRY(up, one_way_delay(arguments.delay, up_text));
  TRY(down, one_way_delay(arguments.delay, down_text));
  TRY(offset, parse_span(arguments.offset));
  TRY(longer_up, parse_span(arguments.longer_up));
  TRY(clock_jump, parse_span(arguments.clock_jump));
  TRY(frequency, frequency_at("--frequency", arguments.frequency, kMaxFrequency));
  TRY(temperature, frequency_at("--temperature", arguments.temperature, kMaxFrequency));
  TRY(rate_jump_max, frequency_at("--rate-jump-max", arguments.rate_jump_max, kMaxFrequency));
  TRY(rate_jump, frequency_at("--rate-jump", arguments.rate_jump, kMaxFrequency));
  sim::sync::Experiment experiment{.clients = arguments.clients,
                                   .up = up,
                                   .down = down,
                                   .loss = arguments.loss,
                                   .offset = offset,
                                   .frequency = frequency,
                                   .wander = arguments.wander,
                                   .white = arguments.white,
                                   .aging = arguments.aging,
                                   .temperature = temperature,
                                   .worse_half = arguments.worse_half,
                                   .isolated = arguments.isolated,
                                   .rate = arguments.rate,
                                   .rate_jump_max = rate_jump_max,
                                   .seconds = arguments.seconds,
                                   .discard = arguments.discard,
                                   .lies_from = arguments.lies_from,
                                   .kill_master_at = arguments.kill_master_at,
                                   .change_at = arguments.change_at,
                                   .longer_up = longer_up,
                                   .clock_jump = in_seconds(clock_jump),
                                   .rate_jump = rate_jump,
                                   .diurnal = arguments.diurnal,
                                   .churn = arguments.churn,
                                   .trusted = arguments.trusted,
                                   .utc_liars = arguments.utc_liars,
                                   .leap_at = arguments.leap_at,
                                   .seed = arguments.seed};
  if (!arguments.liars.empty()) {
    TRY(liars, sim::sync::parse_liars(arguments.liars));
    if (liars.count > arguments.clients)
      return std::unexpected(fmt::format("--liars {} exceeds the {} clients; see --clients",
                                         arguments.liars, arguments.clients));
    experiment.liars = liars;
    experiment.liars.master = arguments.lying_master;
  } else if (arguments.lying_master) {
    return std::unexpected(
        std::string("--lying-master needs --liars, for example --liars 2:drifting"));
  }
  if (!arguments.later_jitter.empty()) {
    TRY(later, one_way_delay(arguments.delay, arguments.later_jitter));
    experiment.later_up = experiment.later_down = later;
  }
  for (const std::string& text : arguments.disturb) {
    TRY(disturbance, sim::sync::parse_disturbance(text));
    if (disturbance.node > arguments.clients)
      return std::unexpected(
          fmt::format("--disturb {} names a node above the {} clients; see "
                      "--clients",
                      text, arguments.clients));
    if (disturbance.until() >= arguments.seconds)
      return std::unexpected(fmt::format("--disturb {} must end before second {} (--seconds)", text,
                                         arguments.seconds));
    experiment.disturbances.push_back(disturbance);
  }
  const bool changes =
      longer_up > Nanos{0} || experiment.later_up || clock_jump > Nanos{0} || rate_jump > 0;
  if (changes && !experiment.change_at)
    experiment.change_at = (arguments.seconds + arguments.discard) / 2;
  return experiment;
}

}  // namespace tempo::cli
