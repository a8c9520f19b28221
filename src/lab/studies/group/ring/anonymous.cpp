#include "lab/studies/group/ring/anonymous.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "lab/sim/tracer.h"
#include "lab/sim/world.h"
#include "lab/studies/group/ring/masking.h"

namespace tempo::sim::ring {
namespace {

using tempo::election::AnonymousRingElection;
using tempo::election::anonymous::Notice;
using tempo::election::anonymous::Rules;
using tempo::election::anonymous::State;
using tempo::election::ring::Message;
using What = Notice::What;

constexpr Nanos kStepMax = 100us;
constexpr Nanos kDelayMin = 100us;
constexpr Nanos kDelayMax = 1ms;
constexpr std::uint64_t kBitsOfMessage = 2;  // there are four kinds of messages

bool needs_courier(const AnonymousSetup& setup) {
  return setup.loss > 0 || setup.duplicate > 0 || setup.crashes > 0;
}

// One phase: when stations began it, how many did, drew 1 and were elected.
struct Phase {
  Instant first{}, last{};  // when the first and the last station began it
  std::uint32_t began = 0;
  std::uint32_t ones = 0;
  std::uint32_t elected = 0;
};

class Tally : public NoWatch {
 public:
  Tally(std::uint32_t stations, Trace* trace) : last_sent_(stations), phase_of_(stations) {
    if (trace != nullptr) tracer_.emplace(true);
  }

  template <class World>
  void sent(const World& world, NodeId from, NodeId to, const Message& message,
            std::uint32_t number) {
    ++datagrams;
    if (tracer_) tracer_->sent(world, from, to, message, number);
    Sequence& last = last_sent_[index(from)];
    const bool is_repeat = message.sequence != kNoSequence && message.sequence <= last;
    if (is_repeat || !of_election(message.kind)) return;
    if (message.sequence != kNoSequence) last = message.sequence;
    ++messages;
  }
  template <class World>
  void received(const World& world, NodeId from, NodeId to, const Message& message,
                std::uint32_t number, Instant when) {
    if (tracer_) tracer_->received(world, from, to, message, number, when);
  }
  template <class World>
  void lost(const World& world, NodeId from, NodeId to, const Message& message,
            std::uint32_t number) {
    if (tracer_) tracer_->lost(world, from, to, message, number);
  }
  template <class World>
  void noticed(const World& world, NodeId id, const Notice& notice) {
    std::uint32_t& phase = phase_of_[index(id)];
    switch (notice.what) {
      case What::phase: {
        Phase& entered = at(phase++);
        if (entered.began++ == 0 && entered.first == Instant{}) entered.first = world.now();
        entered.last = world.now();
        entered.ones += notice.one ? 1 : 0;
        break;
      }
      case What::next_timer: {
        // The first station that leaves a phase begins the next one.
        Phase& next = at(phase);
        if (next.began == 0 && next.first == Instant{}) next.first = world.now();
        break;
      }
      case What::elected:
        if (phase > 0) ++at(phase - 1).elected;
        ++decided;
        break;
      case What::defeated:
        ++decided;
        break;
      case What::candidate:
        break;
    }
  }
  template <class World>
  void stepped(const World& world, NodeId id) {
    if (tracer_) tracer_->stepped(world, id);
    if (const char* wrong = world.machine(id).check(); wrong != nullptr && broken.empty())
      broken = wrong;
  }
  template <class World>
  void disturbed(const World& world, NodeId id, const char* what) {
    if (tracer_) tracer_->disturbed(world, id, what);
  }

  const std::vector<Phase>& phases() const { return phases_; }
  // Number of phases that at least one station has begun.
  std::uint32_t begun() const {
    return static_cast<std::uint32_t>(
        std::ranges::count_if(phases_, [](const Phase& phase) { return phase.began > 0; }));
  }
  std::uint32_t furthest() const { return static_cast<std::uint32_t>(phases_.size()); }
  const Trace* trace() const { return tracer_ ? &tracer_->trace() : nullptr; }

  std::uint64_t datagrams = 0, messages = 0;
  std::uint32_t decided = 0;
  std::string broken;

 private:
  Phase& at(std::uint32_t phase) {
    if (phases_.size() <= phase) phases_.resize(phase + 1);
    return phases_[phase];
  }

