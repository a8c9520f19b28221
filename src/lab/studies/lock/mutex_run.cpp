#include "lab/studies/lock/mutex_run.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "lab/sim/partition.h"
#include "lab/sim/world.h"
#include "lab/studies/lock/optimistic_run.h"
#include "lab/studies/lock/setting.h"
#include "lab/studies/lock/site.h"

namespace tempo::sim::lock {
namespace {

using tempo::lock::Bounds;
using tempo::lock::Mode;
using tempo::lock::Steps;
using tempo::lock::Token;
using tempo::lock::mutex::Birth;
using tempo::lock::mutex::Rules;
using MessageKind = tempo::lock::mutex::Kind;

SiteRules site_rules_of(const Setup& setup) {
  return {.lock = rules_of(setup),
          .contending = setup.contending,
          .readers = setup.kind == Kind::rw ? setup.readers : 0,
          .thinks = setup.thinks};
}

// Longest delay that a crashed site causes to those behind it: its hold, the patience with it, the
// repeated question, and the questions of the sites behind it.
Nanos crashed_turn(const Rules& lock, const Bounds& bounds) {
  return longest(lock.longest_hold + lock.patience(bounds) + 2 * lock.window(bounds), bounds);
}

// Upper bound on the time from request to entry, if `crashed` of the other sites have crashed.
Nanos granting_bound(const SiteRules& rules, const Bounds& bounds, Mode mode,
                     std::uint32_t crashed) {
  const Rules& lock = rules.lock;
  const Steps handling = lock.handling.steps(lock.members);
  const Nanos turn =
      longest(lock.longest_hold, bounds) + bounds.delay_max + longest(handling, bounds);
  const std::uint32_t writers = rules.contending - rules.readers;
  // Readers are inside together, but each crashed reader is asked separately.
  const std::uint32_t ahead = !lock.readers             ? lock.members - 1 - crashed
                              : mode == Mode::exclusive ? 2 * (writers - 1) + 1
                                                        : 2 * writers;
  return bounds.delay_max + longest(lock.handling.request + lock.window(bounds), bounds) +
         ahead * turn + crashed * crashed_turn(lock, bounds);
}

// Observes the world, feeds the ledger and counts.
class Judge : public NoWatch {
 public:
  Judge(const SiteRules& rules, const Bounds& bounds, bool judge_delay)
      : rules_(&rules),
        bounds_(bounds),
        judge_delay_(judge_delay),
        ledger_(rules.contending, clients_of(rules.contending)),
        sites_(rules.lock.members) {}

  template <class World>
  void sent(const World& world, NodeId from, NodeId to, const Site::Message& message,
            std::uint32_t /*number*/) {
    ledger_.tally().messages += to == kNobody ? world.size() - 1 : 1;
    if (message.kind == MessageKind::request && to != kNobody) ++outcome_.asked_again;
    if (message.kind != MessageKind::negative) return;
    ++ledger_.tally().refusals;
    ++sites_[index(to)].refused;
    refuser_ = from;
  }

  template <class World>
  void noticed(const World& world, NodeId node, const SiteNotice& notice) {
    Slot& member = sites_[index(node)];
    switch (notice.kind) {
      case SiteNotice::Kind::asked:
        expire_ghosts(world.now());
        ledger_.asked(client_of(node), world.now());
        break;
      case SiteNotice::Kind::requested:
        member.requested = world.now();
        member.refused = 0;
        break;
      case SiteNotice::Kind::entered:
        expire_ghosts(world.now());
        ledger_.entered(client_of(node), rules_->mode(node), token_of(node, notice.number),
                        world.now());
        judge_delay(node, world.now());
        count_refused(member.refused);
        last_entry_ = world.now();
        break;
      case SiteNotice::Kind::left:
        ledger_.left(client_of(node));
        break;
    }
  }

  template <class World>
  void stepped(const World& world, NodeId node) {
    const char* broken = world.machine(node).check();
    CHECK(broken == nullptr);
  }

