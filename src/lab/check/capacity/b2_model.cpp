#include "lab/check/capacity/b2_model.h"

namespace tempo::check {
namespace {

using election::CapacityB2;
using election::capacity::Command;
using election::capacity::Rules;
using election::capacity_b2::Kind;

constexpr election::capacity::Capacity kHonest = 1;
constexpr election::capacity::Capacity kLiars = 2;

// Nothing is drawn when a process is told its capacity.
class NoDraw final : public Draw {
 public:
  std::uint64_t below(std::uint64_t /*limit*/) override {
    CHECK(false);
    return 0;
  }
};

}  // namespace

void B2Liar::start(Turn<B2Liar>& /*turn*/) {}

void B2Liar::receive(Turn<B2Liar>& turn, NodeId /*from*/, const Message& /*message*/) {
  if (left_ > 0 && !timers_.running(Timer::speak)) timers_.set(Timer::speak, turn.now + Nanos{1});
}

void B2Liar::wake(Turn<B2Liar>& turn, TimerId timer) {
  if (turn.now < timers_.at(timer)) return;
  timers_.stop_all();
  --left_;
  // 0: nothing; 1: a bid; more: a report of so many bids less two.
  const std::uint64_t word = turn.draw.below(5);
  if (word == 1 && !bid_) {
    bid_ = true;
    turn.out.broadcast({.kind = Kind::init, .number = 1, .capacity = kLiars});
  } else if (word > 1 && !reported_) {
    reported_ = true;
    turn.out.broadcast(
        {.kind = Kind::vect, .number = 1, .size = static_cast<std::uint32_t>(word - 2)});
  }
  if (bid_ && reported_) left_ = 0;
  if (left_ > 0) timers_.set(Timer::speak, turn.now + Nanos{1});
}

void B2Liar::command(Turn<B2Liar>& /*turn*/, const Command& /*command*/) {}

B2Model::Machine B2Model::make(NodeId node, Incarnation /*life*/) const {
  if (rules.malicious > 0 && index(node) + 1 == rules.members) return Machine(B2Liar(patience));
  CapacityB2 process(node, rules);
  NoDraw draw;
  Outbox<CapacityB2> out;
  Turn<CapacityB2> turn{Instant{}, draw, out};
  process.command(turn, Command::offer(index(node) == 0 ? kHonest : -1));
  return Machine(process);
}

B2Model::View B2Model::view(const Machine& machine) const {
  const CapacityB2* honest = machine.honest();
  if (honest == nullptr) return {.honest = false};
  return {.honest = true, .decided = honest->decided(), .master = honest->master()};
}

const char* B2Model::broken(const Scene<View>& scene) const {
  for (std::uint32_t i = 0; i < scene.nodes; ++i)
    for (std::uint32_t j = 0; j < i; ++j) {
      const View& one = *scene.seats[i].view;
      const View& other = *scene.seats[j].view;
      if (one.decided && other.decided && one.master != other.master) return "unique";
    }
  return nullptr;
}

bool B2Model::good(const Scene<View>& scene) const {
  for (std::uint32_t i = 0; i < scene.nodes; ++i)
    if (scene.seats[i].view->honest && !scene.seats[i].view->decided) return false;
  return true;
}

Rules b2_rules(const B2World& world) {
  return {.members = world.nodes,
          .bound = Nanos{world.delay_max + 1},
          .malicious = world.malicious,
          .variant = world.variant};
}

Freedom freedom_of(const B2World& world) {
  return {.nodes = world.nodes,
          .network = Network::ordered,
          .delay_max = world.delay_max,
          .echo = true};
}

}  // namespace tempo::check
