// The commands of `tempo-lab check`: their options and one function each. Each explores every
// reachable state of a protocol with a few nodes.
//
// An Arguments struct holds the options as typed; its command checks all of them before it runs
// anything. Every function prints its answer and returns the exit status (exit_codes.h).
#pragma once

#include <cstdint>
#include <string>

namespace tempo::cli {

// --- check election: TEMPO's master election ---

struct CheckElectionArguments {
  std::uint32_t nodes = 3;
  std::uint32_t losses = 0;
  std::uint32_t duplicates = 0;
  std::uint32_t crashes = 0;
  std::uint32_t restarts = 0;
  std::uint32_t pauses = 0;
  std::string timing = "bounded";
  std::string network = "bag";
  std::string profile = "tiny";
  std::string delay = "1..2";   // ticks
  std::string starts;           // ticks, separated by commas; empty: sixteen apart
  std::string cut;              // nodes on one side, separated by commas; empty: no cut
  std::uint32_t cut_until = 0;  // tick
  std::uint32_t candidacies = 1;
  std::string variant = "corrected";
  std::string memory = "4G";
  bool fingerprints = false;
  std::uint32_t threads = 0;  // 1 or 2; 0: one for each core, at most 2
  std::string replay;         // a file to write; empty: none
  std::string diagram;        // a file, or - for the terminal; empty: none
  bool explore = false;
  bool json = false;
};

int check_election(const CheckElectionArguments& arguments);

// --- check core-model: a benchmark with known state counts ---

struct CheckCoreArguments {
  std::uint32_t nodes = 2;
  std::uint32_t timeouts = 1;
  std::uint32_t capacity = 1;
  bool symmetry = false;
  std::string memory = "4G";
  bool fingerprints = false;
  std::uint32_t threads = 0;  // as above
  bool json = false;
};

int check_core_model(const CheckCoreArguments& arguments);

// --- check ring: elections on a ring ---

struct CheckRingArguments {
  std::string kind = "equitable";
  std::uint32_t stations = 3;
  std::uint32_t range = 2;
  std::uint32_t stages = 2;
  std::uint32_t delay = 1;   // ticks, maximum
  std::uint32_t wakers = 0;  // stations that may wake up by themselves; 0: all
  std::uint32_t losses = 0;
  std::uint32_t duplicates = 0;
  std::uint32_t crashes = 0;
  std::string variant;        // empty: the first of the kind
  std::uint32_t threads = 0;  // as above
  bool json = false;
};

int check_ring(const CheckRingArguments& arguments);

// --- check capacity: elections by capacity ---

struct CheckCapacityArguments {
  std::string algorithm = "b1";
  std::uint32_t nodes = 0;       // 0: 3, or the minimum for --malicious
  std::uint32_t candidates = 0;  // 0: 2, or 1 with --malicious
  std::uint32_t malicious = 0;
  std::uint32_t crashes = 0;
  std::uint32_t losses = 0;
  std::uint32_t pauses = 0;
  std::uint32_t delay = 1;       // ticks, maximum
  std::uint32_t start_skew = 0;  // ticks
  bool together = false;
  bool no_self_delivery = false;
  std::string variant = "corrected";
  std::string memory = "4G";
  std::uint32_t threads = 0;  // as above
  bool json = false;
};

int check_capacity(const CheckCapacityArguments& arguments);

// --- check broadcast: atomic broadcast on synchronized clocks ---

struct CheckBroadcastArguments {
  std::uint32_t nodes = 3;
  std::uint32_t faulty = 1;
  std::string faults = "omission";
  std::uint32_t delay = 1;        // ticks, maximum
  std::uint32_t clock_error = 1;  // ticks
  std::uint32_t speakers = 0;     // 0: 2, or the malicious node alone
  std::uint32_t losses = 0;
  std::uint32_t crashes = 0;
  std::uint32_t short_by = 0;  // ticks
  bool no_relay = false;
  bool no_hop_test = false;
  std::string memory = "4G";
  std::uint32_t threads = 0;  // as above
  bool json = false;
};

int check_broadcast(const CheckBroadcastArguments& arguments);

// --- check lock: bounded-delay locks and leases ---

struct CheckLockArguments {
  std::string kind = "mutex";
  std::uint32_t sites = 3;
  std::uint32_t contending = 0;  // 0: 2
  std::uint32_t readers = 0;     // of rw and lease; 0: 1 of rw, none of lease
  std::uint32_t entries = 1;
  std::uint32_t delay = 1;     // ticks, maximum
  std::uint32_t hold = 1;      // ticks, maximum
  std::uint32_t handling = 0;  // ticks per message; not for lease
  std::uint32_t crashes = 0;
  std::uint32_t restarts = 0;
  std::uint32_t losses = 0;
  std::uint32_t duplicates = 0;
  std::uint32_t pauses = 0;
  std::uint32_t lease = 5;  // ticks; this and the next two for lease only
  std::uint32_t changes = 0;
  bool any_order = false;
  std::string variant = "corrected";
  std::string memory = "4G";
  std::uint32_t threads = 0;  // as above
  bool json = false;
};

int check_lock(const CheckLockArguments& arguments);
// The same for --kind lease; check_lock calls it.
int check_lease(const CheckLockArguments& arguments);

}  // namespace tempo::cli
