#include "lab/studies/election/script.h"

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <fmt/core.h>

#include "base/span_text.h"
#include "lab/sim/trace.h"
#include "machine/script.h"

namespace tempo::sim::election {
namespace {

using tempo::election::Kind;

class ElectionRunner final : public ScriptRunner {
 public:
  ElectionRunner() { setup_.rules.timing = *tempo::election::profile("lan"); }

  Result<void> command(std::string_view line, std::string& answer) override {
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, space);
    const std::string_view rest = space < line.size() ? line.substr(space + 1) : std::string_view{};
    if (is_setting(word)) {
      if (cluster_ != nullptr)
        return std::unexpected(fmt::format("'{}' must come before the first act", word));
      return setting(word, rest);
    }
    if (cluster_ == nullptr) {
      const std::vector<std::string> faults = faults_of(setup_.rules);
      if (!faults.empty()) return std::unexpected(faults.front());
      setup_.keep_trace = true;
      cluster_ = std::make_unique<Cluster>(setup_);
      cluster_->watches().costs.begin(Costs::Study::winner);
    }
    if (word == "run") {
      TRY(span, parse_span(rest));
      cluster_->run_until(cluster_->now() + span);
    } else if (word == "settle") {
      TRY(span, parse_span(rest));
      settle(*cluster_, cluster_->now() + span);
    } else if (word == "states") {
      show_happenings(answer);
      show_states(answer);
    } else if (word == "counts") {
      show_happenings(answer);
      show_counts(answer);
    } else if (word == "promises") {
      show_happenings(answer);
      show_properties(answer);
    } else if (line == "start all") {
      for (std::uint32_t i = 0; i < setup_.nodes; ++i)
        cluster_->apply({.at = cluster_->now(), .act = Act::start, .node = NodeId{i}});
    } else {
      TRY(fault, parse_fault(line, setup_.nodes));
      fault.at = cluster_->now();
      cluster_->apply(fault);
    }
    return {};
  }

  void finish(std::string& answer) override { show_happenings(answer); }

 private:
  // Shows the trace since the last call.
  void show_happenings(std::string& answer) {
    if (cluster_ == nullptr) return;
    const auto& all = cluster_->watches().tracer.trace().happenings();
    for (; shown_ < all.size(); ++shown_) {
      if (all[shown_].what == What::received || hidden_.contains(std::string(all[shown_].label)))
        continue;
      answer += line(all[shown_]);
      answer += '\n';
    }
  }

  static bool is_setting(std::string_view word) {
    for (const char* known : {"nodes", "profile", "variant", "repeats", "seed", "delay", "loss",
                              "duplicate", "reorder", "lateness", "election-timer", "hide"})
      if (word == known) return true;
    return false;
  }

  Result<void> setting(std::string_view word, std::string_view value) {
    if (word == "nodes") {
      TRY(nodes, number_within<std::uint32_t>(value, 1, 1000));
      setup_.nodes = nodes;
    } else if (word == "profile") {
      TRY(timing, tempo::election::profile(value));
      setup_.rules.timing = timing;
    } else if (word == "variant") {
      TRY(variant, tempo::election::parse_variant(value));
      setup_.rules.variant = variant;
    } else if (word == "repeats") {
      TRY(repeats, number_within<std::uint32_t>(value, 0, tempo::election::kMaxRepeats));
      setup_.rules.repeats = repeats;
    } else if (word == "seed") {
      TRY(seed, number_within<std::uint64_t>(value, 0, ~std::uint64_t{0}));
      setup_.seed = seed;
    } else if (word == "delay" || word == "lateness") {
      TRY(delay, Delay::parse(value));
      (word == "delay" ? setup_.link.delay : setup_.link.lateness) = delay;
    } else if (word == "election-timer") {
      const std::size_t dots = value.find("..");
      if (dots == std::string_view::npos)
        return std::unexpected(fmt::format("'{}' should have the form a..b", value));
      TRY(low, parse_span(value.substr(0, dots)));
      TRY(high, parse_span(value.substr(dots + 2)));
      setup_.rules.timing.election_min = low;
      setup_.rules.timing.election_max = high;
    } else if (word == "hide") {
      for (const std::string_view name : split_text(value, ',')) hidden_.emplace(name);
    } else {
      TRY(probability, number_within<double>(value, 0, 1));
      (word == "loss"        ? setup_.link.loss
       : word == "duplicate" ? setup_.link.duplicate
                             : setup_.link.reorder) = probability;
    }
    return {};
  }

