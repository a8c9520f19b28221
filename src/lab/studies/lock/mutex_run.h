// One run of bounded-delay locks in a simulated network, with faults, for a given number of
// entries.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "lab/studies/lock/ledger.h"
#include "protocol/lock/bounds.h"
#include "protocol/lock/mutex.h"

namespace tempo::sim::lock {

enum class Kind : std::uint8_t {
  mutex,       // silence means consent; all requests exclusive
  rw,          // silence means consent; readers and writers
  optimistic,  // one writer that never waits, readers that retry
  replies,     // Ricart and Agrawala: a reply from every other site
  lease,       // majority leases: simulated by lease_run.h, not by run()
};

struct Setup {
  Kind kind = Kind::mutex;
  std::uint32_t sites = 5;
  std::uint32_t contending = 5;  // number of sites with a client
  std::uint32_t readers = 0;     // rw: number of readers among them
  double gamma = 0.5;            // shortest step divided by the longest
  std::uint64_t entries = 1000;
  tempo::lock::mutex::Variant variant = tempo::lock::mutex::Variant::corrected;
  // Optimistic: wait before each access, the paper's addition to Lamport's algorithm.
  bool waits = true;
  bool serial = true;          // a site handles one message at a time
  bool hold_outlives = false;  // a client continues after its site has crashed
  bool load_jumps = false;     // sleep always as after the largest number of refusals
  double sleep = 1;  // sleep before a request, in whole passes; shorter sleeps cause more refusals
  // In steps: cost of handling a request and a reply, longest hold, longest think time.
  tempo::lock::Handling handling{.request = 3, .reply = 2};
  tempo::lock::Steps longest_hold = 50;
  tempo::lock::Steps thinks = 0;
  Nanos step_max = 10us;
  Nanos delay_min = 100us;
  Nanos delay_max = 1ms;
  // Faults outside the bounds.
  double loss = 0;  // probability for each copy of a message
  double late = 0;  // probability that a copy takes up to four longest delays more
  // Mean number per entry.
  double crashes = 0;     // half of them hit a site that has just refused; the site restarts later
  double pauses = 0;      // a site pauses for up to two windows
  double partitions = 0;  // the network splits in two for up to two windows
  double doubts = 0;      // periods with broken bounds; all sites are warned before each period
  std::uint64_t seed = 1;
};

struct Outcome {
  Tally tally{};
  std::uint64_t asked_again = 0;         // requests to a single site
  std::vector<std::uint64_t> refused{};  // entries by number of refusals
  std::uint64_t crashes = 0;
  // Entries later than the specification's bound, where there is one.
  std::uint64_t beyond_bound = 0;
  double longest_by_bound = 0;  // longest time from request to entry, divided by that bound
  std::uint64_t attempts = 0;   // optimistic: reads started
  std::uint64_t torn = 0;  // optimistic: successful reads that returned a mixture of two values
  std::uint64_t events = 0;

  void add(const Outcome& other);
};

// 2 <= sites, 1 <= contending <= sites, readers <= contending, 0 < gamma <= 1.
Outcome run(const Setup& setup);

// The lock rules that a run uses.
tempo::lock::mutex::Rules rules_of(const Setup& setup);

}  // namespace tempo::sim::lock
