#include "lab/studies/election/scenario.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "base/span_text.h"

namespace tempo::sim::election {
namespace {

using tempo::election::Kind;
using tempo::election::Timing;

constexpr std::array<std::pair<std::string_view, Scenario>, 11> kScenarios{{
    {"start", Scenario::start},
    {"master-crash", Scenario::master_crash},
    {"two-candidates", Scenario::two_candidates},
    {"many-candidates", Scenario::many_candidates},
    {"missed-election", Scenario::missed_election},
    {"newcomer-conflict", Scenario::newcomer_conflict},
    {"late-slave", Scenario::late_slave},
    {"partition-heal", Scenario::partition_heal},
    {"crash-during-election", Scenario::crash_during_election},
    {"collision", Scenario::collision},
    {"churn", Scenario::churn},
}};

constexpr NodeId kFirst{0};
constexpr NodeId kSecond{1};
constexpr NodeId kThird{2};

// Generous limit: the longest draws after four consecutive collisions, and time to give up a deaf
// master.
Nanos patience(const Timing& timing) {
  return 10 * timing.adjtime +
         4 * (timing.election_min + 16 * (timing.election_max - timing.election_min)) +
         4 * (timing.startup + timing.no_master);
}

// Two intervals until an overlooked follower notices, a Loop that it can answer, one interval until
// the next round, and the messages themselves.
Nanos time_to_be_listed(const Timing& timing) {
  return 3 * timing.adjtime + timing.loop + 8 * timing.delay;
}

// Longest duration of a span that the nodes measure with their own clocks; the slowest decides.
Nanos by_slowest_clock(Nanos span, const Setup& setup) {
  std::int64_t slowest = 0;
  for (const Ppb rate : setup.rates) slowest = std::min(slowest, rate.value);
  if (slowest == 0) return span;
  return Nanos{
      std::llround(static_cast<double>(span.count()) / (1 + static_cast<double>(slowest) * 1e-9))};
}

// Late enough after the crash that no message of the old master is in transit.
Instant stand_at(const Experiment& experiment) {
  return experiment.study_from + 2 * experiment.setup.rules.timing.delay;
}

void plan_start(Experiment& experiment) {
  Stream stream(experiment.setup.seed, std::to_underlying(Cause::plan), 0);
  Instant last{};
  for (std::uint32_t i = 0; i < experiment.setup.nodes; ++i) {
    const Instant at =
        Instant{} + (i == 0 ? Nanos{0} : stream.uniform(0s, experiment.setup.rules.timing.startup));
    last = std::max(last, at);
    experiment.plan.push_back({.at = at, .act = Act::start, .node = NodeId{i}});
  }
  experiment.judge_at = last + experiment.setup.rules.timing.startup +
                        experiment.setup.rules.timing.no_master +
                        2 * experiment.setup.rules.timing.delay;
}

void plan_candidates(Experiment& experiment, std::uint32_t candidates) {
  experiment = settled(experiment.setup);
  experiment.plan.push_back({.at = experiment.study_from, .act = Act::crash, .node = kFirst});
  for (std::uint32_t i = 1; i <= candidates; ++i) {
    experiment.plan.push_back({.at = stand_at(experiment), .act = Act::stand, .node = NodeId{i}});
    experiment.joint_candidates.push_back(NodeId{i});
  }
  if (candidates > 1) experiment.study = Costs::Study::joint_candidates;
}

// Each side of the split exists long enough to elect its own master; it ends at a random phase of
// the Loop.
Instant plan_split(Experiment& experiment, std::uint32_t of_nodes) {
  const Timing& timing = experiment.setup.rules.timing;
  Stream stream(experiment.setup.seed, std::to_underlying(Cause::plan), 0);
  const Nanos apart =
      2 * timing.election_max + timing.accept + timing.adjtime + stream.uniform(0s, timing.loop);
  std::vector<NodeId> side;
  side.reserve(of_nodes / 2);
  for (std::uint32_t i = 0; i < of_nodes / 2; ++i) side.push_back(NodeId{i});
  experiment.plan.push_back({.at = experiment.study_from,
                             .act = Act::partition,
                             .lasts = apart,
                             .side = std::move(side)});
  experiment.measure = Measure::one_master;
  return experiment.study_from + apart;
}

void plan_churn(Experiment& experiment) {
  const Timing& timing = experiment.setup.rules.timing;
  Stream stream(experiment.setup.seed, std::to_underlying(Cause::plan), 0);
  const bool with_pauses = experiment.setup.link.loss > 0;
  const Nanos busy = 8 * timing.election_max;  // then all faults stop at once
  for (std::uint32_t i = 0; i < experiment.setup.nodes; ++i)
    experiment.plan.push_back({.at = Instant{} + stream.uniform(0s, timing.startup),
                               .act = Act::start,
                               .node = NodeId{i}});
  const std::uint64_t faults = 10 + stream.below(30);
  for (std::uint64_t i = 0; i < faults; ++i) {
    const Instant at = Instant{} + stream.uniform(timing.startup, busy - 1ns);
    const NodeId node{static_cast<std::uint32_t>(stream.below(experiment.setup.nodes))};
    const Nanos lasts =
        std::min(stream.uniform(timing.delay, 2 * timing.election_max), Instant{} + busy - at);
    switch (stream.below(with_pauses ? 8 : 6)) {
      case 0:
        experiment.plan.push_back({.at = at, .act = Act::crash, .node = node, .lasts = lasts});
        break;
      case 1:
        experiment.plan.push_back({.at = at, .act = Act::hint, .node = node, .lasts = lasts});
        break;
      case 2:
        experiment.plan.push_back({.at = at, .act = Act::stop, .node = node, .lasts = lasts});
        break;
      case 3: {
        std::vector<NodeId> side;
        for (std::uint32_t j = 0; j < experiment.setup.nodes; ++j)
          if (stream.below(2) == 0) side.push_back(NodeId{j});
        if (!side.empty())
          experiment.plan.push_back(
              {.at = at, .act = Act::partition, .lasts = lasts, .side = std::move(side)});
        break;
      }
      case 4:
        experiment.plan.push_back({.at = at,
                                   .act = stream.below(2) == 0 ? Act::deaf : Act::mute,
                                   .node = node,
                                   .lasts = lasts});
        break;
      case 5:
        experiment.plan.push_back({.at = at, .act = Act::stand, .node = node});
        break;
      default:
        experiment.plan.push_back({.at = at, .act = Act::pause, .node = node, .lasts = lasts});
        break;
    }
  }
  experiment.plan.push_back({.at = Instant{} + busy, .act = Act::calm});
  experiment.measure = Measure::one_master;
}

// A collision can be distinguished from a majority's refusal only if a candidacy is longer than the
// delay: the timers that depend on the delay grow with it.
void stretch(Timing& timing, Nanos delay) {
  if (delay <= timing.delay) return;
  timing.delay = delay;
  timing.candidate = std::max(timing.candidate, 3 * delay);
  timing.accept = std::max(timing.accept, 2 * (timing.candidate + 2 * delay));
  timing.conflict = std::max(timing.conflict, 3 * delay);
  timing.consistency = std::max(timing.consistency, 3 * delay);
  timing.retransmit = std::max(timing.retransmit, 3 * delay);
  timing.startup = std::max(timing.startup, 3 * delay + 2 * timing.loop);
  timing.no_master = std::max(timing.no_master, 3 * delay + 2 * timing.loop);
}

}  // namespace

Result<Scenario> parse_scenario(std::string_view name) {
  std::string known;
  for (const auto& [text, scenario] : kScenarios) {
    if (text == name) return scenario;
    if (!known.empty()) known += ", ";
    known += text;
  }
  return std::unexpected(fmt::format("there is no scenario '{}'; choose one of {}", name, known));
}

std::string_view name_of(Scenario scenario) {
  return kScenarios[static_cast<std::size_t>(scenario)].first;
}

std::vector<std::string_view> scenario_names() {
  std::vector<std::string_view> names;
  names.reserve(std::size(kScenarios));
  for (const auto& [name, scenario] : kScenarios) names.push_back(name);
  return names;
}

std::uint32_t fewest_nodes(Scenario scenario) {
  switch (scenario) {
    case Scenario::start:
      return 1;
    case Scenario::master_crash:
    case Scenario::late_slave:
    case Scenario::partition_heal:
      return 2;
    case Scenario::two_candidates:
    case Scenario::many_candidates:
    case Scenario::crash_during_election:
    case Scenario::newcomer_conflict:
    case Scenario::collision:
    case Scenario::churn:
      return 3;
    case Scenario::missed_election:
      return 4;
  }
  return 1;
}

Experiment settled(const Setup& setup, NodeId spare) {
  const Timing& timing = setup.rules.timing;
  Experiment experiment{.setup = setup};
  const Instant reign = Instant{} + timing.startup + timing.no_master;
  experiment.plan.push_back({.act = Act::calm});
  experiment.plan.push_back({.act = Act::start, .node = kFirst});
  for (std::uint32_t i = 1; i < setup.nodes; ++i)
    if (NodeId{i} != spare)
      experiment.plan.push_back(
          {.at = reign + timing.loop / 2, .act = Act::start, .node = NodeId{i}});
  // Two rounds later, between two Loops and not near a round.
  experiment.study_from = reign + 2 * timing.adjtime + 3 * timing.loop / 5;
  experiment.plan.push_back({.at = experiment.study_from, .act = Act::rough});
  return experiment;
}

void complete(Experiment& experiment, Nanos until) {
  std::ranges::stable_sort(experiment.plan, {}, &Fault::at);
  experiment.peace_from = {};
  experiment.setup.pauses = false;
  for (const Fault& fault : experiment.plan) {
    const Instant over = fault.lasts == kForEver ? fault.at : fault.at + fault.lasts;
    experiment.peace_from = std::max(experiment.peace_from, over);
    experiment.setup.pauses |= fault.act == Act::pause;
  }
  experiment.limit = until > Nanos{0}
                         ? Instant{until}
                         : experiment.peace_from + patience(experiment.setup.rules.timing);
  if (experiment.judge_at == Instant{}) experiment.judge_at = experiment.limit;
}

Result<Experiment> plan_of(Scenario scenario, const Setup& requested, Nanos until) {
  if (requested.nodes < fewest_nodes(scenario))
    return std::unexpected(fmt::format("scenario {} needs at least {} nodes, not {}",
                                       name_of(scenario), fewest_nodes(scenario), requested.nodes));
  Setup setup = requested;
  if (scenario == Scenario::collision) {
    if (setup.link.delay.bound() == Nanos::max())
      return std::unexpected(fmt::format(
          "scenario collision needs a delay with an upper bound, not {}", setup.link.delay.text()));
    stretch(setup.rules.timing, setup.link.delay.bound());
  }
  const std::vector<std::string> faults = faults_of(setup.rules);
  if (!faults.empty()) {
    std::string all;
    for (const std::string& fault : faults) all += (all.empty() ? "" : "; ") + fault;
    return std::unexpected(all);
  }

  Experiment experiment{.setup = setup};
  const Timing& timing = setup.rules.timing;
  switch (scenario) {
    case Scenario::start:
      plan_start(experiment);
      break;
    case Scenario::master_crash:
    case Scenario::collision:
      plan_candidates(experiment, 0);
      break;
    case Scenario::two_candidates:
      plan_candidates(experiment, 2);
      break;
    case Scenario::many_candidates:
      plan_candidates(experiment, setup.nodes - 1);
      break;
    case Scenario::missed_election:
      plan_candidates(experiment, 1);
      experiment.plan.push_back({.at = stand_at(experiment),
                                 .act = Act::lose,
                                 .node = kSecond,
                                 .peer = kThird,
                                 .lasts = timing.accept,
                                 .kind = Kind::election,
                                 .any_kind = false});
      // The loss must start before the send.
      std::swap(experiment.plan.back(), *(experiment.plan.end() - 2));
      experiment.plan.push_back(
          {.at = stand_at(experiment) + timing.candidate / 4, .act = Act::stand, .node = kThird});
      break;
    case Scenario::newcomer_conflict: {
      const NodeId newcomer{setup.nodes - 1};
      experiment = settled(setup, newcomer);
      const Instant healed = plan_split(experiment, setup.nodes - 1);
      experiment.plan.push_back({.at = healed, .act = Act::start, .node = newcomer});
      break;
    }
    case Scenario::late_slave: {
      const NodeId late{setup.nodes - 1};
      experiment = settled(setup);
      experiment.plan.push_back({.at = experiment.study_from, .act = Act::crash, .node = kFirst});
      for (const Kind kind : {Kind::election, Kind::masterup, Kind::loop})
        experiment.plan.push_back({.at = experiment.study_from,
                                   .act = Act::lose,
                                   .peer = late,
                                   .lasts = 3 * timing.election_max,
                                   .kind = kind,
                                   .any_kind = false});
      break;
    }
    case Scenario::partition_heal:
      experiment = settled(setup);
      plan_split(experiment, setup.nodes);
      break;
    case Scenario::crash_during_election:
      plan_candidates(experiment, 1);
      experiment.plan.push_back(
          {.at = stand_at(experiment) + timing.candidate / 2, .act = Act::crash, .node = kSecond});
      experiment.joint_candidates.clear();
      break;
    case Scenario::churn:
      plan_churn(experiment);
      break;
  }
  complete(experiment, until);
  return experiment;
}

namespace {

// The masters when the run is judged; each connected part may have one.
std::uint32_t masters_now(const Cluster& cluster, std::vector<NodeId>& which) {
  which.clear();
  for (std::uint32_t i = 0; i < cluster.setup().nodes; ++i) {
    const NodeId id{i};
    if (!runs(cluster.world(), id)) continue;
    const auto state = cluster.world().machine(id).state();
    if (state == tempo::election::State::master || state == tempo::election::State::conflict)
      which.push_back(id);
  }
  return static_cast<std::uint32_t>(which.size());
}

}  // namespace

Instant settle(Cluster& cluster, Instant limit, const std::function<void()>& on_step) {
  const Timing& timing = cluster.setup().rules.timing;
  const auto step = [&] {
    if (on_step) on_step();
    return false;
  };
  const auto one_master_now = [&] {
    step();
    return cluster.watches().reigns.count() > 0 && !not_one_master(cluster.world());
  };
  if (cluster.world().exhausted()) {
    cluster.violations().add(
        {"no-storm", cluster.now(), "messages cause further messages without end"});
    return kNever;
  }
  if (!cluster.run_until(limit, one_master_now)) {
    cluster.violations().add({"one-master", cluster.now(),
                              not_one_master(cluster.world()).value_or("there is no master")});
    return kNever;
  }
  const Instant settled_at = cluster.now();
  if (cluster.world().link().loss > 0) {
    cluster.apply({.at = cluster.now(), .act = Act::calm});
    cluster.run_until(cluster.now() + patience(timing), one_master_now);
  }
  cluster.run_until(cluster.now() + by_slowest_clock(time_to_be_listed(timing), cluster.setup()),
                    step);
  if (const auto why = not_one_master(cluster.world()))
    cluster.violations().add({"one-master", cluster.now(), *why});
  else if (const auto unlisted = not_all_listed(cluster.world(), cluster.watches().corrections,
                                                by_slowest_clock(timing.adjtime, cluster.setup())))
    cluster.violations().add({"all-listed", cluster.now(), *unlisted});
  return settled_at;
}

Outcome run(const Experiment& experiment, Trace* trace,
            const std::function<void(const Cluster&)>& inspect) {
  Setup setup = experiment.setup;
  setup.keep_trace = trace != nullptr;
  Cluster cluster(setup);
  Watches& watches = cluster.watches();
  Outcome outcome;

  bool studying = false;
  std::uint32_t reigns_before = 0;
  const auto begin_study = [&] {
    watches.costs.begin(experiment.study);
    watches.reigns.forget_two();
    reigns_before = watches.reigns.reigns();
    studying = true;
  };
  Instant first_reign = kNever;
  const auto record_first_reign = [&] {
    if (studying && first_reign == kNever && watches.reigns.reigns() > reigns_before)
      first_reign = watches.reigns.last_began();
  };
  const auto watch_reigns = [&] {
    record_first_reign();
    return false;
  };

  for (const Fault& fault : experiment.plan) {
    if (!studying && fault.at >= experiment.study_from) {
      cluster.run_until(experiment.study_from);
      begin_study();
    }
    cluster.run_until(fault.at, watch_reigns);
    cluster.apply(fault);
    record_first_reign();
    if (fault.act == Act::stand && std::ranges::count(experiment.joint_candidates, fault.node) > 0)
      watches.costs.study_candidate(fault.node);
  }
  if (!studying) begin_study();
  if (cluster.now() < experiment.peace_from) cluster.run_until(experiment.peace_from, watch_reigns);

  // Judge the state, then continue to one master.
  std::vector<NodeId> which;
  const Instant judge_at = std::max(std::min(experiment.judge_at, experiment.limit), cluster.now());
  const Instant limit = std::max(experiment.limit, cluster.now());
  bool judged = false;
  if (experiment.judge_at < experiment.limit) {
    cluster.run_until(judge_at, watch_reigns);
    outcome.masters = masters_now(cluster, which);
    judged = true;
  }
  const Instant wait_from = cluster.now();
  const Instant settled_at = settle(cluster, limit, record_first_reign);
  if (judged && outcome.masters > 1 && settled_at != kNever)
    outcome.repair = settled_at - wait_from;

  outcome.reached =
      experiment.measure == Measure::first_reign ? first_reign != kNever : settled_at != kNever;
  if (outcome.reached)
    outcome.time_to_master = experiment.measure == Measure::first_reign
                                 ? first_reign - experiment.study_from
                                 : settled_at - experiment.peace_from;
  const std::uint32_t final_count = masters_now(cluster, outcome.final_masters);
  if (!judged) outcome.masters = final_count;
  outcome.election_messages = watches.costs.election_messages();
  outcome.repeats_sent = watches.costs.repeats();
  outcome.messages = watches.costs.by_kind();
  outcome.ever_two_masters = watches.reigns.ever_two();
  outcome.collided = watches.costs.collided();
  outcome.attempts = watches.costs.attempts();
  outcome.violation_count = cluster.violations().count();
  outcome.violations = cluster.violations().kept();
  outcome.trace_hash = watches.tracer.trace().hash();
  outcome.events = cluster.world().events();
  if (trace != nullptr) *trace = watches.tracer.trace();
  if (inspect) inspect(cluster);
  return outcome;
}

}  // namespace tempo::sim::election
