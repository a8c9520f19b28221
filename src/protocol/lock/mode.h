// The mode in which a client wants a lock, and the token it gets with a grant.
#pragma once

#include <cstdint>

namespace tempo::lock {

// A lock among the locks of a network. The node maps names to numbers.
enum class LockId : std::uint32_t {};

enum class Mode : std::uint8_t { shared, exclusive };

// Whether two clients with these modes exclude each other.
constexpr bool conflict(Mode one, Mode other) {
  return one == Mode::exclusive || other == Mode::exclusive;
}

// A fencing token: of two conflicting grants of one lock, the later has the larger token. 0: none.
enum class Token : std::uint64_t {};
inline constexpr Token kNoToken{0};

}  // namespace tempo::lock
