// Decides whether silence counts as consent at the moment: a member measures the bounds that its
// bounded-delay locks depend on, continuously while such locks are in use.
//
// Every member broadcasts a heartbeat at a fixed interval. For each member the heartbeat states the
// number and age of the last heartbeat received from it, how many of its messages arrived, and how
// many were sent to it. From this every member knows, for every other: the round trip, the losses
// in each direction, that it is alive, whether a message sent to it has arrived, and whether all of
// its messages have arrived here. A member detects pauses of its own host itself.
//
// The bounds hold when, for `clean` heartbeats of every member in a row, no message was lost, no
// round trip took longer than two delays, no member restarted, and this host did not pause. One
// breach ends this at once; the bounds hold again after as many heartbeats without a breach. So a
// network that loses an occasional datagram is trusted a little less often, and a network that
// works at its bounds is never trusted.
//
// Bounds that held until now say nothing about a member that died a moment ago. So silence counts
// as consent only when it is `confirmed`: every member reports in a later heartbeat that the
// earlier messages arrived, and every message it sent until then has arrived here, so it has not
// refused. Time only decides when to ask for explicit replies, never whether two clients enter.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "protocol/wire/mutex_body.h"

namespace tempo::locks {

class BoundsMonitor {
 public:
  struct Rules {
    Nanos interval = 20ms;     // time between two heartbeats
    Nanos delay_max = 10ms;    // longest transit of a datagram, and longest pause of this host
    std::uint32_t clean = 50;  // heartbeats without a breach before silence is trusted

    // A member that has been silent for longer than this counts as absent.
    Nanos silence_max() const { return 5 * interval + 2 * delay_max; }
  };

  // Why the bounds do not hold.
  struct Breach {
    enum class Kind : std::uint8_t {
      none,       // they hold
      measuring,  // too few heartbeats so far
      no_beat,    // no heartbeat from `member` yet
      restarted,  // `member` did
      other_voters,
      lost_from,   // a datagram from `member`
      lost_to,     // a datagram to `member`
      round_trip,  // to `member`, which took `span`
      paused,      // this host, for `span`
      silent,      // `member`, for `span`
    };
    Kind kind = Kind::none;
    std::uint32_t member = 0;
    Nanos span{0};
  };
  // As the continuation of "because". `member` is its name.
  static std::string text_of(const Breach& breach, const Rules& rules, std::string_view member);

  // Members are numbered from 0, in the order of their slots among the voters.
  BoundsMonitor(const Rules& rules, std::uint32_t self, std::size_t members, std::uint32_t view);

  // --- messages about locks, counted ---
  void sent_to_all();
  void sent(std::uint32_t to);
  void received(BootTime now, std::uint32_t from, Incarnation incarnation);

  // --- heartbeats ---
  wire::BeatBody beat(BootTime now, bool busy);  // the next heartbeat, for the caller to broadcast
  void receive(BootTime now, std::uint32_t from, Incarnation incarnation,
               const wire::BeatBody& beat);
  void stalled(Nanos by);  // this host paused for this long
  // Reports a breach for each member that has been silent too long.
  void expire_silent(BootTime now);
  // Starts measuring from the beginning: no member sent heartbeats until now.
  void restart(BootTime now);

  bool holds() const { return why_.kind == Breach::Kind::none; }
  const Breach& why() const { return why_; }

  // Number of messages sent so far, to each member.
  using Mark = std::array<std::uint32_t, wire::BeatBody::kMax>;
  Mark mark() const;
  // Whether every message counted in `mark` has arrived, and every message sent back has too.
  bool confirmed(const Mark& mark) const;
  // Whether more than half of the members, this one included, have recently heard this one and know
  // the same voters.
  bool supported(BootTime now, Nanos lately) const;

 private:
  static constexpr std::size_t kKept = 64;  // own heartbeats that are remembered

  struct Peer {
    Incarnation incarnation{};
    std::uint32_t sent = 0;      // messages to it, during our current incarnation
    std::uint32_t received = 0;  // messages from it, during its current incarnation
    std::uint32_t counted = 0;   // messages from it that arrived before its last heartbeat
    std::uint32_t beat = 0;      // number of its last heartbeat; 0: none yet
    BootTime heard{};            // arrival of that heartbeat
    BootTime answered{};  // sending time of our newest heartbeat that it confirmed under this view
    std::uint32_t clean = 0;            // heartbeats from it without a breach; at most Rules::clean
    std::optional<std::int64_t> out{};  // messages to it lost while silence was not trusted
    std::optional<std::int64_t> in{};   // messages from it lost during that time
    int short_beats = 0;                // heartbeats in a row that miss a message
    std::uint32_t confirmed = 0;  // messages to it that arrived, all of its earlier ones being here
  };
  struct Beat {
    std::uint32_t number = 0;
    BootTime at{};
    Mark sent{};
  };

  // Kind none: a new measurement begins without a breach.
  void breach(Peer& peer, Breach::Kind kind, Nanos span = Nanos{0});
  void note_incarnation(BootTime now, Peer& peer, Incarnation incarnation);
  void evaluate(BootTime now, Peer& peer, const wire::BeatBody::Entry& entry);
  void update_why();

  Rules rules_;
  std::uint32_t self_;
  std::uint32_t view_;
  std::vector<Peer> peers_;  // the own entry is unused
  std::array<Beat, kKept> beats_{};
  std::uint32_t last_beat_ = 0;
  std::uint32_t calm_ = 0;  // own heartbeats since this host last paused
  Breach why_{};
  Breach last_breach_{};  // kind none: none since the bounds held
};

}  // namespace tempo::locks
