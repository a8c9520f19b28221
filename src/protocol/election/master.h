// TEMPO's master election: one node's part.
//
// Every daemon runs the same machine. A slave draws a random election timeout; each message of its
// master restarts it. When it expires, the slave stands for election; the other nodes accept the
// first candidate they hear and refuse any other; a candidate that no node refuses becomes master
// when no more Accepts arrive. Two candidates refuse each other, draw longer timeouts and try
// again. A starting node asks for the master before it assumes that there is none. Epochs order the
// masterships: when two masters meet after a partition, the one with the newer epoch stays, and no
// node obeys the older one again.
//
// Source: Gusella & Zatti 1985, sections 4 to 7. doc/internals/election.md lists the additions and
// their reasons; master_table.h has the machine as a table.
//
// The machine keeps the list of slaves and decides which slave to correct when. It leaves the
// correction itself, the clock, the network and the host names to others.
#pragma once

#include <optional>

#include "machine/courier.h"
#include "machine/machine.h"
#include "protocol/election/master_rules.h"
#include "protocol/election/master_table.h"
#include "protocol/election/master_types.h"

namespace tempo::election {

class MasterElection {
 public:
  using Message = election::Message;
  using Command = election::Command;
  using Notice = election::Notice;

  struct Identity {
    NodeId self{};
    Incarnation incarnation{};  // different at each start of the node
    Priority priority = kMaxPriority;
  };

  // Many machines share the rules; the rules must outlive them, and faults_of(rules) must be empty.
  MasterElection(const Identity& identity, const Rules& rules)
      : self_(identity.self),
        incarnation_(identity.incarnation),
        rules_(&rules),
        priority_(identity.priority),
        configured_priority_(identity.priority) {}

  void start(Turn<MasterElection>& turn);
  void receive(Turn<MasterElection>& turn, NodeId from, const Message& message);
  void on_timer(Turn<MasterElection>& turn, TimerId timer);
  void command(Turn<MasterElection>& turn, Command command);

  // Prefetches the state kept about this node, because a message from it follows soon.
  void fetch_ahead(NodeId from) const { courier_.fetch_ahead(from); }

  const Timers<Timer>& timers() const { return timers_; }
  const char* check() const;

  State state() const { return state_; }
  bool ended() const { return ended_; }
  NodeId self() const { return self_; }
  Incarnation incarnation() const { return incarnation_; }
  const Epoch& followed() const { return followed_; }  // its own epoch while master
  NodeId master() const { return followed_.node; }     // kNobody: it has not followed a master yet
  const NodeSet& list() const { return list_; }
  std::uint32_t backoff() const { return backoff_; }
  NodeId heir() const { return heir_; }
  Priority priority() const { return priority_; }

  static constexpr auto fields(auto list) {
    using M = MasterElection;
    return list(
        field<&M::self_>("self"), field<&M::incarnation_>("incarnation"),
        field<&M::priority_>("priority"), field<&M::configured_priority_>("willing"),
        field<&M::state_>("state"), field<&M::followed_>("followed"),
        field<&M::seen_, role::round>("seen"), field<&M::timers_>("timers"),
        field<&M::first_>("first"), field<&M::candidate_>("candidate"), field<&M::heir_>("heir"),
        field<&M::list_>("list"), field<&M::answering_>("answering"),
        field<&M::election_span_>("election_span"), field<&M::backoff_>("backoff"),
        field<&M::call_, role::call>("call"), field<&M::repeats_left_>("repeats_left"),
        field<&M::candidacy_ends_>("candidacy_ends"), field<&M::overlooked_at_>("overlooked_at"),
        field<&M::give_up_at_>("give_up_at"), field<&M::given_up_until_>("given_up_until"),
        field<&M::slaveup_not_before_>("slaveup_not_before"),
        field<&M::loop_not_before_>("loop_not_before"), field<&M::set_>("set"),
        field<&M::rival_>("rival"), field<&M::ended_>("ended"), field<&M::courier_>("courier"),
        fixed<&M::rules_>());
  }
  friend FieldCheck;

