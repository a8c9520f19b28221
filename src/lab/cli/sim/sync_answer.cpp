#include "lab/cli/sim/sync_answer.h"

#include <algorithm>
#include <functional>
#include <optional>

#include <fmt/core.h>

namespace tempo::cli {
namespace {

using sim::sync::Experiment;
using sim::sync::kTaus;
using sim::sync::Outcome;

struct Summary {
  double mean = 0;
  double worst = 0;
};

Summary summary(const std::vector<Outcome>& outcomes,
                const std::function<double(const Outcome&)>& of) {
  Summary sum{.mean = 0, .worst = of(outcomes.front())};
  for (const Outcome& outcome : outcomes) {
    sum.mean += of(outcome) / static_cast<double>(outcomes.size());
    sum.worst = std::max(sum.worst, of(outcome));
  }
  return sum;
}

// Seconds until all clients converged; unset: they never did with one of the seeds.
std::optional<Summary> converged(const std::vector<Outcome>& outcomes, double Outcome::* when) {
  if (std::ranges::any_of(outcomes, [when](const Outcome& o) { return o.*when < 0; }))
    return std::nullopt;
  return summary(outcomes, [when](const Outcome& o) { return o.*when; });
}

std::uint64_t violations(const std::vector<Outcome>& outcomes) {
  std::uint64_t sum = 0;
  for (const Outcome& outcome : outcomes) sum += outcome.bound_violations;
  return sum;
}

void add(Json& json, const std::string& key, const Summary& sum) {
  json.add(key, sum.mean).add(key + "_worst", sum.worst);
}

struct Number {
  const char* key;
  const char* what;
  double Outcome::* value;
};
constexpr std::array kNumbers{
    Number{"rms_us", "error to the master, rms", &Outcome::rms},
    Number{"p99_us", "  99 %", &Outcome::p99},
    Number{"max_us", "  max", &Outcome::most},
    Number{"true_rms_us", "error to true time, rms", &Outcome::true_rms},
    Number{"client_to_client_rms_us", "client to client, rms", &Outcome::client_to_client_rms},
    Number{"spread_p99_us", "spread of all, 99 %", &Outcome::spread_p99},
    Number{"bend_us", "largest bend of network time", &Outcome::bend},
};

}  // namespace

Json sync_json(const SimSyncArguments& arguments, const Experiment& experiment,
               const std::vector<Outcome>& outcomes) {
  Json json = Json::object();
  json.add("clients", std::uint64_t{experiment.clients})
      .add("delay_up", experiment.up.text())
      .add("delay_down", experiment.down.text())
      .add("rate", experiment.rate)
      .add("seconds", std::uint64_t{experiment.seconds})
      .add("discard", std::uint64_t{experiment.discard})
      .add("isolated", experiment.isolated)
      .add("trusted", std::uint64_t{experiment.trusted})
      .add("seed", fmt::format("{}", arguments.seed))
      .add("seeds", std::uint64_t{outcomes.size()});
  for (const Number& number : kNumbers)
    add(json, number.key, summary(outcomes, [&](const Outcome& o) { return o.*number.value; }));
  if (experiment.kill_master_at) {
    add(json, "election_spread_us",
        summary(outcomes, [](const Outcome& o) { return o.election_spread; }));
    add(json, "spread_before_p99_us",
        summary(outcomes, [](const Outcome& o) { return o.spread_before_p99; }));
  }
  for (const auto& [key, when] : {std::pair{"converged_1ms_s", &Outcome::converged_1ms},
                                  {"converged_20us_s", &Outcome::converged_20us}}) {
    if (const auto sum = converged(outcomes, when))
      add(json, key, *sum);
    else
      json.add_null(key).add_null(std::string(key) + "_worst");
  }
  const Summary width = summary(outcomes, [](const Outcome& o) { return o.bound_width; });
  json.add("bound_violations", violations(outcomes))
      .add("bound_width_us", Json::object().add("median", width.mean))
      .add("bound_width_us_worst", Json::object().add("median", width.worst))
      .add("minimum_round_trip_us",
           summary(outcomes, [](const Outcome& o) { return o.least_trip; }).mean);
  for (const auto& [key, row] : {std::pair{"member_adev", &Outcome::member_adev},
                                 {"ensemble_adev", &Outcome::ensemble_adev}}) {
    Json means = Json::object();
    Json worsts = Json::object();
    for (std::size_t k = 0; k < kTaus.size(); ++k) {
      const Summary sum =
          summary(outcomes, [k, of = row](const Outcome& o) { return (o.*of).at(k); });
      means.add(std::to_string(kTaus.at(k)), sum.mean);
      worsts.add(std::to_string(kTaus.at(k)), sum.worst);
    }
    json.add(key, means).add(std::string(key) + "_worst", worsts);
  }
  add(json, "packets_per_second",
      summary(outcomes, [](const Outcome& o) { return o.packets_per_second; }));
  json.add("steps", outcomes.front().steps)
      .add("master_changes", std::uint64_t{outcomes.front().master_changes})
      .add("config_hash", fmt::format("{:016x}", outcomes.front().config_hash));
  return json;
}

Rows sync_rows(const Experiment& experiment, const std::vector<Outcome>& outcomes) {
  Rows rows;
  const auto row = [&](std::string what, const Summary& sum, const char* unit) {
    std::string value = fmt::format("{:.3f}{}", sum.mean, unit);
    if (outcomes.size() > 1) value += fmt::format(" (worst {:.3f})", sum.worst);
    rows.emplace_back(std::move(what), std::move(value));
  };
  for (const Number& number : kNumbers)
    row(number.what, summary(outcomes, [&](const Outcome& o) { return o.*number.value; }), " us");
  if (experiment.kill_master_at)
    row("spread after the master's crash",
        summary(outcomes, [](const Outcome& o) { return o.election_spread; }), " us");
  for (const auto& [what, when] : {std::pair{"all within 1 ms after", &Outcome::converged_1ms},
                                   {"all within 20 us after", &Outcome::converged_20us}}) {
    if (const auto sum = converged(outcomes, when))
      row(what, *sum, " s");
    else
      rows.emplace_back(what, "not in the first minute");
  }
  row("width of the error bound, median",
      summary(outcomes, [](const Outcome& o) { return o.bound_width; }), " us");
  row("  minimum round trip", summary(outcomes, [](const Outcome& o) { return o.least_trip; }),
      " us");
  rows.emplace_back("error bounds violated", std::to_string(violations(outcomes)));
  for (std::size_t k = 0; k < kTaus.size(); ++k)
    rows.emplace_back(
        fmt::format("Allan deviation at {} s: member / network", kTaus.at(k)),
        fmt::format(
            "{:.2e} / {:.2e}",
            summary(outcomes, [k](const Outcome& o) { return o.member_adev.at(k); }).mean,
            summary(outcomes, [k](const Outcome& o) { return o.ensemble_adev.at(k); }).mean));
  row("packets per second",
      summary(outcomes, [](const Outcome& o) { return o.packets_per_second; }), "");
  rows.emplace_back("configuration", fmt::format("{:016x}", outcomes.front().config_hash));
  return rows;
}

std::vector<report::Curve> sync_curves(const Experiment& experiment, const Outcome& outcome) {
  std::vector<report::Curve> curves;
  for (std::size_t i = 0; i < outcome.errors.size(); ++i) {
    const std::vector<double>& all = outcome.errors[i];
    const auto from =
        static_cast<std::ptrdiff_t>(std::min<std::size_t>(experiment.discard, all.size()));
    curves.push_back(
        {.name = fmt::format("client {}", i + 1), .values = {all.begin() + from, all.end()}});
  }
  return curves;
}

}  // namespace tempo::cli
