#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/result.h"
#include "lab/cli/check/check_counterexample.h"
#include "lab/cli/check/check_plan.h"
#include "lab/cli/check/commands.h"
#include "lab/cli/output.h"
#include "lab/studies/lock/lease_model.h"

namespace tempo::cli {
namespace {

using check::LeaseModel;
using check::LeaseSite;
using check::LeaseWorld;

constexpr std::uint32_t kMaxSites = 5;
constexpr std::uint32_t kMaxCommands = 16;  // requests, crashes and changes, a limit of the checker
constexpr std::uint32_t kMaxTicks = 4;
constexpr std::uint32_t kLeastLease = 5;
constexpr std::uint32_t kMaxLease = 16;
constexpr std::uint32_t kMaxChanges = 2;

struct LeaseTexts {
  std::vector<std::pair<NodeId, LeaseSite::Command>> commands;

  static std::string timer(const LeaseSite& /*site*/, std::uint32_t timer) {
    return timer == 0 ? "own" : "client's";
  }
  std::string command(std::uint32_t number) const {
    using Kind = LeaseSite::Command::Kind;
    const LeaseSite::Command& command = commands[number].second;
    if (command.kind == Kind::crash) return "crashes";
    if (command.kind == Kind::change)
      return fmt::format("requests to change the vote of {}", index(command.member) + 1);
    return command.mode == lock::Mode::shared ? "requests to read" : "requests to write";
  }
  static std::string drawn(std::uint32_t value) {
    return fmt::format("for {} time", value == 0 ? "a short" : "a long");
  }
  static std::string state(const LeaseSite& site) {
    const auto& state = site.member().state();
    std::string text =
        site.guest().inside
            ? fmt::format("inside with {}.{}", site.guest().held.count, site.guest().held.sub)
        : site.waits()  ? "waits"
        : state.running ? "idle"
                        : "down";
    if (site.ghost().inside)
      text += fmt::format(", client of its previous incarnation with {}.{}",
                          site.ghost().held.count, site.ghost().held.sub);
    return text;
  }
};

Result<void> refuse(std::string why) { return std::unexpected(std::move(why)); }

Result<void> within_bounds(const CheckLockArguments& arguments, std::uint32_t contending) {
  if (arguments.sites < 2 || arguments.sites > kMaxSites)
    return refuse(fmt::format("--sites must be from 2 to {}, not {}", kMaxSites, arguments.sites));
  if (contending > arguments.sites)
    return refuse(fmt::format("--contending must be from 1 to {} (--sites), not {}",
                              arguments.sites, contending));
  if (arguments.readers > contending)
    return refuse(fmt::format("--readers must be at most {} (--contending), not {}", contending,
                              arguments.readers));
  if (arguments.delay < 1 || arguments.delay > kMaxTicks)
    return refuse(
        fmt::format("--delay must be from 1 to {} ticks, not {}", kMaxTicks, arguments.delay));
  if (arguments.lease < kLeastLease || arguments.lease > kMaxLease)
    return refuse(fmt::format("--lease must be from {} to {} ticks, not {}", kLeastLease, kMaxLease,
                              arguments.lease));
  if (arguments.changes > kMaxChanges)
    return refuse(
        fmt::format("--changes must be at most {}, not {}", kMaxChanges, arguments.changes));
  if (arguments.hold != 1)
    return refuse("--hold is not for --kind lease: a client stays for a tick or for a lease");
  if (arguments.handling > 0) return refuse("--handling is not for --kind lease");
  if (arguments.variant != "corrected") return refuse("--variant is not for --kind lease");
  if (arguments.restarts != arguments.crashes)
    return refuse("--restarts must equal --crashes: a crashed daemon of a lease lock restarts");
  if (arguments.crashes > 1) return refuse("--crashes must be at most 1 for --kind lease");
  for (const std::uint32_t count : {arguments.losses, arguments.duplicates, arguments.pauses})
    if (count > 4) return refuse("at most 4 faults of one kind can be checked");
  const std::uint32_t crashes = arguments.crashes > 0 ? arguments.sites : 0;
  if (arguments.entries < 1 || arguments.entries > kMaxCommands ||
      arguments.entries * contending + arguments.changes + crashes > kMaxCommands)
    return refuse(
        fmt::format("--entries times --contending, plus --changes, plus --sites with "
                    "--crashes, must be from 1 to {}",
                    kMaxCommands));
  if (arguments.threads > 2) return refuse("--threads must be 1 or 2, or 0 for one per core");
  return {};
}

Result<LeaseWorld> parse_plan(const CheckLockArguments& arguments) {
  const std::uint32_t contending = arguments.contending == 0 ? 2 : arguments.contending;
  if (auto good = within_bounds(arguments, contending); !good) return std::unexpected(good.error());
  LeaseWorld world{.sites = arguments.sites,
                   .lease = static_cast<std::uint8_t>(arguments.lease),
                   .delay_max = static_cast<std::uint8_t>(arguments.delay),
                   .crashes = static_cast<std::uint8_t>(arguments.crashes),
                   .budget = {.losses = static_cast<std::uint8_t>(arguments.losses),
                              .duplicates = static_cast<std::uint8_t>(arguments.duplicates),
                              .pauses = static_cast<std::uint8_t>(arguments.pauses)},
                   .orderly = !arguments.any_order};
  for (std::uint32_t site = 0; site < contending; ++site)
    for (std::uint32_t i = 0; i < arguments.entries; ++i)
      world.wishes.emplace_back(
          NodeId{site}, site < arguments.readers ? lock::Mode::shared : lock::Mode::exclusive);
  for (std::uint32_t i = 0; i < arguments.changes; ++i)
    world.changes.emplace_back(NodeId{i}, NodeId{arguments.sites - 1 - i});
  return world;
}

std::vector<std::string> assumptions(const LeaseWorld& world) {
  std::vector<std::string> list{
      fmt::format("time advances in whole ticks, the same for all sites; a message takes up to {}, "
                  "{}, and its handling takes none",
                  ticks_text(world.delay_max),
                  world.orderly
                      ? "each link preserves the order, and messages arrive before timers fire"
                      : "in any order"),
      fmt::format(
          "a lease is {} ticks; a client holds the lock for one tick or for a lease, as long as "
          "its clock test allows",
          world.lease),
      "a client requests the lock at any time, unless it waits for it or holds it",
      fmt::format(
          "ballot numbers above {} are not explored; the limit is higher after a crash or a change",
          world.ballots)};
  if (world.crashes > 0)
    list.emplace_back(
        "a crashed site restarts after one tick or a lease, with its record; its client continues");
  if (world.budget.pauses > 0)
    list.emplace_back("a pause has any length, and the client of the site continues");
  if (!world.changes.empty())
    list.emplace_back("a change removes the vote of a member, or restores it");
  list.emplace_back(
      "can-always-come-good requires that a path without further faults exists, not that it is "
      "taken");
  return list;
}

}  // namespace

int check_lease(const CheckLockArguments& arguments) {
  const Result<LeaseWorld> world = parse_plan(arguments);
  if (!world) return bad_usage(world.error());
  const Result<std::size_t> memory = memory_of(arguments.memory);
  if (!memory) return bad_usage(memory.error());
  return in_space(*world, [&](check::Space<LeaseModel>& space) {
    const Counterexample counterexample = find_counterexample(
        space, {.memory = *memory, .fingerprints = true, .threads = arguments.threads},
        LeaseTexts{commands_of(*world)});
    return print_result(
        counterexample, assumptions(*world),
        "No two conflicting clients hold the lock together, tokens\nincrease, no expired lease "
        "is revived, all sites see the same views, and from every\nstate all live sites can still "
        "obtain the lock.",
        arguments.json);
  });
}

}  // namespace tempo::cli
