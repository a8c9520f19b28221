// The election of a leader on a ring in which all stations have equal chances. One station's part.
//
// In each round every active station draws a priority from 1..m, sends it to the next active
// station and compares its own with the one it receives: it stays active if its own is not larger.
// Inactive stations forward messages. A station that receives its own message is alone, and the
// leader. A round in which all stations draw the same priority removes none and is repeated.
//
// Source: Polajnar & Unkasevic, "Equitable Probabilistic Elections in Ring Networks", 1994.
//
// We go further:
//   - The leader sends one announcement round the ring; in the paper losers never learn the result.
//   - The ring skips a crashed station, and the election starts over under a higher number.
//   Stations
//     learn the number from the first message that carries it and drop messages with a lower one.
//     If the result is known already and the dead station is not the leader, a station forwards the
//     announcement again instead.
//   - Two other rules for comparison: ties resolved by id, which wastes no round, and the rule of
//     Chang and Roberts (1979), under which the highest id always wins.
#pragma once

#include <cstdint>
#include <string_view>

#include "machine/machine.h"
#include "protocol/group/ring_link.h"
#include "protocol/group/ring_types.h"

namespace tempo::election {
namespace ring {

enum class Method : std::uint8_t {
  equitable,
  ties_by_id,  // of equal priorities the lower id stays active
  highest_id,  // Chang and Roberts
};

enum class State : std::uint8_t {
  idle,    // no election yet
  active,  // has sent a message and waits for one
  relay,   // no longer competes
  leader,
  follower,  // another station is leader
};

enum class Command : std::uint8_t {
  elect,  // begin an election, also after an earlier one
  wake,   // begin an election unless there is one already
};

enum class Timer : std::uint8_t { link, count };

struct Notice {
  enum class What : std::uint8_t {
    began,  // an election began
    drew,   // a round began
    took,   // a priority arrived
    lost,   // this station no longer competes
    decided,
  };
  What what = What::began;
  std::uint32_t number = 0;  // of the election
};

struct EquitableRules {
  LinkRules link{};
  std::uint32_t range = 16;  // m: priorities are 1..m
  Method method = Method::equitable;
};

std::string_view name_of(State state);
std::string_view name_of(Method method);

}  // namespace ring

class RingElection {
 public:
  using Message = ring::Message;
  using Time = BootTime;
  using Command = ring::Command;
  using Notice = ring::Notice;

  // Many machines share the rules, which must outlive them.
  RingElection(NodeId self, Incarnation incarnation, const ring::EquitableRules& rules);

  void start(Turn<RingElection>& turn);
  void receive(Turn<RingElection>& turn, NodeId from, const Message& message);
  void on_timer(Turn<RingElection>& turn, TimerId timer);
  void command(Turn<RingElection>& turn, Command command);

  const Timers<ring::Timer, Time>& timers() const { return timers_; }
  const char* check() const;

  ring::State state() const { return state_; }
  NodeId self() const { return self_; }
  NodeId leader() const { return leader_; }  // kNobody: unknown
  std::uint32_t number() const { return number_; }
  std::uint32_t priority() const { return priority_; }  // of this round; 0: none drawn
  const ring::Link& link() const { return link_; }
  bool decided() const { return state_ == ring::State::leader || state_ == ring::State::follower; }

  static constexpr auto fields(auto list) {
    using M = RingElection;
    return list(field<&M::self_>("self"), field<&M::state_>("state"), field<&M::number_>("number"),
                field<&M::priority_>("priority"), field<&M::leader_>("leader"),
                field<&M::link_>("link"), field<&M::timers_>("timers"), fixed<&M::rules_>());
  }
  friend FieldCheck;

 private:
  void begin(Turn<RingElection>& turn, std::uint32_t number);
  void draw(Turn<RingElection>& turn);
  void take(Turn<RingElection>& turn, const Message& message);
  void take_priority(Turn<RingElection>& turn, const Message& message);
  void compare(Turn<RingElection>& turn, const Message& message);
  void compare_ids(Turn<RingElection>& turn, const Message& message);
  void pass_on(Turn<RingElection>& turn, const Message& message);
  void decide(Turn<RingElection>& turn, NodeId leader);
  void neighbour_lost(Turn<RingElection>& turn, NodeId dead);
  void enter(ring::State next);
  void settle_timers();

  NodeId self_;
  const ring::EquitableRules* rules_;
  ring::State state_ = ring::State::idle;
  std::uint32_t number_ = 0;    // 0 until the first election
  std::uint32_t priority_ = 0;  // of this round; 0 unless active and drawn
  NodeId leader_ = kNobody;     // set when decided
  ring::Link link_;
  Timers<ring::Timer, Time> timers_;
};

static_assert(CheckableMachine<RingElection>);

}  // namespace tempo::election
