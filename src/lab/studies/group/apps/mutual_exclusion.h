// Fair mutual exclusion by election: whenever a process leaves, all processes that want to enter
// are candidates, and the winner enters.
//
// Criterion: the time since a process last entered. A process that waited while another entered
// beats that one in the next election, so that no process is overtaken twice by the same process:
// every candidate enters after at most members - 1 others. The members notice a process that dies
// inside when it should have left. This kind of exclusion relies on a bounded stay and on the
// bounds of the broadcast. (Majority leases do not rely on bounds.)
// Naive: the criterion is the number of the process, and small numbers starve.
#pragma once

#include <cstdint>
#include <string_view>

#include "lab/studies/group/apps/duty.h"
#include "machine/field_list.h"

namespace tempo::apps {

struct LeaveMessage {
  bool operator==(const LeaveMessage&) const = default;
  static constexpr auto fields(auto list) { return list(); }
};

inline std::string_view name_of(const LeaveMessage& /*message*/) { return "leave"; }

class MutualExclusion {
 public:
  using Message = LeaveMessage;
  using Time = WallTime;
  using Command = apps::Command;
  using Notice = apps::Notice;
  enum class Timer : std::uint8_t {
    leave,  // our time inside is over
    watch,  // the holder should have left
    count
  };

  // The rules are shared by many machines and must outlive them.
  MutualExclusion(NodeId self, const Rules& rules) : self_(self), rules_(&rules) {}

  void start(Turn<MutualExclusion>& /*turn*/) {}

  void receive(Turn<MutualExclusion>& turn, NodeId from, const Message& /*message*/) {
    if (from == holder_) compete(turn);
  }

  void on_timer(Turn<MutualExclusion>& turn, TimerId id) {
    if (turn.now < timers_.at(id)) return;
    timers_.stop(static_cast<Timer>(id));
    if (static_cast<Timer>(id) == Timer::watch) return compete(turn);
    inside_ = false;
    turn.out.notify({.kind = Notice::Kind::leaves});
    turn.out.broadcast({});
  }

  void command(Turn<MutualExclusion>& turn, const Command& command) {
    if (command.kind == Command::Kind::ask) ask(turn);
    if (command.kind == Command::Kind::elected) receive_elected(turn, command.node);
    if (command.kind == Command::Kind::give_up) turn.out.notify({.kind = Notice::Kind::give_up});
  }

  const Timers<Timer, Time>& timers() const { return timers_; }
  const char* check() const {
    if (inside_ && holder_ != self_) return "inside without being elected";
    if (inside_ != timers_.running(Timer::leave)) return "inside without a leave timer";
    if (wants_ && !timers_.running(Timer::watch)) return "waits without a watch timer";
    return nullptr;
  }

  bool inside() const { return inside_; }

  static constexpr auto fields(auto list) {
    using M = MutualExclusion;
    return list(field<&M::self_>("self"), field<&M::wants_>("wants"), field<&M::inside_>("inside"),
                field<&M::holder_>("holder"), field<&M::entered_>("entered"),
                field<&M::timers_>("timers"), fixed<&M::rules_>());
  }
  friend FieldCheck;

 private:
  void ask(Turn<MutualExclusion>& turn) {
    if (wants_ || inside_) return;
    wants_ = true;
    turn.out.notify({.kind = Notice::Kind::wants});
    if (holder_ == kNobody)
      compete(turn);
    else
      offer(turn);  // for the election after the holder has left or is found dead
  }

  // No process is inside. All members learn this at the same reading of the clock.
  void compete(Turn<MutualExclusion>& turn) {
    holder_ = kNobody;
    timers_.stop(Timer::watch);
    offer(turn);
    if (!wants_) return;
    turn.out.notify({.kind = Notice::Kind::hold});
    timers_.set(Timer::watch, turn.now + 3 * rules_->bound + rules_->patience());
  }

  void offer(Turn<MutualExclusion>& turn) {
    const Capacity capacity = rules_->naive ? index(self_) : since(entered_);
    turn.out.notify({.kind = Notice::Kind::offer,
                     .value = static_cast<std::uint64_t>(wants_ ? capacity : kNotCandidate)});
  }

  void receive_elected(Turn<MutualExclusion>& turn, NodeId elected) {
    holder_ = elected;
    timers_.set(Timer::watch, turn.now + rules_->patience());
    if (elected != self_ || !wants_) return;
    wants_ = false;
    inside_ = true;
    entered_ = turn.now.time_since_epoch();
    turn.out.notify({.kind = Notice::Kind::enters});
    offer(turn);
    // All members must know our entry before our leave message arrives: wait for T.
    timers_.set(Timer::leave, turn.now + rules_->bound + rules_->work);
  }

  NodeId self_;
  const Rules* rules_;
  bool wants_ = false;
  bool inside_ = false;
  NodeId holder_ = kNobody;  // last elected member, not known to have left
  Nanos entered_{0};         // reading of our clock at our last entry
  Timers<Timer, Time> timers_;
};

static_assert(CheckableMachine<App<MutualExclusion>>);

}  // namespace tempo::apps
