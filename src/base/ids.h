// The names of things: machines, lives of machines, messages, masterships.
//
// Node numbers are dense, from 0; who maps host names or addresses to them is the driver's affair.
// None of these types can be added, mixed or compared with another.
#pragma once

#include <compare>
#include <cstdint>
#include <utility>

namespace tempo {

enum class NodeId : std::uint32_t {};
inline constexpr NodeId kNobody{0xffffffff};
inline constexpr std::uint32_t kMaxNodes = 1U << 20;

// A message's number, counted from 1 by its sender in each of its lives; 0 names no message.
enum class Sequence : std::uint32_t {};
inline constexpr Sequence kNoSequence{0};

// One life of a process: drawn by whoever starts it, different after every restart.
enum class Incarnation : std::uint32_t {};

// A host, the same after a restart and on every machine of the network: what travels on the wire in
// place of a NodeId. Whoever drives machines gives out NodeIds in the order of the HostIds, so that
// epochs compare alike everywhere.
enum class HostId : std::uint64_t {};
inline constexpr HostId kNoHost{0};

// One mastership. Round 0 belongs to nobody: it is lower than every mastership that ever was.
struct Epoch {
  std::uint32_t round = 0;
  NodeId node = kNobody;
  Incarnation incarnation{};

  // Compared in this order; `round == 0` is "none", whatever the other two say.
  auto operator<=>(const Epoch&) const = default;
};
inline constexpr Epoch kNoEpoch{};

constexpr std::uint32_t index(NodeId node) { return std::to_underlying(node); }
constexpr NodeId node_at(std::size_t index) { return NodeId{static_cast<std::uint32_t>(index)}; }

}  // namespace tempo
