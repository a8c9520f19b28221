// What a host tells the other members about itself, for their operators: settings that must agree,
// the state of its clock, and one member that it knows. No protocol decides by it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "base/units.h"
#include "protocol/wire/name.h"
#include "protocol/wire/short_bound.h"

namespace tempo::wire {

inline constexpr std::size_t kMaxWord = 16;  // of a profile or a status
using Word = Text<kMaxWord>;
inline constexpr std::size_t kMaxVersionText = 32;

// A member that the sender of an announcement has heard itself.
struct MentionedHost {
  HostId host = kNoHost;       // kNoHost: none is mentioned
  Name name{};                 // empty: the sender does not know it
  std::uint32_t silent_s = 0;  // seconds since the sender heard it
  bool stopped = false;        // it has announced that it stops

  bool operator==(const MentionedHost&) const = default;
};

struct AnnouncementBody {
  static constexpr std::size_t kFixedBytes = 52;
  static constexpr std::size_t kMaxBytes = kFixedBytes + 2 * kMaxWord + kMaxVersionText + kMaxName;

  bool stops = false;             // the sender stops now: its last announcement
  bool leads = false;             // the sender is master of a network
  std::uint32_t interval_ms = 0;  // time to its next announcement
  std::uint32_t uptime_s = 0;
  std::uint32_t up_members = 0;  // other members that it hears
  // Settings that must be equal on all members.
  Word profile{};
  std::uint32_t timers = 0;  // fingerprint of all timers
  std::uint8_t expect = 0;   // voters of locks; 0: no locks
  std::uint32_t lease_ms = 0;
  std::uint32_t longest_lease_ms = 0;
  // Its clock.
  Word status{};                    // as in the snapshot
  std::int64_t offset_ns = 0;       // its clock minus network time
  std::uint64_t bound_ns = 0;       // rounded up by less than a thousandth; 0: no network time
  Text<kMaxVersionText> version{};  // of its program
  MentionedHost mentioned{};

  bool operator==(const AnnouncementBody&) const = default;

  template <class Self, class Io>
  static void layout(Self& self, Io& io) {
    io.fixed(kFixedBytes);
    io.flags(self.stops, self.leads, self.mentioned.stopped);
    io(self.expect);
    io.coded(self.bound_ns, short_bound, bound_of);
    const auto profile = io.length(self.profile);
    const auto status = io.length(self.status);
    const auto version = io.length(self.version);
    const auto name = io.length(self.mentioned.name);
    io(self.interval_ms, self.uptime_s, self.up_members, self.timers);
    io(self.lease_ms, self.longest_lease_ms);
    io.range(self.offset_ns, -kMaxNanos, kMaxNanos);
    io(self.mentioned.host, self.mentioned.silent_s);
    io.text(self.profile, profile);
    io.text(self.status, status);
    io.text(self.version, version);
    io.text(self.mentioned.name, name);
  }
};

}  // namespace tempo::wire