  // Ends the client of a crashed site, or lets it continue as a ghost.
  template <class World>
  void crashed(const World& world, NodeId node) {
    ++outcome_.crashes;
    sites_[index(node)].crashed = world.now();
    if (!rules_->contends(node)) return;
    const std::uint32_t client = client_of(node);
    ledger_.gave_up(client);
    if (!ledger_.inside(client)) return;
    if (!rules_->lock.hold_outlives) return ledger_.left(client);
    const Nanos left = world.machine(node).leaves_at() - world.local_now(node);
    ghosts_.push_back(
        {client, world.now() + longest(static_cast<Steps>(left / rules_->lock.step), bounds_)});
    sites_[index(node)].incarnation = (sites_[index(node)].incarnation + 1) % kIncarnations;
  }

  Ledger& ledger() { return ledger_; }
  std::uint64_t entries() const { return ledger_.tally().entries; }
  Instant last_entry() const { return last_entry_; }
  // Returns the last site that refused since the previous call.
  NodeId take_refuser() { return std::exchange(refuser_, kNobody); }
  NodeId refuser() const { return refuser_; }
  bool anybody_inside() const {
    for (std::uint32_t i = 0; i < rules_->contending; ++i)
      if (ledger_.inside(client_of(NodeId{i}))) return true;
    return false;
  }

  Outcome outcome(std::uint64_t events) {
    outcome_.tally = ledger_.tally();
    outcome_.events = events;
    return outcome_;
  }

 private:
  // Clients of one site that may be inside at the same time.
  static constexpr std::uint32_t kIncarnations = 4;
  struct Slot {
    Instant requested{};
    Instant crashed = Instant::min();
    std::uint32_t refused = 0;  // refusals since `requested`
    std::uint32_t incarnation = 0;
  };
  struct Ghost {
    std::uint32_t client;
    Instant leaves;
  };

  static std::vector<NodeId> clients_of(std::uint32_t sites) {
    std::vector<NodeId> site_of;
    site_of.reserve(std::size_t{sites} * kIncarnations);
    for (std::uint32_t i = 0; i < sites * kIncarnations; ++i) site_of.push_back(NodeId{i % sites});
    return site_of;
  }
  std::uint32_t client_of(NodeId node) const {
    return index(node) + sites_[index(node)].incarnation * rules_->contending;
  }
  // Encodes the order of requests in one number.
  Token token_of(NodeId node, tempo::lock::mutex::Number number) const {
    return Token{number * rules_->lock.members + index(node) + 1};
  }
  void expire_ghosts(Instant now) {
    for (const Ghost& ghost : ghosts_)
      if (ghost.leaves <= now) ledger_.left(ghost.client);
    std::erase_if(ghosts_, [now](const Ghost& ghost) { return ghost.leaves <= now; });
  }
  // A site refuses again when it is asked again.
  void count_refused(std::uint32_t times) {
    const std::size_t by = std::min(times, rules_->lock.members);
    if (outcome_.refused.size() <= by) outcome_.refused.resize(by + 1);
    ++outcome_.refused[by];
  }
  // A site that crashed before the request counts if another site may have waited for it since.
  std::uint32_t recently_crashed(NodeId node) const {
    const Instant since = sites_[index(node)].requested -
                          (rules_->lock.members - 1) * crashed_turn(rules_->lock, bounds_);
    std::uint32_t crashed = 0;
    for (std::uint32_t i = 0; i < sites_.size(); ++i)
      crashed += NodeId{i} != node && sites_[i].crashed >= since ? 1U : 0U;
    return crashed;
  }
  void judge_delay(NodeId node, Instant now) {
    if (!judge_delay_) return;
    const Nanos delay = now - sites_[index(node)].requested;
    const Nanos bound =
        granting_bound(*rules_, bounds_, rules_->mode(node), recently_crashed(node));
    if (delay > bound) ++outcome_.beyond_bound;
    outcome_.longest_by_bound =
        std::max(outcome_.longest_by_bound,
                 static_cast<double>(delay.count()) / static_cast<double>(bound.count()));
  }

