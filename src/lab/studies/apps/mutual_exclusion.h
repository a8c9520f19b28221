// Mutual exclusion by election, with fairness: whenever a process leaves, all who want to enter
// stand, and the elected enters.
//
// Criterion: the time since a process entered last. Who has waited while another entered beats that
// one at the next election, so that nobody is overtaken twice by the same process: every candidate
// enters after at most members - 1 others. A process that dies inside is missed when it should have
// left; it stays inside for a known time at most, and that is what this kind of exclusion rests on,
// with the bounds of the broadcast. (Locks that do not rest on bounds are leases of a majority.)
// Naive: the number of the process is the criterion, and small numbers starve.
#pragma once

#include <cstdint>
#include <string_view>

#include "lab/studies/apps/duty.h"

namespace tempo::apps {

struct LeaveWord {
  bool operator==(const LeaveWord&) const = default;
  template <class Self, class Visitor>
  static void fields(Self& /*self*/, Visitor& /*visit*/) {}
};

inline std::string_view name_of(const LeaveWord& /*word*/) { return "leave"; }

class MutualExclusion {
 public:
  using Message = LeaveWord;
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

  void receive(Turn<MutualExclusion>& turn, NodeId from, const Message& /*word*/) {
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

  const Timers<Timer>& timers() const { return timers_; }
  const char* check() const {
    if (inside_ && holder_ != self_) return "inside without being elected";
    if (inside_ != timers_.running(Timer::leave)) return "inside for ever";
    if (wants_ && !timers_.running(Timer::watch)) return "waits for ever";
    return nullptr;
  }

  bool inside() const { return inside_; }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("self", self.self_);
    visit("wants", self.wants_);
    visit("inside", self.inside_);
    visit("holder", self.holder_);
    visit("entered", self.entered_);
    visit("timers", self.timers_);
  }

 private:
  void ask(Turn<MutualExclusion>& turn) {
    if (wants_ || inside_) return;
    wants_ = true;
    turn.out.notify({.kind = Notice::Kind::wants});
    if (holder_ == kNobody)
      compete(turn);
    else
      offer(turn);  // for the election when the holder has left, or is found dead
  }

  // Nobody is inside. Everybody learns that at one reading of the clock.
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
    // Nobody may hear that we have left before it has heard that we entered: T later all have.
    timers_.set(Timer::leave, turn.now + rules_->bound + rules_->work);
  }

  NodeId self_;
  const Rules* rules_;
  bool wants_ = false;
  bool inside_ = false;
  NodeId holder_ = kNobody;  // elected last, and not known to have left
  Nanos entered_{0};         // the reading of our clock when we entered last
  Timers<Timer> timers_;
};

static_assert(Machine<App<MutualExclusion>>);

}  // namespace tempo::apps
