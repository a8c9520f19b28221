// Four elections at once, one in each 64-bit lane of a register. Lane i does the same as
// equitable_plain.cpp does with generator i, in the same order.
#include <algorithm>
#include <array>
#include <bit>

#include "base/check.h"
#include "lab/analysis/equitable_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define TEMPO_AVX2 __attribute__((target("avx2,popcnt"), always_inline)) inline
#define TEMPO_AVX2_ENTRY __attribute__((target("avx2,popcnt")))
#endif

namespace tempo::monte_carlo {

bool fits_avx2(const Equitable& ring) {
  return ring.stations >= 2 && ring.stations <= 64 && std::has_single_bit(ring.range) &&
         !ring.winners;
}

#if defined(__x86_64__)
namespace {

TEMPO_AVX2 __m256i all(std::uint64_t value) {
  return _mm256_set1_epi64x(static_cast<long long>(value));
}
TEMPO_AVX2 __m256i load(const std::array<std::uint64_t, kLanes>& from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from.data()));
}
TEMPO_AVX2 std::array<std::uint64_t, kLanes> stored(__m256i from) {
  std::array<std::uint64_t, kLanes> to;
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to.data()), from);
  return to;
}
template <int kBits>
TEMPO_AVX2 __m256i rotated(__m256i value) {
  return _mm256_or_si256(_mm256_slli_epi64(value, kBits), _mm256_srli_epi64(value, 64 - kBits));
}

// xoshiro256++ in every lane.
struct Generators {
  __m256i s0, s1, s2, s3;

  TEMPO_AVX2 __m256i next() {
    const __m256i result = _mm256_add_epi64(rotated<23>(_mm256_add_epi64(s0, s3)), s0);
    const __m256i shifted = _mm256_slli_epi64(s1, 17);
    s2 = _mm256_xor_si256(s2, s0);
    s3 = _mm256_xor_si256(s3, s1);
    s1 = _mm256_xor_si256(s1, s2);
    s0 = _mm256_xor_si256(s0, s3);
    s2 = _mm256_xor_si256(s2, shifted);
    s3 = rotated<45>(s3);
    return result;
  }
};

// Number of bits set in each lane: four bits at a time by table, then summed.
TEMPO_AVX2 __m256i counted(__m256i value) {
  const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2,
                                         1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
  const __m256i low = _mm256_set1_epi8(15);
  const __m256i few = _mm256_shuffle_epi8(table, _mm256_and_si256(value, low));
  const __m256i many =
      _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi64(value, 4), low));
  return _mm256_sad_epu8(_mm256_add_epi8(few, many), _mm256_setzero_si256());
}

// Number of active stations that remain in each lane after one round.
template <class Planes>
TEMPO_AVX2 __m256i round_of(Generators& generators, Planes planes, __m256i active) {
  const __m256i mask = _mm256_srlv_epi64(all(~0ULL), _mm256_sub_epi64(all(64), active));
  const __m256i last = _mm256_sub_epi64(active, all(1));
  __m256i less = _mm256_setzero_si256();
  __m256i equal = mask;
  // The plain kernel draws the lowest bit first, so this kernel does too and compares upwards. A
  // higher bit overrides all lower bits.
  for (std::uint32_t p = 0; p < planes; ++p) {
    const __m256i own = _mm256_and_si256(generators.next(), mask);
    const __m256i before = _mm256_or_si256(_mm256_slli_epi64(own, 1), _mm256_srlv_epi64(own, last));
    const __m256i differs = _mm256_xor_si256(own, before);
    less = _mm256_or_si256(_mm256_andnot_si256(own, before), _mm256_andnot_si256(differs, less));
    equal = _mm256_andnot_si256(differs, equal);
  }
  return counted(_mm256_and_si256(_mm256_or_si256(less, equal), mask));
}

struct Progress {
  LaneElections left;       // elections left in each lane, including the current one
  std::uint32_t lanes = 0;  // lanes with elections left
};

// Counts an election that has ended in this lane.
TEMPO_AVX2 void count_election(Progress& progress, std::uint32_t lane, std::uint64_t rounds,
                               std::uint64_t productive, EquitableCounts& counts) {
  ++counts.rounds[std::min<std::uint64_t>(rounds, EquitableCounts::kMaxRounds)];
  ++counts.productive[productive];
  if (--progress.left[lane] == 0) --progress.lanes;
}

template <class Planes>
TEMPO_AVX2 void draw_lanes(const Equitable& ring, Planes planes, Lanes& lanes,
                           const LaneElections& elections, EquitableCounts& counts) {
  std::array<std::array<std::uint64_t, kLanes>, 4> seeds;
  for (std::uint32_t lane = 0; lane < kLanes; ++lane)
    for (std::uint32_t word = 0; word < 4; ++word) seeds[word][lane] = lanes[lane].state[word];
  Generators generators{load(seeds[0]), load(seeds[1]), load(seeds[2]), load(seeds[3])};
  Progress progress{elections};
  std::array<std::uint64_t, kLanes> begin{};
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    begin[lane] = ring.stations;
    progress.lanes += elections[lane] > 0 ? 1U : 0U;
  }
  __m256i active = load(begin);
  __m256i rounds = _mm256_setzero_si256();
  __m256i productive = _mm256_setzero_si256();
  const __m256i one = all(1);
  while (progress.lanes > 0) {
    const __m256i left = round_of(generators, planes, active);
    rounds = _mm256_add_epi64(rounds, one);
    // A comparison yields -1 where it is true.
    productive = _mm256_sub_epi64(productive, _mm256_cmpgt_epi64(active, left));
    active = left;
    const __m256i over = _mm256_cmpeq_epi64(left, one);
    auto ended = static_cast<std::uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(over)));
    if (ended == 0) continue;
    const auto took = stored(rounds);
    const auto took_productive = stored(productive);
    for (std::uint32_t which = ended; which != 0; which &= which - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(which));
      if (progress.left[lane] > 0)
        count_election(progress, lane, took[lane], took_productive[lane], counts);
    }
    // The lane starts its next election, whether or not that one is counted.
    active = _mm256_blendv_epi8(active, all(ring.stations), over);
    rounds = _mm256_andnot_si256(over, rounds);
    productive = _mm256_andnot_si256(over, productive);
  }
}

// The number of planes as a constant, for the usual value.
template <std::uint32_t kPlanes>
struct Fixed {
  constexpr operator std::uint32_t() const { return kPlanes; }  // NOLINT
};

}  // namespace

TEMPO_AVX2_ENTRY void draw_avx2(const Equitable& ring, Lanes& lanes, const LaneElections& elections,
                                EquitableCounts& counts) {
  const auto planes = static_cast<std::uint32_t>(std::bit_width(ring.range - 1));
  if (planes == 4)
    draw_lanes(ring, Fixed<4>{}, lanes, elections, counts);
  else
    draw_lanes(ring, planes, lanes, elections, counts);
}

#else

void draw_avx2(const Equitable& /*ring*/, Lanes& /*lanes*/, const LaneElections& /*elections*/,
               EquitableCounts& /*counts*/) {
  CHECK(false);
}

#endif

}  // namespace tempo::monte_carlo
