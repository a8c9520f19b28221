// Identifiers of nodes, incarnations, messages and masterships.
//
// Node numbers are dense, from 0; the driver of the machines maps host names or addresses to them.
// Values of different identifier types cannot be added, mixed or compared.
#pragma once

#include <compare>
#include <cstdint>
#include <utility>

namespace tempo {

enum class NodeId : std::uint32_t {};
inline constexpr NodeId kNobody{0xffffffff};
inline constexpr std::uint32_t kMaxNodes = 1U << 20;

// A message's number. The sender counts from 1 in each of its incarnations; 0: no message.
enum class Sequence : std::uint32_t {};
inline constexpr Sequence kNoSequence{0};

// One run of a process. The driver draws it at random at each start, so it differs after a restart.
enum class Incarnation : std::uint32_t {};

// A host. It is the same after a restart and on every machine of the network, and replaces the
// NodeId on the wire. Drivers assign NodeIds in the order of the HostIds, so that epochs compare
// the same on all machines.
enum class HostId : std::uint64_t {};
inline constexpr HostId kNoHost{0};

// One mastership. Round 0 means none and compares lower than every mastership.
struct Epoch {
  std::uint32_t round = 0;
  NodeId node = kNobody;
  Incarnation incarnation{};

  // Compares the members in this order. If `round == 0`, the other two have no meaning.
  auto operator<=>(const Epoch&) const = default;
};
inline constexpr Epoch kNoEpoch{};

constexpr std::uint32_t index(NodeId node) { return std::to_underlying(node); }
constexpr NodeId node_at(std::size_t index) { return NodeId{static_cast<std::uint32_t>(index)}; }

}  // namespace tempo
