// Mutations of the elections by capacity: single faults that are built in on purpose, to test the
// tests (machine/mutation.h).
#pragma once

#include <cstdint>

#include "machine/mutation.h"

namespace tempo::election::capacity {

enum class Mutation : std::uint8_t {
  none,
  worst_wins,            // the smallest capacity wins
  tie_to_lower,          // of equal capacities the lower number wins
  collect_for_t,         // B.1 collects for T instead of 2T
  all_reports_count,     // B.2 uses more than the first n - t reports
  one_report_is_enough,  // B.2 takes the longest list that any process reports
  leave_for_next,        // B.2 enters the next election before this one has ended
  count,
};

}  // namespace tempo::election::capacity
