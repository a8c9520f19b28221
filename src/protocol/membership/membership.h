// Membership: which part of a network is the main part, and until when.
//
// The members agree on a view (view.h). The master that the election chose asks the members of its
// view for grants; a member grants one master at a time. A master with the grants of a quorum is
// main until V, and tells its members how long that is. Nobody else can be main before V, whatever
// is lost, late or doubled. (Gray & Cheriton's leases, 1989, for a whole network; the agreement
// about views is Lamport's Paxos, 2001, one instance for each number.)
//
//   grant    A member grants a beacon if it has promised no higher ballot, has no running grant to
//            another master, and has been up for `keep`. It then promises the ballot, and grants no
//            other master for `keep` after the receipt of the beacon.
//   V        The largest t such that a quorum granted beacons sent at t or later, plus `hold`.
//            `hold` is shorter than `keep` by more than two clocks can differ.
//   prepare  Before it is main, a master has the answers of a quorum under its ballot. If one of
//            them has accepted a next view, the master completes the one of the highest ballot.
//            Then it agrees on a view of its own (the barrier).
//   change   The master proposes the next view. It is agreed when a quorum of the present view has
//            accepted it under this ballot, and a quorum of the new one has grants that run at
//            least until V. Members install what the master says is agreed.
//   join     A machine that asks a main master for `probation` becomes a member. One that is silent
//            for `forget_after` is dropped. A guest has no vote.
//   outdated A master that is not main yet, and that has been out of the main part for much longer
//            than one of its members, waits for that one to lead instead: network time is continued
//            by a machine that knows it.
//   found    A master without a view that hears of none founds a lineage, alone.
//   meet     A lineage of one machine ends when that machine follows a main master of another one,
//            or leads members of a larger one. A main master that leads members of a larger lineage
//            agrees with its own on an empty view: their lineage is dissolved. Without a main part
//            for `forget_after`, a machine goes over to a lineage that is at least as large. A
//            machine that gives up its lineage draws a new member number, because it forgets what
//            it has accepted there.
//
// Promise, accepted view and view are on disk before the member says so. A clean stop gives the
// grants back. The machine runs on boot time: a sleeping master is not main when it wakes up.
// It leaves the election of the master and the clock to others.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "machine/machine.h"
#include "protocol/membership/membership_messages.h"
#include "protocol/membership/view.h"

namespace tempo::membership {

struct Rules {
  Nanos keep = 5006ms;      // a grant lasts this long on the member's clock
  Nanos hold = 4994ms;      // and counts this long on the master's
  Nanos interval = 1s;      // from one question of a member to the next
  Nanos pause = 20ms;       // the same while a master needs a quorum
  Nanos probation = 10s;    // time that a machine asks before it joins
  Nanos open_for = 1min;    // a new lineage admits machines without a probation for this long
  Nanos forget_after = 1h;  // a member that is silent for longer is dropped
};

// Length of a grant. It is the same for all members of a network, so no setting changes it.
inline constexpr Nanos kLease = 5s;

// Largest error of the rate of boot time: the kernel slews it by up to 500 ppm.
inline constexpr double kBootDrift = 1e-3;

// The rules for leases of this length, for clocks whose rates are within `drift` of true time and
// whose readings are within `grain`.
Rules rules_for(Nanos lease, double drift = kBootDrift, Nanos grain = 1ms);

enum class MembershipTimer : std::uint8_t {
  ask,     // a follower asks its master
  lead,    // a master looks for changes of its view
  expiry,  // the end of the main part
  count,
};

class Membership {
 public:
  using Time = BootTime;
  using Message = membership::Message;
  using Command = membership::Command;
  using Notice = membership::Notice;
  using Record = membership::Record;
  static Command persisted(const Record& record) { return Persisted{record}; }
  // A question grants and accepts nothing before the record is durable, so it need not wait: a
  // machine whose disk is full still learns how long the main part lasts.
  static bool waits_for_record(const Output<Membership>& output) {
    return output.kind == OutputKind::notice || !std::holds_alternative<Ask>(output.message);
  }
  // Every message may be lost: the next question repeats it.
  static bool may_be_lost(const Output<Membership>& output) {
    return output.kind == OutputKind::send;
  }

  struct Start {
    std::optional<Record> record{};  // of an earlier incarnation; unset: none
    MemberId fresh = kNoMember;      // number of this member if there is no record; random
    Participation participation = Participation::member;  // member or guest
    // Of the questions; random, so that no beacon answers one of an earlier incarnation.
    Sequence first{};
  };
  // The rules must outlive this machine.
  Membership(const Start& start, const Rules& rules);