 private:
  // Inputs of one step, passed from event_of to the actions.
  struct Step {
    Turn<MasterElection>& turn;
    NodeId from = kNobody;
    const Message* message = nullptr;  // null: a timer or a command
    bool new_call = false;             // masterreq: not a repeat of an earlier one

    Instant now() const { return turn.now; }
    const Message& received() const {  // only for rows that a message triggers
      CHECK(message != nullptr);
      return *message;
    }
  };

  const Timing& timing() const { return rules_->timing; }
  bool ruling() const { return state_ == State::master || state_ == State::conflict; }

  // Classifies a message as an event (master_events.cpp).
  std::optional<Event> event_of(Step& step);
  std::optional<Event> masters_event(Step& step);
  std::optional<Event> masters_event_without_epochs(Step& step);
  std::optional<Event> election_event(Step& step);

  // Executes the table.
  void happen(Step& step, Event event);
  void enter(State next);
  void act(Step& step, Action action);

  static Incarnation incarnation_of(const Message& message);
  void on_ack(const Step& step);
  void renew_trust(const Step& step);
  void follow(Step& step, const Epoch& epoch);
  bool given_up(Instant now) const { return now >= give_up_at_ || now < given_up_until_; }
  Nanos election_width() const { return timing().election_max - timing().election_min; }
  Nanos deference() const;
  void note_answering(const Step& step);
  void draw_election_span(Step& step);
  void start_timer(Step& step, Timer timer);
  void slaveup(Step& step, bool was_master);
  Message make(Kind kind);
  void send(Step& step, NodeId to, Message message);  // retransmitted if its kind is reliable

  // Messages that this node sends without being asked (master_calling.cpp).
  void begin_reign(Step& step);
  void stand(Step& step);
  Message call_message(const Step& step) const;
  void repeat_call(Step& step);
  void retransmit(Step& step);
  void adjtime_round(Step& step);
  void broadcast_loop(Step& step);
  void loop_at_once(Step& step);
  bool quit_under_way(NodeId to) const;

  // Members that nearly every step needs come first, members that few states use come last: in a
  // simulated network of many nodes, a slave's step then loads few cache lines.
  NodeId self_;
  Incarnation incarnation_;
  const Rules* rules_;
  Priority priority_;             // kIneligible from stay_out to come_back
  Priority configured_priority_;  // restored by come_back
  State state_ = State::startup;
  bool set_ = false;    // a master has corrected the clock since the start
  bool rival_ = false;  // startup: a node that started later asks, or a node stands
  bool ended_ = false;
  Epoch followed_{};            // highest epoch followed; its own while ruling
  std::uint32_t seen_ = 0;      // highest round in any message
  NodeId first_ = kNobody;      // first master heard; set in consistency only
  NodeId candidate_ = kNobody;  // candidate accepted; set in accept only
  NodeId heir_ = kNobody;       // from the last Loop of the master followed
  std::uint32_t backoff_ = 1;   // factor on the range of the election timeout, 1 to 16
  Nanos election_span_{0};      // election timeout drawn; every restart uses this value
  Instant overlooked_at_{};     // without a correction by then, our Slaveup was lost
  Instant give_up_at_{};      // without a message to us by then, this master does not receive ours
  Instant given_up_until_{};  // after a crash hint: the master counts as gone until then
  Instant slaveup_not_before_{};  // earliest time of the next Slaveup of an overlooked slave
  Timers<Timer> timers_;
  Courier<Message> courier_;

  // At their defaults except in the states that call or collect: startup, candidate, master,
  // conflict.
  NodeSet list_;                    // nodes that follow this candidate or master
  NodeSet answering_;               // of list_: answered the last message, and has kMaxPriority
  Sequence call_ = kNoSequence;     // sequence number of the last Masterreq or Election
  std::uint32_t repeats_left_ = 0;  // sends of that call still to come
  Instant candidacy_ends_{};        // candidate: latest end, accept/2 after the Election
  Instant loop_not_before_{};       // earliest time of the next unscheduled Loop
};

static_assert(CheckableMachine<MasterElection>);

}  // namespace tempo::election
