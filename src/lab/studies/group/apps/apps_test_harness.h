// Test harness for duties: runs one duty alone, with a clock that the test sets, and collects its
// messages and notices.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/studies/group/apps/duty.h"
#include "machine/machine_harness.h"

namespace tempo::apps {

inline constexpr NodeId kSelf{1};
inline constexpr Nanos kBound = 10ms;

inline Rules default_rules() {
  return {.members = 3, .bound = kBound, .work = 2 * kBound, .founders = 2};
}

template <class Duty>
class Harness : public MachineHarness<Duty> {
 public:
  explicit Harness(const Rules& rules = default_rules()) : rules_(rules) {
    this->make(kSelf, rules_);
  }
  Harness(const Harness&) = delete;
  Harness& operator=(const Harness&) = delete;

  const Duty& duty() const { return this->machine(); }
  void elect(NodeId node, std::uint32_t number = 1) {
    this->command(Command::elected(node, number));
  }

  // Messages sent since the last call.
  std::vector<typename Duty::Message> sent() { return std::exchange(sent_, {}); }
  // Notices of this kind since the last call; other notices are dropped.
  std::vector<Notice> notices(Notice::Kind kind) {
    std::vector<Notice> all = std::exchange(notices_, {});
    std::erase_if(all, [&](const Notice& notice) { return notice.kind != kind; });
    return all;
  }

 private:
  std::string text_of(const Output<Duty>& output) override {
    if (output.kind == OutputKind::notice)
      notices_.push_back(output.notice);
    else
      sent_.push_back(output.message);
    return "";
  }

  Rules rules_;
  std::vector<typename Duty::Message> sent_;
  std::vector<Notice> notices_;
};

}  // namespace tempo::apps
