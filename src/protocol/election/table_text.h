// Renders the state table as text: the source of the diagram and tables in
// doc/internals/election.md.
#pragma once

#include <string>

namespace tempo::election {

// A Mermaid state diagram: for each pair of states the events that lead from one to the other.
std::string state_diagram();

// One Markdown table for each state: events, actions, next state; then the ignored events.
std::string table_markdown();

}  // namespace tempo::election
