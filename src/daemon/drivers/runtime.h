// Drives one machine of the daemon: gives it its inputs, carries out its outputs in their order,
// and keeps the ordering rule of machine.h.
//
// Outputs go to `carry_out`, records to `write`. Outputs that follow a record wait until the caller
// reports its write as done. A command that is given while outputs are carried out waits until all
// of them are.
//
// `Clock` has `now()`, the time of the machine; for a machine with a second clock (M::BootClock)
// also `boot()`, the time of that clock.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "machine/machine.h"
#include "machine/write_queue.h"

namespace tempo::daemon {

template <Machine M, class Clock>
class Runtime {
 public:
  struct Hooks {
    // A send, a broadcast or a notice.
    std::function<void(const Output<M>& output)> carry_out{};
    // Begins to write a record; `finish_write(number)` reports that it is durable, also from
    // inside.
    std::function<void(std::uint64_t number, const RecordOf<M>& record)> write{};
    // All outputs of a step have been carried out or wait for a record.
    std::function<void()> stepped{};
  };

  // `clock` and `draw` must outlive the runtime.
  Runtime(M machine, Clock clock, Draw& draw, Hooks hooks)
      : machine_(std::move(machine)),
        clock_(std::move(clock)),
        draw_(&draw),
        hooks_(std::move(hooks)) {}
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  void start() {
    step([](M& machine, Turn<M>& turn) { machine.start(turn); });
  }
  void receive(NodeId from, const typename M::Message& message) {
    step([&](M& machine, Turn<M>& turn) { machine.receive(turn, from, message); });
  }
  void command(typename M::Command command) {
    if (busy_) {
      CHECK(waiting_.size() < kMaxWaiting);
      waiting_.push_back(std::move(command));
      return;
    }
    step([&](M& machine, Turn<M>& turn) { machine.command(turn, command); });
    take_waiting();
  }

  // The earliest deadline of the machine.
  TimeOf<M> deadline() const { return waiting_.empty() ? machine_.timers().first() : TimeOf<M>{}; }
  // Runs the timers that are due, at most kMaxWakes; call it once per round of the loop.
  void wake() {
    take_waiting();
    bool due = true;
    for (int i = 0; i < kMaxWakes && due; ++i)
      step([&](M& machine, Turn<M>& turn) {
        const auto timers = machine.timers();
        due = timers.first() <= turn.now;
        if (due) machine.on_timer(turn, timers.first_name());
      });
  }

  void finish_write(std::uint64_t number) {
    while (const auto done = writes_.finish(number)) {
      busy_ = true;
      for (const Output<M>& output : done->held) hooks_.carry_out(output);
      busy_ = false;
      command(M::persisted(done->record));
    }
  }
  // Begins the newest write again; the first attempt may have been lost.
  void repeat_write() {
    if (!writes_.empty()) hooks_.write(writes_.newest().number, writes_.newest().record);
  }

  const M& machine() const { return machine_; }
  Clock& clock() { return clock_; }

 private:
  static constexpr int kMaxWakes = 1000;            // most timer steps in one round
  static constexpr std::size_t kMaxHeld = 4096;     // outputs that wait for a write
  static constexpr std::size_t kMaxWaiting = 4096;  // commands that wait for outputs

  // The outputs of a command that waited may add further ones; the rest is left for the next round.
  void take_waiting() {
    for (std::size_t left = waiting_.size(); left > 0; --left) {
      const typename M::Command next = std::move(waiting_.front());
      waiting_.pop_front();
      step([&](M& machine, Turn<M>& turn) { machine.command(turn, next); });
    }
  }

  template <class Step>
  void step(Step todo) {
    CHECK(!busy_);
    outbox_.clear();
    Turn<M> turn{clock_.now(), *draw_, outbox_};
    if constexpr (requires { typename M::BootClock; })
      machine_.command(turn, typename M::BootClock{clock_.boot()});
    todo(machine_, turn);
    busy_ = true;
    const bool writes = carry_out_all();
    busy_ = false;
    if (hooks_.stepped) hooks_.stepped();
    if constexpr (kHasRecord)
      if (writes) repeat_write();
  }

  static constexpr bool kHasRecord = !std::same_as<RecordOf<M>, Nothing>;

  // True: a record has to be written.
  bool carry_out_all() {
    bool writes = false;
    for (const Output<M>& output : outbox_) {
      if constexpr (!kHasRecord) {
        hooks_.carry_out(output);
      } else if (output.kind != OutputKind::persist && !waits_for_record<M>(output)) {
        hooks_.carry_out(output);
      } else {
        if (writes_.held() >= kMaxHeld && M::may_be_lost(output)) continue;
        if (writes_.pass(output)) hooks_.carry_out(output);
        writes |= output.kind == OutputKind::persist;
      }
    }
    return writes;
  }

  M machine_;
  Clock clock_;
  Draw* draw_;
  Hooks hooks_;
  Outbox<M> outbox_;
  WriteQueue<M> writes_;                     // records that are being written
  std::deque<typename M::Command> waiting_;  // given while outputs were carried out
  bool busy_ = false;                        // outputs are being carried out
};

}  // namespace tempo::daemon
