// Locks in a simulated network, with whatever is to go wrong in it: so many entries, one run.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "lab/studies/lock/ledger.h"
#include "protocol/lock/bounds.h"
#include "protocol/lock/mutex.h"

namespace tempo::sim::lock {

enum class Kind : std::uint8_t {
  mutex,       // silence is consent, all exclusive
  rw,          // silence is consent, readers and writers
  optimistic,  // one writer that never waits, readers that try again
  replies,     // Ricart and Agrawala: a reply from everybody
  lease,       // a majority's promise: not of this room, see lab/sim/lease
};

struct Setup {
  Kind kind = Kind::mutex;
  std::uint32_t sites = 5;
  std::uint32_t contending = 5;  // so many of the sites have a client
  std::uint32_t readers = 0;     // of rw, so many of these
  double gamma = 0.5;            // the shortest step by the longest
  std::uint64_t entries = 1000;
  tempo::lock::mutex::Variant variant = tempo::lock::mutex::Variant::corrected;
  bool waits = true;           // of optimistic: before each access, as the paper adds to Lamport's
  bool serial = true;          // a site handles one message at a time
  bool hold_outlives = false;  // a client runs on when its site has crashed
  bool load_jumps = false;     // sleeps are always for the most refusals
  double sleep = 1;            // before a request, in whole passes: the shorter, the more refusals
  // Steps: what a request and a reply cost, the longest hold, and how long a client thinks at most.
  tempo::lock::Handling handling{.request = 3, .reply = 2};
  tempo::lock::Steps longest_hold = 50;
  tempo::lock::Steps thinks = 0;
  Nanos step_max = 10us;
  Nanos delay_min = 100us;
  Nanos delay_max = 1ms;
  // Beyond the bounds.
  double loss = 0;  // of each copy
  double late = 0;  // of each copy: it takes up to four times the longest delay more
  // So many for each entry, on average.
  double crashes = 0;     // half of them of a site that has just refused; it restarts later
  double pauses = 0;      // a site stands still for up to two windows
  double partitions = 0;  // the network is cut in two for up to two windows
  double doubts = 0;  // all are told that the bounds do not hold; then they do not, then they do
  std::uint64_t seed = 1;
};

struct Outcome {
  Tally tally{};
  std::uint64_t asked_again = 0;         // requests to one site alone
  std::vector<std::uint64_t> refused{};  // [by so many]: entries
  std::uint64_t crashes = 0;
  std::uint64_t beyond_bound = 0;  // entries later than the spec's bound allows, if there is one
  double longest_by_bound = 0;     // the longest way from request to entry, by that bound
  std::uint64_t attempts = 0;      // of optimistic: reads begun
  std::uint64_t torn = 0;          // of optimistic: reads that took a mixture for good
  std::uint64_t events = 0;

  void add(const Outcome& other);
};

// 2 <= sites, 1 <= contending <= sites, readers <= contending, 0 < gamma <= 1.
Outcome run(const Setup& setup);

// The rules that a run gives to its locks.
tempo::lock::mutex::Rules rules_of(const Setup& setup);

}  // namespace tempo::sim::lock