  void show_states(std::string& answer) const {
    for (std::uint32_t i = 0; i < setup_.nodes; ++i) {
      const NodeId id{i};
      if (!runs(cluster_->world(), id)) {
        answer += fmt::format("{} is down\n", i + 1);
        continue;
      }
      const MasterElection& machine = cluster_->world().machine(id);
      answer += fmt::format("{} is {}", i + 1, name_of(machine.state()));
      if (machine.master() != kNobody && machine.master() != id)
        answer += fmt::format(", follows {} in round {}", index(machine.master()) + 1,
                              machine.followed().round);
      if (machine.master() == id) answer += fmt::format(" of round {}", machine.followed().round);
      if (!machine.list().empty()) {
        answer += ", lists";
        machine.list().for_each(
            [&](NodeId listed) { answer += fmt::format(" {}", index(listed) + 1); });
      }
      answer += '\n';
    }
  }

  void show_counts(std::string& answer) {
    const auto now = cluster_->watches().costs.by_kind();
    for (std::size_t i = 0; i < now.size(); ++i)
      if (now[i] != counted_[i])
        answer += fmt::format("{} {}\n", name_of(static_cast<Kind>(i)), now[i] - counted_[i]);
    counted_ = now;
  }

  void show_properties(std::string& answer) {
    const Violations& violations = cluster_->violations();
    if (violations.count() == 0) answer += "promises are kept\n";
    for (const Violation& violation : violations.kept())
      answer += fmt::format("{} {} is broken: {}\n", milliseconds(violation.at), violation.property,
                            violation.seen);
    if (const auto why = not_one_master(cluster_->world()))
      answer += fmt::format("one-master does not hold: {}\n", *why);
    else
      answer += "one-master holds\n";
  }

  Setup setup_;
  std::unique_ptr<Cluster> cluster_;
  std::set<std::string> hidden_;
  std::size_t shown_ = 0;
  std::array<std::uint64_t, tempo::election::kKinds> counted_{};
};

}  // namespace

Result<std::string> answered(std::string_view script) {
  ElectionRunner runner;
  return tempo::answered(script, runner);
}

Result<std::string> script_of(const Experiment& experiment, std::string_view counterexample) {
  const Setup& setup = experiment.setup;
  const Link& link = setup.link;
  std::string text;
  for (const std::string_view line : split_text(counterexample, '\n'))
    text += fmt::format("# {}\n", line);
  // The profile with these values; a changed election timer is a separate setting.
  std::string_view profile = "lan";
  for (const std::string_view name : tempo::election::profile_names())
    if (tempo::election::profile(name)->loop == setup.rules.timing.loop) profile = name;
  text += fmt::format("nodes {}\nprofile {}\nvariant {}\nrepeats {}\nseed {}\ndelay {}\n",
                      setup.nodes, profile, variant_text(setup.rules.variant), setup.rules.repeats,
                      setup.seed, link.delay.text());
  text += fmt::format("election-timer {}..{}\n", span_text(setup.rules.timing.election_min),
                      span_text(setup.rules.timing.election_max));
  if (link.loss > 0) text += fmt::format("loss {}\n", link.loss);
  if (link.duplicate > 0) text += fmt::format("duplicate {}\n", link.duplicate);
  if (link.reorder > 0)
    text += fmt::format("reorder {}\nlateness {}\n", link.reorder, link.lateness.text());
  text += "hide adjtime,ack,loop,settime\n";
  Instant now{};
  for (const Fault& fault : experiment.plan) {
    if (fault.at > now) text += fmt::format("run {}\n", span_text(fault.at - now));
    now = std::max(now, fault.at);
    text += fault_text(fault) + '\n';
  }
  // Like `run`: to the end of the plan, to the time of judgement, then to one master.
  const Instant judged = experiment.judge_at < experiment.limit ? experiment.judge_at : now;
  const Instant peace = std::max({now, experiment.peace_from, judged});
  if (peace > now) text += fmt::format("run {}\n", span_text(peace - now));
  text += fmt::format("settle {}\npromises\n----\n",
                      span_text(std::max(experiment.limit - peace, Nanos{0})));
  return answered(text);
}

}  // namespace tempo::sim::election
