// The content of the time page, and how a reader extrapolates it.
//
// Network time, and the earliest and latest it can be, are three lines over CLOCK_MONOTONIC_RAW.
// The daemon writes them at least once a second. A reader extrapolates them to the time of the
// reading, so the bound widens with the age of the page. If the page is older than `fresh`, the
// daemon did not renew it: the page is in holdover, and the bound widens by `held_wander` for the
// whole age. The same holds after `main_until`: another part may be the main part by then. If it is
// older than `lasts`, the time is unsynchronized. The raw clock stops while the
// machine is suspended and network time does not: after a suspend the time is unsynchronized too.
//
// Pure: nothing here reads a clock.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace tempo::page {

// The values are part of the layout and those of tempo::TimeStatus.
enum class Status : std::uint8_t { unsynchronized, holdover, synchronized, leads, minority, alone };
inline constexpr Status kLastStatus = Status::alone;
constexpr bool in_main_part(Status status) {
  return status == Status::synchronized || status == Status::leads;
}

// A line: its value when the page is written, and how much faster than raw time it runs.
struct ClockLine {
  WallTime shows{};
  double rate = 0;  // a fraction: 1e-6 is 1 ppm
};

struct Content {
  Instant raw{};     // CLOCK_MONOTONIC_RAW at the time of writing
  Nanos boot{0};     // CLOCK_BOOTTIME then; it also runs while the machine is suspended
  Nanos real{0};     // CLOCK_REALTIME then; so does this one, but it can be set
  ClockLine time{};  // the steered clock
  ClockLine earliest{};
  ClockLine latest{};
  double held_wander = 0;  // widening of the bound in holdover, a fraction of the age
  Nanos fresh{0};          // age up to which `status` holds
  Nanos lasts{0};          // age up to which the page is valid
  Status status = Status::unsynchronized;
  // Raw time up to which the part of this machine is the main part, so that `synchronized` and
  // `leads` hold; kNever: without a limit.
  Instant main_until = kNever;
  std::uint32_t generation = 0;  // of the time scale: readings of two generations do not compare
};

// The clocks of this host, read in immediate succession.
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
  std::uint32_t generation = 0;  // of the time scale
};

// Whether a daemon can have written it; `carry` requires it.
bool sane(const Content& content);

// Extrapolates sane content to `raw`, if the machine was not suspended meanwhile. Inline, for the
// speed of a reading.
inline Reading carry(const Content& content, Instant raw);

// Whether the machine was suspended; and a cheaper first check, with a coarse clock, that also
// returns true when that clock was set.
inline bool slept(const Content& content, Instant raw, Nanos boot);
inline bool perhaps_slept(const Content& content, Instant raw, Nanos coarse_real);

// Reads any content, even corrupt: nothing overflows, and impossible content is unsynchronized.
Reading read(const Content& content, const Moment& moment);

// The same content in holdover: a daemon that stops leaves this page.
Content orphaned(Content content);

// --- the arithmetic ---

inline constexpr Nanos kLongest = 24h * 365;  // longest age of a page
inline constexpr Nanos kJump =
    20ms;  // tolerance between two clocks; a coarse one is up to 10 ms behind
inline constexpr double kMaxSlew =
    2e-3;  // of a clock over the raw clock: frequency, adjtime(), tick

// Rounds towards zero; callers that need a bound add a nanosecond.
inline Nanos gained(Nanos age, double rate) {
  return Nanos{static_cast<std::int64_t>(static_cast<double>(age.count()) * rate)};
}

inline WallTime carried(const ClockLine& line, Nanos age) {
  return line.shows + age + gained(age, line.rate);
}

// Whether a clock differs from raw time by more than any slew explains.
inline bool jumped(Nanos advance, Nanos age) {
  const Nanos slewed = kJump + gained(age, kMaxSlew);
  return advance - age > slewed || advance - age < -slewed;
}

inline bool slept(const Content& content, Instant raw, Nanos boot) {
  return jumped(boot - content.boot, raw - content.raw);
}

inline bool perhaps_slept(const Content& content, Instant raw, Nanos coarse_real) {
  return jumped(coarse_real - content.real, raw - content.raw);
}

// The status when the daemon no longer renews the page. Nobody corrects a machine that is alone or
// in a minority anyway.
constexpr Status held_status(Status status) {
  return in_main_part(status) ? Status::holdover : status;
}

inline Reading carry(const Content& content, Instant raw) {
  const Nanos age = raw - content.raw;
  // A page from the future is from another boot: raw time does not go back.
  if (age < 0ns || age > kLongest) return {};
  const WallTime time = carried(content.time, age);
  const std::uint32_t generation = content.generation;
  if (content.status == Status::unsynchronized || age > content.lasts)
    return {.time = time, .generation = generation};
  const bool past_main = in_main_part(content.status) && raw > content.main_until;
  const bool held = age > content.fresh || past_main;
  // One nanosecond for each truncated fraction.
  const Nanos margin = held ? 2ns + gained(age, content.held_wander) : 1ns;
  const WallTime earliest = carried(content.earliest, age) - margin;
  const WallTime latest = carried(content.latest, age) + margin;
  if (earliest > latest) return {.time = time, .generation = generation};
  return {.time = time < earliest ? earliest : (time > latest ? latest : time),
          .earliest = earliest,
          .latest = latest,
          .status = held ? held_status(content.status) : content.status,
          .generation = generation};
}

}  // namespace tempo::page