  const SiteRules* rules_;
  Bounds bounds_;
  bool judge_delay_;
  Ledger ledger_;
  std::vector<Slot> sites_;
  std::vector<Ghost> ghosts_;
  Instant last_entry_{};
  NodeId refuser_ = kNobody;
  Outcome outcome_;
};

// Draws the number of entries between two faults; each fault happens within the next pass.
class Pace {
 public:
  Pace(double per_entry, std::uint64_t seed, std::uint32_t which)
      : mean_(per_entry > 0 ? 1 / per_entry : 0),
        stream_(seed, std::to_underlying(Cause::plan), which) {
    if (mean_ > 0) next_ = stream_.exponential(mean_);
  }
  bool due(std::uint64_t entries) const {
    return mean_ > 0 && static_cast<double>(entries) >= next_;
  }
  Stream& strike() {
    next_ += stream_.exponential(mean_);
    return stream_;
  }

 private:
  double mean_;
  double next_ = 0;
  Stream stream_;
};

struct Action {
  enum class Kind : std::uint8_t {
    crash,
    start,
    pause,
    resume,
    cut,
    heal,
    doubt,
    worsen,  // delays of the network, after the sites have been warned
    mend,
    trust
  };
  Instant at;
  Kind kind;
  NodeId node = kNobody;
};

class Run {
 public:
  explicit Run(const Setup& setup)
      : setup_(setup),
        rules_(site_rules_of(setup)),
        bounds_(bounds_of(setup)),
        judge_(rules_, bounds_, within_bounds(setup)),
        world_(
            {.nodes = setup.sites, .seed = setup.seed, .link = link_of(setup)},
            [this](NodeId node, Incarnation incarnation) {
              return Site(node, incarnation, rules_,
                          world_.incarnation_count(node) > 1 ? Birth::again : Birth::first);
            },
            judge_),
        crashes_(setup.crashes, setup.seed, 1),
        pauses_(setup.pauses, setup.seed, 2),
        partitions_(setup.partitions, setup.seed, 3),
        doubts_(setup.doubts, setup.seed, 4) {
    set_clocks_and_delays(world_, setup, rules_.lock.step);
  }

  Outcome execute() {
    for (std::uint32_t i = 0; i < setup_.sites; ++i) world_.start(NodeId{i});
    bool moves = true;
    while (moves && judge_.entries() < setup_.entries) {
      moves = go_on([this] { return judge_.entries() >= setup_.entries || strikes(); });
      if (strikes()) strike();
    }
    closing_ = true;
    for (std::uint32_t i = 0; i < setup_.sites; ++i)
      world_.command(NodeId{i}, {.kind = SiteCommand::Kind::close});
    const auto over = [this] { return actions_.empty() && all_idle(); };
    while (moves && !over()) moves = go_on(over);
    if (!moves && judge_.ledger().waiting() > 0) ++judge_.ledger().tally().deadlocks;
    return judge_.outcome(world_.events());
  }

 private:
  static bool within_bounds(const Setup& setup) {
    return setup.loss == 0 && setup.late == 0 && setup.pauses == 0 && setup.partitions == 0 &&
           setup.doubts == 0 && !setup.hold_outlives && setup.kind != Kind::replies;
  }

  // A window and a hold on the slowest clock.
  Nanos pass() const {
    return longest(rules_.lock.window(bounds_) + rules_.lock.longest_hold, bounds_);
  }
  // No client waits longer than this unless the system is stuck.
  Nanos patience() const {
    const Rules& lock = rules_.lock;
    const Steps sleep = lock.mindelay + 2 * Steps{lock.members} * lock.delaystep + rules_.thinks;
    const Steps ahead = lock.longest_hold + lock.patience(bounds_) + 2 * lock.window(bounds_);
    return 4 * longest(sleep + 2 * Steps{lock.members} * ahead + lock.repeat, bounds_);
  }

