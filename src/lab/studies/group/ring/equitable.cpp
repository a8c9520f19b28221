#include "lab/studies/group/ring/equitable.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "lab/sim/tracer.h"
#include "lab/sim/world.h"
#include "lab/studies/group/ring/masking.h"

namespace tempo::sim::ring {
namespace {

using tempo::election::RingElection;
using tempo::election::ring::EquitableRules;
using tempo::election::ring::Kind;
using tempo::election::ring::Message;
using tempo::election::ring::Method;
using tempo::election::ring::Notice;
using tempo::election::ring::State;

// Counts the values of the outcome. Counts of a single election restart with the next election.
class Tally : public NoWatch {
 public:
  Tally(std::uint32_t stations, Trace* trace)
      : last_sent_(stations), in_transit_(stations), draws_(stations) {
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
    if (message.kind == Kind::priority) {
      if (message.number == number_) ++hops;
      buffer_max = std::max(buffer_max, ++in_transit_[index(to)]);
    } else if (message.number == number_) {
      ++announcement_hops;
    }
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
  void noticed(const World& /*world*/, NodeId id, const Notice& notice) {
    switch (notice.what) {
      case Notice::What::began:
        if (notice.number > number_) begin(notice.number);
        break;
      case Notice::What::drew:
        if (notice.number == number_) count_draw(id);
        break;
      case Notice::What::took:
        if (in_transit_[index(id)] > 0) --in_transit_[index(id)];
        break;
      case Notice::What::decided:
        decided_ += notice.number == number_ ? 1 : 0;
        break;
      case Notice::What::lost:
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
    if (id != kNobody && !world.up(id)) in_transit_[index(id)] = 0;
  }

  std::uint32_t draws_of(NodeId id) const { return draws_[index(id)]; }
  std::uint32_t productive() const {
    std::uint32_t count = 0;
    for (std::size_t round = 1; round < active_.size(); ++round)
      count += active_[round] < active_[round - 1] ? 1U : 0U;
    return count;
  }
  std::uint32_t number() const { return number_; }
  std::uint32_t decided() const { return decided_; }  // in this election, dead stations included
  const Trace* trace() const { return tracer_ ? &tracer_->trace() : nullptr; }

  std::uint64_t datagrams = 0, hops = 0, announcement_hops = 0;
  std::uint32_t buffer_max = 0;
  std::string broken;

 private:
  void begin(std::uint32_t number) {
    number_ = number;
    hops = announcement_hops = 0;
    decided_ = 0;
    std::ranges::fill(draws_, 0U);
    active_.clear();
  }
  void count_draw(NodeId id) {
    const std::uint32_t round = draws_[index(id)]++;
    if (active_.size() <= round) active_.resize(round + 1);
    ++active_[round];
  }

  std::uint32_t number_ = 0;  // highest election number seen
  std::uint32_t decided_ = 0;
  std::vector<Sequence> last_sent_;        // by station; a message that is not higher is a repeat
  std::vector<std::uint32_t> in_transit_;  // by destination: priorities in transit
  std::vector<std::uint32_t> draws_;       // by station: rounds in this election
  std::vector<std::uint32_t> active_;      // by round: stations that drew
  std::optional<Tracer> tracer_;
};

using Ring = World<RingElection, Tally>;

struct Crash {
  Instant at;
  NodeId station;
};

constexpr Nanos kProbe = 1s;

// Draws stations without repetition, and times within the longest duration of an election.
std::vector<Crash> crashes_of(const EquitableSetup& setup, Stream& plan) {
  std::vector<NodeId> stations;
  for (std::uint32_t i = 0; i < setup.stations; ++i) stations.push_back(NodeId{i});
  const Nanos horizon = 3 * setup.stations * setup.delay.mean();
  std::vector<Crash> crashes;
  for (std::uint32_t i = 0; i < setup.crashes; ++i) {
    std::swap(stations[i], stations[i + plan.below(setup.stations - i)]);
    crashes.push_back({Instant{} + plan.uniform(1ns, horizon), stations[i]});
  }
  std::ranges::sort(crashes, {}, &Crash::at);
  return crashes;
}

// All live stations know one leader, and it is live.
bool settled(const Ring& world) {
  NodeId leader = kNobody;
  for (std::uint32_t i = 0; i < world.size(); ++i) {
    if (!world.up(NodeId{i})) continue;
    const RingElection& machine = world.machine(NodeId{i});
    if (!machine.decided()) return false;
    if (leader == kNobody) leader = machine.leader();
    if (machine.leader() != leader) return false;
  }
  return leader != kNobody && world.up(leader);
}

EquitableRules rules_of(const EquitableSetup& setup) {
  EquitableRules rules{
      .link = {.stations = setup.stations, .probe = kProbe, .successors = setup.crashes + 1},
      .range = setup.range,
      .method = setup.method};
  if (needs_courier(setup)) rules.link.courier = masking(setup.loss, setup.delay.bound());
  return rules;
}

// Upper bound on the duration of an election: delays are bounded, and a hundred times the mean
// number of rounds does not occur.
Nanos longest_election(const EquitableSetup& setup, const EquitableRules& rules) {
  const Nanos hop = rules.link.courier ? longest_way(*rules.link.courier, setup.delay.bound())
                                       : setup.delay.bound();
  const auto rounds = std::int64_t{200} + std::int64_t{64} * std::bit_width(setup.stations);
  return std::min((hop * setup.stations * 2 + kProbe) * rounds, Nanos{24h * 365 * 100});
}

// Runs until all live stations know one leader. Returns false if they never will.
bool run_until_settled(Ring& world, const Tally& tally, Nanos longest) {
  std::uint32_t alive = 0;
  for (std::uint32_t i = 0; i < world.size(); ++i) alive += world.up(NodeId{i}) ? 1U : 0U;
  return world.run_until(world.now() + longest,
                         [&] { return tally.decided() >= alive && settled(world); });
}

NodeId leader_of(const Ring& world) {
  for (std::uint32_t i = 0; i < world.size(); ++i)
    if (world.up(NodeId{i})) return world.machine(NodeId{i}).leader();
  return kNobody;
}

// If the leader is faulty, its successor on the ring calls another election.
void elect_again(const EquitableSetup& setup, Ring& world, const Tally& tally, Stream& plan,
                 Nanos longest, EquitableOutcome& outcome) {
  std::vector<bool> faulty(setup.stations);
  for (std::uint32_t left = setup.faulty; left > 0;) {
    const std::uint64_t i = plan.below(setup.stations);
    if (!faulty[i]) --left;
    faulty[i] = true;
  }
  outcome.faulty_first = faulty[index(leader_of(world))];
  if (!outcome.faulty_first) return;
  const NodeId witness = world.machine(leader_of(world)).link().next();
  world.command(witness, tempo::election::ring::Command::elect);
  outcome.settled = run_until_settled(world, tally, longest);
  outcome.faulty_again = outcome.settled && faulty[index(leader_of(world))];
}

std::uint64_t bits_of_priority(const EquitableSetup& setup) {
  const auto width = [](std::uint32_t values) {
    return static_cast<std::uint64_t>(std::bit_width(values - 1));
  };
  return width(setup.stations) + (setup.method == Method::highest_id ? 0 : width(setup.range));
}

void collect(const EquitableSetup& setup, const Ring& world, const Tally& tally,
             EquitableOutcome& outcome) {
  outcome.time = world.now() - Instant{};
  for (std::uint32_t i = 0; i < setup.stations; ++i) {
    if (!world.up(NodeId{i}) || world.machine(NodeId{i}).state() != State::leader) continue;
    ++outcome.leaders;
    outcome.leader = NodeId{i};
    outcome.rounds = tally.draws_of(NodeId{i}) - 1;
  }
  outcome.elections = tally.number();
  outcome.productive = tally.productive();
  outcome.hops = tally.hops;
  outcome.announcement_hops = tally.announcement_hops;
  outcome.bits = outcome.hops * bits_of_priority(setup);
  outcome.buffer_max = tally.buffer_max;
  outcome.datagrams = tally.datagrams;
  outcome.broken = tally.broken;
  for (const std::uint64_t part :
       {std::uint64_t{index(outcome.leader)}, outcome.hops, outcome.datagrams,
        static_cast<std::uint64_t>(outcome.time.count())})
    outcome.hash = mixed(outcome.hash, part);
}

void judge(const EquitableSetup& setup, EquitableOutcome& outcome) {
  const std::uint64_t n = setup.stations;
  if (!outcome.broken.empty()) return;
  // A single station has no link to count hops on.
  const bool undisturbed = setup.crashes == 0 && n > 1;
  if (!outcome.settled)
    outcome.broken = "one-leader";
  else if (outcome.buffer_max > n)
    outcome.broken = "buffer-of-n";
  else if (undisturbed && setup.method != Method::highest_id &&
           outcome.hops != n * (outcome.rounds + std::uint64_t{1}))
    outcome.broken = "hops-n-rounds";
  else if (undisturbed && outcome.announcement_hops != n)
    outcome.broken = "announcement-once-round";
}

}  // namespace

bool needs_courier(const EquitableSetup& setup) {
  return setup.loss > 0 || setup.duplicate > 0 || setup.crashes > 0;
}

EquitableOutcome run(const EquitableSetup& setup, Trace* trace) {
  CHECK(setup.stations >= 1 && setup.crashes < setup.stations && setup.faulty <= setup.stations);
  CHECK(setup.delay.bound() != Nanos::max());
  const EquitableRules rules = rules_of(setup);
  Tally tally(setup.stations, trace);
  Ring world(
      {.nodes = setup.stations,
       .seed = setup.seed,
       .link = {.delay = setup.delay,
                .loss = setup.loss,
                .duplicate = setup.duplicate,
                .in_order = !needs_courier(setup)}},
      [&](NodeId id, Incarnation incarnation) { return RingElection{id, incarnation, rules}; },
      tally);
  Stream plan(setup.seed, std::to_underlying(Cause::plan), 0);
  for (std::uint32_t i = 0; i < setup.stations; ++i) world.start(NodeId{i});
  for (std::uint32_t i = 0; i < setup.stations; ++i)
    world.command(NodeId{i}, tempo::election::ring::Command::elect);
  for (const Crash& crash : crashes_of(setup, plan)) {
    world.run_until(crash.at);
    world.crash(crash.station);
  }
  const Nanos longest = longest_election(setup, rules);
  EquitableOutcome outcome;
  outcome.settled = run_until_settled(world, tally, longest);
  if (setup.faulty > 0 && outcome.settled) elect_again(setup, world, tally, plan, longest, outcome);
  collect(setup, world, tally, outcome);
  judge(setup, outcome);
  if (trace != nullptr) *trace = *tally.trace();
  return outcome;
}

}  // namespace tempo::sim::ring
