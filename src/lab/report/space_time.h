// The space-time diagram of a run: one lifeline per node, time downwards, one arrow per message.
//
// Draws a sim::Trace as a page or as text. The page is a single self-contained HTML file with a
// legend; it scrolls and follows the reader's light or dark setting. The text is for a terminal. In
// both, periods without events are shortened and labelled with their length, because a message
// takes 100 us and a timer 5 s. Both are pure functions with bounded output for any trace.
//
// Programs can find every element of the page: elements of class "arrow" (received), "lost" and
// "pending" (under way when the diagram ends) carry data-number, data-from, data-to, data-sent-ns
// and data-label, and data-received-ns or data-lost-ns; class "state" carries data-node, data-at-ns
// and data-state; class "fault" carries data-node ("*": the network), data-at-ns and data-fault.
// Node numbers start at 1, as in the text of a trace.
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
  std::uint32_t nodes = 0;  // minimum number of lifelines; nodes named in the trace are added
  std::vector<std::string> names{};  // of the first nodes; the others show their number
  std::optional<Instant> from{};     // start of the window, inclusive; unset: the first event
  std::optional<Instant> to{};       // end of the window, inclusive; unset: the last event
  std::optional<Nanos> idle{};       // longer silences are shortened; unset: chosen from the run
  std::size_t max_arrows = 5'000;    // the diagram ends before the next arrow, with a note
  std::uint32_t max_nodes = 100;     // lifelines in the page; others are left out, with a note
  Colours colours = Colours::automatic;
};

std::string space_time_html(const sim::Trace& trace, const SpaceTimeOptions& options);

// The legend and the drawing alone, for a page that includes the style and the script once
// (space_time_page.h) and any number of diagrams.
std::string space_time_figure(const sim::Trace& trace, const SpaceTimeOptions& options);

// One row for each reception, loss, state and fault, with its time on the left. The drawing is at
// most `width` columns wide; if the nodes do not fit, the result is a list of the events, with a
// note.
std::string space_time_text(const sim::Trace& trace, const SpaceTimeOptions& options,
                            std::size_t width, bool unicode);

}  // namespace tempo::report
