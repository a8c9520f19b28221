// Lease locks in a simulated network: sites with clients that ask, hold, leave and die, and
// whatever is to go wrong around them.
//
// A run ends when enough was granted. Then all faults stop, and everybody who still waits must be
// served: who is not counts as a deadlock.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/units.h"
#include "lab/studies/lock/ledger.h"
#include "protocol/lock/lease/lease_message.h"
#include "protocol/lock/lease/lease_rules.h"

namespace tempo::sim::lease {

// How often, in simulated time. 0: never.
struct Faults {
  double loss = 0;              // of each copy
  double duplicate = 0;         // of each copy
  double late = 0;              // takes up to three leases longer
  double crashes_per_s = 0;     // a daemon dies, and starts again after a while
  double blackouts_per_s = 0;   // all of them do
  double pauses_per_s = 0;      // a daemon stands still for up to three leases
  double partitions_per_s = 0;  // some links carry nothing for a while, perhaps one way only
  double lost_disks = 0;        // of crashes: the record is gone
  double changes_per_s = 0;     // some site is told to give a vote to a member or to take it away
  double steps_per_s = 0;       // beyond what is borne: a clock jumps by up to two leases
};

struct Setup {
  std::uint32_t sites = 3;
  std::uint32_t voters = 0;      // the first so many vote, the others ask; 0: all
  std::uint32_t contending = 3;  // the first so many have clients
  std::uint32_t locks = 1;
  std::uint32_t clients = 2;      // of each lock at each contending site
  double readers = 0;             // part of the wishes that are shared
  double deaths = 0;              // part of the stays that end with the client's death
  std::uint64_t entries = 1'000;  // of all locks together
  Nanos stay = 2ms;               // mean time inside
  double long_stays = 0;          // part of the stays that take two leases in the mean
  double other_lengths = 0;       // part of the wishes for a lease of a quarter of L to Lmax
  Nanos think = 2ms;              // mean time between two wishes
  Nanos delay = 1ms;              // of a message at most
  Nanos write = 2ms;              // to disk, at most
  tempo::lock::lease::Rules rules{.lease = 40ms, .longest = 40ms, .block = 64};
  std::optional<tempo::lock::lease::TwoNode> policy{};  // none: one vote for each voter
  bool network_time = true;                             // else tickets are counted from nothing
  Nanos time_bound{0};                                  // daemons are told it so well; 0: not
  double time_error = 1;                                // it is wrong by so many bounds at most
  bool drift = true;                                    // clocks run within the bound, else alike
  bool fresh_disks = false;                             // all begin without a record
  Faults faults{};
  std::uint64_t seed = 1;
};

struct Outcome {
  sim::lock::Tally tally;
  std::uint64_t revivals = 0;   // extensions told to a client whose deadline had passed
  std::uint64_t lost = 0;       // clients told so
  std::uint64_t deadlines = 0;  // stays that ended by the client's own clock test
  std::uint64_t writes = 0;     // to disk
  std::uint64_t crashes = 0;    // of one site, or of all
  std::uint64_t views = 0;      // that followed the first
  std::uint64_t blocked = 0;    // locks that granted nothing once the faults had stopped
  std::array<std::uint64_t, tempo::lock::lease::kKinds> said{};  // by kind; a multicast counts once
  const char* broken = nullptr;                                  // an invariant of the machine
  Instant ended{};
  std::uint64_t events = 0;

  void add(const Outcome& other);
  bool kept() const {
    return tally.violations == 0 && tally.token_disorder == 0 && tally.deadlocks == 0 &&
           revivals == 0 && blocked == 0 && broken == nullptr;
  }
};

inline constexpr std::uint32_t kMaxSites = 63;  // a side of a partition is 64 bits

// At most kMaxVoters vote and at most kMaxSites are there (2, or 3 with a witness, under a
// policy).
Outcome run(const Setup& setup);

}  // namespace tempo::sim::lease
