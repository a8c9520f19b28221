// The locks of one host: the bootstrap of the voters, and once they are known leases, bounded-delay
// locks and changes of the voters.
//
// One record holds the state of all parts, and every change writes the whole record. An operator
// gives a machine a vote or takes it away, through as many views as needed (doc/internals/lease.md,
// section 5). Every such change ends: done, impossible, withdrawn by the operator, or given up
// without an answer of a majority.
//
// The first voters have an identity, a hash of them and of a random number, which every message
// about locks carries. Messages of another voting set are dropped and reported. Voters announce
// theirs every ten seconds, so that two sets that meet know of each other.
//
// Two machines may run with the identity of one host: a clone. At the first sign of another one
// this host retires: it neither votes nor asks until tempod restarts.
//
// Times are boot time (BootTime), which continues while the host is suspended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "machine/compose.h"
#include "protocol/lock/bootstrap.h"
#include "protocol/lock/bounded_delay_locks.h"
#include "protocol/lock/lease_service.h"
#include "protocol/lock/lock_client.h"
#include "protocol/lock/lock_record.h"

namespace tempo::locks {

// How a change of the voters, or the nomination of the first ones, ended.
enum class ChangeOutcome : std::uint8_t {
  done,
  not_running,  // the locks of this host do not run yet, or they do already and none can be
                // nominated
  busy,         // another change is in progress
  available,    // with this policy each machine votes for itself
  already,      // the host has a vote; a nomination: others are the voters
  full,         // no more voters are possible
  last,         // the host is the only voter
  preferred,    // the host is the preferred machine of the policy
  no_answer,    // the host does not answer lock messages; a nomination: not all have agreed
  no_majority,  // no majority of the voters answers
  withdrawn,    // by CancelChange; a proposal that voters have accepted may still succeed
};

class LockService {
 public:
  using Message = std::variant<wire::VoterSetBody, wire::LockBody, BoundedDelayLocks::Message>;
  using Time = BootTime;
  using Record = LockRecord;
  using Parts = PartList<lock::Bootstrap, LeaseService, BoundedDelayLocks>;

  // Gives a host a vote or takes it away.
  struct ChangeVoters {
    std::uint64_t number = 0;  // names the change in ChangeEnded
    HostId host = kNoHost;
    bool votes = false;  // true: the host gains a vote; false: it loses all its votes
  };
  // Makes these hosts, this one among them, the first voters. ChangeEnded has no host.
  struct NominateVoters {
    std::uint64_t number = 0;
    std::vector<HostId> hosts{};  // at most kMaxVoterSet, in any order
  };
  // Withdraws the change or the nomination with that number, if it is in progress.
  struct CancelChange {
    std::uint64_t number = 0;
  };
  struct Persisted {
    LockRecord record{};
  };
  struct Retire {};  // another machine has the identity of this host
  using Command = std::variant<Acquire, Resume, Release, ChangeVoters, NominateVoters, CancelChange,
                               Retire, Persisted>;
  static Command persisted(const LockRecord& record) { return Persisted{record}; }

  // The voters are known: agreed now, or read from the record.
  struct VotersAgreed {
    std::size_t voters = 0;
  };
  struct VotersChanged {};
  // This host is a voter, or was one, of another voting set. Once for each time that such a set is
  // heard after a silence.
  struct TwoSets {
    HostId host = kNoHost;
  };
  // Two machines run with the identity of this host: its messages do not count. Once for each time
  // that it is noticed after a while.
  struct CloneHeard {
    HostId host = kNoHost;
  };
  // The voters have confirmed another record of this host: another machine has its identity, or its
  // record is an old copy. It votes no more, and its record is not used again.
  struct Retired {};
  struct ChangeEnded {
    std::uint64_t number = 0;
    HostId host = kNoHost;
    ChangeOutcome outcome{};
  };
  using Notice = std::variant<LockUpdate, VotersAgreed, VotersChanged, TwoSets, CloneHeard, Retired,
                              ChangeEnded>;

