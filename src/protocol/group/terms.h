// How candidates of a group are compared, by which algorithm, and with which result.
//
// The candidate's program measures a criterion; here it is only a name that all candidates of a
// group must have in common, because otherwise their capacities cannot be compared.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "base/ids.h"

namespace tempo::groups {

enum class Criterion : std::uint8_t {
  load,
  free_memory,
  uptime,
  clock_quality,
  id,
  random,
  weight,
  command,
  count
};
inline constexpr auto kCriterionNames = std::to_array<std::string_view>(
    {"load", "free-memory", "uptime", "clock-quality", "id", "random", "weight", "cmd"});
static_assert(kCriterionNames.size() == std::to_underlying(Criterion::count));

enum class Algorithm : std::uint8_t { a, b1, c, ring, ring_anonymous, b2, count };
inline constexpr auto kAlgorithmNames =
    std::to_array<std::string_view>({"a", "b1", "c", "ring", "ring-anonymous", "b2"});
static_assert(kAlgorithmNames.size() == std::to_underlying(Algorithm::count));

// These algorithms give every candidate the same chance, whatever its capacity.
constexpr bool on_ring(Algorithm algorithm) {
  return algorithm == Algorithm::ring || algorithm == Algorithm::ring_anonymous;
}

// Notices of the machines that hold elections. A result is a proposal: the winner asks for the
// group's lease, and only the lease decides.
struct Holds {  // this host has begun an election
  Algorithm algorithm = Algorithm::c;
};
struct Elected {
  NodeId node = kNobody;
  Algorithm algorithm = Algorithm::c;
};
struct Defeated {  // another host is elected, and the algorithm does not say which one
  Algorithm algorithm = Algorithm::c;
};
struct NoResult {};  // the election ended without a winner
using ElectionNotice = std::variant<NoResult, Holds, Elected, Defeated>;

constexpr std::string_view name_of(Criterion criterion) {
  return kCriterionNames[std::to_underlying(criterion)];
}
constexpr std::string_view name_of(Algorithm algorithm) {
  return kAlgorithmNames[std::to_underlying(algorithm)];
}

template <class Code, std::size_t kCount>
constexpr std::optional<Code> code_of(const std::array<std::string_view, kCount>& names,
                                      std::string_view name) {
  for (std::size_t i = 0; i < kCount; ++i)
    if (names[i] == name) return static_cast<Code>(i);
  return std::nullopt;
}
constexpr std::optional<Criterion> criterion_of(std::string_view name) {
  return code_of<Criterion>(kCriterionNames, name);
}
constexpr std::optional<Algorithm> algorithm_of(std::string_view name) {
  return code_of<Algorithm>(kAlgorithmNames, name);
}

}  // namespace tempo::groups
