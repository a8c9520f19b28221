// The content of a space-time diagram before drawing: a window of the trace in resolved form.
//
// Receptions and losses are matched with their transmissions, transmissions without an outcome are
// found, and starts, crashes and states become segments of lifelines. Both drawings use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "lab/report/space_time.h"
#include "lab/sim/trace.h"

namespace tempo::report {

enum class Kind : std::uint8_t {
  received,  // node -> peer, from `sent` to `at`
  lost,      // node -> peer, sent at `sent`, lost at `at`
  pending,   // node -> peer, sent at `at`, without outcome when the diagram ends
  unheard,   // node -> all, sent at `at`, without any reception or loss
  state,     // node enters the state named by the label
  fault,     // the fault named by the label, `times` in a row; node kNobody: the network
};

struct Item {
  Kind kind{};
  Instant at;
  Instant sent;
  NodeId node{};
  NodeId peer = kNobody;
  std::uint32_t number = 0;
  std::uint32_t times = 1;
  std::string_view label;
};

enum class Mode : std::uint8_t { down, up, paused };

struct NodeStatus {
  Mode mode = Mode::up;
  std::string_view state;  // empty: unknown
};

struct Segment {
  NodeId node{};
  Instant from;
  Instant to;
  NodeStatus status;
};

struct Picture {
  std::uint32_t nodes = 0;      // nodes drawn, at least one
  std::uint32_t nodes_all = 0;  // nodes in the trace or the options
  Instant from{};
  Instant to{};
  std::size_t happenings = 0;     // number of happenings of the trace before the end
  std::vector<Item> items;        // in the order of the trace
  std::vector<NodeStatus> start;  // status of each drawn node just before the window
  std::vector<Segment> segments;  // of all drawn nodes, without gaps from `from` to `to`
  std::vector<NodeStatus> end;    // status of each drawn node at the end
  std::vector<std::string_view> state_names;  // unique, in the order of appearance
  Nanos typical{1ms};                         // median time under way of a message
  std::size_t arrows = 0;                     // arrows drawn: received and lost
  std::size_t arrows_all = 0;                 // arrows in the window
  std::vector<std::string> notes;             // omissions, in full sentences
};

Picture picture_of(const sim::Trace& trace, const SpaceTimeOptions& options,
                   std::uint32_t max_nodes);

// The name of the node in the options, or its number.
std::string node_name(const SpaceTimeOptions& options, std::size_t node);

// The status after a fault; unknown faults leave it unchanged.
NodeStatus after_fault(NodeStatus status, std::string_view fault);
bool is_crash(std::string_view fault);

// "1234.568": milliseconds, rounded to `decimals` decimals.
std::string milliseconds_rounded(Instant at, int decimals);

}  // namespace tempo::report
