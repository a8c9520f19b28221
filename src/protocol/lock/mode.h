// What a client asks of a lock, and the number it is given with it.
#pragma once

#include <cstdint>

namespace tempo::lock {

// A lock among those of a network; who maps names to numbers, the same everywhere, is the node's
// affair.
enum class LockId : std::uint32_t {};

enum class Mode : std::uint8_t { shared, exclusive };

// Whether two clients may not be inside together.
constexpr bool conflict(Mode one, Mode other) {
  return one == Mode::exclusive || other == Mode::exclusive;
}

// A fencing token: of two grants of one lock that conflict, the later has the larger. 0: none.
enum class Token : std::uint64_t {};
inline constexpr Token kNoToken{0};

}  // namespace tempo::lock
