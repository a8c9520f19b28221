#include "lab/studies/sync/membership_run.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/random.h"
#include "lab/sim/partition.h"
#include "lab/sim/world.h"
#include "protocol/membership/membership.h"

namespace tempo::sim::views {
namespace {

using membership::Follow;
using membership::Lead;
using membership::Membership;
using membership::View;

constexpr Nanos kStep = 50ms;    // from one action of the driver to the next
constexpr Nanos kCalm = 60s;     // until a network without faults must have settled
constexpr double kDrift = 2e-2;  // largest error of the rate of a clock
constexpr std::uint64_t kFaultStream = 40;
constexpr std::uint64_t kElectionStream = 41;

class Watch;
using Network = World<Membership, Watch>;

// Observes every step of every machine.
class Watch : public NoWatch {
 public:
  explicit Watch(std::uint32_t nodes) : claims_(nodes) {}

  template <class W>
  void stepped(const W& world, NodeId id) {
    const Membership& machine = world.machine(id);
    if (const char* invariant = machine.check()) violate(invariant);
    note_view(machine.view());
    const Instant now = world.now();
    const BootTime local = world.local_now(id);
    Claim& claim = claims_[index(id)];
    if (!machine.leads() || !machine.main(local)) {
      // A master that gives up gives its grants back. The claim of one that crashed stays.
      if (was_up_[id]) claim.until = std::min(claim.until, now);
      return;
    }
    was_up_[id] = true;
    // On the slowest clock that the rules allow.
    const Nanos left = machine.main_until() - local;
    const double lasts = static_cast<double>(left.count()) / (1 + rate_of(id));
    claim = {.lineage = machine.view().lineage,
             .until = now + Nanos{static_cast<Nanos::rep>(lasts)}};
    for (std::size_t i = 0; i < claims_.size(); ++i)
      if (i != index(id) && claims_[i].lineage == claim.lineage && claims_[i].until > now)
        violate(fmt::format("one-main: {} became main {} ms before the end of {}", index(id) + 1,
                            (claims_[i].until - now) / 1ms, i + 1));
  }
  template <class W>
  void noticed(const W&, NodeId, const membership::Notice& notice) {
    if (notice.kind == membership::Notice::Kind::main) ++mains_;
  }
  template <class W>
  void disturbed(const W&, NodeId id, const char* what) {
    // The next steps of this node belong to another incarnation.
    if (id != kNobody && std::string_view{what} == "starts") was_up_[id] = false;
  }

  void set_rates(std::vector<Ppb> rates) { rates_ = std::move(rates); }
  void violate(const std::string& what) {
    if (broken_.empty()) broken_ = what;
  }
  const std::string& broken() const { return broken_; }
  std::uint64_t views() const { return views_.size(); }
  std::uint64_t mains() const { return mains_; }

 private:
  double rate_of(NodeId id) const { return static_cast<double>(rates_[index(id)].value) * 1e-9; }
  void note_view(const View& view) {
    if (!view.known()) return;
    const auto [at, added] = views_.try_emplace({view.lineage, view.number}, view);
    if (!added && at->second != view)
      violate(
          fmt::format("one-view: two views of {:x} have the number {}", view.lineage, view.number));
  }

  // The main part of a node as master.
  struct Claim {
    std::uint64_t lineage = 0;
    Instant until{};  // its end, in true time
  };

  std::vector<Claim> claims_;
  std::map<NodeId, bool> was_up_;  // the claim is of the present incarnation
  std::vector<Ppb> rates_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, View> views_;
  std::uint64_t mains_ = 0;
  std::string broken_;
};

class Driver {
 public:
  explicit Driver(const Setup& setup)
      : setup_(setup),
        rules_(membership::rules_for(2s, kDrift)),
        faults_(setup.seed, kFaultStream, 0),
        elections_(setup.seed, kElectionStream, 0),
        watch_(setup.nodes),
        world_(
            {.nodes = setup.nodes,
             .seed = setup.seed,
             .link = {.delay = Delay::uniform(1ms, std::max(Nanos{2ms}, setup.most_delay)),
                      .loss = setup.loss,
                      .duplicate = setup.duplicates},
             .write = Delay::uniform(1ms, 30ms)},
            [this](NodeId id, Incarnation incarnation) { return make(id, incarnation); }, watch_),
        side_(setup.nodes, false),
        obeys_(setup.nodes, kNobody) {
    rules_.interval = 200ms;
    rules_.probation = 3s;
    rules_.forget_after = 20s;
    std::vector<Ppb> rates;
    for (std::uint32_t i = 0; i < setup.nodes; ++i) {
      // The extremes are more common than what is between them.
      const double share = std::clamp(elections_.unit() * 3 - 1.5, -1.0, 1.0);
      const double rate = setup.even_clocks ? 0 : share * kDrift;
      rates.push_back(Ppb{static_cast<std::int64_t>(rate * 1e9)});
      world_.set_rate(NodeId{i}, rates.back());
    }
    watch_.set_rates(std::move(rates));
  }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  Outcome run() {
    for (std::uint32_t i = 0; i < setup_.nodes; ++i) world_.start(NodeId{i});
    const auto steps = static_cast<std::uint32_t>(setup_.lasts / kStep);
    std::uint32_t with_main = 0;
    for (std::uint32_t i = 0; i < steps && watch_.broken().empty(); ++i) {
      if (faults_.below(steps) < setup_.faults) fault();
      elect();
      world_.run_until(world_.now() + kStep);
      with_main += main_master() != kNobody ? 1U : 0U;
    }
    calm();
    Outcome outcome{.broken = watch_.broken(),
                    .views = watch_.views(),
                    .mains = watch_.mains(),
                    .main_share = static_cast<double>(with_main) / steps,
                    .one_main_at_the_end = main_master() != kNobody};
    if (outcome.broken.empty() && !lost_) outcome.broken = unsettled();
    return outcome;
  }

