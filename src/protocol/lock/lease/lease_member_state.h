// State that all locks of a member share: its number and boot, the number of its last multicast,
// its record on disk, and the time from which it may grant (sections 4 and 8).
#pragma once

#include <cstdint>

#include "base/units.h"
#include "machine/fields.h"
#include "protocol/lock/lease/lease_message.h"
#include "protocol/lock/lease/lease_rules.h"

namespace tempo::lock::lease {

// Bounds of network time (section 11): the last reading, valid while the local clock, of which only
// the largest rate error is known, advances from it.
struct NetworkTime {
  Nanos earliest{0};
  Nanos latest{0};
  BootTime until{};  // a lease after the reading: an older reading is not trusted

  static constexpr auto fields(auto list) {
    using M = NetworkTime;
    return list(field<&M::earliest>("earliest"), field<&M::latest>("latest"),
                field<&M::until>("until"));
  }
};

struct MemberState {
  NodeId self = kNobody;
  Rules rules{};

  Record disk{};            // last record known to be on disk
  std::uint64_t asked = 0;  // reserve of the last requested write
  bool unwritten = false;   // the step in progress ends with a write; false between steps
  View following{};  // view of the last requested write: the current one, or the next one until it
                     // is written
  Boot boot{};       // of this incarnation
  RecordId record_id{};  // of this member's record
  Claims claims{};       // confirmed, perhaps not yet on disk
  bool retired = false;  // another machine has the identity of this member
  std::uint32_t k = 0;   // number of the last multicast, over all locks
  // Last ticket used, over all locks. It is never forgotten: a hand-over is repeated to a member
  // that still waits with the ticket that the hand-over served.
  std::uint64_t ticket = 0;
  std::uint64_t floor = 0;   // count at which a lock without state starts
  Voters answered = 0;       // other voters that answered recently; used only with suppress_replies
  BootTime abstain_until{};  // promises of an earlier incarnation may last until then
  bool running = false;      // the boot of this incarnation is on disk

  // Section 9. `accepted`: the proposal for the next view that this member accepted, perhaps not
  // yet on disk. `known`: the same, or a proposal with a larger ballot that another member
  // accepted. `settled_at`: leases of the previous view may be held until then; before, this member
  // accepts no next view.
  Proposal accepted{};
  Proposal known{};
  BootTime settled_at{};
  bool voted_before = false;  // this member had a vote in the previous view

  NetworkTime time{};  // kept only with trust_time

  const View& view() const { return disk.view; }
  // Whether it may grant: not before promises that it does not remember have ended.
  bool speaks(BootTime now) const;
  // Whether it takes no part any more.
  bool stopped() const;
  // Whether it may ask. Boots alone would be enough: this is a second line of defence.
  bool asks(BootTime now) const;

  // The next ballot's count. If each of two voters is a quorum, one uses odd counts, the other
  // even.
  std::uint64_t next_count(std::uint64_t top) const;
  std::uint64_t next_ticket(std::uint64_t network_us, std::uint64_t seen);
  bool reserved(std::uint64_t count) const { return count <= disk.reserve; }
  // The reserve to write so that counts from this one on stay reserved, ahead of need; 0: none.
  std::uint64_t write_for(std::uint64_t count) const {
    return count + rules.block / 2 > asked ? count + rules.block : 0;
  }
  // Requests a durable write with this reserve, for the end of the step: no other output waits for
  // it.
  void ask_write(std::uint64_t reserve);
  Record record() const;  // to write
  void persisted(const Record& record);
  // Another member, or this one, has accepted this proposal.
  void note_proposal(const Proposal& proposal);
  // Section 11. A: the network time at which a lease of this length, asked for now, is over; 0:
  // unknown.
  Nanos over_at(BootTime now, Nanos length) const;
  // The span of the local clock after which a lease that is over at A is over on every clock.
  Nanos over_in(Nanos over_at, BootTime now) const;
  void set_network_time(Nanos earliest, Nanos latest, BootTime now);
  // The next view is on disk.
  void enter(const View& view, BootTime now);

  static constexpr auto fields(auto list) {
    using M = MemberState;
    return list(field<&M::self>("self"), field<&M::disk>("disk"), field<&M::asked>("asked"),
                field<&M::unwritten>("unwritten"), field<&M::following>("following"),
                field<&M::boot>("boot"), field<&M::record_id>("record_id"),
                field<&M::claims>("claims"), field<&M::retired>("retired"),
                field<&M::k, role::last>("k"), field<&M::ticket>("ticket"),
                field<&M::floor>("floor"), field<&M::answered>("answered"),
                field<&M::abstain_until>("abstain_until"), field<&M::running>("running"),
                field<&M::accepted>("accepted"), field<&M::known>("known"),
                field<&M::settled_at>("settled_at"), field<&M::voted_before>("voted_before"),
                field<&M::time>("time"), fixed<&M::rules>());
  }
};

}  // namespace tempo::lock::lease
