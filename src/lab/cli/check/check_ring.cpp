#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/result.h"
#include "lab/cli/check/check_counterexample.h"
#include "lab/cli/check/commands.h"
#include "lab/cli/output.h"
#include "lab/studies/group/ring/ring_models.h"

namespace tempo::cli {
namespace {

constexpr std::uint32_t kMaxStations = 5;
constexpr std::uint32_t kMaxOfOneFault = 4;
constexpr std::uint32_t kMaxElections = 4;  // largest election number that is explored

struct RingTexts {
  static std::string timer(const election::RingElection&, std::uint32_t /*timer*/) {
    return "link";
  }
  static std::string timer(const election::AnonymousRingElection&, std::uint32_t timer) {
    return timer == 0 ? "clock" : "link";
  }
  static std::string command() { return "wakes up"; }
  static std::string drawn(std::uint32_t value) { return fmt::format("draws {}", value + 1); }
  template <class Machine>
  static std::string state(const Machine& machine) {
    return std::string(name_of(machine.state()));
  }
};

template <class Model>
Counterexample search_model(const Model& model, const check::Freedom& freedom,
                            const typename Model::Machine::Command& wake,
                            const CheckRingArguments& arguments) {
  const std::uint32_t wakers = arguments.wakers == 0 ? freedom.nodes : arguments.wakers;
  std::vector<std::pair<NodeId, typename Model::Machine::Command>> commands;
  commands.reserve(wakers);
  for (std::uint32_t i = 0; i < wakers; ++i) commands.emplace_back(NodeId{i}, wake);
  check::Space<Model> space(model, freedom, commands);
  return find_counterexample(space, {.threads = arguments.threads}, RingTexts{});
}

std::vector<std::string> assumptions(const CheckRingArguments& arguments) {
  std::vector<std::string> list{
      "time advances in whole ticks, the same for all nodes; every delay is a whole number of "
      "ticks within its bounds",
      "timers fire in the tick in which they are due",
      arguments.wakers == 0
          ? "each station may wake up at any time, by itself or by a message"
          : fmt::format(
                "the first {} stations may wake up at any time, the others wake up by a message",
                arguments.wakers)};
  if (arguments.losses + arguments.duplicates + arguments.crashes == 0)
    list.emplace_back("each link keeps the order of its messages");
  else
    list.emplace_back("datagrams arrive in any order");
  if (arguments.kind == "equitable")
    list.push_back(fmt::format("elections after number {} are assumed to succeed", kMaxElections));
  else
    list.emplace_back("all stations are equally fast");
  list.emplace_back(
      "can-always-come-good requires that a path without further faults exists, not that it is "
      "taken");
  return list;
}

Result<void> check_options(const CheckRingArguments& arguments) {
  if (arguments.kind != "equitable" && arguments.kind != "anonymous")
    return std::unexpected(
        fmt::format("--kind must be equitable or anonymous, not '{}'", arguments.kind));
  if (arguments.stations < 2 || arguments.stations > kMaxStations)
    return std::unexpected(
        fmt::format("--stations must be from 2 to {}, not {}", kMaxStations, arguments.stations));
  if (arguments.range < 2 || arguments.range > 8)
    return std::unexpected(fmt::format("--range must be from 2 to 8, not {}", arguments.range));
  if (arguments.stages < 1 || arguments.stages > 8)
    return std::unexpected(fmt::format("--stages must be from 1 to 8, not {}", arguments.stages));
  if (arguments.delay < 1 || arguments.delay > 4)
    return std::unexpected(
        fmt::format("--delay must be from 1 to 4 ticks, not {}", arguments.delay));
  for (const std::uint32_t count : {arguments.losses, arguments.duplicates, arguments.crashes})
    if (count > kMaxOfOneFault)
      return std::unexpected(
          fmt::format("at most {} faults of one kind can be checked", kMaxOfOneFault));
  if (arguments.crashes >= arguments.stations)
    return std::unexpected("--crashes must be below --stations: one station must remain");
  if (arguments.wakers > arguments.stations)
    return std::unexpected(
        fmt::format("--wakers must be at most --stations, not {}", arguments.wakers));
  if (arguments.threads > 2)
    return std::unexpected("--threads must be 1 or 2, or 0 for one per core");
  const bool equitable = arguments.kind == "equitable";
  const std::string& variant = arguments.variant;
  const bool known =
      variant.empty() ||
      (equitable ? variant == "equitable" || variant == "ties-by-id" || variant == "highest-id"
                 : variant == "corrected" || variant == "printed-next-timer");
  if (!known)
    return std::unexpected(fmt::format(
        "--variant of --kind {} must be {}, not '{}'", arguments.kind,
        equitable ? "equitable, ties-by-id or highest-id" : "corrected or printed-next-timer",
        variant));
  return {};
}

Counterexample search_ring(const CheckRingArguments& arguments) {
  const check::RingWorld world{
      .stations = arguments.stations,
      .delay_max = static_cast<std::uint8_t>(arguments.delay),
      .budget = {.losses = static_cast<std::uint8_t>(arguments.losses),
                 .duplicates = static_cast<std::uint8_t>(arguments.duplicates),
                 .crashes = static_cast<std::uint8_t>(arguments.crashes)}};
  if (arguments.kind == "equitable") {
    using election::ring::Method;
    const Method method = arguments.variant == "ties-by-id"   ? Method::ties_by_id
                          : arguments.variant == "highest-id" ? Method::highest_id
                                                              : Method::equitable;
    const check::EquitableModel model{
        .rules = {.link = link_rules(world), .range = arguments.range, .method = method},
        .elections = kMaxElections};
    return search_model(model, freedom_of(world), election::ring::Command::wake, arguments);
  }
  const check::AnonymousModel model{
      .rules = anonymous_rules(world, arguments.stages, arguments.variant == "printed-next-timer")};
  return search_model(model, freedom_of(world), election::anonymous::Command::wake, arguments);
}

std::string success_text(const CheckRingArguments& arguments) {
  return arguments.kind == "equitable"
             ? "No election has two leaders, and from every state the ring can still reach one\n"
               "leader that all live stations follow."
             : "No station that alone drew 1 gives up, and from every state the ring can still\n"
               "finish.";
}

}  // namespace

int check_ring(const CheckRingArguments& arguments) {
  if (const Result<void> valid = check_options(arguments); !valid) return bad_usage(valid.error());
  return print_result(search_ring(arguments), assumptions(arguments), success_text(arguments),
                      arguments.json);
}

}  // namespace tempo::cli
