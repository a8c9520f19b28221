// LeLann's election: the id of every survivor goes round the whole ring. One node's part.
//
// The survivors stand in a ring, each knowing the next. Who notices that the coordinator is dead
// sends its own id to the next; everybody passes on the ids of the others. An id that is back where
// it came from has been everywhere and stops. In the end everybody has seen every id, and the
// highest of them is the coordinator: nobody has to announce it. N ids make N steps each, so an
// election of N survivors costs N * N messages, always. It is here to be compared with TEMPO's.
//
// Source: LeLann, "Distributed Systems - Towards a Formal Approach", IFIP Congress 1977.
//
// Where we differ:
//   - The original decides when its own id is back, which is right only if no message overtakes
//     another. Here everybody is told who is on the ring and decides when all those ids are in, in
//     whatever order they came; its own id back is one of them.
//   - A survivor that has not noticed learns it from the first id that passes, and takes part.
//   - An id is passed on once: a duplicate ends where it is first met again.
// As in the original there is no remedy for a lost message or a survivor that dies meanwhile: the
// election then never ends. A machine holds one election on one ring; a new ring is a new machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "machine/machine.h"

namespace tempo::election {
namespace lelann {

enum class State : std::uint8_t {
  watching,     // the old coordinator is believed to live
  electing,     // our id is under way, or back before all others are in
  follower,     // decided: another is coordinator
  coordinator,  // decided: we are
};

enum class Kind : std::uint8_t { token };

struct Message {
  Kind kind = Kind::token;
  NodeId id = kNobody;  // whose token it is, whoever passes it on

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

enum class Timer : std::uint8_t { silence, count };

// Who stands on the ring, in the order of their numbers, the lowest after the highest.
struct Rules {
  NodeSet ring;
  std::optional<Nanos> silence;  // so long unheard, the coordinator is dead; unset: only by command
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

  // The rules are shared by many machines and must outlive them; `self` is on the ring.
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

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("self", self.self_);
    visit("before", self.before_);
    visit("after", self.after_);
    visit("state", self.state_);
    visit("seen", self.seen_);
    visit("coordinator", self.coordinator_);
    visit("timers", self.timers_);
  }

 private:
  void listen(Instant now);
  void begin(Turn<LeLannElection>& turn);
  void see(NodeId id);
  void enter(lelann::State next);

  NodeId self_;
  const lelann::Rules* rules_;
  NodeId before_;  // itself on a ring of one, and so is after_
  NodeId after_;
  lelann::State state_ = lelann::State::watching;
  NodeSet seen_;  // ids that came in, our own when it is back; all of the ring: decided
  NodeId coordinator_ = kNobody;  // set when decided
  Timers<lelann::Timer> timers_;
};

static_assert(Machine<LeLannElection>);

}  // namespace tempo::election
