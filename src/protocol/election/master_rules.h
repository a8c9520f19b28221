// Timers and protocol variant, the same on all nodes of a network.
//
// Three profiles: `classic` has the values of 4.3BSD's daemon, `lan` is the default, `fast`
// replaces a silent master within some tens of milliseconds. Every value can be changed;
// `faults_of` reports all violated relations between them at once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace tempo::election {

struct Timing {
  Nanos adjtime;                     // from one synchronization round to the next
  Nanos loop;                        // from one Loop to the next
  Nanos election_min;                // r: a slave draws its election timeout from [r, r + R]
  Nanos election_max;                // r + R
  Nanos startup;                     // a starting node's wait for a master's answer
  Nanos no_master;                   // then its wait before it becomes master
  Nanos candidate;                   // silence after the last Accept that makes a candidate master
  Nanos accept;                      // time that an Accept binds its sender
  Nanos consistency;                 // a new slave's wait for the answer of a second master
  Nanos conflict;                    // a master's wait for the answers of rival masters
  Nanos retransmit;                  // from the first to the second send; doubles with each send
  std::uint32_t sends;               // of a reliable message, in total
  Nanos delay;                       // largest delay of a message that the timers assume
  std::uint32_t loops_per_election;  // minimum of election_min, in Loop intervals; 0: none
  std::uint32_t
      loops_per_startup;  // minimum of startup + no_master, in Loops plus a delay; 0: none
};

// Behaviours as the paper prints them, each of which fails in some case. They are kept because the
// failures are results.
struct Variant {
  bool refuse_duplicate = false;      // a node refuses a duplicated Election: the literal reading
  bool no_loop = false;               // masters send no Loop
  bool no_epoch = false;              // no epochs order the masterships
  bool conflict_kills_both = false;   // a master in Conflict answers every Resolve
  bool conflict_for_resolve = false;  // a master answers Conflict with Conflict: 5.3's misprint

  bool operator==(const Variant&) const = default;
};
inline constexpr Variant kCorrected{};
// As section 6 prints the protocol. conflict_for_resolve is the contradicting reading of 5.3.
inline constexpr Variant kAsPrinted{true, true, true, true, false};

struct Rules {
  Timing timing{};
  std::uint32_t repeats = 4;  // extra sends of Masterreq and Election
  Variant variant{};
};

inline constexpr std::uint32_t kMaxRepeats = 4;

// The profile of this name, or an error that lists the names.
Result<Timing> profile(std::string_view name);
std::vector<std::string_view> profile_names();

// Parses `corrected`, `as-printed`, or a comma-separated list of variant names.
Result<Variant> parse_variant(std::string_view text);
std::string variant_text(const Variant& variant);

// One sentence for each violated relation between the rules; empty: the rules are valid.
std::vector<std::string> faults_of(const Rules& rules);

}  // namespace tempo::election
