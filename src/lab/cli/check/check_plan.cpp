#include "lab/cli/check/check_plan.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include <fmt/core.h>

#include "base/number_text.h"
#include "lab/cli/output.h"

namespace tempo::cli {
namespace {

constexpr std::size_t kLeastMemory = std::size_t{1} << 20;
constexpr std::uint32_t kMaxOfOneFault = 20;
constexpr std::uint32_t kDefaultStagger =
    16;  // ticks; the first node is master before the next one starts
constexpr std::uint32_t kMaxTicks = 200;

Result<std::vector<std::uint32_t>> list_of(std::string_view text, const char* option) {
  std::vector<std::uint32_t> list;
  for (std::string_view rest = text;;) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const auto value = parse_number<std::uint64_t>(rest.substr(0, comma));
    if (!value || *value > kMaxTicks)
      return std::unexpected(
          fmt::format("{} must be a list of numbers up to {}, separated by commas, "
                      "not '{}'",
                      option, kMaxTicks, text));
    list.push_back(static_cast<std::uint32_t>(*value));
    if (comma == rest.size()) return list;
    rest.remove_prefix(comma + 1);
  }
}

Result<void> parse_delay(const std::string& text, check::Freedom& freedom) {
  const std::size_t dots = text.find("..");
  const auto low = parse_number<std::uint64_t>(std::string_view{text}.substr(0, dots));
  const auto high = dots == std::string::npos
                        ? low
                        : parse_number<std::uint64_t>(std::string_view{text}.substr(dots + 2));
  if (!low || !high || *low < 1 || *high < *low || *high > 20)
    return std::unexpected(
        fmt::format("--delay must be a range of ticks from 1 to 20, such as 1..2, not '{}'", text));
  freedom.delay_min = static_cast<std::uint8_t>(*low);
  freedom.delay_max = static_cast<std::uint8_t>(*high);
  return {};
}

Result<void> parse_starts(const CheckElectionArguments& arguments, CheckPlan& plan) {
  check::Freedom& freedom = plan.freedom;
  if (arguments.starts.empty()) {
    for (std::uint32_t i = 0; i < freedom.nodes; ++i)
      freedom.starts[i] = static_cast<std::uint8_t>(i * kDefaultStagger);
  } else {
    TRY(starts, list_of(arguments.starts, "--starts"));
    if (starts.size() != freedom.nodes)
      return std::unexpected(
          fmt::format("--starts must have one tick for each of the {} nodes", freedom.nodes));
    for (std::uint32_t i = 0; i < freedom.nodes; ++i)
      freedom.starts[i] = static_cast<std::uint8_t>(starts[i]);
  }
  if (arguments.cut.empty() != (arguments.cut_until == 0))
    return std::unexpected("--cut and --cut-until must be given together");
  if (arguments.cut_until > kMaxTicks)
    return std::unexpected(
        fmt::format("--cut-until must be at most {}, not {}", kMaxTicks, arguments.cut_until));
  if (arguments.cut.empty()) return {};
  TRY(side, list_of(arguments.cut, "--cut"));
  for (const std::uint32_t node : side) {
    if (node < 1 || node > freedom.nodes)
      return std::unexpected(
          fmt::format("--cut must name nodes from 1 to {}, not {}", freedom.nodes, node));
    freedom.side |= static_cast<std::uint8_t>(1U << (node - 1));
  }
  freedom.cut_until = static_cast<std::uint8_t>(arguments.cut_until);
  plan.model.parted = true;
  return {};
}

}  // namespace

Result<std::size_t> memory_of(const std::string& text) {
  const std::size_t last = text.empty() ? 0 : text.size() - 1;
  const char unit = text.empty() ? ' ' : text[last];
  const unsigned shift = unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0;
  const auto value = parse_number<std::uint64_t>(
      std::string_view{text}.substr(0, shift == 0 ? text.size() : last));
  if (!value || *value > (std::uint64_t{1} << 40 >> shift) || *value << shift < kLeastMemory)
    return std::unexpected(fmt::format(
        "--memory must be an amount of at least 1M, such as 512M or 4G, not '{}'", text));
  return static_cast<std::size_t>(*value << shift);
}

