#include "lab/studies/apps/run.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "lab/sim/partition.h"
#include "lab/sim/tracer.h"
#include "lab/sim/world.h"
#include "lab/studies/apps/crash_recovery.h"
#include "lab/studies/apps/each_step_once.h"
#include "lab/studies/apps/fair_entry.h"
#include "lab/studies/apps/group_joining.h"
#include "lab/studies/apps/group_server.h"
#include "lab/studies/apps/least_loaded.h"
#include "lab/studies/apps/load_balancing.h"
#include "lab/studies/apps/majority_joins.h"
#include "lab/studies/apps/mutual_exclusion.h"
#include "lab/studies/apps/one_answer.h"
#include "lab/studies/apps/one_value.h"
#include "lab/studies/apps/replicated_data.h"

namespace tempo::sim::apps {
namespace {

using tempo::apps::App;
using tempo::apps::Member;
using tempo::election::CapacityB1;

// Tells the promise and the trace what the members say.
template <class Pledge>
class Ear : public Tracer {
 public:
  Ear(Pledge& property, bool keep) : Tracer(keep), property_(&property) {}

  std::uint64_t broadcasts() const { return broadcasts_; }
  std::uint32_t elections() const { return elections_; }

  template <class World, class Message>
  void sent(const World& world, NodeId from, NodeId to, const Message& message,
            std::uint32_t number) {
    Tracer::sent(world, from, to, message, number);
    broadcasts_ += message.hops == 1 && message.kind == Message::Kind::word;
  }
  template <class World, class Carried, class Elected>
  void noticed(const World& world, NodeId node,
               const OneOf<Carried, OneOf<Elected, Notice>>& notice) {
    const auto* member = std::get_if<1>(&notice.body);
    if (member == nullptr) return;
    if (const auto* elected = std::get_if<0>(&member->body))
      elections_ = std::max(elections_, elected->number);
    if (const auto* said = std::get_if<1>(&member->body)) receive(world, node, *said);
  }
  template <class World>
  void stepped(const World& world, NodeId node) {
    CHECK(world.machine(node).check() == nullptr);
  }

  template <class World>
  static Scene scene(const World& world) {
    Scene scene{.now = world.now(), .up = std::vector<bool>(world.size())};
    for (std::uint32_t i = 0; i < world.size(); ++i) scene.up[i] = world.up(NodeId{i});
    return scene;
  }

 private:
  template <class World>
  void receive(const World& world, NodeId node, const Notice& notice) {
    using Kind = Notice::Kind;
    if (notice.kind == Kind::offer || notice.kind == Kind::hold || notice.kind == Kind::give_up)
      return;
    this->becomes(world, node, tempo::apps::name_of(notice.kind));
    property_->noticed(scene(world), node, notice);
  }

  Pledge* property_;
  std::uint64_t broadcasts_ = 0;
  std::uint32_t elections_ = 0;
};

// What the network does to a copy.
class Weather {
 public:
  Weather(const Setup& setup, const Plan& plan)
      : setup_(setup),
        plan_(&plan),
        repeats_(repeats_for(setup.loss)),
        stream_(setup.seed, std::to_underlying(Cause::plan), 2) {}

  DeliveryDecision fate(Instant now, NodeId from) {
    DeliveryDecision fate;
    const Instant crash = plan_->crashes[index(from)];
    if (crash != kNever && now + plan_->carrier.delay > crash) fate.lost = stream_.chance(0.5);
    if (setup_.loss == 0) return fate;
    std::uint32_t failures = 0;
    while (failures <= repeats_ && stream_.chance(setup_.loss)) ++failures;
    fate.lost |= failures > repeats_;
    fate.extra = failures * kRepeatGap;
    return fate;
  }

