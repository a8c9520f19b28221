// The commands of `tempo-lab sim`: their options and one function each.
//
// An Arguments struct holds the options as typed; its command checks all of them before it runs
// anything. Every function prints its answer and returns the exit status (exit_codes.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tempo::cli {

// --- sim election: TEMPO's master election ---

struct SimElectionArguments {
  std::uint32_t nodes = 5;
  std::string scenario = "start";
  std::string profile = "lan";
  std::string election_timer;            // range a..b; empty: the profile's
  std::optional<std::uint32_t> repeats;  // unset: 4, or 0 with refuse-duplicate
  double loss = 0;
  double duplicate = 0;
  double reorder = 0;
  std::string delay = "uniform:100us..2ms";
  std::uint64_t seed = 1;
  std::uint64_t runs = 1;
  std::uint32_t threads = 0;  // 0: one for each core
  std::string until;          // simulated time; empty: the limit of the scenario
  std::string variant = "corrected";
  bool trace = false;
  std::string diagram;  // a file, or - for the terminal; empty: none
  std::string script;   // a file; empty: none
  bool baselines = false;
  bool json = false;
};

int sim_election(const SimElectionArguments& arguments);

// --- sim capacity: elections by capacity ---

struct SimCapacityArguments {
  std::string algorithm = "a";
  std::uint32_t nodes = 5;
  std::uint32_t candidates = 0;  // 0: all nodes
  double loss = 0;
  std::uint32_t malicious = 0;
  std::uint32_t crash = 0;
  std::uint32_t pauses = 0;
  std::string bound = "10ms";
  std::string start_skew;  // empty: 0 for a, T for the others
  std::string clock_error = "0s";
  bool no_self_delivery = false;
  std::string broadcast = "ideal";  // or atomic
  std::string criterion = "random";
  std::string variant = "corrected";
  std::uint64_t seed = 1;
  std::uint64_t runs = 1000;
  std::uint32_t threads = 0;  // 0: one for each core
  bool json = false;
};

int sim_capacity(const SimCapacityArguments& arguments);

// --- sim daemon: whole daemons ---

struct SimDaemonArguments {
  std::uint32_t nodes = 5;
  std::uint32_t clients = 8;
  std::string scenario = "everything";
  std::string until = "60s";
  std::uint64_t seed = 1;
  std::uint64_t runs = 1;
  std::uint32_t threads = 0;  // 0: one for each core
  std::string keep;           // numbers of the planned events that happen; empty: all
  std::string fault;          // deliberate fault of the simulator; empty: none
  bool shrink = false;
  bool json = false;
};

int sim_daemon(const SimDaemonArguments& arguments);

// --- sim sync: clocks of whole nodes ---

struct SimSyncArguments {
  std::uint32_t clients = 4;
  std::string delay = "100us";
  std::string jitter = "exp:100us";
  std::string jitter_up{};    // empty: as `jitter`
  std::string jitter_down{};  // empty: as `jitter`
  double loss = 0;
  std::string offset = "5ms";
  std::string frequency = "50ppm";
  double wander = 1e-9;
  double white = 0;
  double aging = 0;
  std::string temperature = "0ppm";
  double worse_half = 1;
  bool isolated = false;
  double rate = 1;
  std::uint32_t seconds = 4000;
  std::uint32_t discard = 1000;
  std::string liars{};  // empty: none
  bool lying_master = false;
  std::uint32_t lies_from = 0;                    // second; 0: the middle of the measured time
  std::optional<std::uint32_t> kill_master_at{};  // second
  std::optional<std::uint32_t> change_at{};       // second
  std::string longer_up = "0";
  std::string later_jitter{};  // empty: no change
  std::string clock_jump = "0";
  std::string rate_jump = "0ppm";
  std::vector<std::string> disturb{};  // disturbances of single clocks
  std::string rate_jump_max = "0ppm";
  double diurnal = 0;
  std::uint32_t churn = 0;  // seconds; 0: never
  std::uint32_t trusted = 0;
  std::uint32_t utc_liars = 0;
  std::optional<std::uint32_t> leap_at{};  // second
  std::uint64_t seed = 1;
  std::uint32_t seeds = 1;
  std::uint32_t threads = 0;  // 0: one for each core
  std::string html{};         // a file; empty: none
  bool json = false;
};

int sim_sync(const SimSyncArguments& arguments);

// --- sim lock: locks under faults ---

struct SimLockArguments {
  std::string kind = "mutex";
  std::uint32_t sites = 5;
  std::uint32_t contending = 0;  // 0: all sites
  std::uint32_t readers = 0;     // 0: half of the contending sites of rw, none of lease
  double gamma = 0.5;
  std::uint64_t entries = 100'000;
  std::string handlers = "serial";  // or parallel
  double sleep = 1;                 // passes
  bool outlive = false;
  double loss = 0;
  double late = 0;
  double pauses = 0;  // this and the next three: per entry; lease: per second
  double crashes = 0;
  double partitions = 0;
  double doubts = 0;
  std::string variant = "corrected";
  std::uint64_t seed = 1;
  std::uint32_t threads = 0;  // 0: one for each core
  bool json = false;
};

int sim_lock(const SimLockArguments& arguments);

// --- sim app: applications of elections ---

struct SimAppArguments {
  std::string name;  // empty: list all
  std::uint32_t nodes = 5;
  std::uint64_t runs = 0;  // 0: 1000, or 1 with --trace or --diagram
  std::uint64_t seed = 1;
  std::uint32_t threads = 0;  // 0: one for each core
  double loss = 0;
  std::uint32_t crash = 1;
  std::string variant = "corrected";
  bool trace = false;
  std::string diagram;  // a file, or - for the terminal; empty: none
  bool json = false;
};

int sim_app(const SimAppArguments& arguments);

// --- sim ring: elections on a ring, simulated or drawn by the Monte Carlo (--fast) ---

struct SimRingArguments {
  std::string kind = "equitable";
  std::uint32_t stations = 8;
  std::uint32_t range = 16;
  std::uint32_t stages = 30;
  double gamma = 1;
  double loss = 0;
  double duplicate = 0;
  std::uint32_t crash = 0;
  std::uint32_t faulty = 0;
  std::uint32_t candidates = 0;  // 0: by chance
  bool first_is_fast = false;
  std::string variant;  // empty: the first of the kind
  std::uint64_t seed = 1;
  std::uint64_t runs = 1;
  std::uint32_t threads = 0;  // 0: one for each core
  bool fast = false;
  std::string shard;  // "2/4"; empty: everything
  bool trace = false;
  std::string diagram;  // a file, or - for the terminal; empty: none
  bool json = false;
};

int sim_ring(const SimRingArguments& arguments);

// --- sim merge: adds up the shards of one `sim ring` ---

struct SimMergeArguments {
  std::vector<std::string> files;  // what `sim ring --shard --json` printed
  bool json = false;
};

int sim_merge(const SimMergeArguments& arguments);

// --- sim replay: runs a script of `tempo-lab check --replay`, or reads a trace ---

// A script runs in the simulator and must end in the states it states. A trace, of a simulation or
// of a tempod (`tempo trace follow`), is only read.
struct ReplayArguments {
  std::string file{};
  bool trace = false;
  std::string diagram{};  // a file, or - for the terminal; empty: none
  bool json = false;
};

int sim_replay(const ReplayArguments& arguments);

}  // namespace tempo::cli
