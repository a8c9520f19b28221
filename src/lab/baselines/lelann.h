// LeLann's election: the id of every survivor goes round the whole ring. One node's part.
//
// The survivors form a ring, each knowing the next. A node that notices that the coordinator is
// dead sends its own id to the next; every node forwards the ids of the others. An id that returns
// to its origin has been everywhere and stops. In the end every node has seen every id, and the
// highest is the coordinator; no announcement is needed. N ids take N steps each, so an election of
// N survivors always costs N * N messages. It is here for comparison with TEMPO's election.
//
// Source: LeLann, "Distributed Systems - Towards a Formal Approach", IFIP Congress 1977.
//
// We differ:
//   - The original decides when its own id has returned, which is correct only if no message
//     overtakes another. Here every node knows the members of the ring and decides when all their
//     ids have arrived, in any order; its own returning id is one of them.
//   - A survivor that has not noticed the failure learns of it from the first id, and takes part.
//   - A node forwards an id once: a duplicate stops where it first arrives again.
// As in the original, nothing repairs a lost message or a survivor that dies meanwhile: the
// election then never ends. A machine holds one election on one ring; a new ring needs a new
// machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "machine/machine.h"

namespace tempo::election {
namespace lelann {

enum class State : std::uint8_t {
  watching,     // the old coordinator counts as alive
  electing,     // the own id is in transit, or has returned before all others arrived
  follower,     // decided: another node is coordinator
  coordinator,  // decided: this node is coordinator
};

enum class Kind : std::uint8_t { token };

struct Message {
  Kind kind = Kind::token;
  NodeId id = kNobody;  // origin of the token, whichever node forwards it

  static constexpr auto fields(auto list) {
    return list(field<&Message::kind>("kind"), field<&Message::id>("id"));
  }
};

enum class Command : std::uint8_t {
  suspect,  // the coordinator is dead
  alive,    // it has been heard: restart the silence timer
};

enum class Timer : std::uint8_t { silence, count };

// The members of the ring, in the order of their numbers, the lowest after the highest.
struct Rules {
  NodeSet ring;
  std::optional<Nanos> silence;  // then the coordinator is dead; unset: only by command
};

std::string_view name_of(State state);
std::string_view name_of(Kind kind);
std::string_view name_of(Timer timer);
inline std::string_view name_of(const Message& message) { return name_of(message.kind); }

}  // namespace lelann

class LeLannElection {
 public:
  using Message = lelann::Message;
  using Command = lelann::Command;
  using Notice = Nothing;

  // Many machines share the rules, which must outlive them; `self` is on the ring.
  LeLannElection(NodeId self, const lelann::Rules& rules);

  void start(Turn<LeLannElection>& turn);
  void receive(Turn<LeLannElection>& turn, NodeId from, const Message& message);
  void on_timer(Turn<LeLannElection>& turn, TimerId timer);
  void command(Turn<LeLannElection>& turn, Command command);

  const Timers<lelann::Timer>& timers() const { return timers_; }
  const char* check() const;

  lelann::State state() const { return state_; }
  NodeId self() const { return self_; }
  NodeId coordinator() const { return coordinator_; }  // kNobody: not decided

  static constexpr auto fields(auto list) {
    using M = LeLannElection;
    return list(field<&M::self_>("self"), field<&M::before_>("before"), field<&M::after_>("after"),
                field<&M::state_>("state"), field<&M::seen_>("seen"),
                field<&M::coordinator_>("coordinator"), field<&M::timers_>("timers"),
                fixed<&M::rules_>());
  }
  friend FieldCheck;

 private:
  void listen(Instant now);
  void begin(Turn<LeLannElection>& turn);
  void see(NodeId id);
  void enter(lelann::State next);

  NodeId self_;
  const lelann::Rules* rules_;
  NodeId before_;  // itself on a ring of one, like after_
  NodeId after_;
  lelann::State state_ = lelann::State::watching;
  NodeSet seen_;  // ids received, the own one when it has returned; complete: decided
  NodeId coordinator_ = kNobody;  // set when decided
  Timers<lelann::Timer> timers_;
};

static_assert(CheckableMachine<LeLannElection>);

}  // namespace tempo::election
