// Drives one machine in a test: inputs by name, a clock that the test sets, outputs as text.
//
//     class Harness : public MachineHarness<Mutex> {
//      public:
//       Harness() { make(NodeId{1}, kRules); }
//       std::string text_of(const Output<Mutex>& output) override { ... }
//     };
//
//     EXPECT_EQ(harness.receive(NodeId{0}, request(4)), Lines{"negative 4 to 0"});
//
// Each input returns the lines of its step; an output whose text is empty is not a line. After
// every step the machine's invariants must hold. A test that needs the outputs themselves reads
// `outputs()`, or collects them in `text_of`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "machine/machine.h"

namespace tempo {

// Draws the same value each time, or the same share of the range.
class TestDraw final : public Draw {
 public:
  void set_value(std::uint64_t value) { value_ = value; }
  void set_share(double share) {  // 0: the minimum, 1: the maximum
    value_.reset();
    share_ = share;
  }
  std::uint64_t below(std::uint64_t limit) override {
    return value_ ? std::min(*value_, limit - 1)
                  : static_cast<std::uint64_t>(share_ * static_cast<double>(limit - 1));
  }

 private:
  std::optional<std::uint64_t> value_;
  double share_ = 0;
};

using Lines = std::vector<std::string>;

inline std::string joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += text.empty() ? line : "; " + line;
  return text;
}

template <class M>
class MachineHarness {
 public:
  using Message = typename M::Message;
  using Command = typename M::Command;
  using Time = TimeOf<M>;

  virtual ~MachineHarness() = default;

  Lines start() {
    return step([](M& machine, Turn<M>& turn) { machine.start(turn); });
  }
  Lines receive(NodeId from, const Message& message) {
    return step([&](M& machine, Turn<M>& turn) { machine.receive(turn, from, message); });
  }
  Lines on_timer(TimerId timer) {
    return step([&](M& machine, Turn<M>& turn) { machine.on_timer(turn, timer); });
  }
  Lines command(const Command& command) {
    return step([&](M& machine, Turn<M>& turn) { machine.command(turn, command); });
  }
  // Advances by `span`; timers that become due fire in order. Returns the lines of the steps for
  // which `keep(lines)` is true.
  template <class Keep>
  Lines pass(Nanos span, Keep keep) {
    Lines all;
    const Time end = now_ + span;
    for (int steps = 0; machine().timers().first() <= end; ++steps) {
      if (steps == kMaxSteps) {
        ADD_FAILURE() << "the timers do not stop";
        break;
      }
      Lines lines = wake();
      if (keep(lines)) std::ranges::move(lines, std::back_inserter(all));
    }
    now_ = end;
    return all;
  }
  Lines pass(Nanos span) {
    return pass(span, [](const Lines&) { return true; });
  }
  // Advances to the first deadline, if it is not over, and fires its timer.
  Lines wake() {
    now_ = std::max(now_, machine().timers().first());
    return on_timer(machine().timers().first_name());
  }
  // Advances to the deadline of this timer and fires it.
  Lines run_out(auto timer) {
    EXPECT_TRUE(machine().timers().running(timer));
    if (!machine().timers().running(timer)) return {};
    now_ = machine().timers().at(timer);
    return on_timer(timer_id(timer));
  }
  // Advances by `span` and fires no timer, as in a suspended process.
  void sleep(Nanos span) { now_ += span; }

  const M& machine() const { return *machine_; }
  Time now() const { return now_; }
  const Outbox<M>& outputs() const { return out_; }  // of the last step
  TestDraw& draw() { return draw_; }

 protected:
  explicit MachineHarness(Time now = Time{1s}) : now_(now) {}
  MachineHarness(const MachineHarness&) = default;
  MachineHarness& operator=(const MachineHarness&) = default;

  void make(auto&&... arguments) {
    machine_.emplace(std::forward<decltype(arguments)>(arguments)...);
  }

  // For tests that move a machine: take() takes it out of the harness, put() assigns it.
  M take() { return std::move(*machine_); }
  void put(M&& machine) { machine_ = std::move(machine); }

  // "request to 3", "loop to all"; notices, records and messages without a name are not shown.
  virtual std::string text_of(const Output<M>& output) {
    if constexpr (requires { name_of(output.message); }) {
      if (output.kind == OutputKind::broadcast)
        return fmt::format("{} to all", name_of(output.message));
      if (output.kind == OutputKind::send)
        return fmt::format("{} to {}", name_of(output.message), index(output.to));
    }
    return "";
  }

 private:
  static constexpr int kMaxSteps = 1'000'000;  // of timers, in one call of pass()

  Lines step(auto input) {
    out_.clear();
    Turn<M> turn{now_, draw_, out_};
    input(*machine_, turn);
    EXPECT_EQ(machine_->check(), nullptr) << machine_->check();
    Lines lines;
    for (const Output<M>& output : out_)
      if (std::string line = text_of(output); !line.empty()) lines.push_back(std::move(line));
    return lines;
  }

  std::optional<M> machine_;
  Time now_;
  TestDraw draw_;
  Outbox<M> out_;
};

}  // namespace tempo
