#include "lab/studies/group/apps/run.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "lab/sim/partition.h"
#include "lab/sim/tracer.h"
#include "lab/sim/world.h"
#include "lab/studies/group/apps/crash_recovery.h"
#include "lab/studies/group/apps/each_step_once.h"
#include "lab/studies/group/apps/fair_entry.h"
#include "lab/studies/group/apps/group_joining.h"
#include "lab/studies/group/apps/group_server.h"
#include "lab/studies/group/apps/least_loaded.h"
#include "lab/studies/group/apps/load_balancing.h"
#include "lab/studies/group/apps/majority_joins.h"
#include "lab/studies/group/apps/mutual_exclusion.h"
#include "lab/studies/group/apps/one_answer.h"
#include "lab/studies/group/apps/one_value.h"
#include "lab/studies/group/apps/replicated_data.h"

namespace tempo::sim::apps {
namespace {

using tempo::apps::App;
using tempo::apps::Member;
using tempo::election::CapacityB1;

// Feeds the property and the trace with the members' notices.
template <class CheckedProperty>
class Observer : public Tracer {
 public:
  Observer(CheckedProperty& property, bool keep) : Tracer(keep), property_(&property) {}

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
    if (const auto* from_duty = std::get_if<1>(&member->body)) receive(world, node, *from_duty);
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

  CheckedProperty* property_;
  std::uint64_t broadcasts_ = 0;
  std::uint32_t elections_ = 0;
};

// Decides the delivery of each copy of a datagram.
class DeliveryModel {
 public:
  DeliveryModel(const Setup& setup, const Plan& plan)
      : setup_(setup),
        plan_(&plan),
        repeats_(repeats_for(setup.loss)),
        stream_(setup.seed, std::to_underlying(Cause::plan), 2) {}

  DeliveryDecision decide(Instant now, NodeId from) {
    DeliveryDecision decision;
    const Instant crash = plan_->crashes[index(from)];
    if (crash != kNever && now + plan_->carrier.delay > crash) decision.lost = stream_.chance(0.5);
    if (setup_.loss == 0) return decision;
    std::uint32_t failures = 0;
    while (failures <= repeats_ && stream_.chance(setup_.loss)) ++failures;
    decision.lost |= failures > repeats_;
    decision.extra = failures * kRepeatGap;
    return decision;
  }

 private:
  Setup setup_;
  const Plan* plan_;
  std::uint32_t repeats_;
  Stream stream_;
};

template <class World>
void execute(World& world, const Plan& plan) {
  using ElectionCommand = typename World::Command;
  for (const PlannedEvent& event : plan.events) {
    world.run_until(event.at);
    switch (event.kind) {
      case PlannedEvent::Kind::command:
        world.command(event.node, ElectionCommand::template of<1>(event.command));
        break;
      case PlannedEvent::Kind::crash:
        world.crash(event.node);
        break;
      case PlannedEvent::Kind::cut:
        world.set_partition(partition_between(event.side));
        break;
      case PlannedEvent::Kind::heal:
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

template <class Duty, class CheckedProperty>
Outcome run_with(const Setup& setup, const Plan& plan, CheckedProperty property, Trace* trace) {
  using M = App<Duty>;
  const tempo::election::capacity::Rules election{.members = setup.nodes,
                                                  .bound = plan.rules.bound};
  Observer<CheckedProperty> observer(property, trace != nullptr);
  World<M, Observer<CheckedProperty>> world(
      {.nodes = setup.nodes,
       .seed = setup.seed,
       .link = {.delay = Delay::uniform(Nanos{1}, setup.delay)}},
      [&](NodeId id, Incarnation incarnation) {
        return M(typename M::Carrier(id, incarnation, plan.carrier),
                 Member<Duty>(CapacityB1(id, election), Duty(id, plan.rules)));
      },
      observer);
  Stream clocks(setup.seed, std::to_underlying(Cause::plan), 1);
  for (std::uint32_t i = 0; i < setup.nodes; ++i)
    world.set_clock(NodeId{i},
                    Oscillator({.offset = clocks.unit() * in_seconds(setup.precision)}, Stream{}));
  DeliveryModel model(setup, plan);
  if (setup.crashes > 0 || setup.loss > 0)
    world.set_delivery([&](NodeId from, NodeId /*to*/, const typename M::Message& /*message*/) {
      return model.decide(world.now(), from);
    });
  for (std::uint32_t i = 0; i < setup.nodes; ++i) world.start(NodeId{i});
  execute(world, plan);

  const Scene scene = Observer<CheckedProperty>::scene(world);
  property.ended(scene);
  Outcome outcome = outcome_of(property, scene, plan.rules.bound);
  outcome.elections = observer.elections();
  outcome.broadcasts = observer.broadcasts();
  outcome.hash = observer.trace().hash();
  if (trace != nullptr) *trace = observer.trace();
  return outcome;
}

}  // namespace

Outcome run(const Setup& setup, Trace* trace) {
  const Plan plan = plan_of(setup);
  const Nanos bound = plan.rules.bound;
  switch (setup.application) {
    case Application::group_server:
      return run_with<tempo::apps::GroupServer>(setup, plan, OneAnswer(plan.worths), trace);
    case Application::load_balancing:
      return run_with<tempo::apps::LoadBalancing>(
          setup, plan,
          LeastLoaded(setup.nodes,
                      {.lasts = tempo::apps::Processor::kRunsPerSize * bound,
                       .waits = tempo::apps::Processor::kWaits * bound},
                      2 * setup.precision),
          trace);
    case Application::replicated_data:
      return run_with<tempo::apps::ReplicatedData>(setup, plan, OneValue(setup.nodes), trace);
    case Application::crash_recovery:
      return run_with<tempo::apps::CrashRecovery>(setup, plan, EachStepOnce(setup.nodes), trace);
    case Application::group_joining: {
      const std::uint64_t founders = (std::uint64_t{1} << plan.rules.founders) - 1;
      return run_with<tempo::apps::GroupJoining>(
          setup, plan, MajorityJoins(setup.nodes, founders, plan.welcome), trace);
    }
    case Application::mutual_exclusion:
      return run_with<tempo::apps::MutualExclusion>(setup, plan, FairEntry(setup.nodes), trace);
  }
  CHECK(false);
  return {};
}

}  // namespace tempo::sim::apps
