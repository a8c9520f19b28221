// The candidates: two kinds of line over fifteen windows. Each window is longer than the one before
// by a factor of the square root of 2; lengths are in slots.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tempo::clock {

enum class Kind : std::uint8_t { envelope, least_squares };
inline constexpr std::array kKinds{Kind::envelope, Kind::least_squares};
constexpr std::size_t index(Kind kind) { return static_cast<std::size_t>(kind); }

inline constexpr std::array<std::size_t, 15> kWindows{8,   11,  16,  23,  32,  45,  64,  91,
                                                      128, 181, 256, 362, 512, 724, 1024};
inline constexpr std::size_t kLeastWindow = kWindows.front();

// A value for every candidate.
template <class T>
struct PerCandidate {
  std::array<std::array<T, kWindows.size()>, 2> values{};

  std::array<T, kWindows.size()>& operator[](Kind kind) { return values[index(kind)]; }
  const std::array<T, kWindows.size()>& operator[](Kind kind) const { return values[index(kind)]; }
};

}  // namespace tempo::clock
