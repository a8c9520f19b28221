// The lease lock as a machine: one member of a voting set, with all its locks.
//
// Guarantees for every lock, whatever the network does (complete in doc/internals/lease.md):
//   exclusion    no two clients whose own clock test passes are inside in conflict
//   token order  of two grants in conflict the later has the larger token, also across restarts
//   no revival   a client that lost the lock, or whose deadline has passed, has to acquire it again
// It needs clocks within `Rules::drift` of true time, members that stop when they fail, and a
// record that survives. The driver is responsible for names of locks, the disk and the clients' own
// clock test. The member itself waits for `persisted` before it acts on a record.
//
// An incarnation begins with one durable write. Until that is done, and until promises of an
// earlier incarnation have ended, the member neither grants nor asks. A member without a record
// first learns from the others how far counts may have gone (section 8). So does one whose record
// is lost or a copy. If others have records, it votes only after voters that are a quorum without
// it have confirmed its new record; from then on, no message of another machine with its identity
// counts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/node_map.h"
#include "machine/machine.h"
#include "machine/one_timer.h"
#include "protocol/lock/lease/lease_deadlines.h"
#include "protocol/lock/lease/lease_lock.h"
#include "protocol/lock/lease/lease_member_state.h"
#include "protocol/lock/lease/lease_message.h"
#include "protocol/lock/lease/lease_rules.h"

namespace tempo::lock::lease {

inline constexpr std::size_t kMaxLocks = 4096;  // of one member; others are ignored

class Member {
 public:
  using Message = lease::Message;
  using Time = BootTime;
  using Command = lease::Command;
  using Notice = lease::Notice;
  using Record = lease::Record;

  struct Start {
    NodeId self{};
    Rules rules{};
    View view{};                     // as configured; used only without a record
    std::optional<Record> record{};  // as read from disk; unset: blank
    bool rebooted = false;           // the kernel booted since the record was written
    bool lost = false;               // there was a record, and it cannot be used or is a copy
    std::uint64_t first = 0;         // without any record, counts begin above this one
  };
  explicit Member(const Start& start);

  void start(Turn<Member>& turn);
  void receive(Turn<Member>& turn, NodeId from, const Message& message);
  void on_timer(Turn<Member>& turn, TimerId timer);
  void command(Turn<Member>& turn, const Command& command);
  static Command persisted(const Record& record) { return Command::persisted(record); }

  // Whether the member has no state about this lock at this time: unanswered promises and silent
  // waiters run no timer. Its number is then free for another lock.
  bool forget(Turn<Member>& turn, LockId id);

  // The earliest timer of all locks.
  OneTimer<Time> timers() const { return OneTimer{alarm_}; }
  const char* check() const;

  const MemberState& state() const { return state_; }
  bool blank() const { return blank_; }
  // Null: the member has no state about this lock.
  const Lock* lock(LockId id) const {
    if (id == kViewLock) return &view_lock_;
    return std::to_underlying(id) < locks_.size() ? &locks_[std::to_underlying(id)] : nullptr;
  }

  static constexpr auto fields(auto list) {
    using M = Member;
    return list(field<&M::state_>("home"), field<&M::rebooted_>("rebooted"),
                field<&M::newest_>("newest"), field<&M::locks_>("locks"),
                field<&M::deadlines_>("deadlines"), field<&M::view_lock_>("view_lock"),
                field<&M::change_>("change"), field<&M::debt_>("debt"), field<&M::blank_>("blank"),
                fixed<&M::lost_>(), field<&M::claim_>("claim"), field<&M::owed_>("owed"),
                field<&M::nonce_>("nonce"), field<&M::with_record_>("with_record"),
                field<&M::without_>("without"), field<&M::query_at_>("query_at"),
                field<&M::alarm_>("alarm"));
  }
  friend FieldCheck;

 private:
  template <class Do>
  void on_lock(Turn<Member>& turn, LockId id, Do todo);
  void take(Turn<Member>& turn, NodeId from, const Message& message);
  void write(Turn<Member>& turn);
  void finish_step(Turn<Member>& turn, LockId id, Lock& lock);
  void wake_locks(Turn<Member>& turn);
  void resume_locks(Turn<Member>& turn);
  // An incarnation of another member, and its process; 0: not known.
  struct Sender {
    Life life{};
    std::uint64_t process = 0;

    static constexpr auto fields(auto list) {
      return list(field<&Sender::life>("life"), field<&Sender::process>("process"));
    }
  };
  Sender newest_of(NodeId member) const;
  void set_alarm();

