#include "lab/cli/sim/election_answer.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "base/table.h"
#include "cli/common/output.h"

namespace tempo::cli {
namespace {

using sim::election::BaselineCost;
using sim::election::Outcome;
using sim::election::Scenario;
using sim::election::Violation;
using tempo::election::Kind;

std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

Json violations_json(const std::vector<Violation>& violations) {
  Json list = Json::array();
  for (const Violation& violation : violations)
    list.push(Json::object()
                  .add("property", violation.property)
                  .add("at_s", printed_seconds(violation.at.time_since_epoch()))
                  .add("seen", violation.seen));
  return list;
}

Json baselines_json(const std::vector<BaselineCost>& costs) {
  Json list = Json::array();
  for (const BaselineCost& cost : costs)
    list.push(Json::object()
                  .add("algorithm", cost.name)
                  .add("messages", cost.messages)
                  .add("predicted", cost.predicted)
                  .add("one_leader", cost.agreed));
  return list;
}

double quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return 0;
  return sorted[std::min(sorted.size() - 1,
                         static_cast<std::size_t>(q * static_cast<double>(sorted.size())))];
}
double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// Probability that two of N timers expire within the delay, for one fresh joint draw (Gusella &
// Zatti 1985, appendix).
double predicted_collisions(const ElectionPlan& plan) {
  const tempo::election::Timing& timing = plan.setup.rules.timing;
  const double width = printed_seconds(timing.election_max - timing.election_min);
  if (width <= 0) return 0;
  const double near = std::min(1.0, printed_seconds(plan.setup.link.delay.bound()) / width);
  return 1 - std::pow(1 - near, survivors(plan));
}

double counted(const Tally& sum) {
  return static_cast<double>(std::max<std::uint64_t>(sum.runs, 1));
}
double events_per_second(const Tally& sum) {
  return static_cast<double>(sum.events) / std::max(sum.elapsed_s, 1e-9);
}

}  // namespace

std::string outcome_table(const SimElectionArguments& arguments, const ElectionPlan& plan,
                          const Outcome& outcome, const std::vector<BaselineCost>& baselines) {
  report::Table table({"what", {"value", report::Align::right}});
  std::string masters;
  for (const NodeId id : outcome.final_masters)
    masters += fmt::format("{}node {}", masters.empty() ? "" : ", ", index(id) + 1);
  table.row({"scenario", arguments.scenario});
  table.row({"nodes / survivors", fmt::format("{} / {}", plan.setup.nodes, survivors(plan))});
  table.row({"final master", masters.empty() ? "none" : masters});
  table.row({"time to master",
             outcome.reached ? fmt::format("{:.4g} s", printed_seconds(outcome.time_to_master))
                             : "never"});
  table.row({"election messages", fmt::format("{}", outcome.election_messages)});
  table.row({"repeats sent", fmt::format("{}", outcome.repeats_sent)});
  for (std::size_t i = 0; i < outcome.messages.size(); ++i)
    if (outcome.messages[i] > 0)
      table.row({fmt::format("  {}", name_of(static_cast<Kind>(i))),
                 fmt::format("{}", outcome.messages[i])});
  table.row({"properties violated", fmt::format("{}", outcome.violation_count)});
  table.row({"trace hash", hash_text(outcome.trace_hash)});
  if (baselines.empty()) return table.text();

  report::Table costs({"algorithm",
                       {"messages", report::Align::right},
                       {"predicted", report::Align::right},
                       "one leader"});
  const std::uint64_t n = survivors(plan);
  costs.row({"TEMPO", fmt::format("{}", outcome.election_messages),
             plan.scenario == Scenario::two_candidates ? fmt::format("{}", 4 * n - 2)
                                                       : fmt::format("{}", 3 * n - 1),
             outcome.final_masters.size() == 1 ? "yes" : "no"});
  for (const BaselineCost& cost : baselines)
    costs.row({cost.name, fmt::format("{}", cost.messages), fmt::format("{}", cost.predicted),
               cost.agreed ? "yes" : "no"});
  return table.text() + "\n" + costs.text();
}

