#include "lab/cli/check/check_lock_lease.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/result.h"
#include "lab/cli/check/check_counterexample.h"
#include "lab/cli/check/check_plan.h"
#include "lab/studies/lock/lease_model.h"

namespace tempo::cli {
namespace {

using check::LeaseModel;
using check::LeaseSite;
using check::LeaseWorld;

constexpr std::uint32_t kMaxSites = 5;
constexpr std::uint32_t kMaxHappenings = 16;  // asks, crashes and changes, as the checker counts
constexpr std::uint32_t kMaxTicks = 4;
constexpr std::uint32_t kLeastLease = 5;
constexpr std::uint32_t kMaxLease = 16;
constexpr std::uint32_t kMaxChanges = 2;

struct LeaseWords {
  std::vector<std::pair<NodeId, LeaseSite::Command>> commands;

  static std::string timer(const LeaseSite& /*site*/, std::uint32_t timer) {
    return timer == 0 ? "own" : "client's";
  }
  std::string command(std::uint32_t number) const {
    using Kind = LeaseSite::Command::Kind;
    const LeaseSite::Command& command = commands[number].second;
    if (command.kind == Kind::crash) return "crashes";
    if (command.kind == Kind::change)
      return fmt::format("wants to change the vote of {}", index(command.member) + 1);
    return command.mode == lock::Mode::shared ? "wants to read" : "wants to write";
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
      text += fmt::format(", its last life's client with {}.{}", site.ghost().held.count,
                          site.ghost().held.sub);
    return text;
  }
};

Result<void> refuse(std::string why) { return std::unexpected(std::move(why)); }

Result<void> within_bounds(const CheckLockArguments& arguments, std::uint32_t contending) {
  if (arguments.sites < 2 || arguments.sites > kMaxSites)
    return refuse(fmt::format("--sites must be from 2 to {}, not {}", kMaxSites, arguments.sites));
  if (contending > arguments.sites)
    return refuse(fmt::format("--contending must be from 1 to --sites {}, not {}", arguments.sites,
                              contending));
  if (arguments.readers > contending)
    return refuse(fmt::format("--readers must be at most --contending {}, not {}", contending,
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
    return refuse("--restarts must be as many as --crashes: a daemon of a lease lock starts again");
  if (arguments.crashes > 1) return refuse("--crashes is at most 1 for --kind lease");
  for (const std::uint32_t count : {arguments.losses, arguments.duplicates, arguments.pauses})
    if (count > 4) return refuse("at most 4 faults of one kind can be checked");
  const std::uint32_t crashes = arguments.crashes > 0 ? arguments.sites : 0;
  if (arguments.entries < 1 || arguments.entries > kMaxHappenings ||
      arguments.entries * contending + arguments.changes + crashes > kMaxHappenings)
    return refuse(
        fmt::format("--entries times --contending, with --changes, and --sites if one "
                    "may crash, must be from 1 to {}",
                    kMaxHappenings));
  if (arguments.threads > 2) return refuse("--threads is 1 or 2");
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
      fmt::format("time goes in whole ticks, the same for all; a message takes up to {}, {}, and "
                  "handling it takes none",
                  world.delay_max,
                  world.orderly ? "each link keeps the order, and mail comes before timers"
                                : "in any order"),
      fmt::format("a lease is {} ticks; who is let in stays for one tick or for a lease, its clock "
                  "test allowing",
                  world.lease),
      "who wants the lock asks at any time, unless it waits or is inside",
      fmt::format("counts of ballots beyond {} are not looked at, more after a crash or a change",
                  world.ballots)};
  if (world.crashes > 0)
    list.emplace_back(
        "who crashes starts again after one tick or a lease, with its record; the client that was "
        "inside goes on");
  if (world.budget.pauses > 0)
    list.emplace_back("a pause takes any time, and the client that is inside goes on");
  if (!world.changes.empty())
    list.emplace_back("a change takes a member's vote away, or gives it back");
  list.emplace_back(
      "can-always-come-good asks for a way without further faults, not that every way is taken");
  return list;
}

}  // namespace

int check_lease(const CheckLockArguments& arguments) {
  const Result<LeaseWorld> world = parse_plan(arguments);
  if (!world) return refuse_check(world.error());
  const Result<std::size_t> memory = memory_of(arguments.memory);
  if (!memory) return refuse_check(memory.error());
  return in_space(*world, [&](check::Space<LeaseModel>& space) {
    const Counterexample counterexample = find_counterexample(
        space, {.memory = *memory, .fingerprints = true, .threads = arguments.threads},
        LeaseWords{commands_of(*world)});
    return notify(
        counterexample, assumptions(*world),
        "no two in conflict are inside together, tokens rise,\nnobody's lease is revived, all "
        "see the same views, and from every state all who live can\nstill be served.",
        arguments.json);
  });
}

}  // namespace tempo::cli