  std::vector<Sequence> last_sent_;      // by station; a message that is not higher is a repeat
  std::vector<std::uint32_t> phase_of_;  // number of phases that each station has begun
  std::vector<Phase> phases_;
  std::optional<Tracer> tracer_;
};

using Ring = World<AnonymousRingElection, Tally>;

// Fixes the first draw of a station.
class FixedDraw final : public Draw {
 public:
  explicit FixedDraw(std::uint64_t value) : value_(value) {}
  std::uint64_t below(std::uint64_t limit) override { return std::min(value_, limit - 1); }

 private:
  std::uint64_t value_;
};

void set_speeds(const AnonymousSetup& setup, const Rules& rules, Stream& plan, Ring& world) {
  for (std::uint32_t i = 0; i < setup.stations; ++i) {
    Nanos step = plan.uniform(rules.step_min, rules.step_max);
    if (setup.first_is_fast) step = i == 0 ? rules.step_min : rules.step_max;
    // The clock of the station shows step_min for each step.
    const double rate =
        static_cast<double>(rules.step_min.count()) / static_cast<double>(step.count());
    world.set_rate(NodeId{i}, Ppb{static_cast<std::int64_t>(std::llround((rate - 1) * 1e9))});
  }
}

void wake_stations(const AnonymousSetup& setup, const Rules& rules, Stream& plan, Ring& world) {
  using tempo::election::anonymous::Command;
  const std::uint32_t n = setup.stations;
  if (setup.candidates > 0) {
    for (std::uint32_t i = 0; i < n; ++i) {
      // Spreads the candidates evenly: the quotient rises `candidates` times as i goes round the
      // ring.
      const bool one =
          (i + 1) * std::uint64_t{setup.candidates} / n != i * std::uint64_t{setup.candidates} / n;
      FixedDraw draw(one ? 0 : 1);
      world.draw_from(&draw);
      world.command(NodeId{(i + 1) % n}, Command::wake);
      world.draw_from(nullptr);
    }
    return;
  }
  // At least one station wakes up, the others at any time while the first wake-up goes round.
  const Nanos once_round = n * (rules.delay_max + rules.step_max);
  std::vector<std::pair<Instant, NodeId>> wake_ups;
  const NodeId first{static_cast<std::uint32_t>(plan.below(n))};
  wake_ups.emplace_back(Instant{}, first);
  for (std::uint32_t i = 0; i < n; ++i)
    if (plan.chance(0.5))
      wake_ups.emplace_back(Instant{} + plan.uniform(0ns, once_round), NodeId{i});
  std::ranges::sort(wake_ups);
  for (const auto& [when, station] : wake_ups) {
    world.run_until(when);
    world.command(station, Command::wake);
  }
}

void crash(const AnonymousSetup& setup, Stream& plan, Nanos horizon, Ring& world) {
  std::vector<Instant> times;
  for (std::uint32_t i = 0; i < setup.crashes; ++i)
    times.push_back(world.now() + plan.uniform(1ns, horizon));
  std::ranges::sort(times);
  for (const Instant when : times) {
    world.run_until(when);
    NodeId victim = kNobody;
    while (victim == kNobody || !world.up(victim))
      victim = NodeId{static_cast<std::uint32_t>(plan.below(setup.stations))};
    world.crash(victim);
  }
}

bool all_decided(const Ring& world) {
  for (std::uint32_t i = 0; i < world.size(); ++i)
    if (world.up(NodeId{i}) && !world.machine(NodeId{i}).decided()) return false;
  return true;
}

void judge(const AnonymousSetup& setup, const Rules& rules, const Tally& tally,
           AnonymousOutcome& outcome) {
  const Nanos once_round = setup.stations * (rules.delay_max + rules.step_max);
  const auto& phases = tally.phases();
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const Phase& phase = phases[i];
    if (phase.began == 0) continue;
    outcome.longest_start = std::max(outcome.longest_start, phase.last - phase.first);
    const Instant end = i + 1 < phases.size() ? phases[i + 1].first : Instant{} + outcome.time;
    outcome.longest_phase = std::max(outcome.longest_phase, end - phase.first);
    if (!outcome.broken.empty() || setup.crashes > 0 || setup.printed_next_timer) continue;
    // With several candidates one may call for the next phase while another is elected.
    if (phase.began == setup.stations && phase.ones == 1 &&
        (phase.elected != 1 || i + 1 < phases.size()))
      outcome.broken = "sole-candidate-elected";
  }
  if (!outcome.broken.empty() || setup.crashes > 0 || setup.printed_next_timer) return;
  if (!outcome.settled || outcome.leaders == 0)
    outcome.broken = "somebody-leads";
  else if (outcome.longest_start > once_round)
    outcome.broken = "phase-begins-within-a-loop";
  else if (outcome.longest_phase > phase_bound(rules))
    outcome.broken = "phase-bound";
}

}  // namespace

