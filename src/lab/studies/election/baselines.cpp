#include "lab/studies/election/baselines.h"

#include <algorithm>

#include "lab/baselines/bully.h"
#include "lab/baselines/lelann.h"
#include "lab/sim/world.h"

namespace tempo::sim::election {
namespace {

using tempo::election::BullyElection;
using tempo::election::LeLannElection;

// Counts messages, and records the leader that each node believes in and the last change of one.
class Tally : public NoWatch {
 public:
  explicit Tally(std::uint32_t nodes) : beliefs_(nodes, kNobody) {}

  template <class World, class Message>
  void sent(const World& /*world*/, NodeId /*from*/, NodeId /*to*/, const Message& /*message*/,
            std::uint32_t /*number*/) {
    ++messages_;
  }
  template <class World>
  void stepped(const World& world, NodeId id) {
    CHECK(world.machine(id).check() == nullptr);
    NodeId& belief = beliefs_[index(id)];
    if (belief == world.machine(id).coordinator()) return;
    belief = world.machine(id).coordinator();
    settled_ = world.now();
  }

  std::uint64_t messages() const { return messages_; }
  Instant settled() const { return settled_; }
  // kNobody unless all nodes believe in the same leader.
  NodeId leader() const {
    const bool all_agree =
        std::ranges::all_of(beliefs_, [&](NodeId belief) { return belief == beliefs_[0]; });
    return all_agree ? beliefs_[0] : kNobody;
  }

 private:
  std::uint64_t messages_ = 0;
  std::vector<NodeId> beliefs_;
  Instant settled_{};
};

// The common parameters of one table, and the parameters of each row.
struct Setting {
  std::uint32_t survivors = 0;
  std::uint64_t seed = 0;
  Link link{};
  Instant limit{};
};
struct Row {
  const char* name = "";
  std::uint64_t predicted = 0;
  NodeId first_to_suspect{};  // all nodes from this one to the last suspect at time zero
  NodeId last_to_suspect{};
};

template <class M, class Rules>
BaselineCost cost_of(const Setting& setting, const Row& row, const Rules& rules) {
  Tally tally{setting.survivors};
  World<M, Tally> world(
      {.nodes = setting.survivors, .seed = setting.seed, .link = setting.link},
      [&](NodeId id, Incarnation) { return M{id, rules}; }, tally);
  for (std::uint32_t i = 0; i < setting.survivors; ++i) world.start(NodeId{i});
  for (std::uint32_t i = index(row.first_to_suspect); i <= index(row.last_to_suspect); ++i)
    world.command(NodeId{i}, M::Command::suspect);
  world.run_until(setting.limit);
  const NodeId leader = tally.leader();
  const bool agreed = leader != kNobody && world.up(leader);
  return {.name = row.name,
          .messages = tally.messages(),
          .predicted = row.predicted,
          .leader = leader,
          .agreed = agreed,
          .time = tally.settled() - Instant{}};
}

constexpr Nanos kLongestHop = 1h;  // keeps sums of many delays far from the largest Instant
constexpr int kMeansInBound = 50;  // for a delay without a bound

// A delay that (almost) no message exceeds: an exponential delay is longer with probability e^-50.
Nanos longest(const Delay& delay) {
  if (delay.bound() != Nanos::max()) return std::min(delay.bound(), kLongestHop);
  return std::min(delay.mean(), kLongestHop / kMeansInBound) * kMeansInBound;
}

}  // namespace

std::vector<BaselineCost> baseline_costs(std::uint32_t survivors, std::uint64_t seed,
                                         const Delay& delay) {
  CHECK(survivors >= 2 && survivors <= kMaxBaselineSurvivors);
  const std::uint64_t n = survivors;
  const NodeId lowest{0};
  const NodeId highest{survivors - 1};
  const Nanos hop = longest(delay);

  NodeSet all;
  for (std::uint32_t i = 0; i < survivors; ++i) all.insert(NodeId{i});
  const tempo::election::lelann::Rules ring{.ring = all, .silence = {}};
  const tempo::election::bully::Rules ranks{
      .members = all, .answer_timeout = 4 * hop, .coordinator_timeout = 12 * hop, .silence = {}};

  const Setting setting{.survivors = survivors,
                        .seed = seed,
                        .link = {.delay = delay},
                        // Time for two rounds on the ring suffices for every row: the bully takes
                        // six hops.
                        .limit = Instant{} + 2 * (survivors + 6) * hop};
  const Row lelann{"LeLann", n * n, lowest, highest};
  const Row best{"bully, best case", n - 1, highest, highest};
  const Row worst{"bully, worst case", n * n - 1, lowest, lowest};
  return {cost_of<LeLannElection>(setting, lelann, ring),
          cost_of<BullyElection>(setting, best, ranks),
          cost_of<BullyElection>(setting, worst, ranks)};
}

}  // namespace tempo::sim::election
