// The portable kernel: lane by lane, with 64-bit words. Runs on every machine the project supports
// (x86-64-v2).
#include <algorithm>
#include <array>
#include <bit>

#include "lab/analysis/equitable_kernels.h"

// Counting bits is one instruction since x86-64-v2; the rest of the project requires less.
#if defined(__x86_64__)
#define TEMPO_V2 __attribute__((target("popcnt")))
#else
#define TEMPO_V2
#endif

namespace tempo::monte_carlo {
namespace {

constexpr std::uint32_t kMaxWords = Equitable::kMaxStations / 64;
constexpr std::uint32_t kMaxPlanes = 16;

using Word = std::uint64_t;
using Words = std::array<Word, kMaxWords>;

// Mask of the last word of k bits.
Word last_mask(std::uint32_t k) { return ~Word{0} >> ((64 - k % 64) % 64); }

// Priorities of k stations, uniform below `range`; plane p holds bit p.
struct Planes {
  std::array<Words, kMaxPlanes> bits;
};

// Draws new values for the bits marked in `wanted`.
void redraw(Generator& lane, std::uint32_t planes, std::uint32_t words, const Words& wanted,
            Planes& drawn) {
  for (std::uint32_t p = 0; p < planes; ++p)
    for (std::uint32_t w = 0; w < words; ++w) {
      const Word random = lane.next();
      drawn.bits[p][w] = (drawn.bits[p][w] & ~wanted[w]) | (random & wanted[w]);
    }
}

// Marks the priorities that are not below the range; returns whether there are any. Compares with a
// constant bit by bit, highest first.
bool too_high(std::uint32_t range, std::uint32_t planes, std::uint32_t words, const Words& of,
              const Planes& drawn, Words& high) {
  Word any = 0;
  for (std::uint32_t w = 0; w < words; ++w) {
    Word below = 0;
    Word equal = ~Word{0};
    for (std::uint32_t p = planes; p-- > 0;) {
      const Word bit = drawn.bits[p][w];
      if ((range >> p & 1) != 0) {
        below |= equal & ~bit;
        equal &= bit;
      } else {
        equal &= ~bit;
      }
    }
    high[w] = of[w] & ~below;
    any |= high[w];
  }
  return any != 0;
}

void draw(Generator& lane, std::uint32_t range, std::uint32_t planes, std::uint32_t k,
          Planes& drawn) {
  const std::uint32_t words = (k + 63) / 64;
  Words wanted;
  for (std::uint32_t w = 0; w < words; ++w) wanted[w] = ~Word{0};
  wanted[words - 1] = last_mask(k);
  redraw(lane, planes, words, wanted, drawn);
  if (std::has_single_bit(range)) {
    for (std::uint32_t p = 0; p < planes; ++p) drawn.bits[p][words - 1] &= wanted[words - 1];
    return;
  }
  // Each draw is accepted with probability above 1/2, so the loop terminates.
  Words high;
  for (Words of = wanted; too_high(range, planes, words, of, drawn, high); of = high)
    redraw(lane, planes, words, high, drawn);
  for (std::uint32_t p = 0; p < planes; ++p) drawn.bits[p][words - 1] &= wanted[words - 1];
}

// A station remains if its predecessor drew at least as much. Station 0 follows the last one.
TEMPO_V2 std::uint32_t survivors(std::uint32_t planes, std::uint32_t k, const Planes& drawn,
                                 Words& stay) {
  const std::uint32_t words = (k + 63) / 64;
  std::uint32_t count = 0;
  for (std::uint32_t w = 0; w < words; ++w) {
    Word less = 0;
    Word equal = ~Word{0};
    for (std::uint32_t p = planes; p-- > 0;) {
      const Word own = drawn.bits[p][w];
      const Word carried =
          w == 0 ? drawn.bits[p][words - 1] >> ((k - 1) % 64) & 1 : drawn.bits[p][w - 1] >> 63;
      const Word before = own << 1 | carried;
      less |= equal & ~own & before;
      equal &= ~(own ^ before);
    }
    stay[w] = (less | equal) & (w + 1 == words ? last_mask(k) : ~Word{0});
    count += static_cast<std::uint32_t>(std::popcount(stay[w]));
  }
  return count;
}

// Survivors of each productive round, used to trace the winner back; at most one round per station.
struct History {
  std::array<Words, Equitable::kMaxStations> stayed;
};

struct Length {
  std::uint32_t rounds = 0;
  std::uint32_t productive = 0;
};

// Finishes an election whose active stations fit into one word, for a range that is a power of two:
// the same draws and comparisons, in registers.
TEMPO_V2 void finish_in_word(Generator& lane, std::uint32_t planes, std::uint32_t active,
                             Length& length, History& history) {
  Generator generator = lane;
  while (active > 1) {
    const Word mask = last_mask(active);
    Word less = 0;
    Word equal = mask;
    for (std::uint32_t p = 0; p < planes; ++p) {
      const Word own = generator.next() & mask;
      const Word before = own << 1 | own >> (active - 1);
      const Word differs = own ^ before;
      less = (before & ~own) | (less & ~differs);  // a higher bit overrides all lower bits
      equal &= ~differs;
    }
    const Word stay = (less | equal) & mask;
    history.stayed[length.productive][0] = stay;
    const auto left = static_cast<std::uint32_t>(std::popcount(stay));
    ++length.rounds;
    length.productive += left < active ? 1U : 0U;
    active = left;
  }
  lane = generator;
}

// Position of the set bit with this rank, counted from 0.
TEMPO_V2 std::uint32_t place_of(const Words& bits, std::uint32_t rank) {
  for (std::uint32_t w = 0;; ++w) {
    const auto here = static_cast<std::uint32_t>(std::popcount(bits[w]));
    if (rank >= here) {
      rank -= here;
      continue;
    }
    Word left = bits[w];
    for (; rank > 0; --rank) left &= left - 1;
    return w * 64 + static_cast<std::uint32_t>(std::countr_zero(left));
  }
}

}  // namespace

void draw_plain(const Equitable& ring, Lanes& lanes, const LaneElections& elections,
                EquitableCounts& counts) {
  const auto planes = static_cast<std::uint32_t>(std::bit_width(ring.range - 1));
  Planes drawn{};
  static thread_local History history;
  const bool quick = std::has_single_bit(ring.range);
  for (std::uint32_t lane = 0; lane < kLanes; ++lane)
    for (std::uint32_t i = 0; i < elections[lane]; ++i) {
      Length length;
      for (std::uint32_t active = ring.stations; active > 1;) {
        if (quick && active <= 64) {
          finish_in_word(lanes[lane], planes, active, length, history);
          break;
        }
        draw(lanes[lane], ring.range, planes, active, drawn);
        Words& stay = history.stayed[length.productive];
        const std::uint32_t left = survivors(planes, active, drawn, stay);
        ++length.rounds;
        length.productive += left < active ? 1U : 0U;
        active = left;
      }
      ++counts.rounds[std::min(length.rounds, EquitableCounts::kMaxRounds)];
      ++counts.productive[length.productive];
      if (!ring.winners) continue;
      std::uint32_t winner = 0;
      for (std::uint32_t round = length.productive; round-- > 0;)
        winner = place_of(history.stayed[round], winner);
      ++counts.wins[winner];
    }
}

}  // namespace tempo::monte_carlo