  void start(Turn<Membership>& turn);
  void receive(Turn<Membership>& turn, NodeId from, const Message& message);
  void on_timer(Turn<Membership>& turn, TimerId timer);
  void command(Turn<Membership>& turn, const Command& command);

  const Timers<MembershipTimer, BootTime>& timers() const { return timers_; }
  const char* check() const;

  MemberId self() const { return record_.self; }
  const View& view() const { return record_.view; }
  const Record& record() const { return record_; }
  bool writes() const { return durable_ != written_; }  // a write of the record is under way
  bool leads() const { return role_ == Role::leads; }
  // End of the time for which this node is certainly in the main part; BootTime::min(): never was.
  BootTime main_until() const { return main_until_; }
  bool in_main_part(BootTime now) const { return now < main_until_; }
  // This node follows a master that was main when it last answered.
  bool follows_main(BootTime now) const {
    return role_ == Role::follows && master_is_main_ && in_main_part(now);
  }
  // The view has other machines than this one.
  bool has_others() const { return view_size() > (record_.view.has(record_.self) ? 1U : 0U); }
  // This node is the main master.
  bool main(BootTime now) const { return leads() && settled_ && in_main_part(now); }
  static constexpr auto fields(auto list) {
    using M = Membership;
    return list(field<&M::record_>("record"), field<&M::written_>("written"),
                field<&M::durable_>("durable"), field<&M::participation_>("participation"),
                field<&M::role_>("role"), field<&M::master_>("master"),
                field<&M::abstains_until_>("abstains_until"), field<&M::main_until_>("main_until"),
                field<&M::last_main_>("last_main"), field<&M::master_is_main_>("master_is_main"),
                field<&M::grant_in_>("grant_in"), field<&M::grant_until_>("grant_until"),
                field<&M::granted_in_>("granted_in"), field<&M::granted_>("granted"),
                field<&M::asks_>("asks"), field<&M::last_ask_, role::last>("last_ask"),
                field<&M::ballot_>("ballot"), field<&M::leads_since_>("leads_since"),
                field<&M::went_over_>("went_over"), field<&M::peers_>("peers"),
                field<&M::last_beacon_, role::last>("last_beacon"),
                field<&M::proposal_>("proposal"), field<&M::own_>("own"),
                field<&M::settled_>("settled"), field<&M::outdated_until_>("outdated_until"),
                field<&M::next_outdated_>("next_outdated"), field<&M::founded_>("founded"),
                field<&M::generation_at_>("generation_at"),
                field<&M::begins_generation_>("begins_generation"), field<&M::timers_>("timers"),
                fixed<&M::rules_>());
  }
  friend FieldCheck;

 private:
  enum class Role : std::uint8_t { none, follows, leads };

  // When a question or a beacon was sent.
  struct Stamp {
    Sequence number{};
    BootTime at{};

    static constexpr auto fields(auto list) {
      return list(field<&Stamp::number>("number"), field<&Stamp::at>("at"));
    }
  };
  using Stamps = InlineVector<Stamp, 4>;  // of the newest ones

  // A machine that asks this master.
  struct Peer {
    NodeId node = kNobody;
    MemberId self = kNoMember;
    Participation participation = Participation::member;
    BootTime since{};  // it has asked regularly since then
    BootTime heard{};  // its last question
    Stamps beacons{};
    BootTime granted = BootTime::min();  // when the newest beacon that it granted was sent
    Ballot prepared{};                   // the ballot of its last grant
    Ballot accepted_in{};                // of its answers under `prepared`
    View accepted{};
    bool accepts = false;      // it has accepted the present proposal
    std::uint8_t foreign = 0;  // size of its view, if that is of another lineage; 0: it is not

    static constexpr auto fields(auto list) {
      using M = Peer;
      return list(field<&M::node>("node"), field<&M::self>("self"),
                  field<&M::participation>("participation"), field<&M::since>("since"),
                  field<&M::heard>("heard"), field<&M::beacons>("beacons"),
                  field<&M::granted>("granted"), field<&M::prepared>("prepared"),
                  field<&M::accepted_in>("accepted_in"), field<&M::accepted>("accepted"),
                  field<&M::accepts>("accepts"), field<&M::foreign>("foreign"));
    }
  };
  static constexpr std::size_t kMaxPeers = 64;  // further machines only hear until when it is main

