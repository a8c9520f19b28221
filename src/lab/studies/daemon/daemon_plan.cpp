#include "lab/studies/daemon/daemon_plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/random.h"
#include "lab/sim/link.h"
#include "lab/studies/daemon/daemon_world.h"
#include "lab/studies/daemon/record_damage.h"

namespace tempo::sim::daemon {
namespace {

constexpr std::array<std::pair<std::string_view, Scenario>, 10> kScenarios{
    {{"churn", Scenario::churn},
     {"partition", Scenario::partition},
     {"restart", Scenario::restart},
     {"disk", Scenario::disk},
     {"everything", Scenario::everything},
     {"time", Scenario::time},
     {"records", Scenario::records},
     {"replay", Scenario::replay},
     {"clone", Scenario::clone},
     {"halves", Scenario::halves}}};

constexpr std::uint32_t kStream = 20;  // index of the plan's stream under Cause::plan

// Means between two events of a kind in the whole network; zero: never.
struct Rates {
  Nanos crash{0}, reboot{0}, pause{0}, suspend{0}, blackout{0}, resign{0}, partition{0}, one_way{0},
      clock{0}, slow_disk{0}, damage{0}, accident{0};
};

Rates rates_of(Scenario scenario) {
  switch (scenario) {
    case Scenario::churn:
      return {.crash = 6s, .pause = 4s, .suspend = 40s, .resign = 15s, .clock = 15s};
    case Scenario::partition:
      return {.pause = 20s, .partition = 6s, .one_way = 8s, .clock = 15s};
    case Scenario::restart:
      return {.crash = 5s, .reboot = 10s, .blackout = 20s, .resign = 20s};
    case Scenario::disk:
      return {.crash = 10s, .reboot = 10s, .blackout = 30s, .slow_disk = 5s, .damage = 60s};
    case Scenario::everything:
      return {.crash = 12s,
              .reboot = 30s,
              .pause = 10s,
              .suspend = 60s,
              .blackout = 60s,
              .resign = 20s,
              .partition = 15s,
              .one_way = 20s,
              .clock = 12s,
              .slow_disk = 15s,
              .damage = 200s};
    case Scenario::time:
      return {.crash = 20s,
              .pause = 20s,
              .suspend = 60s,
              .resign = 30s,
              .partition = 12s,
              .one_way = 30s,
              .slow_disk = 30s};
    case Scenario::records:
      return {.crash = 20s, .reboot = 20s, .slow_disk = 20s, .accident = 3s};
    case Scenario::replay:
      return {
          .crash = 20s, .reboot = 60s, .pause = 30s, .resign = 30s, .partition = 60s, .clock = 30s};
    case Scenario::clone:
    case Scenario::halves:
      return {};
  }
  return {};
}

class Planner {
 public:
  explicit Planner(const Setup& setup)
      : setup_(setup), stream_(setup.seed, std::to_underlying(Cause::plan), kStream) {}

