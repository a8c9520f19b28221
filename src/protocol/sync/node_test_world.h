// Simulated network of nodes, each with its own clock, for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "lab/sim/world.h"
#include "protocol/sync/node.h"

namespace tempo::node {

inline constexpr WallTime kWallStart{1'700'000'000s};

// Records the first Masterup and counts the steps of clocks.
struct ClockWatch : sim::NoWatch {
  Instant first_masterup = kNever;
  std::uint64_t steps = 0;

  template <class World, class Message>
  void sent(const World& world, NodeId, NodeId, const Message& message, std::uint32_t) {
    const election::Message* election = message.election();
    if (election != nullptr && election->kind == election::Kind::masterup)
      first_masterup = std::min(first_masterup, world.now());
  }
  template <class World>
  void noticed(const World&, NodeId, const Node::Notice& notice) {
    const auto* clock = std::get_if<Node::ClockNotice>(&notice);
    if (clock != nullptr && std::holds_alternative<Stepped>(clock->notice)) ++steps;
  }
};

struct NodeWorldOptions {
  std::uint32_t nodes = 8;
  std::uint64_t seed = 1;
  std::string_view profile = "lan";
  Nanos offset = 500ms;  // largest initial offset of a clock from true time
  double rate = 50e-6;   // largest rate error of a clock
  SyncRules sync{};
  sim::Link link{.delay = sim::Delay::uniform(100us, 300us)};
};

class NodeWorld {
 public:
  using World = sim::World<Node, ClockWatch>;

  explicit NodeWorld(const NodeWorldOptions& options)
      : options_(options),
        rules_{.timing = *election::profile(options.profile)},
        sync_rules_(options.sync),
        world_(
            {.nodes = options.nodes, .seed = options.seed, .link = options.link},
            [this](NodeId id, Incarnation incarnation) {
              return Node({.self = id, .incarnation = incarnation}, 1, rules_,
                          {.now = Instant{}, .shows = kWallStart + offsets_[index(id)]},
                          sync_rules_);
            },
            watch_) {
    Stream chance(options.seed, 99, 0);
    for (std::uint32_t i = 0; i < options.nodes; ++i) {
      offsets_.push_back(chance.uniform(-options.offset, options.offset));
      const double rate = (chance.unit() * 2 - 1) * options.rate;
      world_.set_rate(NodeId{i}, Ppb{std::llround(rate * 1e9)});
    }
  }
  NodeWorld(const NodeWorld&) = delete;
  NodeWorld& operator=(const NodeWorld&) = delete;
  ~NodeWorld() = default;

  World& world() { return world_; }
  ClockWatch& watch() { return watch_; }
  void start_all() {
    for (std::uint32_t i = 0; i < options_.nodes; ++i) world_.start(NodeId{i});
  }
  void run(Nanos span) { world_.run_until(world_.now() + span); }

  Reading reading(std::uint32_t i) const {
    return world_.machine(NodeId{i}).sync().reading(world_.local_now(NodeId{i}));
  }
  // Largest difference between two clocks.
  Nanos spread() const {
    WallTime low = WallTime::max();
    WallTime high = WallTime::min();
    for (std::uint32_t i = 0; i < options_.nodes; ++i) {
      if (!world_.up(NodeId{i})) continue;
      low = std::min(low, reading(i).time);
      high = std::max(high, reading(i).time);
    }
    return high - low;
  }
  // The leader; kNobody: none, or more than one.
  NodeId master() const {
    NodeId found = kNobody;
    for (std::uint32_t i = 0; i < options_.nodes; ++i) {
      if (!world_.up(NodeId{i}) || !world_.machine(NodeId{i}).sync().leads()) continue;
      if (found != kNobody) return kNobody;
      found = NodeId{i};
    }
    return found;
  }

 private:
  NodeWorldOptions options_;
  election::Rules rules_;
  SyncRules sync_rules_;
  std::vector<Nanos> offsets_;
  ClockWatch watch_;
  World world_;
};

}  // namespace tempo::node
