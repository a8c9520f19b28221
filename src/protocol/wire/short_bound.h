// A bound in two bytes, so that a probe has the length of its echo: 1 + 1024 log2 of nanoseconds,
// rounded up; 0: none. Decoding and encoding again changes nothing.
#pragma once

#include <cstdint>

namespace tempo::wire {

std::uint16_t short_bound(std::uint64_t bound_ns);
std::uint64_t bound_of(std::uint16_t written);

}  // namespace tempo::wire
