// A site of a lease lock for the checker: a daemon, its disk and one client, with times in ticks.
//
// The client asks on command and leaves after one of two drawn times, unless the daemon reports the
// lock lost or the client's own deadline passes. A crash is a command. The record on disk survives,
// unless the disk is lost too; any prefix of the writes in progress may reach the disk. A client
// inside continues until its deadline beside its successors, or, if it can resume, until it is
// inside again at the next incarnation. The daemon restarts after one of two drawn times. Outputs
// do not wait for the writes: the daemon itself waits where it has to.
//
// The last site may be a clone of another one: it has its number as a member, and a copy of its
// first record.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "machine/compose.h"
#include "protocol/lock/lease/lease_member.h"

namespace tempo::check {

class LeaseSite {
 public:
  using Member = lock::lease::Member;
  using Message = Member::Message;
  using Time = BootTime;
  using Notice = Nothing;
  using Parts = PartList<Member>;
  struct Command {
    enum class Kind : std::uint8_t { want, crash, change };
    Kind kind = Kind::want;
    lock::Mode mode = lock::Mode::exclusive;
    NodeId member{};          // change: gains or loses a vote
    lock::LockId lock{};      // want
    bool loses_disk = false;  // crash
  };
  struct Guest {
    bool inside = false;
    lock::LockId lock{};
    lock::Mode mode = lock::Mode::exclusive;
    lock::lease::Held held{};
    NodeId origin = kNobody;  // of the ballot
    BootTime deadline{};

    bool acts(BootTime now) const;

    static constexpr auto fields(auto list) {
      using M = Guest;
      return list(field<&M::inside>("inside"), field<&M::lock>("lock"), field<&M::mode>("mode"),
                  field<&M::held>("held"), field<&M::origin>("origin"),
                  field<&M::deadline>("deadline"));
    }
  };

  struct Rules {
    lock::lease::Rules lease{};
    lock::lease::View view{};
    Nanos short_stay{1};
    Nanos long_stay{1};
    bool fresh_disk = false;  // starts without a record
    Nanos write{0};           // duration of a disk write; 0: immediate
    bool resumes = false;     // the client can resume
    NodeId cloned = kNobody;  // the site that has a clone; kNobody: there is none
    NodeId clone = kNobody;
    bool copy_shows = true;  // the clone knows that its record is a copy
    std::uint32_t side = 0;  // set of the sites on one side of a partition; 0: there is none
  };
  LeaseSite(NodeId self, const Rules& rules);

  void start(Turn<LeaseSite>& turn);
  void receive(Turn<LeaseSite>& turn, NodeId from, const Message& message);
  void on_timer(Turn<LeaseSite>& turn, TimerId timer);
  void command(Turn<LeaseSite>& turn, const Command& command);

  // Timer of the daemon; of the client's leaving or the daemon's restart; of the disk write.
  enum class Timer : std::uint8_t { member, client, disk, count };
  Timers<Timer, Time> timers() const;
  const char* check() const { return revived_ ? "revival" : up_ ? member_.check() : nullptr; }

  const Member& member() const { return member_; }
  const Guest& guest() const { return guest_; }
  const Guest& ghost() const { return ghost_; }
  bool waits() const { return waits_; }
  std::uint8_t crashes() const { return crashes_; }

  static constexpr auto fields(auto list) {
    using M = LeaseSite;
    return list(field<&M::member_>("member"), field<&M::disk_>("disk"), field<&M::up_>("up"),
                field<&M::crashes_>("crashes"), field<&M::waits_>("waits"),
                field<&M::guest_>("guest"), field<&M::ghost_>("ghost"),
                field<&M::next_at_>("next_at"), field<&M::writes_>("writes"),
                field<&M::written_at_>("written_at"), field<&M::returning_>("returning"),
                field<&M::revived_>("revived"), field<&M::self_>("site"), fixed<&M::rules_>());
  }
  friend FieldCheck;

 private:
  template <class Do>
  void act(Turn<LeaseSite>& turn, Do todo);
  void on_notice(Turn<LeaseSite>& turn, const lock::lease::Notice& notice);
  Member new_member() const;
  NodeId identity(NodeId site) const { return site == rules_.clone ? rules_.cloned : site; }
  bool hears(NodeId other) const;
  void send_to_hearing(Turn<LeaseSite>& turn, const Output<Member>& output) const;
  void leave(Turn<LeaseSite>& turn);
  void crash(Turn<LeaseSite>& turn, bool loses_disk);
  void finish_write(Turn<LeaseSite>& turn);
  void save(Turn<LeaseSite>& turn, const lock::lease::Record& record);
  void restart(Turn<LeaseSite>& turn);
  void come_back(Turn<LeaseSite>& turn);
  void enter(Turn<LeaseSite>& turn, const lock::lease::Notice& notice);
  Nanos drawn_stay(Turn<LeaseSite>& turn) const;

  NodeId self_;
  Rules rules_;
  std::optional<lock::lease::Record> disk_;
  std::uint8_t crashes_ = 0;  // declared before member_, whose first incarnation depends on it
  Member member_;
  bool up_ = true;
  bool waits_ = false;
  Guest guest_;
  Guest ghost_;                // client of a dead daemon
  BootTime next_at_ = kNever;  // when the client leaves or the daemon restarts
  // Writes in progress, oldest first: in small worlds at most one per half block and view.
  std::vector<lock::lease::Record> writes_;
  BootTime written_at_ = kNever;  // when the oldest write completes
  bool returning_ = false;        // the client of a dead daemon resumes
  bool revived_ = false;
};

}  // namespace tempo::check
