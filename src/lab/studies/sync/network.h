// The simulated network of an experiment: nodes with oscillators, routes, liars and planned events.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/random.h"
#include "lab/sim/world.h"
#include "lab/studies/sync/clock_tracer.h"
#include "lab/studies/sync/experiment.h"
#include "protocol/clock/utc.h"
#include "protocol/sync/node.h"

namespace tempo::sim::sync {

inline constexpr WallTime kWallStart{1'700'000'000s};

class Network {
 public:
  // Counters.
  struct Watch : NoWatch {
    explicit Watch(std::size_t nodes) : least_trips(nodes, Nanos::max()), asked(nodes) {}

    Instant first_masterup = kNever;
    std::vector<Nanos> least_trips;  // by node: smallest round trip since the routes changed
    std::vector<std::pair<std::uint32_t, Instant>> asked;  // by node: last exchange and its time
    std::uint64_t packets = 0;
    std::uint64_t steps = 0;
    std::uint32_t reigns = 0;
    std::unique_ptr<ClockTracer> tracer;  // null: no trace

    template <class World, class Message>
    void sent(const World& world, NodeId from, NodeId to, const Message& message,
              std::uint32_t number) {
      ++packets;
      if (tracer) tracer->sent(world, from, to, message, number);
      const node::SyncMessage* sync = message.sync();
      const auto* probe = sync != nullptr ? std::get_if<node::Probe>(sync) : nullptr;
      if (probe != nullptr) asked[index(from)] = {probe->exchange, world.now()};
      const election::Message* election = message.election();
      if (election != nullptr && election->kind == election::Kind::masterup)
        first_masterup = std::min(first_masterup, world.now());
    }
    template <class World, class Message>
    void received(const World& world, NodeId from, NodeId to, const Message& message,
                  std::uint32_t number, Instant sent) {
      if (tracer) tracer->received(world, from, to, message, number, sent);
      const node::SyncMessage* sync = message.sync();
      const auto* echo = sync != nullptr ? std::get_if<node::Echo>(sync) : nullptr;
      if (echo == nullptr) return;
      const auto& [exchange, when] = asked[index(to)];
      Nanos& least = least_trips[index(to)];
      if (echo->exchange == exchange) least = std::min(least, world.now() - when);
    }
    template <class World>
    void noticed(const World& world, NodeId id, const node::Node::Notice& notice) {
      if (tracer) tracer->noticed(world, id, notice);
      const auto* clock = std::get_if<node::Node::ClockNotice>(&notice);
      steps += clock != nullptr && std::holds_alternative<node::Stepped>(clock->notice);
      const auto* election = std::get_if<node::Node::ElectionNotice>(&notice);
      reigns += election != nullptr && election->notice.news == election::Change::leads;
    }
  };
  using World = sim::World<node::Node, Watch>;

  explicit Network(const Experiment& experiment);
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  ~Network() = default;

  // Runs the network and its planned events up to this true time.
  void run_until(Instant limit);

  std::uint32_t size() const { return experiment_.clients + 1; }
  Instant now() const { return world_.now(); }
  bool up(std::uint32_t i) const { return world_.up(NodeId{i}); }
  bool lies(std::uint32_t i) const { return liar_[i] && now() >= lies_from_; }
  Instant lies_from() const { return lies_from_; }  // kNever: no node lies
  node::Reading reading(std::uint32_t i) const;
  double seconds_ahead(std::uint32_t i);  // offset of its oscillator
  // The live master of the highest epoch, whose reading is network time.
  std::optional<std::uint32_t> master() const;
  const Watch& watch() const { return watch_; }
  Nanos least_trip() const;  // of a client's exchanges, mean over the clients
  std::uint64_t config_hash() const;
  // Starts a trace with the offsets of all clocks; `end_trace` returns it.
  void begin_trace();
  std::unique_ptr<ClockTracer> end_trace() { return std::move(watch_.tracer); }

 private:
  struct Event {
    Instant at;
    enum class What : std::uint8_t { start, kill_master, change, crash, bend, jump } what;
    std::uint32_t node = 0;
    double by = 0;  // of a bend or a jump: change of the rate, or of the clock in seconds
  };

  // A provider of UTC, with a kernel clock that an external source keeps.
  struct UtcProvider {
    Nanos off{0};  // error of that clock
    clock::LeapSmear leaps{};
  };

  void plan();
  void plan_lies();
  void plan_disturbances();
  void apply(const Event& event);
  Nanos route(NodeId from, NodeId to, Stream& stream);
  void apply_lie(NodeId from, node::Node::Message& message);
  Nanos lie();
  void report_utc();

  Experiment experiment_;
  election::Rules rules_;
  node::SyncRules sync_rules_;
  std::vector<Nanos> offsets_;
  std::vector<bool> liar_;
  std::vector<Event> events_;  // the next event is last
  bool changed_ = false;
  Instant lies_from_ = kNever;
  Stream lies_;
  std::vector<UtcProvider> providers_;  // of the first clients
  Instant next_utc_ = kNever;
  Nanos least_up_ = Nanos::max();
  Nanos least_down_ = Nanos::max();
  Watch watch_;
  World world_;
};

}  // namespace tempo::sim::sync
