// Test harness for duties: runs one duty alone, with a clock that the test sets, and collects its
// messages and notices.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/studies/apps/duty.h"
#include "machine/machine.h"

namespace tempo::apps {

inline constexpr NodeId kSelf{1};
inline constexpr Nanos kBound = 10ms;

inline Rules default_rules() {
  return {.members = 3, .bound = kBound, .work = 2 * kBound, .founders = 2};
}

template <class Duty>
class Harness {
 public:
  explicit Harness(const Rules& rules = default_rules()) : rules_(rules), duty_(kSelf, rules_) {}
  Harness(const Harness&) = delete;
  Harness& operator=(const Harness&) = delete;

  const Duty& duty() const { return duty_; }
  Instant now() const { return now_; }

  void command(const Command& command) {
    step([&](auto& turn) { duty_.command(turn, command); });
  }
  void elect(NodeId node, std::uint32_t number = 1) { command(Command::elected(node, number)); }
  void receive(NodeId from, const typename Duty::Message& message) {
    step([&](auto& turn) { duty_.receive(turn, from, message); });
  }
  // Advances the clock and fires every timer that is due.
  void advance(Nanos span) {
    const Instant until = now_ + span;
    while (duty_.timers().first() <= until) {
      now_ = duty_.timers().first();
      step([&](auto& turn) { duty_.on_timer(turn, duty_.timers().first_name()); });
    }
    now_ = until;
  }

  // Messages sent since the last call.
  std::vector<typename Duty::Message> sent() { return std::exchange(sent_, {}); }
  // Notices of this kind since the last call; other notices are dropped.
  std::vector<Notice> notices(Notice::Kind kind) {
    std::vector<Notice> all = std::exchange(notices_, {});
    std::erase_if(all, [&](const Notice& notice) { return notice.kind != kind; });
    return all;
  }
  const char* check() const { return duty_.check(); }

 private:
  struct NoDraw final : Draw {
    std::uint64_t below(std::uint64_t /*limit*/) override { return 0; }
  };

  template <class Do>
  void step(Do todo) {
    out_.clear();
    NoDraw draw;
    Turn<Duty> turn{now_, draw, out_};
    todo(turn);
    for (const auto& output : out_) {
      if (output.kind == OutputKind::notice)
        notices_.push_back(output.notice);
      else
        sent_.push_back(output.message);
    }
    CHECK(duty_.check() == nullptr);
  }

  Rules rules_;
  Duty duty_;
  Instant now_{1s};
  Outbox<Duty> out_;
  std::vector<typename Duty::Message> sent_;
  std::vector<Notice> notices_;
};

}  // namespace tempo::apps
