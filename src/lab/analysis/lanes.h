// The fast generator of the Monte Carlo: xoshiro256++ (Blackman & Vigna 2019), four side by side.
//
// Elections are counted in blocks of a fixed size, and a block is a function of (seed, cause, its
// number): one draw of the block's Philox stream seeds the four generators, each of which serves a
// quarter of the block. So results depend neither on the number of threads or machines nor on the
// instructions used: an AVX2 register is the four lanes at once.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/random.h"

namespace tempo::monte_carlo {

inline constexpr std::uint32_t kBlock = 4'096;  // elections
inline constexpr std::uint32_t kLanes = 4;

// What the blocks are drawn for; numbers are part of a seed's meaning and never reused.
enum class Cause : std::uint32_t { equitable = 101, anonymous = 102, algorithm_c = 103 };

// One lane: 64 random bits at a time.
struct Generator {
  std::array<std::uint64_t, 4> state{};

  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state[0] + state[3], 23) + state[0];
    const std::uint64_t shifted = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = std::rotl(state[3], 45);
    return result;
  }
};

using Lanes = std::array<Generator, kLanes>;

Lanes lanes_of(std::uint64_t seed, Cause cause, std::uint32_t block);

}  // namespace tempo::monte_carlo
