// Whether silence may be taken for consent now: a site measures what its locks of known time stand
// on, all the time while they are in use.
//
// Every member beats, to all, so many times a second. A beat tells each member which of its beats
// came last and how long ago, how many of its words came, and how many went to it. That gives every
// member, for every other: the round trip, what was lost each way, and that it lives; whether a
// word sent to it has come, and whether all it has said is here. Its own pauses a site sees itself.
//
// The bounds hold when for `clean` beats in a row, of everybody, nothing was lost, no round trip
// took longer than two delays, nobody started anew, and this host did not stand still. One breach
// breaks them at once; they hold again after as many beats without one. So a network that loses one
// datagram in a while is trusted for a while less, and one that is at its bounds is never.
//
// Bounds that held until now say nothing of a site that has died just now. So silence is taken for
// consent only when it is `confirmed`: everybody has told in a later beat that the words said
// before have come to it, and all that it said until then is here, so that it has not refused. What
// is left to time is when to ask for more than silence, not whether two get in.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "protocol/wire/mutex_body.h"

namespace tempo::locks {

class BoundsMonitor {
 public:
  struct Rules {
    Nanos interval = 20ms;     // from beat to beat
    Nanos delay_max = 10ms;    // a datagram's longest way, and this host's longest pause
    std::uint32_t clean = 50;  // beats without a breach before silence is trusted

    // A member that has not been heard for so long is not there.
    Nanos silence_max() const { return 5 * interval + 2 * delay_max; }
  };

  // Members are numbered from 0, in the order of their chairs.
  BoundsMonitor(const Rules& rules, std::uint32_t self, std::vector<std::string> names,
                std::uint32_t view);

  // --- words about locks, counted ---
  void sent_to_all();
  void sent(std::uint32_t to);
  void received(Instant now, std::uint32_t from, Incarnation life);

  // --- beats ---
  wire::BeatBody beat(Instant now, bool busy);  // to be sent to all
  void receive(Instant now, std::uint32_t from, Incarnation life, const wire::BeatBody& beat);
  void stalled(Nanos by);  // this host stood still
  void look(Instant now);  // who has not been heard?
  // Measuring begins anew: until now nobody beat.
  void restart(Instant now);

  bool holds() const { return why_.empty(); }
  // Why they do not hold, in words that go on from "because".
  const std::string& why() const { return why_; }

  // What has been said so far, to each.
  using Mark = std::array<std::uint32_t, wire::BeatBody::kMost>;
  Mark mark() const;
  // All of it has come, and so has what was said back.
  bool confirmed(const Mark& mark) const;
  // More than half, this one included, have heard of this one lately and know the same voters.
  bool supported(Instant now, Nanos lately) const;

 private:
  static constexpr std::size_t kKept = 64;  // beats of ours that are remembered

  struct Peer {
    std::string name{};
    Incarnation life{};
    std::uint32_t sent = 0;      // words to it, in this life of ours
    std::uint32_t received = 0;  // words from it, in its present life
    std::uint32_t counted = 0;   // how many of them before its last beat
    std::uint32_t beat = 0;      // its last one's number
    Instant heard{};             // when that came
    Instant answered{};          // when a beat of ours was sent that it has heard, in this view
    std::uint32_t clean = 0;     // beats of it without a breach
    std::optional<std::int64_t> out{};  // words that never came to it, when silence was not trusted
    std::optional<std::int64_t> in{};   // words of it that never came here, then
    int short_beats = 0;                // beats in a row that miss a word
    std::uint32_t confirmed = 0;        // words to it that have come, all it said before being here
  };
  struct Beat {
    std::uint32_t number = 0;
    Instant at{};
    Mark sent{};
  };

  void breach(Peer& peer, std::string why);
  void meet(Instant now, Peer& peer, Incarnation life);
  void judge(Instant now, Peer& peer, const wire::BeatBody::Entry& entry);
  void settle();

  Rules rules_;
  std::uint32_t self_;
  std::uint32_t view_;
  std::vector<Peer> peers_;  // our own stays empty
  std::array<Beat, kKept> beats_{};
  std::uint32_t last_beat_ = 0;
  std::uint32_t calm_ = 0;  // beats of ours since this host stood still
  std::string why_;
  std::string last_breach_;
};

}  // namespace tempo::locks
