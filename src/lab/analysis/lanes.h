// The fast generator of the Monte Carlo code: four parallel xoshiro256++ (Blackman & Vigna 2019).
//
// Elections are counted in blocks of a fixed size. A block is a function of (seed, cause, its
// number): one draw from the block's Philox stream seeds the four generators, each of which serves
// a quarter of the block. So the results depend neither on the number of threads or machines nor on
// the instruction set: an AVX2 register holds the four lanes at once.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/random.h"

namespace tempo::monte_carlo {

inline constexpr std::uint32_t kBlock = 4'096;  // elections
inline constexpr std::uint32_t kLanes = 4;

// The purpose of a block's draws. A number is part of the meaning of a seed and is never reused.
enum class Cause : std::uint32_t { equitable = 101, anonymous = 102, algorithm_c = 103 };

// One lane: produces 64 random bits at a time.
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
