// A trace of a network that keeps time: its messages, and in the place of states what becomes of
// the clocks. A client says how far off it finds itself when it is corrected, the master what it
// makes of all clocks; how far off a clock really is is written down by who knows. Loops, which
// look for time that runs in a circle, are left out.
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
    using What = node::SyncNotice::What;
    if (notice.what != node::Node::Notice::What::sync) return;
    const node::Sync& sync = world.machine(id).sync();
    if (notice.sync.what == What::stepped) {
      stepped_at_ = world.now();
      says(world, id, fmt::format("corrects {} at once", text(notice.sync.by)));
    } else if (notice.sync.what == What::steered && sync.leads()) {
      says(world, id, fmt::format("averages {} clocks", sync.members().size() + 1));
    } else if (notice.sync.what == What::steered && stepped_at_ != world.now()) {
      if (const auto error = sync.error(world.local_now(id)))
        says(world, id, fmt::format("corrects {}", text(-*error)));
    }
  }
  // How far its clock is from network time, now.
  template <class World>
  void shows(const World& world, NodeId id, Nanos ahead) {
    says(world, id, fmt::format("off by {}", text(ahead)));
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
  void says(const World& world, NodeId id, std::string label) {
    becomes(world, id, labels_.emplace_back(std::move(label)));
  }

  std::deque<std::string> labels_;  // what the trace's labels view
  Instant stepped_at_ = kNever;     // the last step; the steering that goes with it says no more
};

}  // namespace tempo::sim::sync