 private:
  bool main(NodeId id) {
    return world_.up(id) && !world_.paused(id) && world_.machine(id).main(world_.local_now(id));
  }
  NodeId main_master() {
    for (std::uint32_t i = 0; i < setup_.nodes; ++i)
      if (main(NodeId{i})) return NodeId{i};
    return kNobody;
  }

  Membership make(NodeId id, Incarnation incarnation) {
    Membership::Start start{
        .fresh =
            membership::MemberId{(std::uint64_t{std::to_underlying(incarnation)} << 8) | index(id)},
        .first = Sequence{std::to_underlying(incarnation)}};
    const auto& disk = std::as_const(world_).disk(id);
    if (disk.file() == Disk<Membership>::File::good) start.record = disk.record();
    obeys_[index(id)] = kNobody;
    return Membership(start, rules_);
  }

  void fault() {
    const NodeId id{static_cast<std::uint32_t>(faults_.below(setup_.nodes))};
    switch (faults_.below(6)) {
      case 0:
      case 1:
        if (world_.up(id)) {
          world_.crash(id, faults_.below(3));
          if (faults_.unit() < setup_.lost_records) {
            world_.disk(id).lose();
            lost_ = true;
          }
        }
        break;
      case 2:
        start_all();
        break;
      case 3:
        for (std::uint32_t i = 0; i < setup_.nodes; ++i) side_[i] = faults_.below(2) == 0;
        world_.set_partition(partition_between(side_));
        break;
      case 4:
        side_.assign(setup_.nodes, false);
        world_.set_partition({});
        break;
      default:
        if (!world_.up(id)) break;
        if (world_.paused(id))
          world_.resume(id);
        else
          world_.pause(id);
    }
  }
  void start_all() {
    for (std::uint32_t i = 0; i < setup_.nodes; ++i) {
      const NodeId id{i};
      if (!world_.up(id)) world_.start(id);
      if (world_.paused(id)) world_.resume(id);
    }
  }

  // Every node hears after a while who its master is; sometimes it hears something else.
  void elect() {
    for (std::uint32_t i = 0; i < setup_.nodes; ++i) {
      const NodeId id{i};
      if (!world_.up(id) || world_.paused(id) || elections_.below(10) != 0) continue;
      NodeId master = kNobody;
      for (std::uint32_t j = 0; j < setup_.nodes && master == kNobody; ++j)
        if (world_.up(NodeId{j}) && !world_.paused(NodeId{j}) && side_[j] == side_[i])
          master = NodeId{j};
      if (!calm_ && elections_.unit() < setup_.wrong * 0.1)
        master = NodeId{static_cast<std::uint32_t>(elections_.below(setup_.nodes))};
      if (obeys_[i] == master) continue;
      obeys_[i] = master;
      world_.command(
          id, master == id ? membership::Command{Lead{}} : membership::Command{Follow{master}});
    }
  }

  void calm() {
    calm_ = true;
    side_.assign(setup_.nodes, false);
    world_.set_partition({});
    world_.set_link({.delay = Delay::uniform(1ms, 20ms)});
    start_all();
    for (Nanos passed{0}; passed < kCalm && watch_.broken().empty(); passed += kStep) {
      elect();
      world_.run_until(world_.now() + kStep);
    }
  }

  std::string unsettled() {
    const NodeId master = main_master();
    if (master == kNobody) return "settles: no master is main" + states();
    const View& view = world_.machine(master).view();
    for (std::uint32_t i = 0; i < setup_.nodes; ++i) {
      const Membership& machine = world_.machine(NodeId{i});
      if (machine.view() != view || !view.has(machine.self()))
        return fmt::format("settles: node {} is not in the view of the main part{}", i + 1,
                           states());
      if (!machine.in_main_part(world_.local_now(NodeId{i})))
        return fmt::format("settles: node {} is not in the main part", i + 1);
    }
    return "";
  }

  // What every node knows, for the report of a violation.
  std::string states() {
    std::string text;
    for (std::uint32_t i = 0; i < setup_.nodes; ++i) {
      const Membership& machine = world_.machine(NodeId{i});
      const View& view = machine.view();
      text += fmt::format("; node {} is {:x} and {} with view {} of {:x}:", i + 1,
                          std::to_underlying(machine.self()), machine.leads() ? "leads" : "follows",
                          view.number, view.lineage);
      for (const membership::MemberId member : view.members)
        text += fmt::format(" {:x}", std::to_underlying(member));
      const membership::Record& record = machine.record();
      if (record.accepted_in.round != 0)
        text += fmt::format(", accepted view {} of {:x}", record.accepted.number,
                            record.accepted.lineage);
    }
    return text;
  }

  Setup setup_;
  membership::Rules rules_;
  Stream faults_;
  Stream elections_;
  Watch watch_;
  Network world_;
  std::vector<bool> side_;     // of the partition
  std::vector<NodeId> obeys_;  // the master that each node was told to follow
  bool calm_ = false;
  bool lost_ = false;  // a record was lost
};

}  // namespace

Outcome run(const Setup& setup) { return Driver(setup).run(); }

}  // namespace tempo::sim::views
