// TEMPO's election of a master: one node's part.
//
// Every daemon runs the same machine. A slave is patient for a random time; each message of its
// master starts that time anew. When it runs out the slave stands for election; the others accept
// the first candidate they hear and refuse any other; a candidate that nobody refuses becomes
// master when no more Accepts come in. Two candidates refuse each other, draw longer times and try
// again. A newcomer asks for the master before it believes that there is none. Masterships are
// ordered by epochs, so that of two masters who meet after a partition the newer one stays, and
// nobody obeys an older one again.
//
// Source: Gusella & Zatti 1985, sections 4 to 7. What is added, and why, is in
// doc/internals/election.md; the machine reads as the table in master_table.h.
//
// The machine keeps the list of slaves and says whom to correct when; what the correction is, it
// does not know. It leaves the clock, the network and the names of hosts to others.
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
    Incarnation incarnation{};  // drawn by whoever starts this life, told to no other
    Priority priority = kMaxPriority;
  };

  // The rules are shared by many machines and must outlive them; they must have no faults.
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

  // A message of this node comes soon.
  void fetch_ahead(NodeId from) const { courier_.fetch_ahead(from); }

  const Timers<Timer>& timers() const { return timers_; }
  const char* check() const;

  State state() const { return state_; }
  bool ended() const { return ended_; }
  NodeId self() const { return self_; }
  Incarnation incarnation() const { return incarnation_; }
  const Epoch& followed() const { return followed_; }  // its own while master
  NodeId master() const { return followed_.node; }     // kNobody: none yet
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
    field::round(visit, "seen", self.seen_);
    visit("timers", self.timers_);
    visit("first", self.first_);
    visit("candidate", self.candidate_);
    visit("heir", self.heir_);
    visit("list", self.list_);
    visit("answering", self.answering_);
    visit("election_span", self.election_span_);
    visit("backoff", self.backoff_);
    field::call(visit, "call", self.call_);
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
  // One step's inputs, handed from naming the event to carrying it out.
  struct Step {
    Turn<MasterElection>& turn;
    NodeId from = kNobody;
    const Message* message = nullptr;  // null: a timer or a command
    bool new_call = false;             // masterreq: not a repeat

    Instant now() const { return turn.now; }
    const Message& heard() const {  // for rows that only a message leads to
      CHECK(message != nullptr);
      return *message;
    }
  };

  const Timing& timing() const { return rules_->timing; }
  bool ruling() const { return state_ == State::master || state_ == State::conflict; }

  // Naming the event of a message (master_events.cpp).
  std::optional<Event> event_of(Step& step);
  std::optional<Event> masters_event(Step& step);
  std::optional<Event> masters_event_without_epochs(Step& step);
  std::optional<Event> election_event(Step& step);

  // Walking the table.
  void happen(Step& step, Event event);
  void enter(State next);
  void act(Step& step, Action action);

  static Incarnation life_of(const Message& message);
  void on_ack(const Step& step);
  void on_notice(const Step& step);
  void follow(Step& step, const Epoch& epoch);
  bool given_up(Instant now) const { return now >= give_up_at_ || now < given_up_until_; }
  Nanos election_width() const { return timing().election_max - timing().election_min; }
  Nanos deference() const;
  void note_answering(const Step& step);
  void draw_election_span(Step& step);
  void start_timer(Step& step, Timer timer);
  void slaveup(Step& step, bool was_master);
  Message make(Kind kind);
  void send(Step& step, NodeId to, Message message);  // remembers it if its kind is reliable

  // What it says of its own accord (master_calling.cpp).
  void begin_reign(Step& step);
  void stand(Step& step);
  Message call_message(const Step& step) const;
  void repeat_call(Step& step);
  void retransmit(Step& step);
  void adjtime_round(Step& step);
  void broadcast_loop(Step& step);
  void loop_at_once(Step& step);
  bool quit_under_way(NodeId to) const;

  // What nearly every step needs comes first, what only some states use last: of a large network
  // much lies in the processor's outer caches, and a slave's step should fetch little of it.
  NodeId self_;
  Incarnation incarnation_;
  const Rules* rules_;
  Priority priority_;             // kIneligible from stay_out to come_back
  Priority configured_priority_;  // restored by come_back
  State state_ = State::startup;
  bool set_ = false;    // the clock was corrected since the start
  bool rival_ = false;  // startup: somebody younger asks, or somebody stands
  bool ended_ = false;
  Epoch followed_{};            // the highest whose master was followed; its own while ruling
  std::uint32_t seen_ = 0;      // the highest round in any message
  NodeId first_ = kNobody;      // set only in consistency
  NodeId candidate_ = kNobody;  // set only in accept
  NodeId heir_ = kNobody;       // named by the last Loop of the master followed
  std::uint32_t backoff_ = 1;   // 1 to 16: the range is this many times wider
  Nanos election_span_{0};      // the patience drawn, restarted again and again with this value
  Instant overlooked_at_{};     // no correction by then: our Slaveup was lost
  Instant give_up_at_{};        // nothing addressed to us by then: this master does not hear
  Instant given_up_until_{};    // after a crash hint
  Instant slaveup_not_before_{};
  Timers<Timer> timers_;
  Courier<Message> courier_;

  // At their defaults but where one calls or collects: startup, candidate, master, conflict.
  NodeSet list_;                    // filled by candidates and masters
  NodeSet answering_;               // of list_: answered last time; of the highest priority
  Sequence call_ = kNoSequence;     // the last Masterreq or Election
  std::uint32_t repeats_left_ = 0;  // of that call
  Instant candidacy_ends_{};        // candidate: at the latest; accept/2 after the Election
  Instant loop_not_before_{};       // for Loops out of turn
};

static_assert(Machine<MasterElection>);

}  // namespace tempo::election
