// Messages, commands and notices of Sync (sync.h).
//
// An exchange: a follower sends a Probe at r1, the master receives it at t2 and sends an Echo at
// t3, which the follower receives at r4. Both stamp on their raw clocks.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <variant>

#include "base/ids.h"
#include "base/units.h"

namespace tempo::node {

// A rate travels in parts in 10^12.
inline std::int64_t to_ppt(double rate) { return std::llround(rate * 1e12); }
inline double from_ppt(std::int64_t ppt) { return static_cast<double>(ppt) * 1e-12; }

// A member's report to its master.
struct Report {
  Nanos offset{0};            // the member's raw clock minus the master's
  std::int64_t rate_ppt = 0;  // rate of that offset, parts in 10^12
  Nanos error{0};             // the member's clock minus network time, by its own estimate
  Nanos sigma{0};             // standard error of the offset; 0: no estimate yet
  Nanos bound{0};             // error bound of the offset
  bool objects = false;       // the member objects to the master's time
  Nanos utc_gap{0};           // UTC minus network time, if the member carries UTC
  Nanos utc_bound{0};         // error bound of utc_gap; 0: the member carries no UTC
};

// --- messages ---

struct Probe {
  std::uint32_t exchange = 0;              // number of the exchange, assigned by the sender
  bool wants_follow_up = false;            // asks for a FollowUp after the Echo
  std::uint32_t timescale_generation = 0;  // times that network time was set by hand
  Report report{};
  Instant arrived{};  // set by the receiver's driver, not on the wire; Instant{}: unknown
};

struct Echo {
  std::uint32_t exchange = 0;              // of the probe
  bool follow_up_comes = false;            // a FollowUp refines `sent`
  std::uint32_t timescale_generation = 0;  // see Probe
  Nanos received{0};                       // t2 on the sender's raw clock
  Nanos sent{0};                           // t3 on the sender's raw clock
  Nanos offset{0};                         // network time minus the sender's raw clock at t2
  std::int64_t rate_ppt = 0;               // rate of that offset, parts in 10^12
  Nanos bound{0};                          // error bound of the sender's network time
  Instant arrived{};                       // see Probe
};

struct FollowUp {
  std::uint32_t exchange = 0;  // of the probe
  Nanos sent{0};               // t3 on the sender's raw clock, when the echo departed
};

// Asks the master to set network time; repeated until an echo has the next generation.
struct SetTime {
  std::uint32_t number = 0;                // of the request, to detect repetitions
  std::uint32_t timescale_generation = 0;  // that the request ends
  Nanos by{0};                             // change of network time
};

using SyncMessage = std::variant<Probe, Echo, FollowUp, SetTime>;
inline std::string_view name_of(const SyncMessage& message) {
  constexpr std::array<std::string_view, 4> kNames{"probe", "echo", "follow_up", "shift"};
  return kNames.at(message.index());
}

// --- commands ---

struct Follow {
  NodeId master = kNobody;  // measurements of any other are forgotten
};
struct Lead {};    // this node's clock is network time
struct Adjust {};  // the master corrects us
struct Set {};     // the master sets us
// A probe or echo departed.
struct Departed {
  NodeId peer = kNobody;  // its receiver
  std::uint32_t exchange = 0;
  Instant at{};
};
struct SetNetworkTime {
  Nanos by{0};  // change of network time
};
// This host carries UTC.
struct CarryUtc {
  Instant at{};    // when it read UTC
  Nanos utc{0};    // that reading: time since 1970
  Nanos bound{0};  // error bound of the reading
};

// The main part of the network, as far as this node knows it. A driver without a membership gives
// no such command: then every network is the main part.
struct MainPart {
  Instant until = kNever;  // end of the time for which this node is in it; kNeverMain: never was
  bool here = true;        // this node leads the main part, or follows its master
  bool others = false;     // the view has other members than this node

  bool operator==(const MainPart&) const = default;
};
inline constexpr Instant kNeverMain = Instant::min();

using SyncCommand =
    std::variant<Follow, Lead, Adjust, Set, Departed, SetNetworkTime, CarryUtc, MainPart>;

// --- notices ---

struct Stepped {
  Nanos by{0};  // change of the clock
};
struct Steered {};  // the rate of the clock has changed
struct NetworkTimeSet {
  Nanos by{0};  // change of network time by this master
};
struct Outvoted {};    // the members agree that this master's clock is wrong: it should not lead
struct Reinstated {};  // the ban after Outvoted has expired: the node may lead again

using SyncNotice = std::variant<Stepped, Steered, NetworkTimeSet, Outvoted, Reinstated>;

}  // namespace tempo::node
