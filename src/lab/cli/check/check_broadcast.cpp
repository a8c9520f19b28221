#include <vector>

#include <fmt/core.h>

#include "base/result.h"
#include "lab/cli/check/check_counterexample.h"
#include "lab/cli/check/check_plan.h"
#include "lab/cli/check/commands.h"
#include "lab/cli/output.h"
#include "lab/studies/group/broadcast/broadcast_model.h"

namespace tempo::cli {
namespace {

using broadcast::Faults;
using check::BroadcastModel;
using check::BroadcastWorld;

constexpr std::uint32_t kMaxNodes = 5;
constexpr std::uint32_t kMaxOfOneFault = 4;
constexpr std::uint32_t kMaxTicks = 4;

struct BroadcastTexts {
  static std::string timer(const check::Speaker& /*speaker*/, std::uint32_t timer) {
    switch (static_cast<broadcast::Timer>(timer)) {
      case broadcast::Timer::deliver:
        return "delivery";
      case broadcast::Timer::forget:
        return "forget";
      case broadcast::Timer::rejoin:
        return "rejoin";
      case broadcast::Timer::fill:
        return "fill";
      case broadcast::Timer::count:
        return "own";
    }
    return "own";
  }
  static std::string command() { return "broadcasts"; }
  static std::string drawn(std::uint32_t value) { return fmt::format("draws {}", value); }
  static std::string state(const check::Speaker& speaker) {
    std::string text = speaker.correct() ? "has delivered" : "faulty; has delivered";
    for (const check::Saying& saying : speaker.log())
      text += fmt::format(" message {1} of node {0} at {2}", index(saying.sender) + 1,
                          saying.word.value, saying.stamp.count());
    if (speaker.log().empty()) text += " nothing";
    if (speaker.doubt() != broadcast::Doubt::none) text += ", in doubt";
    return text;
  }
};

Result<void> within_bounds(const CheckBroadcastArguments& arguments) {
  const auto refuse = [](std::string why) -> Result<void> {
    return std::unexpected(std::move(why));
  };
  if (arguments.nodes < 2 || arguments.nodes > kMaxNodes)
    return refuse(fmt::format("--nodes must be from 2 to {}, not {}", kMaxNodes, arguments.nodes));
  if (arguments.faulty + 2 > arguments.nodes)
    return refuse(fmt::format("--faulty {} needs at least {} nodes: two correct nodes must remain",
                              arguments.faulty, arguments.faulty + 2));
  if (arguments.faults != "omission" && arguments.faults != "malicious")
    return refuse(
        fmt::format("--faults must be omission or malicious, not '{}'", arguments.faults));
  if (arguments.delay < 1 || arguments.delay > kMaxTicks)
    return refuse(
        fmt::format("--delay must be from 1 to {} ticks, not {}", kMaxTicks, arguments.delay));
  if (arguments.clock_error > kMaxTicks)
    return refuse(fmt::format("--clock-error must be at most {} ticks, not {}", kMaxTicks,
                              arguments.clock_error));
  if (arguments.speakers > arguments.nodes)
    return refuse(fmt::format("--speakers must be at most --nodes, not {}", arguments.speakers));
  for (const std::uint32_t count : {arguments.losses, arguments.crashes})
    if (count > kMaxOfOneFault)
      return refuse(fmt::format("at most {} faults of one kind can be checked", kMaxOfOneFault));
  if (arguments.crashes >= arguments.nodes)
    return refuse("--crashes must be below --nodes: one node must remain");
  if (arguments.threads > 2) return refuse("--threads must be 1 or 2, or 0 for one per core");
  return {};
}

Result<BroadcastWorld> parse_plan(const CheckBroadcastArguments& arguments) {
  if (const Result<void> done = within_bounds(arguments); !done)
    return std::unexpected(done.error());
  const bool malicious = arguments.faults == "malicious";
  const bool explicit_faults = arguments.losses + arguments.crashes > 0;
  if (malicious && explicit_faults)
    return std::unexpected(
        "--losses and --crashes are for --faults omission; malicious nodes include both");
  BroadcastWorld world{.nodes = arguments.nodes,
                       .faulty = arguments.faulty,
                       .first_is_faulty = arguments.faulty > 0 && !explicit_faults,
                       .faults = malicious ? Faults::malicious : Faults::omission,
                       .delay_max = static_cast<std::uint8_t>(arguments.delay),
                       .precision = static_cast<std::uint8_t>(arguments.clock_error),
                       .speakers = arguments.speakers,
                       .budget = {.losses = static_cast<std::uint8_t>(arguments.losses),
                                  .crashes = static_cast<std::uint8_t>(arguments.crashes)},
                       .short_by = static_cast<std::uint8_t>(arguments.short_by),
                       .relays = !arguments.no_relay,
                       .tests_hop = !arguments.no_hop_test};
  const Nanos whole = rules_of(world).delay * (world.faulty + 1);
  if (arguments.short_by > static_cast<std::uint64_t>(whole.count()))
    return std::unexpected(fmt::format("--short-by must be at most {} ticks, not {}", whole.count(),
                                       arguments.short_by));
  const bool byzantine = malicious && world.first_is_faulty;
  if (world.speakers == 0) world.speakers = byzantine ? 1 : 2;
  // Long enough to delay a message until its delivery time.
  if (byzantine) world.window = static_cast<std::uint8_t>(rules_of(world).latency().count());
  return world;
}

std::vector<std::string> assumptions(const BroadcastWorld& world) {
  const broadcast::Rules rules = rules_of(world);
  std::vector<std::string> list{
      "time advances in whole ticks; every delay is a whole number of ticks within its bounds",
      "a message that must arrive in a tick arrives before the timers of that tick fire, and "
      "timers fire in the tick in which they are due",
      fmt::format("clocks differ by a fixed number of ticks, at most {}", world.precision),
      fmt::format("Delta is {} ticks; faulty nodes: {}; maximum delay: {}{}",
                  rules.latency().count(), world.faulty, world.delay_max,
                  world.short_by == 0 ? "" : fmt::format(", shortened by {}", world.short_by))};
  list.push_back(
      fmt::format("the first {} nodes broadcast one message each, in one of the ticks 0 to {}",
                  world.speakers, world.window));
  if (!world.first_is_faulty)
    list.emplace_back("all nodes are correct, apart from the allowed losses and crashes");
  else if (world.faults == Faults::omission)
    list.emplace_back("node 1 is faulty: it may fail to send or to receive any copy");
  else
    list.emplace_back(
        "node 1 is faulty: it may send different messages with one number and one timestamp to any "
        "node at any time, but cannot forge a signature");
  return list;
}

}  // namespace

int check_broadcast(const CheckBroadcastArguments& arguments) {
  const Result<BroadcastWorld> world = parse_plan(arguments);
  if (!world) return bad_usage(world.error());
  const Result<std::size_t> memory = memory_of(arguments.memory);
  if (!memory) return bad_usage(memory.error());
  const BroadcastModel model{.world = *world, .rules = rules_of(*world)};
  check::Space<BroadcastModel> space(model, freedom_of(*world));
  const Counterexample counterexample = find_counterexample(
      space, {.memory = *memory, .threads = arguments.threads}, BroadcastTexts{});
  return print_result(counterexample, assumptions(*world),
                      "validity, agreement, order, in-time and no-invention hold.", arguments.json);
}

}  // namespace tempo::cli
