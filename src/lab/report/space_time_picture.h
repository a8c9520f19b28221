// What a space-time diagram shows, before anything is drawn: the trace cut to a window and put
// together.
//
// Receptions and losses are tied to when they were sent, sends that lead to nothing are found,
// lives and states become stretches of lifelines. Both drawings are made from this.
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
  lost,      // node -> peer, sent at `sent`, known to be lost at `at`
  pending,   // node -> peer, sent at `at`, no outcome before the picture ends
  unheard,   // node -> all, sent at `at`; nobody received it or lost it
  state,     // node is now in the state named by the label
  fault,     // the label's word, `times` in a row; node kNobody: the network
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

struct Life {
  Mode mode = Mode::up;
  std::string_view state;  // empty: none is known
};

struct Stretch {
  NodeId node{};
  Instant from;
  Instant to;
  Life life;
};

struct Picture {
  std::uint32_t nodes = 0;      // drawn, at least one
  std::uint32_t nodes_all = 0;  // in the trace or the options
  Instant from{};
  Instant to{};
  std::size_t happenings = 0;      // of the trace, counted from its first, that are before the end
  std::vector<Item> items;         // in the trace's order
  std::vector<Life> start;         // of each drawn node, just before the picture begins
  std::vector<Stretch> stretches;  // of all drawn nodes, without gaps from `from` to `to`
  std::vector<Life> end;           // of each drawn node, when the picture ends
  std::vector<std::string_view> state_names;  // each once, in order of appearance
  Nanos typical{1ms};                         // time under way of the message in the middle
  std::size_t arrows = 0;                     // drawn: received and lost
  std::size_t arrows_all = 0;                 // in the window
  std::vector<std::string> notes;             // what is left out, in full sentences
};

Picture picture_of(const sim::Trace& trace, const SpaceTimeOptions& options,
                   std::uint32_t most_nodes);

// The node's name in the options, or its number.
std::string node_name(const SpaceTimeOptions& options, std::size_t node);

// How a fault's word changes a life; others leave it as it is.
Life after_fault(Life life, std::string_view word);
bool is_crash(std::string_view word);

// "1234.568": milliseconds, rounded to this many decimals.
std::string milliseconds_rounded(Instant at, int decimals);

}  // namespace tempo::report