Json outcome_json(const SimElectionArguments& arguments, const ElectionPlan& plan,
                  const Outcome& outcome, const std::vector<BaselineCost>& baselines) {
  Json messages = Json::object();
  for (std::size_t i = 0; i < outcome.messages.size(); ++i)
    messages.add(name_of(static_cast<Kind>(i)), outcome.messages[i]);
  Json masters = Json::array();
  for (const NodeId id : outcome.final_masters) masters.push(std::uint64_t{index(id)} + 1);
  Json json = Json::object();
  json.add("scenario", arguments.scenario)
      .add("nodes", std::uint64_t{plan.setup.nodes})
      .add("survivors", std::uint64_t{survivors(plan)})
      .add("election_messages", outcome.election_messages)
      .add("repeats_sent", outcome.repeats_sent)
      .add("messages", messages)
      .add("masters", std::uint64_t{outcome.masters})
      .add("master_nodes", masters);
  if (outcome.reached)
    json.add("time_to_master_s", printed_seconds(outcome.time_to_master));
  else
    json.add_null("time_to_master_s");
  json.add("collision", outcome.collided)
      .add("violations", violations_json(outcome.violations))
      .add("seed", fmt::format("{}", arguments.seed))
      .add("trace_hash", hash_text(outcome.trace_hash));
  if (arguments.baselines) json.add("baselines", baselines_json(baselines));
  return json;
}

std::string tally_table(const SimElectionArguments& arguments, const ElectionPlan& plan,
                        const Tally& sum) {
  report::Table table({"what", {"value", report::Align::right}});
  const auto share = [&](std::uint64_t count) {
    return fmt::format("{} ({:.2f} %)", count, 100 * static_cast<double>(count) / counted(sum));
  };
  table.row({"scenario", arguments.scenario});
  table.row({"runs", fmt::format("{}", sum.runs)});
  table.row({"one master", share(sum.one_master)});
  table.row({"no master", share(sum.no_master)});
  table.row({"several masters", share(sum.several_masters)});
  table.row({"ever two masters", share(sum.ever_two_masters)});
  table.row({"collisions", share(sum.collisions)});
  if (plan.scenario == Scenario::collision) {
    table.row({"  predicted", fmt::format("{:.2f} %", 100 * predicted_collisions(plan))});
    for (std::size_t i = 0; i < sum.attempts.size(); ++i)
      table.row({fmt::format("  attempt {}", i + 1),
                 fmt::format("{} of {} ({:.2f} %)", sum.attempts[i].collided, sum.attempts[i].made,
                             100.0 * static_cast<double>(sum.attempts[i].collided) /
                                 static_cast<double>(sum.attempts[i].made))});
  }
  table.row({"time to master, median", fmt::format("{:.4g} s", quantile(sum.times, 0.5))});
  table.row({"  99 % / max", fmt::format("{:.4g} s / {:.4g} s", quantile(sum.times, 0.99),
                                         sum.times.empty() ? 0.0 : sum.times.back())});
  table.row({"election messages, mean / max",
             fmt::format("{:.1f} / {}", static_cast<double>(sum.messages) / counted(sum),
                         sum.most_messages)});
  table.row({"properties violated", fmt::format("{}", sum.violations)});
  table.row({"events per second", fmt::format("{:.3g}", events_per_second(sum))});
  table.row({"trace hash", hash_text(sum.hash)});
  return table.text();
}

Json tally_json(const SimElectionArguments& arguments, const ElectionPlan& plan, const Tally& sum) {
  Json json = Json::object();
  json.add("scenario", arguments.scenario)
      .add("nodes", std::uint64_t{plan.setup.nodes})
      .add("survivors", std::uint64_t{survivors(plan)})
      .add("runs", sum.runs)
      .add("one_master", sum.one_master)
      .add("no_master", sum.no_master)
      .add("several_masters", sum.several_masters)
      .add("ever_two_masters", sum.ever_two_masters)
      .add("collisions", sum.collisions)
      .add("violations", sum.violations)
      .add("time_to_master_s", Json::object()
                                   .add("mean", mean(sum.times))
                                   .add("p50", quantile(sum.times, 0.5))
                                   .add("p99", quantile(sum.times, 0.99))
                                   .add("max", sum.times.empty() ? 0.0 : sum.times.back()))
      .add("election_messages", Json::object()
                                    .add("mean", static_cast<double>(sum.messages) / counted(sum))
                                    .add("max", sum.most_messages))
      .add("longest_repair_s", printed_seconds(sum.longest_repair));
  if (plan.scenario == Scenario::collision) {
    Json rates = Json::array();
    for (std::size_t i = 0; i < sum.attempts.size(); ++i)
      rates.push(Json::object()
                     .add("attempt", std::uint64_t{i + 1})
                     .add("made", sum.attempts[i].made)
                     .add("collided", sum.attempts[i].collided));
    json.add("collision_predicted", predicted_collisions(plan)).add("attempts", rates);
  }
  json.add("seed", fmt::format("{}", arguments.seed));
  if (!is_captured())
    json.add("threads", std::uint64_t{sum.threads})
        .add("events_per_second", events_per_second(sum));
  json.add("trace_hash", hash_text(sum.hash));
  if (sum.runs < arguments.runs) json.add("interrupted", true);
  return json;
}

}  // namespace tempo::cli