Result<CheckPlan> parse_plan(const CheckElectionArguments& arguments) {
  CheckPlan plan;
  TRY(variant, election::parse_variant(arguments.variant));
  TRY(memory, memory_of(arguments.memory));
  plan.memory = memory;
  plan.fingerprints = arguments.fingerprints;
  if (arguments.profile != "tiny")
    return std::unexpected(fmt::format(
        "--profile must be tiny, the profile with times in ticks, not '{}'", arguments.profile));
  if (arguments.nodes < 1 || arguments.nodes > check::kMaxNodes)
    return std::unexpected(
        fmt::format("--nodes must be from 1 to {}, not {}", check::kMaxNodes, arguments.nodes));
  plan.freedom.nodes = arguments.nodes;
  for (const std::uint32_t count : {arguments.losses, arguments.duplicates, arguments.crashes,
                                    arguments.restarts, arguments.pauses})
    if (count > kMaxOfOneFault)
      return std::unexpected(
          fmt::format("at most {} faults of one kind can be checked", kMaxOfOneFault));
  if (arguments.restarts > 0 && arguments.crashes == 0)
    return std::unexpected("--restarts needs --crashes: a node restarts only after a crash");
  plan.freedom.budget = {.losses = static_cast<std::uint8_t>(arguments.losses),
                         .duplicates = static_cast<std::uint8_t>(arguments.duplicates),
                         .crashes = static_cast<std::uint8_t>(arguments.crashes),
                         .restarts = static_cast<std::uint8_t>(arguments.restarts),
                         .pauses = static_cast<std::uint8_t>(arguments.pauses)};
  if (arguments.timing == "free")
    plan.freedom.timing = check::Timing::free;
  else if (arguments.timing != "bounded")
    return std::unexpected(
        fmt::format("--timing must be bounded or free, not '{}'", arguments.timing));
  if (arguments.network == "fifo")
    plan.freedom.network = check::Network::fifo;
  else if (arguments.network == "set")
    plan.freedom.network = check::Network::set;
  else if (arguments.network == "ordered")
    plan.freedom.network = check::Network::ordered;
  else if (arguments.network != "bag")
    return std::unexpected(
        fmt::format("--network must be bag, fifo, set or ordered, not '{}'", arguments.network));
  if (arguments.threads > 2)
    return std::unexpected("--threads must be 1 or 2, or 0 for one per core");
  if (arguments.json && arguments.explore)
    return std::unexpected("--explore is interactive and --json prints JSON; choose one");
  if (const auto conflict = json_conflict(arguments.json, false, arguments.diagram))
    return std::unexpected(*conflict);
  if (arguments.candidacies < 1 || arguments.candidacies > 3)
    return std::unexpected("--candidacies must be from 1 to 3");
  if (plan.freedom.timing == check::Timing::free &&
      (!arguments.starts.empty() || !arguments.cut.empty()))
    return std::unexpected("--timing free has no ticks; leave out --starts and --cut");
  plan.model.rules = check::tiny_rules(variant);
  plan.model.candidacies = arguments.candidacies;
  plan.model.timed = plan.freedom.timing == check::Timing::bounded;
  if (const Result<void> done = parse_delay(arguments.delay, plan.freedom); !done)
    return std::unexpected(done.error());
  if (plan.freedom.timing == check::Timing::bounded)
    if (const Result<void> done = parse_starts(arguments, plan); !done)
      return std::unexpected(done.error());
  return plan;
}

namespace {

// Whether each node starts so late that the one before it is already master.
bool starts_one_by_one(const check::Freedom& freedom) {
  for (std::uint32_t i = 1; i < freedom.nodes; ++i)
    if (freedom.starts[i] < freedom.starts[i - 1] + kDefaultStagger) return false;
  return true;
}

}  // namespace

std::vector<std::string> assumptions(const CheckPlan& plan) {
  const check::Freedom& freedom = plan.freedom;
  std::vector<std::string> list;
  if (freedom.timing == check::Timing::bounded) {
    list.emplace_back(
        "time advances in whole ticks, the same for all nodes; every delay is a whole number of "
        "ticks within its bounds");
    list.emplace_back("timers fire in the tick in which they are due");
    std::string starts;
    for (std::uint32_t i = 0; i < freedom.nodes; ++i)
      starts += fmt::format("{}{}", i == 0 ? "" : ", ", freedom.starts[i]);
    list.push_back(fmt::format("the nodes start in ticks {}", starts));
    const check::Budget& budget = freedom.budget;
    if (starts_one_by_one(freedom) && budget.losses + budget.crashes + budget.pauses == 0)
      list.emplace_back(
          "the first node becomes master and stays master: no election takes place; use --crashes "
          "1, or --starts with equal ticks, to cause one");
  } else {
    list.emplace_back(
        "time is not modelled: any timer that is set may fire, and every other deadline counts as "
        "passed");
  }
  list.push_back(
      fmt::format("each node is a candidate at most {} {}; later elections are assumed to succeed",
                  plan.model.candidacies, plan.model.candidacies == 1 ? "time" : "times"));
  list.emplace_back("the fate of a message is decided when it is sent");
  if (freedom.network == check::Network::ordered)
    list.emplace_back("broadcasts arrive at all nodes in the order of sending");
  if (freedom.network == check::Network::set)
    list.emplace_back("equal messages sent in one tick on one link count as one");
  if (plan.fingerprints)
    list.emplace_back(
        "two states with the same 64-bit fingerprint count as one; omission_probability bounds the "
        "probability that this happened");
  if (freedom.budget.pauses != 0)
    list.emplace_back("a pause of more than 40 ticks counts as one of 40");
  if (freedom.cut_until != 0)
    list.push_back(
        fmt::format("no message passes between the two sides before tick {}", freedom.cut_until));
  list.emplace_back(
      "can-always-come-good requires that a path without further faults exists, not that it is "
      "taken");
  return list;
}

}  // namespace tempo::cli
