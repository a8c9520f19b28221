// How long things last, and which reading of the protocol runs: what all nodes of a network share.
//
// Three profiles: `classic` has the values of 4.3BSD's daemon, `lan` is the default, `fast`
// replaces a silent master within some tens of milliseconds. All values can be changed; `faults_of`
// says which relations between them are broken, all at once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace tempo::election {

struct Timing {
  Nanos adjtime;       // from one synchronization round to the next
  Nanos loop;          // from one Loop to the next
  Nanos election_min;  // r: a slave's patience is drawn from [r, r + R]
  Nanos election_max;  // r + R
  Nanos startup;
  Nanos no_master;
  Nanos candidate;  // silence after the last Accept
  Nanos accept;
  Nanos consistency;
  Nanos conflict;
  Nanos retransmit;                  // to the second send; doubles
  std::uint32_t sends;               // of a reliable message, in all
  Nanos delay;                       // the largest delay assumed
  std::uint32_t loops_per_election;  // the shortest election timer outlasts this many Loops
  std::uint32_t loops_per_startup;   // a start lasts this many Loops and a delay
};

// Printed behaviours that fail in one way or another; they are kept because the failure is a
// result.
struct Variant {
  bool refuse_duplicate = false;  // a duplicated Election is refused, as the text reads literally
  bool no_loop = false;           // masters send no Loop
  bool no_epoch = false;          // masterships are not ordered
  bool conflict_kills_both = false;   // a master in Conflict answers every Resolve
  bool conflict_for_resolve = false;  // an informed master broadcasts Conflict: 5.3's misprint

  bool operator==(const Variant&) const = default;
};
inline constexpr Variant kCorrected{};
// As section 6 prints it. Where 5.3 contradicts it, conflict_for_resolve has 5.3.
inline constexpr Variant kAsPrinted{true, true, true, true, false};

struct Rules {
  Timing timing{};
  std::uint32_t repeats = 4;  // extra sends of Masterreq and Election
  Variant variant{};
};

inline constexpr std::uint32_t kMaxRepeats = 4;

// The named profile, or a sentence that lists the names.
Result<Timing> profile(std::string_view name);
std::vector<std::string_view> profile_names();

// `corrected`, `as-printed`, or a comma-separated list of the variants' names.
Result<Variant> parse_variant(std::string_view text);
std::string variant_text(const Variant& variant);

// Every broken relation between the rules as a sentence; empty if they are sound.
std::vector<std::string> faults_of(const Rules& rules);

}  // namespace tempo::election
