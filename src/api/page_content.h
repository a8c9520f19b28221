// What the page with the time says, and how a reader carries it on.
//
// Network time, and the earliest and latest it can be, are three lines over CLOCK_MONOTONIC_RAW.
// The daemon writes them anew at least once a second; a reader carries them on to the instant at
// which it reads, so the bound widens with the page's age by the reader's own arithmetic. A page
// older than `fresh` was not renewed by a living daemon: from then on it is holdover, and the bound
// widens by `held_wander` for the whole age. Older than `lasts` it says nothing any more. The raw
// clock stands still while the machine sleeps and the network's time does not: a page from before a
// sleep says nothing either.
//
// Pure: no clock is read here.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace tempo::page {

enum class Status : std::uint8_t { unsynchronized, holdover, synchronized, leads };

// A line: what is shown when the page is written, and how much faster than raw time it runs.
struct Hand {
  WallTime shows{};
  double rate = 0;
};

struct Content {
  Instant raw{};  // when it was written
  Nanos boot{0};  // CLOCK_BOOTTIME then, which runs on while the machine sleeps
  Nanos real{0};  // CLOCK_REALTIME then: so does this one, but it may be set
  Hand time{};    // the clock that the daemon steers
  Hand earliest{};
  Hand latest{};
  double held_wander = 0;
  Nanos fresh{0};
  Nanos lasts{0};
  Status status = Status::unsynchronized;
};

// Clocks of this host, read one right after the other.
struct Moment {
  Instant raw{};
  Nanos boot{0};
  Nanos real{0};
};

struct Reading {
  WallTime time{};
  WallTime earliest = WallTime::min();
  WallTime latest = WallTime::max();
  Status status = Status::unsynchronized;
};

// Whether a daemon can have written it; what is not sane is not carried on.
bool sane(const Content& content);

// Sane content, carried on to `raw`, if the machine has not slept meanwhile. Inline with what it
// calls: this is what a reading costs.
inline Reading carry(const Content& content, Instant raw);

// Whether it slept; and, from a clock that is cheaper to read, whether that needs to be asked.
inline bool slept(const Content& content, Instant raw, Nanos boot);
inline bool perhaps_slept(const Content& content, Instant raw, Nanos coarse_real);

// Whatever the content is, also nonsense: nothing overflows, and what cannot be is unsynchronized.
Reading read(const Content& content, const Moment& moment);

// The same, said by nobody any more: a daemon that stops leaves this behind.
Content orphaned(Content content);

// --- the arithmetic ---

inline constexpr Nanos kLongest = 24h * 365;  // that a page may last
inline constexpr Nanos kJump = 20ms;          // between two clocks; a coarse one is 10 ms behind
inline constexpr double kMaxSlew = 2e-3;      // of a clock over RAW: frequency, adjtime(), tick

// Towards zero; the callers that need a side take a nanosecond more.
inline Nanos gained(Nanos age, double rate) {
  return Nanos{static_cast<std::int64_t>(static_cast<double>(age.count()) * rate)};
}

inline WallTime carried(const Hand& hand, Nanos age) {
  return hand.shows + age + gained(age, hand.rate);
}

// Whether a clock has gone further than raw time, or less far, than any slew explains.
inline bool jumped(Nanos went, Nanos age) {
  const Nanos slewed = kJump + gained(age, kMaxSlew);
  return went - age > slewed || went - age < -slewed;
}

inline bool slept(const Content& content, Instant raw, Nanos boot) {
  return jumped(boot - content.boot, raw - content.raw);
}

inline bool perhaps_slept(const Content& content, Instant raw, Nanos coarse_real) {
  return jumped(coarse_real - content.real, raw - content.raw);
}

inline Reading carry(const Content& content, Instant raw) {
  const Nanos age = raw - content.raw;
  // A page from the future is one of another boot: raw time does not run backwards.
  if (age < 0ns || age > kLongest) return {};
  const WallTime time = carried(content.time, age);
  if (content.status == Status::unsynchronized || age > content.lasts) return {.time = time};
  const bool held = age > content.fresh;
  // A nanosecond for each of the fractions cut off.
  const Nanos doubt = held ? 2ns + gained(age, content.held_wander) : 1ns;
  const WallTime earliest = carried(content.earliest, age) - doubt;
  const WallTime latest = carried(content.latest, age) + doubt;
  if (earliest > latest) return {.time = time};
  return {.time = time < earliest ? earliest : (time > latest ? latest : time),
          .earliest = earliest,
          .latest = latest,
          .status = held ? Status::holdover : content.status};
}

}  // namespace tempo::page