  // Time at which the system is considered stuck.
  Instant hopeless() const { return std::max(judge_.last_entry(), changed_) + patience(); }

  // Runs until `done`, the next action or `hopeless()`. Returns false if the system is stuck.
  template <class Done>
  bool go_on(Done done) {
    const Instant limit = actions_.empty() ? hopeless() : std::min(hopeless(), actions_.front().at);
    if (world_.run_until(std::max(limit, world_.now()), done)) return true;
    if (actions_.empty() || world_.now() < actions_.front().at) return world_.now() < hopeless();
    const Action action = actions_.front();
    actions_.erase(actions_.begin());
    changed_ = world_.now();
    apply(action);
    return true;
  }

  bool all_idle() { return judge_.ledger().waiting() == 0 && !judge_.anybody_inside(); }

  void plan(Action::Kind kind, Nanos in, NodeId node = kNobody) {
    const Action action{world_.now() + in, kind, node};
    actions_.insert(std::ranges::upper_bound(actions_, action.at, {}, &Action::at), action);
  }

  bool strikes() const {
    const std::uint64_t entries = judge_.entries();
    return crashes_.due(entries) || pauses_.due(entries) || partitions_.due(entries) ||
           doubts_.due(entries) || (crash_next_refuser_ && judge_.refuser() != kNobody);
  }

  void strike() {
    const std::uint64_t entries = judge_.entries();
    if (crash_next_refuser_ && judge_.refuser() != kNobody) {
      crash_next_refuser_ = false;
      apply({world_.now(), Action::Kind::crash, judge_.refuser()});
    }
    if (crashes_.due(entries)) {
      Stream& stream = crashes_.strike();
      judge_.take_refuser();
      if (stream.below(2) == 0)
        crash_next_refuser_ = true;
      else
        plan(Action::Kind::crash, stream.uniform(0s, pass()), any_site(stream));
    }
    if (pauses_.due(entries)) {
      Stream& stream = pauses_.strike();
      plan(Action::Kind::pause, stream.uniform(0s, pass()), any_site(stream));
    }
    if (partitions_.due(entries)) {
      Stream& stream = partitions_.strike();
      plan(Action::Kind::cut, stream.uniform(0s, pass()));
    }
    if (doubts_.due(entries)) {
      Stream& stream = doubts_.strike();
      const Nanos in = stream.uniform(0s, pass());
      const Nanos until = in + stream.uniform(0s, 4 * pass());
      plan(Action::Kind::doubt, in);
      plan(Action::Kind::worsen, in);
      plan(Action::Kind::mend, until);
      // Messages that were late at the end of the disturbance have arrived by then.
      plan(Action::Kind::trust, until + 6 * setup_.delay_max);
    }
  }

  NodeId any_site(Stream& stream) const {
    return NodeId{static_cast<std::uint32_t>(stream.below(setup_.sites))};
  }

  void apply(const Action& action) {
    Stream& chance = chance_;
    switch (action.kind) {
      case Action::Kind::crash:
        if (closing_ || !world_.up(action.node)) return;
        judge_.crashed(world_, action.node);
        world_.crash(action.node);
        return plan(Action::Kind::start, chance.uniform(0s, 3 * pass()), action.node);
      case Action::Kind::start:
        world_.start(action.node);
        if (doubted_) send_bounds(action.node);
        if (closing_) world_.command(action.node, {.kind = SiteCommand::Kind::close});
        return;
      case Action::Kind::pause:
        if (closing_ || !world_.up(action.node) || world_.paused(action.node)) return;
        world_.pause(action.node);
        return plan(Action::Kind::resume, chance.uniform(0s, 2 * pass()), action.node);
      case Action::Kind::resume:
        world_.resume(action.node);
        if (closing_) world_.command(action.node, {.kind = SiteCommand::Kind::close});
        return;
      case Action::Kind::cut:
        if (closing_ || !world_.whole()) return;
        cut(chance);
        return plan(Action::Kind::heal, chance.uniform(0s, 2 * pass()));
      case Action::Kind::heal:
        return world_.set_partition({});
      case Action::Kind::doubt:
        ++doubted_;
        return send_bounds_to_all();
      case Action::Kind::worsen:
        return worsen(0.3);
      case Action::Kind::mend:
        return worsen(setup_.late);
      case Action::Kind::trust:
        --doubted_;
        return send_bounds_to_all();
    }
  }

