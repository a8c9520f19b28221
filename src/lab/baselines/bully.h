// The bully election: the highest node alive takes what is its due. One node's part.
//
// Who suspects that the coordinator is dead asks every higher node. A higher node that lives
// answers, so the lower one lets go, and holds an election of its own. Who is answered by nobody in
// time is the highest alive: it is coordinator and tells all lower nodes. One that was answered but
// then hears of no coordinator begins again: whoever answered has died since.
//
// With N survivors the cheapest election is that of the highest: N - 1 messages, all of them news.
// The dearest begins with the lowest alone: each asks all above it, N(N-1)/2, all are answered, as
// many again, and N - 1 are told: N*N - 1. It is here to be compared with TEMPO's.
//
// Source: Garcia-Molina, "Elections in a Distributed Computing System", IEEE Transactions on
// Computers C-31, 1982, for a network that loses nothing and delivers in bounded time.
//
// Where we differ:
//   - Three kinds of message, as the textbooks count them. Stopping the lower nodes and handing
//     them their new work, which the original does before it is ready, is left to others.
//   - Whom to ask is given. Leave the dead coordinator out and it is not asked, as in the figures
//     above. In the original it is one of the higher nodes: then each of the N asks in vain once,
//     N messages more.
//   - The highest has nobody to ask but waits for answers all the same, as it must in the original,
//     where it has asked the dead. Meanwhile every question of this election comes in, so that no
//     question and no answer arrives after the news and starts the whole thing over.
//   - A coordinator that is asked says so again to the one who asks, instead of an answer, and
//     also to a lower node that calls itself coordinator. A higher node that is no coordinator
//     takes such a call as a reason for an election.
//   - A node that starts follows nobody and waits; the original holds an election after a repair.
// A network slower than the waits may name two coordinators or the wrong one: the bully has no
// epochs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "machine/machine.h"

namespace tempo::election {
namespace bully {

enum class State : std::uint8_t {
  following,  // a coordinator, or nobody yet
  asking,     // waits for an answer from above
  waiting,    // was answered and waits for the coordinator's word
  coordinator,
};

enum class Kind : std::uint8_t {
  election,     // to higher nodes: are you there?
  answer,       // to a lower one: I am, leave it to me
  coordinator,  // to lower ones: I am coordinator
};

struct Message {
  Kind kind = Kind::election;
  NodeId id = kNobody;  // whose word it is: the sender's

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("kind", self.kind);
    visit("id", self.id);
  }
};

enum class Command : std::uint8_t {
  suspect,  // the coordinator is dead
  alive,    // it has been heard: the silence begins anew
};

enum class Timer : std::uint8_t {
  silence,      // in following: the coordinator has not been heard
  answer,       // in asking: nobody higher lives
  coordinator,  // in waiting: who answered has died
  count,
};

struct Rules {
  NodeSet members;  // who takes part, dead or alive
  // Above three delays: a question sets off questions of others, and all those are answered.
  Nanos answer_timeout{0};
  // Above answer_timeout and four delays, so that who was answered does not begin again too soon.
  Nanos coordinator_timeout{0};
  std::optional<Nanos> silence;  // so long unheard, the coordinator is dead; unset: only by command
};

std::string_view name_of(State state);
std::string_view name_of(Kind kind);
std::string_view name_of(Timer timer);
inline std::string_view name_of(const Message& message) { return name_of(message.kind); }

}  // namespace bully

class BullyElection {
 public:
  using Message = bully::Message;
  using Command = bully::Command;
  using Notice = Nothing;

  // The rules are shared by many machines and must outlive them; `self` is a member, the timeouts
  // are above zero.
  BullyElection(NodeId self, const bully::Rules& rules);

  void start(Turn<BullyElection>& turn);
  void receive(Turn<BullyElection>& turn, NodeId from, const Message& message);
  void on_timer(Turn<BullyElection>& turn, TimerId timer);
  void command(Turn<BullyElection>& turn, Command command);

  const Timers<bully::Timer>& timers() const { return timers_; }
  const char* check() const;

  bully::State state() const { return state_; }
  NodeId self() const { return self_; }
  NodeId coordinator() const { return coordinator_; }  // kNobody: none known

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("self", self.self_);
    visit("state", self.state_);
    visit("coordinator", self.coordinator_);
    visit("timers", self.timers_);
  }

 private:
  void hold_election(Turn<BullyElection>& turn);
  void reign(Turn<BullyElection>& turn);
  void on_election(Turn<BullyElection>& turn, NodeId from);
  void on_coordinator(Turn<BullyElection>& turn, NodeId from);
  void enter(Turn<BullyElection>& turn, bully::State next, NodeId coordinator);
  void notify(Turn<BullyElection>& turn, NodeId to, bully::Kind kind) const;

  NodeId self_;
  const bully::Rules* rules_;
  bully::State state_ = bully::State::following;
  NodeId coordinator_ = kNobody;  // set in following, once known, and in coordinator
  Timers<bully::Timer> timers_;   // at most one runs: the state's
};

static_assert(Machine<BullyElection>);

}  // namespace tempo::election
