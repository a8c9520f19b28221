// What can be seen of a World, by promise checkers, traces and diagrams.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/units.h"

namespace tempo::sim {

// Watches nothing. Derive from it to see some things. `World` is whatever calls.
struct NoWatch {
  template <class World, class Message>
  void sent(const World&, NodeId /*from*/, NodeId /*to; kNobody: all*/, const Message&,
            std::uint32_t /*number*/) {}
  template <class World, class Message>
  void lost(const World&, NodeId /*from*/, NodeId /*to*/, const Message&,
            std::uint32_t /*number*/) {}
  template <class World, class Message>
  void received(const World&, NodeId /*from*/, NodeId /*to*/, const Message&,
                std::uint32_t /*number*/, Instant /*sent at*/) {}
  template <class World, class Notice>
  void noticed(const World&, NodeId, const Notice&) {}
  // Arrived where nobody runs.
  template <class World, class Message>
  void unheard(const World&, NodeId /*from*/, NodeId /*to*/, const Message&,
               std::uint32_t /*number*/) {}
  // After every step of a node, when its outputs have been carried out.
  template <class World>
  void stepped(const World&, NodeId) {}
  // A node started, crashed, paused or resumed, or reach changed; `what` is the fault's word.
  template <class World>
  void disturbed(const World&, NodeId /*kNobody: the network*/, const char* /*what*/) {}
};

}  // namespace tempo::sim