  void cut(Stream& chance) {
    const std::uint32_t sites = setup_.sites;
    std::vector<bool> here(sites);
    for (std::uint32_t i = 0; i < sites; ++i) here[i] = chance.below(2) == 0;
    world_.set_partition(partition_between(here));
  }

  void worsen(double late) {
    Link now = link_of(setup_);
    now.reorder = late;
    world_.set_link(now);
  }

  void send_bounds_to_all() {
    for (std::uint32_t i = 0; i < setup_.sites; ++i) send_bounds(NodeId{i});
  }
  void send_bounds(NodeId node) {
    using LockCommand = tempo::lock::mutex::Command;
    world_.command(
        node, {.kind = SiteCommand::Kind::bounds,
               .lock = doubted_ > 0 ? LockCommand::no_bounds() : LockCommand::bounds(bounds_)});
  }

  Setup setup_;
  SiteRules rules_;
  Bounds bounds_;
  Judge judge_;
  World<Site, Judge> world_;
  Pace crashes_;
  Pace pauses_;
  Pace partitions_;
  Pace doubts_;
  Stream chance_{setup_.seed, std::to_underlying(Cause::plan), 5};
  std::vector<Action> actions_;      // by time; a few per fault in progress
  Instant changed_{};                // time of the last action
  bool crash_next_refuser_ = false;  // the next site that refuses crashes
  bool closing_ = false;
  std::uint32_t doubted_ = 0;  // number of overlapping periods in which the bounds do not hold
};

}  // namespace

void Outcome::add(const Outcome& other) {
  tally.add(other.tally);
  asked_again += other.asked_again;
  refused.resize(std::max(refused.size(), other.refused.size()));
  for (std::size_t i = 0; i < other.refused.size(); ++i) refused[i] += other.refused[i];
  crashes += other.crashes;
  beyond_bound += other.beyond_bound;
  longest_by_bound = std::max(longest_by_bound, other.longest_by_bound);
  attempts += other.attempts;
  torn += other.torn;
  events += other.events;
}

Rules rules_of(const Setup& setup) {
  const Bounds bounds = bounds_of(setup);
  Rules rules{.members = setup.sites,
              .step = bounds.step_min,
              .handling = setup.handling,
              .longest_hold = setup.longest_hold,
              .load_jumps = setup.load_jumps,
              .readers = setup.kind == Kind::rw,
              .hold_outlives = setup.hold_outlives,
              .variant = setup.variant};
  rules.handling.serial = setup.serial;
  rules.handling.quick_restart = setup.crashes > 0;
  // The sleep must cover a whole pass on the slowest clock (2.2.2).
  const Steps pass = tempo::lock::steps_covering(
      longest(rules.window(bounds) + setup.longest_hold, bounds), bounds.step_min);
  rules.mindelay = rules.delaystep =
      static_cast<Steps>(std::llround(setup.sleep * static_cast<double>(pass)));
  rules.repeat = 2 * Steps{setup.sites} * rules.patience(bounds);
  if (setup.kind != Kind::replies) rules.bounds = bounds;
  return rules;
}

Outcome run(const Setup& setup) {
  CHECK(setup.kind != Kind::lease);
  CHECK(setup.sites >= 2 && setup.contending >= 1 && setup.contending <= setup.sites);
  CHECK(setup.readers <= setup.contending && setup.gamma > 0 && setup.gamma <= 1);
  return setup.kind == Kind::optimistic ? run_optimistic(setup) : Run(setup).execute();
}

}  // namespace tempo::sim::lock