  struct Start {
    HostId self = kNoHost;
    Incarnation life{};
    wire::Directory* hosts = nullptr;  // numbers the hosts; must outlive the machine
    // Number of the first voters; at most kMaxVoterSet; 0: they are nominated (NominateVoters).
    std::uint8_t expected = 0;
    std::vector<std::string> named{};  // names or ids of the first voters; empty: any
    lock::lease::Rules rules{};
    BoundsMonitor::Rules bounds{};
    lock::lease::TwoNode policy = lock::lease::TwoNode::strict;
    std::string policy_host{};           // name of the witness or the preferred machine
    bool is_policy_host = false;         // it is this host
    std::string kernel{};                // boot id of the running kernel
    std::string place{};                 // see LockRecord
    std::optional<LockRecord> record{};  // as read from disk; unset: none
    bool record_lost = false;            // there was a record, and it cannot be used
    std::uint64_t above = 0;             // without a record: counts begin above this one
    // A voting set begins to count below this number, where its identity says, so that tokens of
    // two sets differ. A token has 40 bits for its count: 38 leave room for centuries.
    std::uint64_t beginnings = std::uint64_t{1} << 38;
  };
  explicit LockService(const Start& start);

  void start(Turn<LockService>& turn);
  void receive(Turn<LockService>& turn, NodeId from, const Message& message);
  void on_timer(Turn<LockService>& turn, TimerId timer);
  void command(Turn<LockService>& turn, const Command& command);

  OneTimer<Time> timers() const;
  const char* check() const;

  const LockRecord& record() const { return record_; }  // on disk or being written
  // A host of another voting set that was heard lately; kNoHost: none.
  HostId other_set(BootTime now) const { return now < other_set_until_ ? other_set_ : kNoHost; }
  wire::SetId set_id() const { return set_id_; }  // valid if committed
  bool retired() const { return retired_; }
  // A host with a clone; kNoHost: none was noticed lately.
  HostId clone(BootTime now) const;
  // Too many hosts take part in the agreement on the first voters.
  bool crowded() const { return bootstrap_.crowded(); }
  // This host is not among the named voters, and none of them has answered.
  bool stands_aside() const { return !named(start_.self); }
  // Until then leases may be held for which this host has voted.
  BootTime leases_end() const { return started_ + start_.rules.keep(start_.rules.longest); }
  bool may_have_promised(BootTime now) const {
    return now < leases_end() || (leases_ && leases_->may_have_promised(now));
  }
  bool record_lost() const { return start_.record_lost; }   // at the start
  std::size_t heard() const { return bootstrap_.heard(); }  // other hosts, during the bootstrap
  // Without an expected number: no voters are known, and none are being agreed.
  bool idle() const { return bootstrap_.idle() && !start_.record_lost; }
  std::size_t expected() const { return bootstrap_.expected(); }  // number of the first voters
  bool committed() const { return leases_.has_value(); }          // the voters are known
  bool running() const { return leases_ && leases_->running(); }
  bool serves(BootTime now) const { return leases_ && leases_->speaks(now); }
  const lock::lease::View& view() const { return leases_->view(); }  // valid if committed
  std::uint8_t votes_of(HostId host) const;                          // valid if committed
  bool changing() const { return change_.has_value() || nomination_.has_value(); }
  std::vector<Known> known(BootTime now) const;
  // Null: the voters are not known.
  const BoundedDelayLocks* bounded_delay() const {
    return bounded_delay_ ? &*bounded_delay_ : nullptr;
  }

 private:
  static constexpr std::size_t kMaxClones = 8;

  using LockTurn = Turn<LockService>;

  struct Change {
    ChangeVoters wanted{};
    bool takes_part = false;  // the host has answered that it takes part in locks
    BootTime until{};         // deadline of the change
  };

  // This host makes an operator's hosts the first voters.
  struct Nomination {
    std::uint64_t number = 0;
    lock::VoterSet voters{};
    BootTime until{};
  };

  template <class Part, class Do>
  void step(LockTurn& turn, Part& part, Do todo);
  template <class Part>
  void command_part(LockTurn& turn, Part& part, const typename Part::Command& command);
  template <class Part>
  void wake(LockTurn& turn, Part& part);

  void on_message(LockTurn& turn, NodeId from, const wire::VoterSetBody& body);
  void on_message(LockTurn& turn, NodeId from, const wire::LockBody& body);
  void on_message(LockTurn& turn, NodeId from, const BoundedDelayLocks::Message& message);
  void on_command(LockTurn& turn, const Acquire& request);
  void on_command(LockTurn& turn, const Resume& request);
  void on_command(LockTurn& turn, const Release& release);
  void on_command(LockTurn& turn, const ChangeVoters& wanted);
  void on_command(LockTurn& turn, const NominateVoters& wanted);
  void on_command(LockTurn& turn, const CancelChange& cancel);
  void on_command(LockTurn& turn, const Retire& retire);
  void on_command(LockTurn& turn, const Persisted& persisted);
  std::optional<Refusal> refusal_of(BootTime now, const Acquire& request) const;

