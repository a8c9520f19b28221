// The interface through which property checkers, traces and diagrams observe a World.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/units.h"

namespace tempo::sim {

// Observes nothing. Derive from it and define the functions you need. `World` is the calling type.
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
  // A machine persists a record; its write begins.
  template <class World, class Record>
  void writes(const World&, NodeId, const Record&) {}
  // A message arrived at a node that does not run, or found the buffer of a paused node full.
  template <class World, class Message>
  void unheard(const World&, NodeId /*from*/, NodeId /*to*/, const Message&,
               std::uint32_t /*number*/) {}
  // Called after every step of a node, after its outputs have been carried out.
  template <class World>
  void stepped(const World&, NodeId) {}
  // A node started, crashed, paused or resumed, or the network changed; `what` names the fault.
  template <class World>
  void disturbed(const World&, NodeId /*kNobody: the network*/, const char* /*what*/) {}
};

}  // namespace tempo::sim
