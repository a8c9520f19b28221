// What all locks of a member have in common: its name and life, the number of its last multicast,
// what is on disk, and since when it may speak (sections 4 and 8).
#pragma once

#include <cstdint>

#include "base/units.h"
#include "machine/fields.h"
#include "protocol/lock/lease/lease_message.h"
#include "protocol/lock/lease/lease_rules.h"

namespace tempo::lock::lease {

// What is known of network time (section 11): what it was told to be, and by what it has gone on
// since on a clock of which only the bound of its rate is known.
struct NetworkTime {
  Nanos earliest{0};
  Nanos latest{0};
  Instant until{};  // a lease after it was told: what is older is not trusted

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("earliest", self.earliest);
    visit("latest", self.latest);
    visit("until", self.until);
  }
};

struct MemberState {
  NodeId self = kNobody;
  Rules rules{};

  Record disk{};            // as it is known to be on disk
  std::uint64_t asked = 0;  // the reserve of the last write asked for
  View following{};         // and its view: this one, or the one to come when it is written
  Boot boot{};              // of this life
  std::uint32_t k = 0;      // the last multicast's number, over all locks
  // The last one given, over all locks, never forgotten: a hand-over is repeated to who still waits
  // with the ticket that it served.
  std::uint64_t ticket = 0;
  std::uint64_t floor = 0;  // where a lock that nothing is known of begins to count
  Voters answered = 0;      // others that answered lately; kept only to be thrifty
  Instant abstain_until{};  // promises of an earlier life may last so long
  bool running = false;     // this life's boot is on disk

  // Section 9: what this member has accepted for the next view, perhaps not yet on disk; the same
  // or what it has heard that another has under a larger ballot; and until when leases of the view
  // before this one may be held, during which no next one is accepted.
  Proposal accepted{};
  Proposal known{};
  Instant settled_at{};
  bool voted_before = false;  // in the view before this one

  NetworkTime time{};  // kept only where it is trusted

  const View& view() const { return disk.view; }
  // May it grant? Not before promises that it does not remember are over.
  bool speaks(Instant now) const;
  // May it ask? Boots alone would be enough: this is a second line of defence.
  bool asks(Instant now) const;

  // The next ballot's count. Where each of two members is enough, one counts odd, the other even.
  std::uint64_t next_count(std::uint64_t top) const;
  std::uint64_t next_ticket(std::uint64_t network_us, std::uint64_t seen);
  bool reserved(std::uint64_t count) const { return count <= disk.reserve; }
  // The reserve to be written so that counts from this one on have room, ahead of need; 0: none.
  std::uint64_t write_for(std::uint64_t count) const {
    return count + rules.block / 2 > asked ? count + rules.block : 0;
  }
  Notice ask_write(std::uint64_t reserve);
  void written(const Record& record);
  // Somebody has accepted this.
  void heard(const Proposal& proposal);
  // Section 11. By network time a lease of that length asked for now is over at A; 0: that is not
  // known.
  Nanos over_at(Instant now, Nanos length) const;
  // What is over at A is over when so much has passed by the local clock, whoever counts.
  Nanos over_in(Nanos over_at, Instant now) const;
  void told(Nanos earliest, Nanos latest, Instant now);
  // The next view is on disk.
  void enter(const View& view, Instant now);

#ifdef TEMPO_MUTATIONS
  Instant last_reading{};  // of the clock, in the step before
  Instant heard_at(Instant now) const;
#else
  static Instant heard_at(Instant now) { return now; }
#endif

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("self", self.self);
    visit("disk", self.disk);
    visit("asked", self.asked);
    visit("following", self.following);
    visit("boot", self.boot);
    field::last(visit, "k", self.k);
    visit("ticket", self.ticket);
    visit("floor", self.floor);
    visit("answered", self.answered);
    visit("abstain_until", self.abstain_until);
    visit("running", self.running);
    visit("accepted", self.accepted);
    visit("known", self.known);
    visit("settled_at", self.settled_at);
    visit("voted_before", self.voted_before);
    visit("time", self.time);
  }
};

}  // namespace tempo::lock::lease
