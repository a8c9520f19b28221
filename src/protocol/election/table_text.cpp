#include "protocol/election/table_text.h"

#include <array>

#include <fmt/core.h>

#include "protocol/election/master_table.h"

namespace tempo::election {
namespace {

void append(std::string& list, std::string_view item, std::string_view separator) {
  if (!list.empty()) list += separator;
  list += item;
}

std::string text_of(Action action) {
  const std::string_view verb = name_of(action.verb);
  switch (action.verb) {
    case Verb::broadcast:
    case Verb::reply:
      return fmt::format("{} {}", verb, name_of(static_cast<Kind>(action.what)));
    case Verb::start:
      return fmt::format("start {} timer", name_of(static_cast<Timer>(action.what)));
    default:
      return std::string(verb);
  }
}

}  // namespace

std::string state_diagram() {
  std::array<std::array<std::string, kStates>, kStates> edges;
  for (const Row& row : table::kRows) {
    if (row.from == row.to) continue;
    for (const Event event : row.on)
      append(edges[static_cast<std::size_t>(row.from)][static_cast<std::size_t>(row.to)],
             name_of(event), ", ");
  }
  std::string text = "stateDiagram-v2\n    [*] --> startup\n";
  for (std::size_t from = 0; from < kStates; ++from)
    for (std::size_t to = 0; to < kStates; ++to)
      if (!edges[from][to].empty())
        text += fmt::format("    {} --> {}: {}\n", name_of(static_cast<State>(from)),
                            name_of(static_cast<State>(to)), edges[from][to]);
  return text;
}

std::string table_markdown() {
  std::string text;
  for (std::size_t i = 0; i < kStates; ++i) {
    const auto state = static_cast<State>(i);
    text += fmt::format("### {}\n\n| on | does | next |\n|---|---|---|\n", name_of(state));
    for (const Row& row : table::kRows) {
      if (row.from != state) continue;
      std::string events;
      for (const Event event : row.on) append(events, name_of(event), ", ");
      std::string actions;
      for (const Action action : row.actions) append(actions, text_of(action), "; ");
      text += fmt::format("| {} | {} | {} |\n", events, actions, name_of(row.to));
    }
    for (const auto& ignored : table::kIgnored) {
      if (ignored.in != state) continue;
      std::string events;
      for (const Event event : ignored.what) append(events, name_of(event), ", ");
      text += fmt::format("\nIgnored: {}.\n\n", events);
    }
  }
  return text;
}

}  // namespace tempo::election
