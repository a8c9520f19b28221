#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "base/result.h"
#include "lab/cli/check/check_counterexample.h"
#include "lab/cli/check/check_plan.h"
#include "lab/cli/check/commands.h"
#include "lab/cli/output.h"
#include "lab/studies/group/capacity_model.h"

namespace tempo::cli {
namespace {

using check::CapacityAlgorithm;
using check::CapacityWorld;
using election::capacity::Variant;

constexpr std::uint32_t kMaxNodes = 7;
constexpr std::uint32_t kMaxOfOneFault = 8;
constexpr std::uint32_t kMaxTicks = 4;
constexpr std::array<std::string_view, 4> kAlgorithms{"a", "b1", "b2", "c"};

struct CapacityTexts {
  template <class Machine>
  static std::string timer(const Machine& machine, std::uint32_t /*timer*/) {
    return check::process_of(machine) == nullptr ? "own" : "phase";
  }
  static std::string command() { return "begins"; }
  static std::string drawn(std::uint32_t value) {
    return value == 0   ? "sends nothing"
           : value == 1 ? "bids the maximum"
                        : fmt::format("reports {} bids", value - 2);
  }
  template <class Machine>
  static std::string state(const Machine& machine) {
    const auto* process = check::process_of(machine);
    if (process == nullptr) return "malicious";
    std::string text(name_of(process->phase()));
    if (!process->decided()) return text;
    const NodeId master = process->master();
    return text + ", elects " +
           (master == kNobody ? "nobody" : fmt::format("{}", index(master) + 1));
  }
};

Result<CapacityAlgorithm> algorithm_of(const std::string& text) {
  const auto* const found = std::ranges::find(kAlgorithms, text);
  if (found == kAlgorithms.end())
    return std::unexpected(fmt::format("--algorithm must be a, b1, b2 or c, not '{}'", text));
  return static_cast<CapacityAlgorithm>(found - kAlgorithms.begin());
}

// Rejects options that the algorithm does not have, and values out of range.
Result<void> check_options(const CheckCapacityArguments& arguments, const CapacityWorld& world) {
  const auto refuse = [](std::string why) -> Result<void> {
    return std::unexpected(std::move(why));
  };
  const bool is_a = world.algorithm == CapacityAlgorithm::a;
  const bool is_c = world.algorithm == CapacityAlgorithm::c;
  if (world.nodes < 2 || world.nodes > kMaxNodes)
    return refuse(fmt::format("--nodes must be from 2 to {}, not {}", kMaxNodes, world.nodes));
  if (arguments.malicious > 0 && world.algorithm != CapacityAlgorithm::b2)
    return refuse("--malicious is for --algorithm b2; the others tolerate no malicious node");
  if (world.nodes < 3 * world.malicious + 1)
    return refuse(fmt::format("--malicious {} needs at least {} nodes, not {}", world.malicious,
                              3 * world.malicious + 1, world.nodes));
  if (world.candidates < 1 || world.candidates > world.nodes - world.malicious)
    return refuse(
        fmt::format("--candidates must be from 1 to {} (--nodes without --malicious), not {}",
                    world.nodes - world.malicious, world.candidates));
  if (arguments.losses > 0 && !is_c)
    return refuse("--losses is for --algorithm c; the others require a reliable broadcast");
  if ((arguments.start_skew > 0 || arguments.no_self_delivery) && !is_a)
    return refuse("--start-skew and --no-self-delivery are for --algorithm a");
  if (arguments.together && is_a)
    return refuse("--together is not for --algorithm a, where all nodes always start together");
  if (arguments.crashes > 0 && world.algorithm == CapacityAlgorithm::b2)
    return refuse("--crashes is not for --algorithm b2; use --malicious, which includes crashes");
  if (arguments.crashes >= world.nodes)
    return refuse("--crashes must be below --nodes: one node must remain");
  return {};
}

Result<void> within_bounds(const CheckCapacityArguments& arguments) {
  for (const std::uint32_t count : {arguments.crashes, arguments.losses, arguments.pauses})
    if (count > kMaxOfOneFault)
      return std::unexpected(
          fmt::format("at most {} faults of one kind can be checked", kMaxOfOneFault));
  if (arguments.delay < 1 || arguments.delay > kMaxTicks)
    return std::unexpected(
        fmt::format("--delay must be from 1 to {} ticks, not {}", kMaxTicks, arguments.delay));
  if (arguments.start_skew > kMaxTicks)
    return std::unexpected(fmt::format("--start-skew must be at most {} ticks, not {}", kMaxTicks,
                                       arguments.start_skew));
  if (arguments.malicious > kMaxNodes)
    return std::unexpected(
        fmt::format("--malicious must be at most {}, not {}", kMaxNodes, arguments.malicious));
  if (arguments.variant != "corrected" && arguments.variant != "as-printed")
    return std::unexpected(
        fmt::format("--variant must be corrected or as-printed, not '{}'", arguments.variant));
  if (arguments.threads > 2)
    return std::unexpected("--threads must be 1 or 2, or 0 for one per core");
  return {};
}

Result<CapacityWorld> parse_plan(const CheckCapacityArguments& arguments) {
  TRY(algorithm, algorithm_of(arguments.algorithm));
  if (const Result<void> done = within_bounds(arguments); !done)
    return std::unexpected(done.error());
  const std::uint32_t fewest = std::max(3U, 3 * arguments.malicious + 1);
  const std::uint32_t default_candidates = arguments.malicious > 0 ? 1 : 2;
  const CapacityWorld world{
      .algorithm = algorithm,
      .nodes = arguments.nodes == 0 ? fewest : arguments.nodes,
      .candidates = arguments.candidates == 0 ? default_candidates : arguments.candidates,
      .malicious = arguments.malicious,
      .delay_max = static_cast<std::uint8_t>(arguments.delay),
      .skew = static_cast<std::uint8_t>(arguments.start_skew),
      .together = arguments.together,
      .self_delivery = !arguments.no_self_delivery,
      .budget = {.losses = static_cast<std::uint8_t>(arguments.losses),
                 .crashes = static_cast<std::uint8_t>(arguments.crashes),
                 .pauses = static_cast<std::uint8_t>(arguments.pauses)},
      .variant = arguments.variant == "corrected" ? Variant::corrected : Variant::as_printed};
  if (const Result<void> done = check_options(arguments, world); !done)
    return std::unexpected(done.error());
  return world;
}

std::vector<std::string> assumptions(const CapacityWorld& world) {
  const bool is_c = world.algorithm == CapacityAlgorithm::c;
  std::vector<std::string> list{
      "time advances in whole ticks, the same for all nodes; every delay is a whole number of "
      "ticks within its bounds",
      "timers fire in the tick in which they are due",
      fmt::format(
          "T is {} ticks, one more than the maximum delay, because within a tick a timeout may "
          "come before a message",
          rules_of(world).bound.count()),
      world.candidates == 1 ? "node 1 is the only candidate"
                            : fmt::format("nodes 1 to {} are candidates, node {} is the best",
                                          world.candidates, world.candidates)};
  if (holds_at_once(world, NodeId{0}))
    list.emplace_back(world.skew == 0 ? "all nodes start in the same tick"
                                      : fmt::format("the last node starts {} after the others",
                                                    ticks_text(world.skew)));
  else
    list.emplace_back(
        "each candidate starts at any time, or when it receives a message of the election");
  list.emplace_back(
      is_c ? "messages arrive in any order; each copy of a broadcast is lost independently"
           : "a broadcast reaches all nodes or none; all receive broadcasts in the "
             "order of sending");
  if (world.malicious > 0)
    list.emplace_back(
        "a malicious node bids the maximum, or reports any number of bids, once each, at any time");
  list.push_back(
      fmt::format("elections after number {} are assumed to succeed", elections_of(world)));
  if (world.budget.losses > 0) list.emplace_back("after a message loss only one-master is checked");
  list.emplace_back(
      "can-always-come-good requires that a path without further faults exists, not that it is "
      "taken");
  return list;
}

std::string success_text(const CapacityWorld& world) {
  std::string text = world.algorithm == CapacityAlgorithm::c
                         ? "unique, one-master, best-wins and no-help"
                         : "unique and best-wins";
  return text + " hold where they apply, and from\nevery state all live nodes can still finish.";
}

}  // namespace

int check_capacity(const CheckCapacityArguments& arguments) {
  const Result<CapacityWorld> world = parse_plan(arguments);
  if (!world) return bad_usage(world.error());
  const Result<std::size_t> memory = memory_of(arguments.memory);
  if (!memory) return bad_usage(memory.error());
  const Counterexample counterexample = check::in_space(*world, [&](auto& space) {
    return find_counterexample(space, {.memory = *memory, .threads = arguments.threads},
                               CapacityTexts{});
  });
  return print_result(counterexample, assumptions(*world), success_text(*world), arguments.json);
}

}  // namespace tempo::cli
