// The reference model of the checker: a small election without epochs or retransmission; its
// acknowledgements have no effect. The number of its reachable states is known
// (doc/internals/checking.md).
//
// N processes are slave, candidate, accept or master. At any time a slave may stand for election,
// at most `timeouts` times; a candidate may declare itself master; an acceptor may become slave
// again. Every copy of every message may be lost. The inbox of a process is bounded.
#pragma once

#include <cstdint>

#include "lab/check/model.h"
#include "machine/machine.h"

namespace tempo::check {

class CoreProcess {
 public:
  enum class State : std::uint8_t { slave, candidate, accept, master };
  enum class Kind : std::uint8_t { election, accept, refuse, masterup, ack };
  enum class Timer : std::uint8_t { stand, win, give_up, count };

  struct Message {
    Kind kind = Kind::ack;

    static constexpr auto fields(auto list) { return list(field<&Message::kind>("kind")); }
  };
  using Command = Nothing;
  using Notice = Nothing;

  CoreProcess(NodeId self, std::uint32_t timeouts) : self_(self), timeouts_left_(timeouts) {}

  void start(Turn<CoreProcess>& turn) { become(turn, State::slave); }

  void receive(Turn<CoreProcess>& turn, NodeId from, const Message& message) {
    switch (message.kind) {
      case Kind::election:
        if (state_ == State::slave) {
          become(turn, State::accept);
          turn.out.send(from, {Kind::accept});
        } else {
          turn.out.send(from, {state_ == State::master ? Kind::masterup : Kind::refuse});
        }
        break;
      case Kind::accept:
        if (state_ != State::candidate) break;
        accepted_.insert(from);
        turn.out.send(from, {Kind::ack});
        break;
      case Kind::refuse:
        if (state_ == State::candidate) yield(turn);
        break;
      case Kind::masterup:
        if (state_ != State::master) yield(turn);
        break;
      case Kind::ack:
        break;
    }
  }

  void on_timer(Turn<CoreProcess>& turn, TimerId timer) {
    if (turn.now < timers_.at(timer)) return;
    switch (static_cast<Timer>(timer)) {
      case Timer::stand:
        --timeouts_left_;
        accepted_.clear();
        become(turn, State::candidate);
        turn.out.broadcast({Kind::election});
        break;
      case Timer::win:
        become(turn, State::master);
        turn.out.broadcast({Kind::masterup});
        break;
      case Timer::give_up:
        become(turn, State::slave);
        break;
      case Timer::count:
        CHECK(false);
    }
  }

  void command(Turn<CoreProcess>& /*turn*/, const Command& /*command*/) {}
  const Timers<Timer>& timers() const { return timers_; }
  const char* check() const { return nullptr; }
  State state() const { return state_; }

  static constexpr auto fields(auto list) {
    using M = CoreProcess;
    return list(field<&M::self_>("self"), field<&M::state_>("state"),
                field<&M::timeouts_left_>("timeouts_left"), field<&M::accepted_>("accepted"),
                field<&M::timers_>("timers"));
  }
  friend FieldCheck;

 private:
  void yield(Turn<CoreProcess>& turn) {
    accepted_.clear();
    become(turn, State::slave);
  }
  void become(Turn<CoreProcess>& turn, State next) {
    state_ = next;
    timers_.stop_all();
    if (next == State::slave && timeouts_left_ > 0) timers_.set(Timer::stand, turn.now);
    if (next == State::candidate) timers_.set(Timer::win, turn.now);
    if (next == State::accept) timers_.set(Timer::give_up, turn.now);
  }

  NodeId self_;
  State state_ = State::slave;
  std::uint32_t timeouts_left_;
  NodeSet accepted_;
  Timers<Timer> timers_;
};
static_assert(CheckableMachine<CoreProcess>);

struct CoreModel {
  using Machine = CoreProcess;
  struct View {};
  static constexpr bool kSymmetric = true;

  std::uint32_t timeouts = 1;

  Machine make(NodeId node, Incarnation /*incarnation*/) const { return {node, timeouts}; }
  View view(const Machine& /*machine*/) const { return {}; }
};

// Any number of losses and no other fault, with free timing.
inline Freedom core_freedom(std::uint32_t nodes, std::uint32_t capacity, bool symmetry) {
  return {.nodes = nodes,
          .timing = Timing::free,
          .network = Network::bag,
          .budget = {.losses = Budget::kAnyNumber},
          .inbox = capacity * nodes,
          .symmetry = symmetry};
}

}  // namespace tempo::check
