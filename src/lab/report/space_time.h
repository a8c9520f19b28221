// The space-time diagram of a run: one lifeline for each node, time downwards, an arrow for each
// message.
//
// Two drawings of one sim::Trace. The page is a single HTML file that needs nothing else: it
// scrolls, explains itself, and follows the reader's light or dark setting. The text is for a
// terminal. In both, stretches in which nothing happens are shortened and say by how much, because
// a message takes 100 us and a timer 5 s. Both are pure functions and bounded, whatever the trace.
//
// In the page every drawn thing can be found by a program: elements of class "arrow" (received),
// "lost" and "pending" (under way when the picture ends) carry data-number, data-from, data-to,
// data-sent-ns and data-label, and data-received-ns or data-lost-ns; class "state" carries
// data-node, data-at-ns and data-state; class "fault" carries data-node ("*": the network),
// data-at-ns and data-fault. Nodes are counted from 1, as in the trace's text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "lab/sim/trace.h"

namespace tempo::report {

enum class Colours : std::uint8_t { automatic, light, dark };

struct SpaceTimeOptions {
  std::string title = "Space-time diagram";
  std::string subtitle{};
  std::uint32_t nodes = 0;  // at least this many lifelines; nodes the trace names are added
  std::vector<std::string> names{};  // of the first nodes; the others are called by their number
  std::optional<Instant> from{};  // the window, both ends included; unset: from the first happening
  std::optional<Instant> to{};    // unset: to the last
  std::optional<Nanos> idle{};    // longer silences are shortened; unset: chosen from the run
  std::size_t most_arrows = 5'000;  // the picture ends where more would be needed, and says so
  std::uint32_t most_nodes = 100;   // lifelines in the page; the rest is left out, and it says so
  Colours colours = Colours::automatic;
};

std::string space_time_html(const sim::Trace& trace, const SpaceTimeOptions& options);

// The legend and the drawing alone, for a page that has the style and the script once
// (space_time_page.h) and any number of diagrams.
std::string space_time_figure(const sim::Trace& trace, const SpaceTimeOptions& options);

// A row for each reception or loss, state and fault; the time at its left is when it happened. The
// drawing is at most `width` columns wide; if that is too little for all nodes it is a list, and
// says so.
std::string space_time_text(const sim::Trace& trace, const SpaceTimeOptions& options,
                            std::size_t width, bool unicode);

}  // namespace tempo::report
