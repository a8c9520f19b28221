#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/result.h"
#include "cli/common/choice.h"
#include "lab/cli/check/check_counterexample.h"
#include "lab/cli/check/check_plan.h"
#include "lab/cli/check/commands.h"
#include "lab/cli/output.h"
#include "lab/studies/lock/lock_model.h"

namespace tempo::cli {
namespace {

using check::LockModel;
using check::LockWorld;
using lock::mutex::Variant;
using sim::lock::Site;

constexpr std::uint32_t kMaxSites = 5;
constexpr std::uint32_t kMaxRequests = 8;
constexpr std::uint32_t kMaxOfOneFault = 4;
constexpr std::uint32_t kMaxTicks = 4;
constexpr std::array<std::pair<std::string_view, Variant>, 5> kVariants{
    {{"corrected", Variant::corrected},
     {"as-printed", Variant::as_printed},
     {"printed-window", Variant::printed_window},
     {"modulo", Variant::modulo},
     {"silent-second-timeout", Variant::silent_second_timeout}}};

struct LockTexts {
  static std::string timer(const Site& /*site*/, std::uint32_t timer) {
    constexpr std::array<std::string_view, 5> kNames{"inbox", "phase", "timeout", "answer",
                                                     "client's"};
    return std::string(kNames[timer]);
  }
  static std::string command() { return "requests the lock"; }
  static std::string drawn(std::uint32_t value) {
    return fmt::format("for {} more", ticks_text(value));
  }
  static std::string state(const Site& site) {
    std::string text(name_of(site.lock().phase()));
    if (site.lock().number() > 0) text += fmt::format(" with {}", site.lock().number());
    return text;
  }
};

Result<void> refuse(std::string why) { return std::unexpected(std::move(why)); }

Result<void> within_bounds(const CheckLockArguments& arguments, const LockWorld& world) {
  if (world.sites < 2 || world.sites > kMaxSites)
    return refuse(fmt::format("--sites must be from 2 to {}, not {}", kMaxSites, world.sites));
  if (world.contending > world.sites)
    return refuse(fmt::format("--contending must be from 1 to {} (--sites), not {}", world.sites,
                              world.contending));
  if (arguments.kind != "rw" && arguments.readers > 0)
    return refuse("--readers is for --kind rw and lease");
  if (world.readers > world.contending)
    return refuse(fmt::format("--readers must be at most {} (--contending), not {}",
                              world.contending, world.readers));
  if (world.entries < 1 || std::uint64_t{world.entries} * world.contending > kMaxRequests)
    return refuse(fmt::format("--entries times --contending must be from 1 to {}", kMaxRequests));
  for (const auto& [name, ticks] :
       {std::pair{"--delay", arguments.delay}, {"--hold", arguments.hold}})
    if (ticks < 1 || ticks > kMaxTicks)
      return refuse(fmt::format("{} must be from 1 to {} ticks, not {}", name, kMaxTicks, ticks));
  if (arguments.handling > kMaxTicks)
    return refuse(fmt::format("--handling must be from 0 to {} ticks, not {}", kMaxTicks,
                              arguments.handling));
  for (const std::uint32_t count : {arguments.crashes, arguments.restarts, arguments.losses,
                                    arguments.duplicates, arguments.pauses})
    if (count > kMaxOfOneFault)
      return refuse(fmt::format("at most {} faults of one kind can be checked", kMaxOfOneFault));
  if (arguments.restarts > arguments.crashes)
    return refuse("--restarts must be at most --crashes: only a crashed site restarts");
  if (arguments.threads > 2) return refuse("--threads must be 1 or 2, or 0 for one per core");
  if (arguments.lease != CheckLockArguments{}.lease || arguments.changes > 0 || arguments.any_order)
    return refuse("--lease, --changes and --any-order are for --kind lease");
  return {};
}

Result<LockWorld> parse_plan(const CheckLockArguments& arguments) {
  if (arguments.kind != "mutex" && arguments.kind != "rw" && arguments.kind != "explicit")
    return std::unexpected(
        fmt::format("--kind must be one of mutex, rw, explicit, lease, not '{}'", arguments.kind));
  TRY(variant,
      chosen("--variant", kVariants, arguments.variant, &decltype(kVariants)::value_type::first));
  if (arguments.kind == "explicit" && variant.second != Variant::corrected)
    return std::unexpected(
        fmt::format("--variant {} is for --kind mutex and rw", arguments.variant));
  const std::uint32_t readers = arguments.readers == 0 ? 1 : arguments.readers;
  const LockWorld world{.sites = arguments.sites,
                        .contending = arguments.contending == 0 ? 2 : arguments.contending,
                        .readers = arguments.kind == "rw" ? readers : 0,
                        .entries = arguments.entries,
                        .by_replies = arguments.kind == "explicit",
                        .delay_max = static_cast<std::uint8_t>(arguments.delay),
                        .hold = static_cast<std::uint8_t>(arguments.hold),
                        .handling = static_cast<std::uint8_t>(arguments.handling),
                        .budget = {.losses = static_cast<std::uint8_t>(arguments.losses),
                                   .duplicates = static_cast<std::uint8_t>(arguments.duplicates),
                                   .crashes = static_cast<std::uint8_t>(arguments.crashes),
                                   .restarts = static_cast<std::uint8_t>(arguments.restarts),
                                   .pauses = static_cast<std::uint8_t>(arguments.pauses)},
                        .variant = variant.second};
  if (auto good = within_bounds(arguments, world); !good) return std::unexpected(good.error());
  return world;
}

std::vector<std::string> assumptions(const LockWorld& world) {
  const check::Freedom freedom = freedom_of(world);
  const lock::mutex::Rules rules = rules_of(world).lock;
  std::vector<std::string> list{
      fmt::format("time advances in whole ticks, the same for all sites; a message takes up to {}, "
                  "in any order, and its handling takes {}",
                  ticks_text(freedom.delay_max),
                  world.handling == 0 ? "none" : fmt::format("{}, in parallel", world.handling)),
      "timers fire in the tick in which they are due",
      fmt::format("sites 1 to {} request the lock {} each, at any time, and hold it for up to {}",
                  world.contending,
                  world.entries == 1 ? "once" : fmt::format("{} times", world.entries),
                  ticks_text(world.hold))};
  if (world.readers > 0) list.push_back(fmt::format("sites 1 to {} are readers", world.readers));
  if (rules.bounds)
    list.push_back(fmt::format("the window is {}, the timeout {}", rules.window(*rules.bounds),
                               ticks_text(rules.patience(*rules.bounds))));
  list.emplace_back("a hold ends when its site crashes, and a restarted site has lost its state");
  list.emplace_back(
      "can-always-come-good requires that a path without further faults exists, not that it is "
      "taken");
  return list;
}

}  // namespace

int check_lock(const CheckLockArguments& arguments) {
  if (arguments.kind == "lease") return check_lease(arguments);
  const Result<LockWorld> world = parse_plan(arguments);
  if (!world) return bad_usage(world.error());
  const Result<std::size_t> memory = memory_of(arguments.memory);
  if (!memory) return bad_usage(memory.error());
  const LockModel model{.rules = rules_of(*world)};
  check::Space<LockModel> space(model, freedom_of(*world), commands_of(*world));
  const Counterexample counterexample =
      find_counterexample(space, {.memory = *memory, .threads = arguments.threads}, LockTexts{});
  return print_result(
      counterexample, assumptions(*world),
      "No two conflicting sites hold the lock together, and from\nevery state all live "
      "sites can still finish.",
      arguments.json);
}

}  // namespace tempo::cli