  // Outputs of the parts.
  Message message_of(const lock::Bootstrap::VoterProposal& proposal) const;
  Message message_of(wire::LockBody body) const;
  Message message_of(BoundedDelayLocks::Message message) const;
  void persist(LockTurn& turn, const lock::Bootstrap::VoterProposal& proposal);
  void persist(LockTurn& turn, const Saved& saved);
  static void persist(LockTurn& /*turn*/, const Nothing& /*record*/) {}
  void on_notice(LockTurn& turn, const lock::Bootstrap::Notice& notice);
  void on_notice(LockTurn& turn, const LeaseService::Notice& notice);
  void on_notice(LockTurn& turn, const LockUpdate& update);
  void on_notice(LockTurn& turn, const LeaseService::VotersChanged& changed);
  void on_notice(LockTurn& turn, const LeaseService::ChangeRefused& refused);
  void on_notice(LockTurn& turn, const LeaseService::TakesPart& part);
  void on_notice(LockTurn& turn, const LeaseService::Retired& retired);
  void note_other_set(LockTurn& turn, NodeId from);
  bool named(HostId host) const;
  bool cloned(LockTurn& turn, NodeId from);
  void on_committed(LockTurn& turn, const lock::Bootstrap::VoterProposal& proposal);

  // Changes of the voters (lock_service_voters.cpp).
  ChangeOutcome possible(const ChangeVoters& wanted) const;
  BootTime change_deadline(BootTime now) const;
  void advance_change(LockTurn& turn);
  void give_up_change(LockTurn& turn, ChangeOutcome outcome);
  void end_change(LockTurn& turn, ChangeOutcome outcome);
  void abandon_nomination(LockTurn& turn, ChangeOutcome outcome);
  void end_nomination(LockTurn& turn, ChangeOutcome outcome);
  void check_each_second(LockTurn& turn);
  void follow_voters(LockTurn& turn);
  void prefer(LockTurn& turn);

  std::vector<HostId> hosts_of(const lock::VoterSet& voters) const;

  Start start_;
  LockRecord record_;                  // on disk or being written
  bool rebooted_;                      // the kernel booted since the record was written
  wire::SetId set_id_ = wire::kNoSet;  // valid with the leases
  HostId other_set_ = kNoHost;         // the last host of another voting set
  BootTime other_set_until_{};         // it counts as heard lately until then
  BootTime started_{};
  // A host that two machines claim to be, and until when it does not count.
  struct Clone {
    NodeId host = kNobody;
    std::uint32_t returns = 0;
    BootTime until{};
  };
  InlineVector<Clone, kMaxClones> clones_;
  bool retired_ = false;
  lock::Bootstrap bootstrap_;
  std::optional<LeaseService> leases_;              // set once the voters are known
  std::optional<BoundedDelayLocks> bounded_delay_;  // set with the leases
  std::optional<Change> change_;                    // in progress
  std::optional<Nomination> nomination_;            // in progress
  BootTime announce_at_ = kNever;                   // runs with the leases
  // Runs during a change or a nomination, and on a preferred machine.
  BootTime check_at_ = kNever;
};

template <class Part, class Do>
void LockService::step(LockTurn& turn, Part& part, Do todo) {
  step_part(turn, part, todo, [&](const Output<Part>& output) {
    if (pass_on(turn, output, [&](const auto& message) { return message_of(message); })) return;
    if (output.kind == OutputKind::persist)
      persist(turn, output.record);
    else
      on_notice(turn, output.notice);
  });
}

template <class Part>
void LockService::command_part(LockTurn& turn, Part& part, const typename Part::Command& command) {
  step(turn, part, [&](Part& one, Turn<Part>& inner) { one.command(inner, command); });
}

template <class Part>
void LockService::wake(LockTurn& turn, Part& part) {
  if (part.timers().first() > turn.now) return;
  step(turn, part,
       [](Part& one, Turn<Part>& inner) { one.on_timer(inner, one.timers().first_name()); });
}

}  // namespace tempo::locks
