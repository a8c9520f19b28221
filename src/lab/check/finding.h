// What a search is asked for, how far it is, and what it found.
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
  std::size_t memory = std::size_t{4} << 30;
  bool fingerprints = false;  // 64 bits stand for a state: less memory, see Finding::omission
  unsigned threads = 1;       // that search side by side; the result is the same
  std::function<bool(const Progress&)> progress{};  // now and then; false stops the search
};

// What the search found. `cycle` is empty unless the violation is a way that
// never leads to good.
struct Violation {
  std::string property;
  std::vector<Move> prefix;
  std::vector<Move> cycle;
};

struct Finding {
  std::uint64_t states = 0;
  std::uint64_t transitions = 0;
  std::uint64_t pruned = 0;  // steps beyond what was to be looked at
  std::uint32_t depth = 0;   // steps of the longest shortest way
  double seconds = 0;
  std::size_t bytes = 0;
  std::size_t local_states = 0;
  double omission = 0;  // how likely it is, at most, that a state was taken for another
  bool complete = false;
  std::string stopped;  // why not complete
  std::optional<Violation> violation;
};

// So many pairs of states, each of them with one chance in 2^64 to share a
// fingerprint.
inline double omission(std::uint64_t states) {
  return static_cast<double>(states) * static_cast<double>(states) * 0x1p-65;
}

inline constexpr const char* kComesGood = "can-always-come-good";
inline constexpr const char* kDeadEnd = "no-dead-end";

}  // namespace tempo::check