 private:
  Setup setup_;
  const Plan* plan_;
  std::uint32_t repeats_;
  Stream stream_;
};

template <class World>
void play(World& world, const Plan& plan) {
  using ElectionCommand = typename World::Command;
  for (const Happening& happening : plan.happenings) {
    world.run_until(happening.at);
    switch (happening.kind) {
      case Happening::Kind::command:
        world.command(happening.node, ElectionCommand::template of<1>(happening.command));
        break;
      case Happening::Kind::crash:
        world.crash(happening.node);
        break;
      case Happening::Kind::cut:
        world.set_partition(partition_between(happening.side));
        break;
      case Happening::Kind::heal:
        world.set_partition({});
        break;
    }
  }
  world.run_until(plan.end);
}

Outcome outcome_of(const Property& property, const Scene& scene, Nanos bound) {
  const Measures& measures = property.measures();
  Outcome outcome{.ran = true,
                  .broken = property.broken(),
                  .broken_at = property.broken_at(),
                  .asked = measures.asked,
                  .done = measures.done,
                  .fewest = measures.done,
                  .longest_wait = static_cast<double>(measures.longest_wait.count()) /
                                  static_cast<double>(bound.count())};
  for (std::size_t i = 0; i < scene.up.size(); ++i) {
    if (!scene.up[i]) continue;
    outcome.fewest = std::min(outcome.fewest, measures.by_node[i]);
    outcome.most = std::max(outcome.most, measures.by_node[i]);
  }
  return outcome;
}

template <class Duty, class Pledge>
Outcome run_with(const Setup& setup, const Plan& plan, Pledge property, Trace* kept) {
  using M = App<Duty>;
  const tempo::election::capacity::Rules election{.members = setup.nodes,
                                                  .bound = plan.rules.bound};
  Ear<Pledge> ear(property, kept != nullptr);
  World<M, Ear<Pledge>> world(
      {.nodes = setup.nodes,
       .seed = setup.seed,
       .link = {.delay = Delay::uniform(Nanos{1}, setup.delay)}},
      [&](NodeId id, Incarnation life) {
        return M(typename M::Carrier(id, life, plan.carrier),
                 Member<Duty>(CapacityB1(id, election), Duty(id, plan.rules)));
      },
      ear);
  Stream clocks(setup.seed, std::to_underlying(Cause::plan), 1);
  for (std::uint32_t i = 0; i < setup.nodes; ++i)
    world.set_clock(NodeId{i},
                    Oscillator({.offset = clocks.unit() * in_seconds(setup.precision)}, Stream{}));
  Weather weather(setup, plan);
  if (setup.crashes > 0 || setup.loss > 0)
    world.set_delivery([&](NodeId from, NodeId /*to*/, const typename M::Message& /*message*/) {
      return weather.fate(world.now(), from);
    });
  for (std::uint32_t i = 0; i < setup.nodes; ++i) world.start(NodeId{i});
  play(world, plan);

  const Scene scene = Ear<Pledge>::scene(world);
  property.ended(scene);
  Outcome outcome = outcome_of(property, scene, plan.rules.bound);
  outcome.elections = ear.elections();
  outcome.broadcasts = ear.broadcasts();
  outcome.hash = ear.trace().hash();
  if (kept != nullptr) *kept = ear.trace();
  return outcome;
}

}  // namespace

Outcome run(const Setup& setup, Trace* kept) {
  const Plan plan = plan_of(setup);
  const Nanos bound = plan.rules.bound;
  switch (setup.application) {
    case Application::group_server:
      return run_with<tempo::apps::GroupServer>(setup, plan, OneAnswer(plan.worths), kept);
    case Application::load_balancing:
      return run_with<tempo::apps::LoadBalancing>(
          setup, plan,
          LeastLoaded(setup.nodes,
                      {.lasts = tempo::apps::Processor::kRunsPerSize * bound,
                       .waits = tempo::apps::Processor::kWaits * bound},
                      2 * setup.precision),
          kept);
    case Application::replicated_data:
      return run_with<tempo::apps::ReplicatedData>(setup, plan, OneValue(setup.nodes), kept);
    case Application::crash_recovery:
      return run_with<tempo::apps::CrashRecovery>(setup, plan, EachStepOnce(setup.nodes), kept);
    case Application::group_joining: {
      const std::uint64_t founders = (std::uint64_t{1} << plan.rules.founders) - 1;
      return run_with<tempo::apps::GroupJoining>(
          setup, plan, MajorityJoins(setup.nodes, founders, plan.welcome), kept);
    }
    case Application::mutual_exclusion:
      return run_with<tempo::apps::MutualExclusion>(setup, plan, FairEntry(setup.nodes), kept);
  }
  CHECK(false);
  return {};
}

}  // namespace tempo::sim::apps
