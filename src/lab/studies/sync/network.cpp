#include "lab/studies/sync/network.h"

#include <cmath>
#include <utility>

#include "lab/sim/trace.h"

namespace tempo::sim::sync {
namespace {

enum Cause : std::uint32_t { rates = 201, offsets, starts, wandering, lying, churning, carrying };

constexpr Nanos kLie = 10ms;
constexpr double kLyingRate = 100e-6;
constexpr Nanos kAway = 60s;          // downtime of a crashed client
constexpr double kDay = 24.0 * 3600;  // period of the temperature, in seconds
constexpr double kLoadCycle = 3600;   // period of the load, in seconds
constexpr double kBooted = 1000;      // smallest initial reading of a raw clock, in seconds
constexpr Nanos kUtcEvery = 1s;       // interval at which a UTC provider reads its kernel clock
constexpr Nanos kUtcOff = 100us;      // largest error of a correct kernel clock
constexpr Nanos kUtcBound = 1ms;      // error bound that the kernel claims
constexpr Nanos kWrongUtc = 100ms;    // error of a wrong kernel clock
constexpr int kTai = 37;              // TAI - UTC in seconds, before the leap second

Instant second(double t) { return Instant{Nanos{std::llround(t * 1e9)}}; }

// A case sets only the probe rate of the clients, and what their bounds allow for.
node::SyncRules sync_rules(const Experiment& experiment) {
  node::SyncRules rules;
  rules.interval = Nanos{std::llround(1e9 / experiment.rate)};
  rules.rate_jump = experiment.rate_jump_max;
  return rules;
}

}  // namespace

Network::Network(const Experiment& experiment)
    : experiment_(experiment),
      rules_{.timing = *election::profile("lan")},
      sync_rules_(sync_rules(experiment)),
      liar_(experiment.clients + 1, false),
      lies_(experiment.seed, Cause::lying, 0),
      watch_(experiment.clients + 1),
      world_(
          {.nodes = experiment.clients + 1,
           .seed = experiment.seed,
           .link = {.delay = experiment.up, .loss = experiment.loss}},
          [this](NodeId id, Incarnation incarnation) {
            const Instant now = world_.local_now(id);
            return node::Node(
                {.self = id, .incarnation = incarnation}, 1, rules_,
                {.now = now,
                 .shows = kWallStart + offsets_[index(id)] + world_.now().time_since_epoch()},
                sync_rules_);
          },
          watch_) {
  Stream rate(experiment.seed, Cause::rates, 0);
  Stream offset(experiment.seed, Cause::offsets, 0);
  for (std::uint32_t i = 0; i < size(); ++i) {
    const bool perfect = i == 0 && !experiment.isolated;
    const double worse = 2 * i >= size() ? experiment.worse_half : 1;
    Oscillator::Options options{.offset = kBooted + 17.0 * i};
    const double off = (rate.unit() * 2 - 1) * experiment.frequency;
    const double begins = rate.unit();
    if (!perfect)
      options = {.offset = options.offset,
                 .rate = off,
                 .wander = experiment.wander * worse,
                 .white = experiment.white * worse,
                 .aging = experiment.aging,
                 .cycle = experiment.temperature,
                 .cycle_seconds = kDay,
                 .cycle_begins = begins};
    world_.set_clock(NodeId{i}, Oscillator(options, Stream(experiment.seed, Cause::wandering, i)));
    offsets_.push_back(i == 0 ? Nanos{0} : offset.uniform(-experiment.offset, experiment.offset));
  }
  world_.set_route([this](NodeId from, NodeId to, Stream& s) { return route(from, to, s); });
  plan();
}

// Plans the events in descending order of time, so that the next one is last.
void Network::plan() {
  using What = Event::What;
  Stream starts(experiment_.seed, Cause::starts, 0);
  events_.push_back({.at = Instant{}, .what = What::start});
  for (std::uint32_t i = 1; i < size(); ++i)
    events_.push_back(
        {.at = Instant{starts.uniform(1050ms, 1450ms)}, .what = What::start, .node = i});
  if (experiment_.kill_master_at)
    events_.push_back({.at = second(*experiment_.kill_master_at), .what = What::kill_master});
  if (experiment_.change_at)
    events_.push_back({.at = second(*experiment_.change_at), .what = What::change});
  if (experiment_.churn > 0) {
    Stream churn(experiment_.seed, Cause::churning, 0);
    for (std::uint32_t t = experiment_.churn; t + 60 < experiment_.seconds;
         t += experiment_.churn) {
      const auto node = static_cast<std::uint32_t>(1 + churn.below(experiment_.clients));
      events_.push_back({.at = second(t), .what = What::crash, .node = node});
      events_.push_back({.at = second(t) + kAway, .what = What::start, .node = node});
    }
  }
  plan_lies();
  plan_disturbances();
  std::ranges::stable_sort(events_, std::ranges::greater{}, &Event::at);
  if (experiment_.trusted == 0) return;
  next_utc_ = Instant{kUtcEvery};
  Stream carrying(experiment_.seed, Cause::carrying, 0);
  for (std::uint32_t k = 0; k < experiment_.trusted; ++k) {
    const bool wrong = k + experiment_.utc_liars >= experiment_.trusted;
    providers_.push_back(
        {.off = carrying.uniform(-kUtcOff, kUtcOff) + (wrong ? kWrongUtc : Nanos{0})});
  }
}

void Network::plan_lies() {
  using What = Event::What;
  const Liars& liars = experiment_.liars;
  if (liars.count == 0) return;
  lies_from_ = second(experiment_.begin_of_lies());
  for (std::uint32_t k = 0; k < liars.count; ++k) {
    const std::uint32_t node =
        liars.master && k == 0 ? 0 : size() - 1 - (k - (liars.master ? 1 : 0));
    liar_[node] = true;
    if (liars.lie == Lie::gone)
      events_.push_back({.at = lies_from_, .what = What::crash, .node = node});
  }
  world_.set_corruption([this](NodeId from, node::Node::Message& m) { apply_lie(from, m); });
}

// A ramp is a small step of the rate every second.
void Network::plan_disturbances() {
  using What = Event::What;
  for (const Disturbance& one : experiment_.disturbances) {
    const What what = one.what == Disturbance::What::clock_jump ? What::jump : What::bend;
    const std::uint32_t parts = std::max(one.lasts, 1U);
    for (std::uint32_t i = 0; i < parts; ++i)
      events_.push_back(
          {.at = second(one.from + i), .what = what, .node = one.node, .by = one.amount / parts});
  }
}

void Network::run_until(Instant limit) {
  const auto next = [&] { return events_.empty() ? kNever : events_.back().at; };
  while (std::min(next(), next_utc_) <= limit) {
    if (next_utc_ < next()) {
      world_.run_until(next_utc_);
      report_utc();
      continue;
    }
    const Event event = events_.back();
    events_.pop_back();
    world_.run_until(event.at);
    apply(event);
  }
  world_.run_until(limit);
}

// Like the daemon: reports the kernel clock without the steps of leap seconds. True time is UTC
// except for the leap second, which every kernel inserts.
void Network::report_utc() {
  next_utc_ += kUtcEvery;
  const int leaps = experiment_.leap_at && now() >= second(*experiment_.leap_at) ? 1 : 0;
  for (std::uint32_t k = 0; k < providers_.size(); ++k) {
    const NodeId node{k + 1};
    if (!world_.up(node)) continue;
    const Instant raw = world_.local_now(node);
    const Nanos real =
        (kWallStart + now().time_since_epoch()).time_since_epoch() + providers_[k].off - leaps * 1s;
    world_.command(node, node::Node::ClockCommand{
                             node::CarryUtc{.at = raw,
                                            .utc = providers_[k].leaps.utc(raw, real, kTai + leaps),
                                            .bound = kUtcBound}});
  }
}

void Network::apply(const Event& event) {
  const NodeId node{event.node};
  switch (event.what) {
    case Event::What::start:
      if (world_.up(node)) break;
      if (event.node > 0 && event.node <= providers_.size()) providers_[event.node - 1].leaps = {};
      world_.start(node);
      break;
    case Event::What::crash:
      world_.crash(node);
      break;
    case Event::What::kill_master:
      if (const auto dead = master()) world_.crash(NodeId{*dead});
      break;
    case Event::What::change:
      changed_ = true;
      std::ranges::fill(watch_.least_trips, Nanos::max());
      world_.clock(NodeId{1}).jump(experiment_.clock_jump);
      world_.clock(NodeId{1}).change_rate(in_seconds(world_.now().time_since_epoch()),
                                          experiment_.rate_jump);
      break;
    case Event::What::bend:
      world_.clock(node).change_rate(in_seconds(world_.now().time_since_epoch()), event.by);
      break;
    case Event::What::jump:
      world_.clock(node).jump(event.by);
      break;
  }
}

Nanos Network::route(NodeId from, NodeId to, Stream& stream) {
  const bool down = world_.machine(from).sync().leads() && to != from;
  const Delay& initial = down ? experiment_.down : experiment_.up;
  const std::optional<Delay>& later = down ? experiment_.later_down : experiment_.later_up;
  Nanos delay = (changed_ && later ? *later : initial).sample(stream);
  if (changed_ && !down) delay += experiment_.longer_up;
  if (experiment_.diurnal > 0) {
    Nanos& least = down ? least_down_ : least_up_;
    least = std::min(least, delay);
    const double t = in_seconds(now().time_since_epoch()) / kLoadCycle;
    const double part = t - std::floor(t);
    const double load = experiment_.diurnal * 4 * part * (1 - part);
    delay += Nanos{std::llround(static_cast<double>((delay - least).count()) * load)};
  }
  return delay;
}

Nanos Network::lie() {
  const double since = static_cast<double>((now() - lies_from_).count());
  switch (experiment_.liars.lie) {
    case Lie::none:
    case Lie::gone:
      return Nanos{0};
    case Lie::constant:
      return kLie;
    case Lie::drifting:
      return Nanos{std::llround(since * kLyingRate)};
    case Lie::random:
      return lies_.uniform(-kLie, kLie);
  }
  std::unreachable();
}

// Applies a lie about the raw clock: a member reports another offset, a master sends wrong stamps.
void Network::apply_lie(NodeId from, node::Node::Message& message) {
  if (!liar_[index(from)] || now() < lies_from_ || message.sync() == nullptr) return;
  node::SyncMessage sync = *message.sync();
  const Nanos by = lie();
  if (auto* probe = std::get_if<node::Probe>(&sync)) probe->report.offset += by;
  if (auto* echo = std::get_if<node::Echo>(&sync)) {
    echo->received += by;
    echo->sent += by;
  }
  message.body = sync;
}

node::Reading Network::reading(std::uint32_t i) const {
  return world_.machine(NodeId{i}).sync().reading(world_.local_now(NodeId{i}));
}

double Network::seconds_ahead(std::uint32_t i) {
  return world_.clock(NodeId{i}).ahead(static_cast<double>(now().time_since_epoch().count()) *
                                       1e-9);
}

void Network::begin_trace() {
  watch_.tracer = std::make_unique<ClockTracer>();
  const auto truth = master();
  for (std::uint32_t i = 0; truth && i < size(); ++i) {
    if (i == *truth)
      watch_.tracer->becomes(world_, NodeId{i}, "is network time");
    else if (up(i))
      watch_.tracer->shows(world_, NodeId{i}, reading(i).time - reading(*truth).time);
  }
}

Nanos Network::least_trip() const {
  Nanos sum{0};
  int count = 0;
  for (const Nanos least : watch_.least_trips) {
    if (least == Nanos::max()) continue;
    sum += least;
    ++count;
  }
  return sum / std::max(count, 1);
}

std::optional<std::uint32_t> Network::master() const {
  std::optional<std::uint32_t> found;
  Epoch highest{};
  for (std::uint32_t i = 0; i < size(); ++i) {
    if (!up(i) || !world_.machine(NodeId{i}).sync().leads()) continue;
    const Epoch& epoch = world_.machine(NodeId{i}).network(0)->followed();
    if (found && epoch <= highest) continue;
    found = i;
    highest = epoch;
  }
  return found;
}

// Covers every parameter that could be tuned; the probe rate belongs to the case.
std::uint64_t Network::config_hash() const {
  const auto part = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  const election::Timing& t = rules_.timing;
  std::uint64_t hash = 0;
  for (const Nanos span :
       {t.adjtime, t.loop, t.election_min, t.election_max, t.startup, t.no_master, t.candidate,
        t.accept, t.consistency, t.conflict, t.retransmit, t.delay, sync_rules_.first_spacing,
        sync_rules_.step_limit, sync_rules_.stamp_grain})
    hash = mixed(hash, static_cast<std::uint64_t>(span.count()));
  for (const std::uint64_t number :
       {std::uint64_t{sync_rules_.rest_after}, std::uint64_t{sync_rules_.burst},
        std::uint64_t{sync_rules_.first_burst}, std::uint64_t{sync_rules_.follow_ups},
        part(sync_rules_.agreement)})
    hash = mixed(hash, number);
  return hash;
}

}  // namespace tempo::sim::sync
