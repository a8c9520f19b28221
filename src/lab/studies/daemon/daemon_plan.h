// What happens to a simulated network of daemons: its clients and its faults, planned before the
// run.
//
// The plan follows from the seed. A run needs nothing else, so a failure is replayed by the seed
// and the numbers of the planned events that it needs (`keep`), and a failing run is shrunk by
// leaving events out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace tempo::sim::daemon {

enum class Scenario : std::uint8_t {
  churn,      // daemons die, pause and come back; messages are lost, duplicated, late
  partition,  // the network is cut in two, or single directions of links fail
  restart,    // daemons and whole hosts restart, all at once too
  disk,       // disks are slow, full or read-only; power failures tear or lose writes
  everything,
  time,     // daemons die, pause and sleep, and partitions last up to a third of the run: no clock
            // does more than bounds allow for
  records,  // the files of a host's record change: a bit, the length, an old copy, no file
  replay,   // an attacker records datagrams and sends them again whenever a host starts
  clone,    // a machine with the id of a voter and a copy of its disk starts, beside it or beyond a
            // partition
  halves,   // half of the hosts vote; two halves may agree on voters before they hear each other
};
std::optional<Scenario> scenario_named(std::string_view name);
std::string scenario_names();  // for help and errors, separated by commas

inline constexpr std::uint32_t kMaxHosts = 16;
inline constexpr std::uint32_t kMaxVoters = 8;
inline constexpr std::uint32_t kMaxClients = 64;

// Scenario replay: the time of one attack, on a host that starts among the others or alone, with
// the time before and after it in which the network settles.
inline constexpr Nanos kAttack = 30s;
inline constexpr Nanos kAttackAlone = 60s;

struct Setup {
  std::uint32_t nodes = 5;
  std::uint32_t clients = 8;
  Scenario scenario = Scenario::everything;
  std::uint64_t seed = 1;
  Nanos until = 60s;  // at least 20 s; replay: of the recording, and the attacks follow
  std::optional<std::vector<std::uint32_t>> keep{};  // planned events that happen; unset: all

  // Deliberate faults of the driver, to show that the properties notice them.
  bool ignore_order = false;
  bool forget_persisted = false;
  bool notify_twice = false;
  bool lost_is_absent = false;  // a lost record counts as one that was never written

  bool attacks = true;     // replay: false: the attacker only records
  bool copy_shows = true;  // clone: false: the copied record looks like one of its machine

  // The machines: the hosts, and the clone of one of them.
  std::uint32_t machines() const { return nodes + (scenario == Scenario::clone ? 1 : 0); }

  // Number of the first voters: all hosts, or a bare majority of them.
  std::uint32_t voters() const {
    if (scenario == Scenario::clone) return nodes;
    if (scenario == Scenario::halves) return nodes / 2;
    return seed % 2 == 0 || scenario == Scenario::replay ? nodes : nodes / 2 + 1;
  }
  // Scenario records: a majority of the hosts always has a good record.
  bool keeps_majority() const { return seed % 4 != 3; }
  // Whether bounds are judged during the run. When all machines restart at once, the next master
  // begins a time scale of its own, without a new generation.
  bool judges_time() const {
    return scenario == Scenario::churn || scenario == Scenario::partition ||
           scenario == Scenario::time;
  }
  // The network recovers during the last quarter, and for at least 15 s.
  Nanos faulty() const { return until - std::max<Nanos>(until / 4, 15s); }
  // The end of the run. In the scenario replay each host is attacked twice after the recording.
  Nanos end() const {
    return until + (scenario == Scenario::replay ? nodes * (kAttack + kAttackAlone) : Nanos{0});
  }
};

// One planned event. A client that cannot do what its event asks, because it is busy or its daemon
// is dead, skips it.
struct Event {
  enum class Kind : std::uint8_t {
    // Clients.
    acquire,  // client `which` asks for lock `lock` and keeps it for `span`
    stand,    // client `which` stands for group `lock` for `span`
    die,      // client `which` dies; a new one takes its place
    offer,    // the candidate of client `which` gets another capacity, `number`
    // Faults of daemons and hosts.
    crash,     // the daemon of host `which` dies; it restarts after `span`
    reboot,    // host `which` loses power, its clients die; it restarts after `span`; `number` 1:
               // no write in progress survives
    pause,     // the daemon of host `which` does nothing for `span`
    suspend,   // host `which` sleeps for `span`; its daemon restarts when it wakes
    blackout,  // all daemons die at once; each restarts after up to `span`
    resign,    // the master of the network, or the leader of group `lock`, resigns
    // Faults of the network, of clocks and of disks.
    partition,  // hosts in the bit set `number` are cut off from the others for `span`
    one_way,    // host `which` is not heard by the hosts in `number` for `span`
    step,       // the raw clock of host `which` jumps by `span`
    rate,       // its rate changes by `number` ppb
    slew,       // its boot clock runs `number` ppb faster than its raw clock
    slow_disk,  // its disk completes no write for `span`
    damage,     // its record is damaged, and the daemon dies and restarts after `span`
    accident,   // its record suffers the Accident `number`; its daemon restarts after `span`;
                // `lock` 1: so do the records of most hosts, in ways that show
    set_time,   // its operator changes network time by `span`
    attack,     // host `which` restarts under attack; `number` 1: alone, all the others are down
    split,      // from now on the hosts in the bit set `number` are cut off from the others
    meet,       // this ends
    clone,      // a clone of host `which` starts, with a copy of its disk; `number` 1: an older one
    power_on,   // host `which` starts for the first time
    // Made during the run, not planned.
    quit,
    leave,
    deadline,
    restart,
    resume,
    heal,
    hear,
    disk_works,
    stopped,
    calm,
    attack_begins,
    replay,
    attack_ends,
    come_back,
  };
  Kind kind = Kind::acquire;
  std::uint32_t which = 0;
  std::uint32_t lock = 0;   // number of the lock or group
  std::int64_t number = 0;  // see the kinds
  Nanos span{0};
  std::uint32_t turn = 0;  // made during the run: the incarnation or request that it belongs to
};
std::string_view name_of(Event::Kind kind);

struct PlannedEvent {
  Instant at{};
  Event event{};
};

// All planned events, in order of time; their numbers are their places.
std::vector<PlannedEvent> plan_of(const Setup& setup);

}  // namespace tempo::sim::daemon