  // Section 8, blank record.
  void query(Turn<Member>& turn);
  void receive_query(Turn<Member>& turn, NodeId from, const Message& message);
  void receive_record(Turn<Member>& turn, NodeId from, const Message& message);
  bool may_begin() const;

  // Section 8, claims.
  bool continues(NodeId from, const Sender& sender) const;
  void refuse(Turn<Member>& turn, NodeId from, const Life& life) const;
  void note_life(NodeId member, const Sender& newest);
  void keep_claim(const Claim& claim);
  void learn_claims(Turn<Member>& turn, const Claims& claims);
  void answer_claim(Turn<Member>& turn);
  bool confirms(const Message& record) const;
  bool answers_earlier_claim(const Message& record) const;
  void retire();
  void retire_and_notify(Turn<Member>& turn);
  void begin_incarnation(Boot boot);

  // Section 9, views (lease_views.cpp).
  void request_change(Turn<Member>& turn, const Command& command);
  void advance_change(Turn<Member>& turn);
  void propose(Turn<Member>& turn);
  void propose_again(Turn<Member>& turn);
  void receive_propose(Turn<Member>& turn, NodeId from, const Message& message);
  void answer_proposal(Turn<Member>& turn);
  void receive_accept(NodeId from, const Message& message);
  void receive_other_view(Turn<Member>& turn, NodeId from, const Message& message);
  void adopt(const View& view, std::uint64_t floor);
  void enter_view(Turn<Member>& turn, const View& view);
  void abandon_view_lock(Turn<Member>& turn);
  Message record_message(std::uint64_t nonce, NodeId to) const;

  // A change of the voting set that this member wants to make.
  struct Change {
    bool wanted = false;
    NodeId member = kNobody;
    std::uint8_t votes = 0;
    Ballot ballot{};      // of @view; count 0: nothing was proposed under the current lease
    Proposal proposal{};  // as sent
    Voters accepted_by = 0;
    std::uint64_t reserve = 0;  // largest reserve of the members that accepted
    BootTime again_at = kNever;

    static constexpr auto fields(auto list) {
      using M = Change;
      return list(field<&M::wanted>("wanted"), field<&M::member>("member"),
                  field<&M::votes>("votes"), field<&M::ballot>("ballot"),
                  field<&M::proposal>("proposal"), field<&M::accepted_by>("accepted_by"),
                  field<&M::reserve>("reserve"), field<&M::again_at>("again_at"));
    }
  };
  // An ACCEPT to send when the accepted proposal is on disk; to kNobody: none.
  struct Debt {
    NodeId to = kNobody;
    Boot boot{};
    Ballot ballot{};

    static constexpr auto fields(auto list) {
      using M = Debt;
      return list(field<&M::to>("to"), field<&M::boot>("boot"), field<&M::ballot>("ballot"));
    }
  };
  // A RECORD to send when the confirmed claim is on disk.
  struct Owed {
    NodeId to = kNobody;
    std::uint64_t nonce = 0;

    static constexpr auto fields(auto list) {
      return list(field<&Owed::to>("to"), field<&Owed::nonce>("nonce"));
    }
  };

  MemberState state_;
  bool rebooted_;
  NodeMap<Sender> newest_;   // newest incarnation seen of each member
  std::vector<Lock> locks_;  // by number, at most kMaxLocks
  Deadlines deadlines_;      // next deadline of each lock
  Lock view_lock_;
  Change change_;
  Debt debt_;
  bool lost_;                // its record is lost: it may have voted
  bool blank_;               // it has no record, and has not received enough from the others
  std::uint64_t nonce_ = 0;  // while blank: identifies this incarnation
  Voters with_record_ = 0;   // other voters that sent their reserve
  Voters without_ = 0;       // other voters that are blank too
  Boot claim_{1};            // while blank: the boot that it wants to begin with
  InlineVector<Owed, kMaxVoters> owed_{};  // to different members
  BootTime query_at_ = kNever;
  BootTime alarm_ = kNever;
};

template <class Do>
void Member::on_lock(Turn<Member>& turn, LockId id, Do todo) {
  const std::size_t at = std::to_underlying(id);
  if (at >= kMaxLocks && id != kViewLock) return;
  if (at >= locks_.size() && id != kViewLock) locks_.resize(at + 1);
  Lock& lock = id == kViewLock ? view_lock_ : locks_[at];
  Scope scope{turn, state_, id};
  todo(lock, scope);
  finish_step(turn, id, lock);
}

}  // namespace tempo::lock::lease
