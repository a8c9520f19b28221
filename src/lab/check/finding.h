// Options, progress and result of a search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lab/check/move.h"

namespace tempo::check {

struct Progress {
  std::uint64_t states = 0;
  std::uint64_t transitions = 0;
  std::uint32_t depth = 0;
  double seconds = 0;
  std::size_t bytes = 0;
};

struct SearchOptions {
  std::size_t memory = std::size_t{4} << 30;  // limit in bytes
  bool fingerprints = false;  // keep 64 bits for each state: less memory; see Finding::omission
  unsigned threads = 1;       // threads that search in parallel; the result does not depend on it
  std::function<bool(const Progress&)> progress{};  // called repeatedly; false stops
};

// A violated property with a shortest trace. `cycle` is empty unless the property is that a good
// state stays reachable: then the trace goes through the cycle without end.
struct Violation {
  std::string property;
  std::vector<Move> prefix;
  std::vector<Move> cycle;
};

struct Finding {
  std::uint64_t states = 0;
  std::uint64_t transitions = 0;
  std::uint64_t pruned = 0;  // steps beyond the limits of the model
  std::uint32_t depth = 0;   // length of the longest shortest trace
  double seconds = 0;
  std::size_t bytes = 0;
  std::size_t local_states = 0;
  double omission = 0;  // upper bound of the probability that two states shared a fingerprint
  bool complete = false;
  std::string stopped;  // reason for an incomplete search
  std::optional<Violation> violation;
};

// The number of pairs of states, times the probability 2^-64 that a pair shares a fingerprint.
inline double omission(std::uint64_t states) {
  return static_cast<double>(states) * static_cast<double>(states) * 0x1p-65;
}

inline constexpr const char* kComesGood = "can-always-come-good";
inline constexpr const char* kDeadEnd = "no-dead-end";

}  // namespace tempo::check
