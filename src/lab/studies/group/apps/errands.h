// Tasks from users of any member, done one after another, each by one member.
//
// A task is broadcast, so that all members have the same list. For each task they hold an election;
// the elected member does the task step by step and broadcasts each step. A step is done when the
// message is delivered: at all members or at none. If no message arrives for longer than a live
// member needs, the elected member is dead, and the next winner continues with the first step that
// was not delivered. So every step is done once, whichever members die, as long as one is live.
//
// The parameter `Trade` defines the application:
//     capacity(now), offer(value)  the criterion, and its value set by users
//     took(now, size)              this member has done a task of this size
//     kSlip                        the flaw of the naive version
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lab/studies/group/apps/duty.h"
#include "machine/field_list.h"

namespace tempo::apps {

// The flaw of the naive version of an application.
enum class Slip : std::uint8_t {
  in_trade,  // its criterion is wrong
  trusts,    // no member watches the elected one: a task that is not done is forgotten
  restarts,  // the next coordinator does not know the progress of the task
};

struct TaskMessage {
  enum class Kind : std::uint8_t { task, done };
  Kind kind = Kind::task;
  std::uint32_t number = 0;  // task: its size; done: the step
  std::uint64_t task = 0;    // id of the task: the asking member and its counter

  bool operator==(const TaskMessage&) const = default;
  static constexpr auto fields(auto list) {
    using M = TaskMessage;
    return list(field<&M::kind>("kind"), field<&M::number>("number"), field<&M::task>("task"));
  }
};

inline std::string_view name_of(const TaskMessage& message) {
  return message.kind == TaskMessage::Kind::task ? "task" : "done";
}

template <class Trade>
class Errands {
 public:
  using Message = TaskMessage;
  using Time = WallTime;
  using Command = apps::Command;
  using Notice = apps::Notice;
  enum class Timer : std::uint8_t {
    work,   // our next step is done
    watch,  // no message of the elected member in time
    count
  };

  // The rules are shared by many machines and must outlive them.
  Errands(NodeId self, const Rules& rules) : self_(self), rules_(&rules), trade_(self, rules) {}

  void start(Turn<Errands>& /*turn*/) {}

  void receive(Turn<Errands>& turn, NodeId from, const Message& message) {
    if (message.kind == Message::Kind::task)
      accept(turn, {.name = message.task, .size = message.number});
    else
      receive_done(turn, from, message);
  }

  void on_timer(Turn<Errands>& turn, TimerId id) {
    if (turn.now < timers_.at(id)) return;
    const auto timer = static_cast<Timer>(id);
    timers_.stop(timer);
    if (timer == Timer::work) {
      turn.out.broadcast(
          {.kind = Message::Kind::done, .number = done_ + 1, .task = list_.front().name});
    } else {
      if (rules_->naive && Trade::kSlip == Slip::trusts) list_.erase(list_.begin());
      begin(turn);
    }
  }

  void command(Turn<Errands>& turn, const Command& command) {
    switch (command.kind) {
      case Command::Kind::ask:
        turn.out.broadcast({.kind = Message::Kind::task,
                            .number = static_cast<std::uint32_t>(command.value),
                            .task = std::uint64_t{index(self_)} << 32 | ++asked_});
        break;
      case Command::Kind::offer:
        trade_.offer(command.value);
        break;
      case Command::Kind::elected:
        receive_elected(turn, command.node);
        break;
      case Command::Kind::give_up:
        timers_.stop(Timer::work);
        turn.out.notify({.kind = Notice::Kind::give_up});
        break;
      case Command::Kind::distrust:
        break;
    }
  }

  const Timers<Timer, Time>& timers() const { return timers_; }
  const char* check() const {
    if (list_.empty() != !timers_.running(Timer::watch)) return "a task without a watch timer";
    if (timers_.running(Timer::work) && worker_ != self_) return "works without being elected";
    return nullptr;
  }

  static constexpr auto fields(auto list) {
    using M = Errands;
    return list(field<&M::self_>("self"), field<&M::trade_>("trade"), field<&M::list_>("list"),
                field<&M::asked_>("asked"), field<&M::done_>("done"), field<&M::worker_>("worker"),
                field<&M::timers_>("timers"), fixed<&M::rules_>());
  }
  friend FieldCheck;

 private:
  static constexpr std::size_t kMaxTasks = 1024;

  struct Task {
    std::uint64_t name = 0;
    std::uint32_t size = 1;

    static constexpr auto fields(auto list) {
      return list(field<&Task::name>("name"), field<&Task::size>("size"));
    }
  };

  void accept(Turn<Errands>& turn, const Task& task) {
    if (list_.size() == kMaxTasks) {
      turn.out.notify({.kind = Notice::Kind::refused, .value = task.name});
      return;
    }
    turn.out.notify({.kind = Notice::Kind::accepted, .number = task.size, .value = task.name});
    list_.push_back(task);
    if (list_.size() == 1) begin(turn);
  }

  // Begins the first task, at all members at the same reading of the clock.
  void begin(Turn<Errands>& turn) {
    timers_.stop_all();
    worker_ = kNobody;
    if (list_.empty()) return;
    const Capacity capacity = trade_.capacity(turn.now);
    turn.out.notify({.kind = Notice::Kind::begins, .value = list_.front().name});
    turn.out.notify({.kind = Notice::Kind::offer, .value = static_cast<std::uint64_t>(capacity)});
    turn.out.notify({.kind = Notice::Kind::hold});
    timers_.set(Timer::watch, turn.now + 3 * rules_->bound + rules_->patience());
  }

  void receive_elected(Turn<Errands>& turn, NodeId elected) {
    if (list_.empty()) return;
    if (rules_->naive && Trade::kSlip == Slip::restarts && worker_ != elected) done_ = 0;
    worker_ = elected;
    timers_.set(Timer::watch, turn.now + rules_->patience());
    // All members must know our election before our first step arrives: wait for T.
    if (elected == self_) timers_.set(Timer::work, turn.now + rules_->bound + rules_->work);
  }

  void receive_done(Turn<Errands>& turn, NodeId from, const Message& message) {
    if (list_.empty() || message.task != list_.front().name || message.number != done_ + 1) return;
    turn.out.notify({.kind = Notice::Kind::done,
                     .node = from,
                     .number = message.number,
                     .value = message.task});
    ++done_;
    if (done_ < trade_.steps(list_.front().size)) {
      timers_.set(Timer::watch, turn.now + rules_->patience());
      if (worker_ == self_) timers_.set(Timer::work, turn.now + rules_->work);
      return;
    }
    if (from == self_) trade_.took(turn.now, list_.front().size);
    list_.erase(list_.begin());
    done_ = 0;
    begin(turn);
  }

  NodeId self_;
  const Rules* rules_;
  Trade trade_;
  std::vector<Task> list_;   // the same at all members; the first is in progress
  std::uint32_t asked_ = 0;  // number of requests of our own users
  std::uint32_t done_ = 0;   // steps done of the first task
  NodeId worker_ = kNobody;  // member elected for the first task
  Timers<Timer, Time> timers_;
};

}  // namespace tempo::apps
