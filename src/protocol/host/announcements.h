// What every member tells the others about itself, so that an operator sees the whole network on
// each machine.
//
// A host broadcasts an announcement (wire/announcement_body.h) every two seconds, less often in
// large networks, soon after it has heard a new process, and a last one when it stops. It keeps the
// newest announcement of every other host. In turn each announcement mentions one member that its
// sender has heard itself, so that a host learns the names of members that fell silent before it
// started, and notices that another member does not hear it.
//
// Nothing decides by this: time, elections and locks have messages of their own. The driver says
// when it last heard a host, because other messages are signs of life too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <variant>

#include "base/ids.h"
#include "base/units.h"
#include "machine/machine.h"
#include "machine/one_timer.h"
#include "protocol/wire/announcement_body.h"

namespace tempo::announce {

// State of a member as another one sees it.
enum class State : std::uint8_t {
  up,
  silent,   // not heard for three announcements
  stopped,  // its last announcement said that it stops
  gone,     // silent or stopped for more than kGoneAfter
};
std::string_view name_of(State state);

inline constexpr Nanos kGoneAfter = 1h;

class Announcements {
 public:
  static constexpr Nanos kInterval = 2s;     // between two announcements, at least
  static constexpr Nanos kPerMember = 20ms;  // the interval is this long for each member
  static constexpr Nanos kMaxInterval = 5min;
  static constexpr Nanos kSoon = 500ms;  // to an announcement to a new process, at most
  static constexpr std::size_t kMaxMembers = 4096;
  static constexpr std::size_t kMaxMentioned = 256;
  static constexpr int kMissed = 3;       // announcements that a silent host has missed
  static constexpr Nanos kSlack = 500ms;  // of the interval between announcements
  static constexpr Nanos kSilentAfter = kMissed * kInterval + kSlack;  // in a small network
  static constexpr Nanos kMissesFor = 15s;  // a statement that a member misses us is valid

  struct Message {
    HostId sender = kNoHost;  // valid in received messages, like the name and the incarnation
    wire::Name name{};
    Incarnation incarnation{};
    wire::AnnouncementBody body{};
  };
  // What this host says from now on; the machine fills in interval, members and mentioned host.
  struct Describe {
    wire::AnnouncementBody own{};
  };
  struct Stop {};  // the last announcement
  using Command = std::variant<Describe, Stop>;
  using Notice = Nothing;

  struct Member {
    HostId host = kNoHost;
    wire::Name name{};
    Incarnation incarnation{};
    wire::AnnouncementBody says{};
    Instant heard{};  // arrival of its newest announcement
    Instant since{};  // it is up since then, by its own account
    // It has said at `misses_at` that it does not hear this host since then; unset: it hears it.
    std::optional<Instant> misses_since{};
    Instant misses_at{};
  };
  // A member that this host has not heard itself, as another one mentions it.
  struct Mentioned {
    HostId host = kNoHost;
    wire::Name name{};
    bool stopped = false;
    Instant heard{};  // by the host that mentions it
    Instant expires{};
  };

  explicit Announcements(HostId self) : self_(self) {}

  void start(Turn<Announcements>& turn);
  void receive(Turn<Announcements>& turn, NodeId from, const Message& message);
  void on_timer(Turn<Announcements>& turn, TimerId timer);
  void command(Turn<Announcements>& turn, const Command& command);

  OneTimer<Instant> timers() const { return OneTimer{next_}; }
  const char* check() const;
  static bool may_be_lost(const Output<Announcements>& /*output*/) { return true; }

  const Member* find(HostId host) const;
  const std::map<HostId, Member>& members() const { return members_; }
  // Valid until they expire; `find` returns null for each.
  const std::map<HostId, Mentioned>& mentioned() const { return mentioned_; }
  // Since when that member does not hear this host; unset: it hears it, or is not heard itself.
  static std::optional<Instant> misses_us(Instant now, const Member& member);
  // State of a host that was last heard at `heard`; null: it has announced nothing.
  static State state_of(Instant now, const Member* member, Instant heard);

 private:
  void announce(Turn<Announcements>& turn, bool stops);
  void note_mentioned(Instant now, const wire::MentionedHost& mentioned);
  void forget(Instant now);
  wire::MentionedHost next_mention(Instant now);
  Nanos interval() const;

  HostId self_;
  wire::AnnouncementBody own_{};
  std::map<HostId, Member> members_;       // at most kMaxMembers
  std::map<HostId, Mentioned> mentioned_;  // at most kMaxMentioned; none of them is a member
  HostId last_mention_ = kNoHost;          // of all members
  HostId last_silent_mention_ = kNoHost;   // of the silent ones
  bool mention_silent_ = false;            // the next mention prefers a silent member
  std::uint32_t up_ = 0;                   // other members that were up at the last announcement
  Instant started_{};
  Instant sent_{};         // time of the last announcement
  Instant next_ = kNever;  // kNever: not started, or stopped
  bool stopped_ = false;
};

// Has names and texts: simulated, not checked exhaustively.
static_assert(Machine<Announcements> && !CheckableMachine<Announcements>);

}  // namespace tempo::announce
