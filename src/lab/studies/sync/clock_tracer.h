// A trace of time synchronization: messages, and clock events in place of states. A client records
// the offset that it corrects, the master the average of all clocks; `shows` records the true
// offset of a clock. Loop messages, which search for time loops, are left out.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "lab/sim/tracer.h"
#include "protocol/sync/node.h"

namespace tempo::sim::sync {

class ClockTracer : public Tracer {
 public:
  ClockTracer() : Tracer(true) {}

  template <class World>
  void sent(const World& world, NodeId from, NodeId to, const node::Node::Message& message,
            std::uint32_t number) {
    if (!is_loop(message)) Tracer::sent(world, from, to, message, number);
  }
  template <class World>
  void received(const World& world, NodeId from, NodeId to, const node::Node::Message& message,
                std::uint32_t number, Instant sent) {
    if (!is_loop(message)) Tracer::received(world, from, to, message, number, sent);
  }
  template <class World>
  void noticed(const World& world, NodeId id, const node::Node::Notice& notice) {
    const auto* clock = std::get_if<node::Node::ClockNotice>(&notice);
    if (clock == nullptr) return;
    const node::Sync& sync = world.machine(id).sync();
    if (const auto* stepped = std::get_if<node::Stepped>(&clock->notice)) {
      stepped_at_ = world.now();
      add_label(world, id, fmt::format("corrects {} at once", text(stepped->by)));
    }
    if (!std::holds_alternative<node::Steered>(clock->notice)) return;
    if (sync.leads()) {
      add_label(world, id, fmt::format("averages {} clocks", sync.members().size() + 1));
    } else if (stepped_at_ != world.now()) {
      if (const auto error = sync.error(world.local_now(id)))
        add_label(world, id, fmt::format("corrects {}", text(-*error)));
    }
  }
  // Records the offset of its clock from network time.
  template <class World>
  void shows(const World& world, NodeId id, Nanos ahead) {
    add_label(world, id, fmt::format("off by {}", text(ahead)));
  }

 private:
  static bool is_loop(const node::Node::Message& message) {
    const tempo::election::Message* election = message.election();
    return election != nullptr && election->kind == tempo::election::Kind::loop;
  }
  static std::string text(Nanos span) {
    const auto microseconds = static_cast<double>(span.count()) * 1e-3;
    if (microseconds > -1000 && microseconds < 1000) return fmt::format("{:+.1f} us", microseconds);
    return fmt::format("{:+.2f} ms", microseconds / 1000);
  }
  template <class World>
  void add_label(const World& world, NodeId id, std::string label) {
    becomes(world, id, labels_.emplace_back(std::move(label)));
  }

  std::deque<std::string> labels_;  // storage of the trace's labels
  // Time of the last step; the steering that goes with it adds no label.
  Instant stepped_at_ = kNever;
};

}  // namespace tempo::sim::sync