  // --- both ---
  void persist(Turn<Membership>& turn);
  void on_persisted(Turn<Membership>& turn, const Record& record);
  void install(Turn<Membership>& turn, const View& view);
  void become_newcomer(Turn<Membership>& turn);
  void give_up_record(Turn<Membership>& turn);
  void step_down(Turn<Membership>& turn);
  void extend_main(BootTime until);
  std::size_t view_size() const { return record_.view.members.size(); }
  // The lineage that this machine must not give up lightly, and the size of its newest view there:
  // that of its view, or of the next view that it has accepted. 0: none.
  std::uint64_t lineage() const;
  std::size_t lineage_size() const;

  // --- the member (membership_member.cpp) ---
  void follow(Turn<Membership>& turn, NodeId master);
  void ask(Turn<Membership>& turn);
  void ask_soon(BootTime now);
  void receive_beacon(Turn<Membership>& turn, NodeId from, const Beacon& beacon);
  bool joins(BootTime now, const Beacon& beacon) const;
  bool grants(BootTime now, const Ballot& ballot) const;
  bool accept(const Beacon& beacon);

  // --- the master (membership_master.cpp) ---
  void lead(Turn<Membership>& turn);
  void take_ballot(Turn<Membership>& turn);
  void receive_ask(Turn<Membership>& turn, NodeId from, const Ask& ask);
  Peer* peer_at(BootTime now, NodeId node, const Ask& ask);
  void pass_on_main(Turn<Membership>& turn, NodeId to, const Ask& ask) const;
  bool needs_quorum(BootTime now) const;
  void note_answer(BootTime now, Peer& peer, const Ask& ask) const;
  void learn_view(Turn<Membership>& turn, const View& view);
  bool long_without_main(BootTime now) const;
  void compare_age(Turn<Membership>& turn, const Ask& ask);
  Nanos since_main(BootTime now) const {
    return last_main_ == BootTime::min() ? kNeverMain : now - last_main_;
  }
  void send_beacon(Turn<Membership>& turn, NodeId to, Peer& peer, Sequence asked);
  void advance(Turn<Membership>& turn);
  void propose_next(Turn<Membership>& turn);
  void propose(Turn<Membership>& turn, const View& view, bool own);
  void agree(Turn<Membership>& turn);
  bool accepted_by_quorum(BootTime now) const;
  bool admitted_accept(BootTime now) const;
  std::optional<View> pending() const;
  View changed_view(BootTime now) const;
  bool outweighed(BootTime now) const;
  View successor() const;
  void found_if_none(Turn<Membership>& turn);
  void found(Turn<Membership>& turn, std::uint32_t generation);
  void new_lineage(Turn<Membership>& turn);
  void renew_main(BootTime now);
  Nanos hold() const;
  const Peer* peer_of(BootTime now, MemberId member) const;
  BootTime granted_at(BootTime now, MemberId member) const;
  bool prepared(BootTime now, MemberId member) const;

  const Rules* rules_;
  Participation participation_;
  Record record_;
  Record written_{};  // the last one that was persisted
  Record durable_{};  // the last one that is known to be on disk
  Role role_ = Role::none;
  NodeId master_ = kNobody;    // that this node follows
  BootTime abstains_until_{};  // an earlier incarnation may have granted
  BootTime main_until_ = BootTime::min();
  BootTime last_main_ = BootTime::min();  // end of the last main part that this node knows of
  bool master_is_main_ = false;           // the master that this node follows has said so
  Ballot grant_in_{};                     // ballot of the last grant
  BootTime grant_until_{};                // it runs until then
  Ballot granted_in_{};                   // ballot of the beacon that the next question grants
  Sequence granted_{};                    // number of that beacon
  Stamps asks_{};                         // the last questions
  Sequence last_ask_{};
  // As master.
  Ballot ballot_{};
  BootTime leads_since_{};
  BootTime went_over_{};     // to another lineage
  std::vector<Peer> peers_;  // in ascending order of their nodes
  Sequence last_beacon_{};
  std::optional<View> proposal_{};
  bool own_ = false;      // the proposal is of this master, not of an earlier one
  bool settled_ = false;  // a view of this master is agreed, and its grants have not ended since
  BootTime outdated_until_{};        // this master is not main before that
  BootTime next_outdated_{};         // and is not outdated again before that
  BootTime founded_ = kNever;        // this node founded its lineage then; kNever: it did not
  bool begins_generation_ = false;   // the next view begins a generation
  BootTime generation_at_ = kNever;  // the generation begins then, after every V given out
  Timers<MembershipTimer, BootTime> timers_;
};

}  // namespace tempo::membership