  std::vector<PlannedEvent> plan() {
    const Rates rates = rates_of(setup_.scenario);
    clients();
    faults(Event::Kind::crash, rates.crash, [&](Event& event) { event.span = up_to(8s); });
    faults(Event::Kind::reboot, rates.reboot,
           [&](Event& event) { event.span = 100ms + up_to(10s); });
    faults(Event::Kind::pause, rates.pause, [&](Event& event) { event.span = up_to(6s); });
    faults(Event::Kind::suspend, rates.suspend, [&](Event& event) { event.span = up_to(10s); });
    faults(Event::Kind::blackout, rates.blackout, [&](Event& event) { event.span = up_to(6s); });
    faults(Event::Kind::resign, rates.resign,
           [&](Event& event) { event.lock = below(kGroups + 1); });
    faults(Event::Kind::partition, rates.partition, [&](Event& event) {
      event.number = below(1U << setup_.nodes);
      event.span = up_to(setup_.scenario == Scenario::time ? setup_.until / 3 : 12s);
    });
    faults(Event::Kind::one_way, rates.one_way, [&](Event& event) {
      event.number = below(1U << setup_.nodes);
      event.span = up_to(8s);
    });
    faults(Event::Kind::rate, rates.clock, [&](Event& event) {
      event.number = static_cast<std::int64_t>(stream_.below(40'001)) - 20'000;
    });
    faults(Event::Kind::slew, rates.clock, [&](Event& event) {
      event.number = static_cast<std::int64_t>(stream_.below(800'001)) - 400'000;
    });
    faults(Event::Kind::slow_disk, rates.slow_disk, [&](Event& event) { event.span = up_to(5s); });
    faults(Event::Kind::damage, rates.damage, [&](Event& event) { event.span = up_to(3s); });
    faults(Event::Kind::accident, rates.accident, [&](Event& event) {
      event.number = below(std::to_underlying(Accident::count));
      event.lock = !setup_.keeps_majority() && stream_.chance(0.2) ? 1 : 0;
      event.span = 100ms + up_to(2s);
    });
    const double rough = setup_.scenario == Scenario::disk ? 1 : 0.5;
    const bool begins_rough = setup_.scenario == Scenario::restart ||
                              setup_.scenario == Scenario::disk ||
                              setup_.scenario == Scenario::everything;
    if (begins_rough && stream_.chance(rough)) rough_start();
    if (setup_.scenario == Scenario::replay) attacks();
    if (setup_.scenario == Scenario::clone) clone();
    if (setup_.scenario == Scenario::halves) halves();
    std::ranges::stable_sort(events_, {}, &PlannedEvent::at);
    return std::move(events_);
  }

 private:
  std::uint32_t below(std::uint64_t limit) {
    return static_cast<std::uint32_t>(stream_.below(limit));
  }
  // On a logarithmic scale: short spans are as likely as long ones.
  Nanos up_to(Nanos most) {
    const double scale = exact_exp(-stream_.unit() * 6.9);
    return std::max(Nanos{1},
                    Nanos{static_cast<Nanos::rep>(static_cast<double>(most.count()) * scale)});
  }
  Nanos exponential(Nanos mean) {
    return Nanos{static_cast<Nanos::rep>(stream_.exponential(static_cast<double>(mean.count())))};
  }

  void clients() {
    const Nanos busy = setup_.scenario == Scenario::replay ? setup_.until - 5s : setup_.until;
    const bool leases_only = setup_.scenario == Scenario::halves;
    for (std::uint32_t client = 0; client < setup_.clients; ++client) {
      Instant at{exponential(1s)};
      while (at < Instant{} + busy) {
        const std::uint32_t choice = leases_only ? below(12) : below(20);
        Event event{.kind = Event::Kind::acquire, .which = client};
        if (choice < 12) {
          event.lock = leases_only ? below(2) : below(kLocks);
          event.number = below(2);  // 1: shared
          event.span = up_to(2s);
        } else if (choice < 16) {
          event.kind = Event::Kind::stand;
          event.lock = below(kGroups);
          event.number = 100 + below(100);
          event.span = 1s + up_to(15s);
        } else if (choice < 18) {
          event.kind = Event::Kind::offer;
          event.number = 100 + below(100);
        } else {
          event.kind = Event::Kind::die;
        }
        events_.push_back({at, event});
        at += exponential(1500ms);
      }
    }
  }

  // Faults while the hosts agree on their first voters: the network is cut in two, and a host with
  // a slow disk loses power and comes back on the other side.
  void rough_start() {
    const std::uint32_t victim = below(setup_.nodes);
    // With the victim, this part has enough hosts for a voter set of its own.
    std::uint32_t part = 0;
    while (std::cmp_less(std::popcount(part) + 1, setup_.voters()))
      part |= (1U << below(setup_.nodes)) & ~(1U << victim);
    // The hosts have heard each other's first proposals, and forget them after three seconds.
    const Nanos down = 4s + part_of(4s);
    add(Nanos{1}, {.kind = Event::Kind::partition, .number = part, .span = down});
    add(part_of(2s), {.kind = Event::Kind::slow_disk, .which = victim, .span = down});
    add(down,
        {.kind = Event::Kind::reboot, .which = victim, .number = 1, .span = 50ms + part_of(500ms)});
    add(down + 1us,
        {.kind = Event::Kind::partition, .number = part | 1U << victim, .span = 4s + part_of(6s)});
  }

  void add(Nanos at, const Event& event) { events_.push_back({Instant{} + at, event}); }

  // The seed counts through every partition of the hosts, every host that is cloned, and six
  // stories. The clone is on the side where its host is not.
  void clone() {
    const std::uint64_t number = setup_.seed;
    const auto hosts = static_cast<std::uint32_t>(number % (1U << setup_.nodes));
    const std::uint64_t rest = number >> setup_.nodes;
    const auto victim = static_cast<std::uint32_t>(rest % setup_.nodes);
    const std::uint64_t story = rest / setup_.nodes % 6;
    const bool with_clone = (hosts >> victim & 1) == 0;
    const std::uint32_t part = hosts | (with_clone ? 1U << setup_.nodes : 0);
    // The clone starts before the partition, at once with it or after it; it has the last record
    // or an older one.
    const Nanos starts = 14s + part_of(2s);
    const Nanos parts = starts + (story % 3 == 0   ? -(1s + part_of(4s))
                                  : story % 3 == 1 ? Nanos{1}
                                                   : 1s + part_of(6s));
    add(parts, {.kind = Event::Kind::split, .number = part});
    add(starts, {.kind = Event::Kind::clone, .which = victim, .number = story >= 3 ? 1 : 0});
    add(starts + part_of(10s),
        {.kind = Event::Kind::crash, .which = below(setup_.nodes), .span = part_of(3s)});
  }

  // Every order of starting and meeting: each host starts in its own time, and the halves meet
  // before, while or after they agree on voters.
  void halves() {
    std::uint32_t half = 0;
    while (std::popcount(half) < static_cast<int>(setup_.nodes / 2))
      half |= 1U << below(setup_.nodes);
    add(Nanos{0}, {.kind = Event::Kind::split, .number = half});
    const Nanos spread = up_to(20s);
    for (std::uint32_t i = 0; i < setup_.nodes; ++i)
      add(part_of(spread), {.kind = Event::Kind::power_on, .which = i});
    add(up_to(30s), {.kind = Event::Kind::meet});
    for (int i = 0; i < 3; ++i)
      add(part_of(35s),
          {.kind = Event::Kind::crash, .which = below(setup_.nodes), .span = part_of(5s)});
  }

  // Network time changes twice, so that no recording has the time of the attack. Two clients hold a
  // lock each, a lease and a silent one, while a host starts among the others, and a client of that
  // host waits for one of them. All the others are idle.
  void attacks() {
    const auto acquire = [&](Nanos at, std::uint32_t client, std::uint32_t lock, Nanos span) {
      if (client < setup_.clients)
        add(at, {.kind = Event::Kind::acquire, .which = client, .lock = lock, .span = span});
    };
    add(setup_.until / 4, {.kind = Event::Kind::set_time, .which = 0, .span = 57s});
    add(setup_.until - 8s, {.kind = Event::Kind::set_time, .which = 1, .span = -113s});
    for (std::uint32_t client = 0; client < setup_.clients; ++client)
      add(setup_.until - 5s, {.kind = Event::Kind::die, .which = client});
    for (std::uint32_t i = 0; i < setup_.nodes; ++i) {
      const Nanos at = setup_.until + i * kAttack;
      add(at, {.kind = Event::Kind::attack, .which = i});
      acquire(at + 8s, (i + 1) % setup_.nodes, 0, 16s);
      acquire(at - 3s, (i + 2) % setup_.nodes, 2, 27s);
      acquire(at + 14s, i, 0, 100ms);
    }
    for (std::uint32_t i = 0; i < setup_.nodes; ++i) {
      const Nanos at = setup_.until + setup_.nodes * kAttack + i * kAttackAlone;
      add(at, {.kind = Event::Kind::attack, .which = i, .number = 1});
      acquire(at + 10s, i, 0, 100ms);
      acquire(at + 10s, i + setup_.nodes, 2, 100ms);
    }
  }
  Nanos part_of(Nanos most) {
    return Nanos{static_cast<Nanos::rep>(stream_.unit() * static_cast<double>(most.count()))};
  }

  template <class Fill>
  void faults(Event::Kind kind, Nanos mean, Fill fill) {
    if (mean == Nanos{0}) return;
    for (Instant at{exponential(mean)}; at < Instant{} + setup_.faulty(); at += exponential(mean)) {
      Event event{.kind = kind, .which = below(setup_.nodes)};
      fill(event);
      events_.push_back({at, event});
    }
  }

  const Setup& setup_;
  Stream stream_;
  std::vector<PlannedEvent> events_;
};

}  // namespace

std::optional<Scenario> scenario_named(std::string_view name) {
  const auto* const found =
      std::ranges::find(kScenarios, name, [](const auto& row) { return row.first; });
  if (found == kScenarios.end()) return std::nullopt;
  return found->second;
}

std::string scenario_names() {
  std::string all;
  for (const auto& [name, scenario] : kScenarios)
    all += (all.empty() ? "" : ", ") + std::string(name);
  return all;
}

std::string_view name_of(Event::Kind kind) {
  static constexpr std::array kNames{
      "acquire", "stand",       "die",      "offer",      "crash",    "reboot",   "pause",
      "suspend", "blackout",    "resign",   "partition",  "one-way",  "step",     "rate",
      "slew",    "slow-disk",   "damage",   "accident",   "set-time", "attack",   "split",
      "meet",    "clone",       "power-on", "quit",       "leave",    "deadline", "restart",
      "resume",  "heal",        "hear",     "disk-works", "stopped",  "calm",     "attack-begins",
      "replay",  "attack-ends", "come-back"};
  static_assert(kNames.size() == std::to_underlying(Event::Kind::come_back) + 1);
  return kNames[std::to_underlying(kind)];
}

std::vector<PlannedEvent> plan_of(const Setup& setup) { return Planner(setup).plan(); }

}  // namespace tempo::sim::daemon
