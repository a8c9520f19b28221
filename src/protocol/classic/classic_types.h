// Packets, commands, notices and options of classic mode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "base/ids.h"
#include "base/units.h"
#include "protocol/election/master_types.h"
#include "protocol/wire/name.h"
#include "protocol/wire/tsp.h"

namespace tempo::classic {

inline constexpr std::size_t kMaxNetworks = 4;
inline constexpr std::uint8_t kNoNetwork = 255;

// A sender that takes no part in elections: a control program, or a host that measures this clock.
// The driver returns what the machine sends to it to the address of the packet just received.
inline constexpr NodeId kStranger{1023};

// An ICMP timestamp: milliseconds since midnight UT on the clocks of both sides.
struct Timestamps {
  std::uint16_t id = 0;
  std::uint16_t sequence = 0;
  std::uint32_t originate = 0;  // clock of the asking host when it sent the request
  std::uint32_t receive = 0;    // clock of the answering host when it received the request
  std::uint32_t transmit = 0;   // the same clock when it sent the reply

  bool operator==(const Timestamps&) const = default;
};
inline constexpr std::int64_t kDayMs = 86'400'000;

struct Packet {
  enum class Kind : std::uint8_t { tsp, timestamp_request, timestamp_reply };

  std::uint8_t network = 0;
  Kind kind = Kind::tsp;
  wire::tsp::Datagram datagram{};  // tsp
  Timestamps stamps{};             // timestamp_request, timestamp_reply
};

// --- commands ---
struct Join {
  std::uint8_t network = 0;
};
struct Stop {};

// --- notices ---
struct StateChanged {
  std::uint8_t network = 0;
  election::State state = election::State::startup;
  wire::Name master{};  // empty: none
};
struct ClockChanged {
  bool stepped = false;  // false: the clock runs faster or slower until it is corrected
  Nanos by{0};
  wire::Name master{};  // host whose message caused it; empty: the average of a master's own round
};
struct PeerDown {
  std::uint8_t network = 0;
  wire::Name peer{};  // acknowledged none of the sends of a message
};
// A packet asks for something that the configuration does not allow.
struct Refused {
  enum class Reason : std::uint8_t {
    correction_limit,  // Adjtime or Settime: a correction above the limit
    setdate,           // Setdate, Setdatereq
  };
  Reason reason{};
  Nanos by{0};
  wire::Name peer{};
};
struct TimeLoop {
  std::uint8_t network = 0;  // the time of its master comes from this host
};
struct Tracing {
  bool on = false;
};
using Notice = std::variant<StateChanged, ClockChanged, PeerDown, Refused, TimeLoop, Tracing>;

struct Options {
  Nanos step_limit = 10s;           // a larger correction is a step, a smaller one a slew
  Nanos correction_limit = 1000s;   // a larger correction by another host is refused
  double max_slew = 500e-6;         // largest change of the clock's rate
  Nanos faulty = 20ms;              // widest spread of clocks that are averaged
  bool setdate = false;             // obey Setdate and Setdatereq
  bool may_lead = true;             // false: a slave that is never a candidate
  bool answers_timestamps = false;  // answer ICMP timestamp requests: the kernel has another clock
};

}  // namespace tempo::classic
