// The bully election: the highest live node becomes coordinator. One node's part.
//
// A node that suspects that the coordinator is dead asks every higher node. A live higher node
// answers, so the lower one gives up, and holds an election of its own. A node that gets no answer
// in time is the highest live one: it becomes coordinator and notifies all lower nodes. A node that
// was answered but then learns of no coordinator begins again: the node that answered has died.
//
// With N survivors the cheapest election is that of the highest: N - 1 messages, all of them
// coordinator messages. The most expensive begins with the lowest alone: each node asks all above
// it, N(N-1)/2, all questions are answered, as many again, and N - 1 nodes are notified: N*N - 1.
// It is here for comparison with TEMPO's election.
//
// Source: Garcia-Molina, "Elections in a Distributed Computing System", IEEE Transactions on
// Computers C-31, 1982, for a network that loses nothing and delivers in bounded time.
//
// We differ:
//   - Three kinds of message, as textbooks count them. We omit stopping the lower nodes and
//     distributing their new work, which the original does before it is ready.
//   - The set of nodes to ask is given. Without the dead coordinator in it the figures above hold.
//     In the original it is one of the higher nodes: then each of the N asks it once without an
//     answer, N messages more.
//   - The highest node has no node to ask but waits for answers nevertheless, as it must in the
//     original, where it has asked the dead one. Meanwhile all questions of this election arrive,
//     so that no question and no answer arrives after the result and starts the election again.
//   - A coordinator that receives a question sends a coordinator message to the sender instead of
//   an
//     answer, and also to a lower node that calls itself coordinator. A higher node that is not
//     coordinator takes such a message as a reason for an election.
//   - A node that starts follows no coordinator and waits; the original holds an election after a
//     repair.
// A network slower than the timeouts may produce two coordinators or the wrong one: the bully
// election has no epochs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "machine/machine.h"

namespace tempo::election {
namespace bully {

enum class State : std::uint8_t {
  following,  // a coordinator, or none yet
  asking,     // waits for an answer from a higher node
  waiting,    // was answered and waits for the coordinator message
  coordinator,
};

enum class Kind : std::uint8_t {
  election,     // to higher nodes: a question
  answer,       // to a lower node: this node is alive and takes over
  coordinator,  // to lower nodes: this node is coordinator
};

struct Message {
  Kind kind = Kind::election;
  NodeId id = kNobody;  // the sender

  static constexpr auto fields(auto list) {
    return list(field<&Message::kind>("kind"), field<&Message::id>("id"));
  }
};

enum class Command : std::uint8_t {
  suspect,  // the coordinator is dead
  alive,    // it has been heard: restart the silence timer
};

enum class Timer : std::uint8_t {
  silence,      // in following: the coordinator has been silent
  answer,       // in asking: no higher node is alive
  coordinator,  // in waiting: the node that answered has died
  count,
};

struct Rules {
  NodeSet members;  // all participants, dead or alive
  // More than three delays: a question triggers questions of others, and all of them are answered.
  Nanos answer_timeout{0};
  // More than answer_timeout and four delays, so that an answered node does not begin again too
  // soon.
  Nanos coordinator_timeout{0};
  std::optional<Nanos> silence;  // then the coordinator is dead; unset: only by command
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

  // Many machines share the rules, which must outlive them; `self` is a member, and the timeouts
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
  NodeId coordinator() const { return coordinator_; }  // kNobody: unknown

  static constexpr auto fields(auto list) {
    using M = BullyElection;
    return list(field<&M::self_>("self"), field<&M::state_>("state"),
                field<&M::coordinator_>("coordinator"), field<&M::timers_>("timers"),
                fixed<&M::rules_>());
  }
  friend FieldCheck;

 private:
  void hold_election(Turn<BullyElection>& turn);
  void reign(Turn<BullyElection>& turn);
  void on_election(Turn<BullyElection>& turn, NodeId from);
  void on_coordinator(Turn<BullyElection>& turn, NodeId from);
  void enter(Turn<BullyElection>& turn, bully::State next, NodeId coordinator);
  void send(Turn<BullyElection>& turn, NodeId to, bully::Kind kind) const;

  NodeId self_;
  const bully::Rules* rules_;
  bully::State state_ = bully::State::following;
  NodeId coordinator_ = kNobody;  // set in following, once known, and in coordinator
  Timers<bully::Timer> timers_;   // at most the state's timer runs
};

static_assert(CheckableMachine<BullyElection>);

}  // namespace tempo::election
