// Tasks that come from users of any member and are done one after another, each by one member.
//
// A task is told to all, so that all have the same list. For its turn they hold an election; the
// elected does the task step by step and tells all of each step, which is done when it is heard:
// by all, or by none. If nothing is heard for longer than a live member needs, the elected is dead,
// and the next election finds who goes on with the first step that was not heard of. So every step
// is done once, whoever dies, as long as one lives.
//
// The `Trade` says what is special:
//     capacity(now), offer(value)  the criterion, and what users say of it
//     took(now, size)              we have done a task of this size
//     kSlip                        what the naive version does wrong
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lab/studies/apps/duty.h"

namespace tempo::apps {

// What the naive version of an application does.
enum class Slip : std::uint8_t {
  in_trade,     // its criterion is wrong
  trusts,       // nobody watches the elected: a task that is not done is forgotten
  begins_anew,  // who takes over does not know how far the task was
};

struct ErrandWord {
  enum class Kind : std::uint8_t { task, done };
  Kind kind = Kind::task;
  std::uint32_t number = 0;  // task: its size; done: the step
  std::uint64_t task = 0;    // its name: who asked, and a number of that member's

  bool operator==(const ErrandWord&) const = default;
  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("kind", self.kind);
    visit("number", self.number);
    visit("task", self.task);
  }
};

inline std::string_view name_of(const ErrandWord& word) {
  return word.kind == ErrandWord::Kind::task ? "task" : "done";
}

template <class Trade>
class Errands {
 public:
  using Message = ErrandWord;
  using Command = apps::Command;
  using Notice = apps::Notice;
  enum class Timer : std::uint8_t {
    work,   // a step of ours is done
    watch,  // the elected should have been heard
    count
  };

  // The rules are shared by many machines and must outlive them.
  Errands(NodeId self, const Rules& rules) : self_(self), rules_(&rules), trade_(self, rules) {}

  void start(Turn<Errands>& /*turn*/) {}

  void receive(Turn<Errands>& turn, NodeId from, const Message& word) {
    if (word.kind == Message::Kind::task)
      accept(turn, {.name = word.task, .size = word.number});
    else
      receive_done(turn, from, word);
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

  const Timers<Timer>& timers() const { return timers_; }
  const char* check() const {
    if (list_.empty() != !timers_.running(Timer::watch)) return "a task that nobody watches";
    if (timers_.running(Timer::work) && worker_ != self_) return "works without being elected";
    return nullptr;
  }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("self", self.self_);
    visit("trade", self.trade_);
    visit("list", self.list_);
    visit("asked", self.asked_);
    visit("done", self.done_);
    visit("worker", self.worker_);
    visit("timers", self.timers_);
  }

 private:
  static constexpr std::size_t kMaxTasks = 1024;

  struct Task {
    std::uint64_t name = 0;
    std::uint32_t size = 1;

    template <class Self, class Visitor>
    static void fields(Self& self, Visitor& visit) {
      visit("name", self.name);
      visit("size", self.size);
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

  // The first task's turn, for everybody at the same reading of the clock.
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
    if (rules_->naive && Trade::kSlip == Slip::begins_anew && worker_ != elected) done_ = 0;
    worker_ = elected;
    timers_.set(Timer::watch, turn.now + rules_->patience());
    // Nobody may hear of our work before it has heard of our election: T later all have.
    if (elected == self_) timers_.set(Timer::work, turn.now + rules_->bound + rules_->work);
  }

  void receive_done(Turn<Errands>& turn, NodeId from, const Message& word) {
    if (list_.empty() || word.task != list_.front().name || word.number != done_ + 1) return;
    turn.out.notify(
        {.kind = Notice::Kind::done, .node = from, .number = word.number, .value = word.task});
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
  std::vector<Task> list_;   // the same everywhere; the first is being done
  std::uint32_t asked_ = 0;  // by our own users
  std::uint32_t done_ = 0;   // steps of the first task
  NodeId worker_ = kNobody;  // elected for it
  Timers<Timer> timers_;
};

}  // namespace tempo::apps
