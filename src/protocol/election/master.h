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

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("self", self.self_);
    visit("incarnation", self.incarnation_);
    visit("priority", self.priority_);
    visit("willing", self.configured_priority_);
    visit("state", self.state_);
    visit("followed", self.followed_);
    visit_as<role::round>(visit, "seen", self.seen_);
    visit("timers", self.timers_);
    visit("first", self.first_);
    visit("candidate", self.candidate_);
    visit("heir", self.heir_);
    visit("list", self.list_);
    visit("answering", self.answering_);
    visit("election_span", self.election_span_);
    visit("backoff", self.backoff_);
    visit_as<role::call>(visit, "call", self.call_);
    visit("repeats_left", self.repeats_left_);
    visit("candidacy_ends", self.candidacy_ends_);
    visit("overlooked_at", self.overlooked_at_);
    visit("give_up_at", self.give_up_at_);
    visit("given_up_until", self.given_up_until_);
    visit("slaveup_not_before", self.slaveup_not_before_);
    visit("loop_not_before", self.loop_not_before_);
    visit("set", self.set_);
    visit("rival", self.rival_);
    visit("ended", self.ended_);
    visit("courier", self.courier_);
  }

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
