// The state table as text for people: what doc/internals/election.md shows is generated here, never
// drawn.
#pragma once

#include <string>

namespace tempo::election {

// A Mermaid state diagram: for each pair of states the events that lead from one to the other.
std::string state_diagram();

// One Markdown table for each state: events, what is done, the next state; then what is ignored.
std::string table_markdown();

}  // namespace tempo::election