Rules rules_of(const AnonymousSetup& setup) {
  Rules rules{
      .link = {.stations = setup.stations, .probe = 24h, .successors = setup.crashes + 1},
      .stages = setup.stages,
      .step_min = std::max(
          Nanos{1}, Nanos{std::llround(static_cast<double>(kStepMax.count()) * setup.gamma)}),
      .step_max = kStepMax,
      .delay_max = kDelayMax,
      .printed_next_timer = setup.printed_next_timer};
  if (needs_courier(setup)) {
    rules.link.courier = masking(setup.loss, kDelayMax + kStepMax);
    // A slow station waits longer before it repeats, because its clock is slow.
    rules.delay_max = longest_way(
        {.interval = rules.link.courier->interval * rules.step_max.count() / rules.step_min.count(),
         .sends = rules.link.courier->sends},
        kDelayMax);
  }
  if (setup.crashes > 0) rules.link.probe = 4 * rules.delay_max;
  return rules;
}

Nanos phase_bound(const Rules& rules) {
  const std::int64_t loops = std::max(std::int64_t{rules.stages} + 2,
                                      (rules.patience() + rules.loop() - 1) / rules.loop());
  const Nanos once_round = rules.link.stations * (rules.delay_max + rules.step_max);
  return loops * rules.loop() * rules.step_max + 2 * once_round;
}

AnonymousOutcome run(const AnonymousSetup& setup, Trace* trace) {
  CHECK(setup.stations >= 1 && setup.gamma > 0.001 && setup.gamma <= 1);
  CHECK(setup.candidates <= setup.stations && setup.crashes < setup.stations);
  const Rules rules = rules_of(setup);
  Tally tally(setup.stations, trace);
  const Delay delay = setup.steady_delay ? Delay::constant(kDelayMax)
                                         : Delay::uniform(kDelayMin, kDelayMax + kStepMax);
  Ring world(
      {.nodes = setup.stations,
       .seed = setup.seed,
       .link = {.delay = delay,
                .loss = setup.loss,
                .duplicate = setup.duplicate,
                .in_order = !needs_courier(setup)}},
      [&](NodeId id, Incarnation incarnation) {
        return AnonymousRingElection{id, incarnation, rules};
      },
      tally);
  Stream plan(setup.seed, std::to_underlying(Cause::plan), 0);
  set_speeds(setup, rules, plan, world);
  for (std::uint32_t i = 0; i < setup.stations; ++i) world.start(NodeId{i});
  wake_stations(setup, rules, plan, world);
  if (setup.crashes > 0) crash(setup, plan, 2 * phase_bound(rules), world);

  AnonymousOutcome outcome;
  std::uint32_t alive = 0;
  for (std::uint32_t i = 0; i < setup.stations; ++i) alive += world.up(NodeId{i}) ? 1U : 0U;
  world.run_until(Instant::max() - 1ns, [&] {
    return tally.furthest() > setup.most_phases || (tally.decided >= alive && all_decided(world));
  });
  outcome.settled = all_decided(world);
  outcome.time = world.now() - Instant{};
  for (std::uint32_t i = 0; i < setup.stations; ++i)
    if (world.up(NodeId{i}) && world.machine(NodeId{i}).state() == State::elected)
      outcome.elected.push_back(NodeId{i});
  outcome.leaders = static_cast<std::uint32_t>(outcome.elected.size());
  outcome.phases = tally.begun();
  outcome.first_phase_leaders = tally.phases().front().elected;
  outcome.messages = tally.messages;
  outcome.bits = tally.messages * kBitsOfMessage;
  outcome.datagrams = tally.datagrams;
  outcome.broken = tally.broken;
  for (const std::uint64_t part :
       {std::uint64_t{outcome.leaders}, std::uint64_t{outcome.phases}, outcome.messages,
        outcome.datagrams, static_cast<std::uint64_t>(outcome.time.count())})
    outcome.hash = mixed(outcome.hash, part);
  judge(setup, rules, tally, outcome);
  if (trace != nullptr) *trace = *tally.trace();
  return outcome;
}

}  // namespace tempo::sim::ring
