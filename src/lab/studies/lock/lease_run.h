// Lease locks in a simulated network: sites whose clients ask, hold, leave and die, with faults.
//
// A run ends after a given number of grants. Then all faults stop, and every waiting client must be
// served; a client that is not counts as a deadlock.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/units.h"
#include "lab/studies/lock/ledger.h"
#include "protocol/lock/lease/lease_message.h"
#include "protocol/lock/lease/lease_rules.h"

namespace tempo::sim::lease {

// Probabilities, and rates in simulated time. 0: never.
struct Faults {
  double loss = 0;             // probability for each copy of a message
  double duplicate = 0;        // probability for each copy of a message
  double late = 0;             // probability that a copy takes up to three leases longer
  double crashes_per_s = 0;    // a daemon dies, and restarts after a while
  double blackouts_per_s = 0;  // all daemons die and restart
  double pauses_per_s = 0;     // a daemon pauses for up to three leases
  // Some links drop everything for a while, perhaps in one direction only.
  double partitions_per_s = 0;
  double lost_disks = 0;     // probability that a crash destroys the record
  double changes_per_s = 0;  // some site is asked to give a member a vote or to take it away
  double steps_per_s = 0;    // outside the model: a clock jumps by up to two leases
};

struct Setup {
  std::uint32_t sites = 3;
  // Number of voters, the lowest ids; the other sites only ask; 0: all vote.
  std::uint32_t voters = 0;
  std::uint32_t contending = 3;  // number of sites with clients, the lowest ids
  std::uint32_t locks = 1;
  std::uint32_t clients = 2;      // per lock and contending site
  double readers = 0;             // fraction of requests that are shared
  double deaths = 0;              // fraction of stays that end with the client's death
  std::uint64_t entries = 1'000;  // grants of all locks together
  Nanos stay = 2ms;               // mean time inside
  double long_stays = 0;          // fraction of stays with a mean of two leases
  double other_lengths = 0;  // fraction of requests with a lease between a quarter of L and Lmax
  Nanos think = 2ms;         // mean time between two requests
  double resume = 0;         // fraction of clients that resume after a restart of their daemon
  double hang_ups = 0;       // fraction of stays in which the client's connection breaks
  Nanos delay = 1ms;         // longest delay of a message
  Nanos write = 2ms;         // longest time of a disk write
  tempo::lock::lease::Rules rules{.lease = 40ms, .longest = 40ms, .block = 64};
  std::optional<tempo::lock::lease::TwoNode> policy{};  // none: one vote for each voter
  bool network_time = true;                             // false: tickets count from zero
  Nanos time_bound{0};       // bound on network time that the daemons receive; 0: they receive none
  double time_error = 1;     // largest error of network time, in multiples of its bound
  bool drift = true;         // clock rates differ within the bound; false: all are equal
  bool fresh_disks = false;  // all sites start without a record
  Faults faults{};
  std::uint64_t seed = 1;
};

struct Outcome {
  sim::lock::Tally tally;
  std::uint64_t revivals = 0;   // extensions that reached a client after its deadline
  std::uint64_t lost = 0;       // clients that were notified of a lost lock
  std::uint64_t deadlines = 0;  // stays that ended by the client's own clock test
  std::uint64_t crashes = 0;    // crashes of single sites
  std::uint64_t orphans = 0;    // clients inside, and able to resume, whose daemon died
  std::uint64_t resumes = 0;    // clients that were inside again with their token
  std::uint64_t views = 0;      // views after the first
  std::uint64_t blocked = 0;    // locks that granted nothing after the faults had stopped
  // Sent messages by kind; a multicast counts once.
  std::array<std::uint64_t, tempo::lock::lease::kKinds> sent{};
  const char* broken = nullptr;  // name of the violated invariant of the machine; null: none
  Instant ended{};
  std::uint64_t events = 0;

  void add(const Outcome& other);
  bool kept() const {
    return tally.violations == 0 && tally.token_disorder == 0 && tally.deadlocks == 0 &&
           revivals == 0 && blocked == 0 && broken == nullptr;
  }
};

inline constexpr std::uint32_t kMaxSites = 63;  // a side of a partition is 64 bits

// At most kMaxVoters voters and kMaxSites sites; with a policy 2 sites, or 3 with a witness.
Outcome run(const Setup& setup);

}  // namespace tempo::sim::lease
