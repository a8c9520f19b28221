// One host's leadership, driven by hand; its outputs are recorded as text. The host has number 5.
#pragma once

#include <cstdint>
#include <string>

#include <fmt/core.h>

#include "machine/machine_harness.h"
#include "protocol/group/leadership.h"

namespace tempo::groups {

class LeadershipHarness : public MachineHarness<Leadership> {
 public:
  static constexpr Rules kRules{.lease = 1s};
  static constexpr Nanos kMinStay = 10s;

  LeadershipHarness() : MachineHarness(BootTime{1000s}) { make(NodeId{5}, kRules); }

  // Each returns the outputs: "ask; says 100 asks".
  std::string stand(Capacity capacity, bool once = false) {
    return command(
        {.kind = Command::Kind::stand, .capacity = capacity, .min_stay = kMinStay, .once = once});
  }
  std::string offer(Capacity capacity) {
    return command({.kind = Command::Kind::offer, .capacity = capacity});
  }
  std::string elected(std::uint32_t node) {
    return command({.kind = Command::Kind::elected, .node = NodeId{node}});
  }
  std::string granted(std::uint64_t token) {
    return command({.kind = Command::Kind::granted, .token = Token{token}});
  }
  std::string command(const Command& command) { return joined(MachineHarness::command(command)); }
  std::string command(Command::Kind kind) { return command(Command{.kind = kind}); }
  std::string receive(std::uint32_t from, const Heartbeat& heartbeat) {
    return joined(MachineHarness::receive(NodeId{from}, heartbeat));
  }
  std::string leads(std::uint32_t from, std::uint64_t term, std::uint32_t heir = index(kNobody)) {
    return receive(from,
                   {.capacity = 100, .leads = true, .term = Token{term}, .heir = NodeId{heir}});
  }
  // Lets time pass; omits steps that only send a heartbeat.
  std::string pass(Nanos span) {
    return joined(MachineHarness::pass(span, [](const Lines& lines) {
      return !lines.empty() && !lines.front().starts_with("says");
    }));
  }
  // A candidate with this capacity, elected and with the lease of term 7.
  void reign(Capacity capacity) {
    stand(capacity);
    pass(kRules.silence());
    elected(5);
    granted(7);
  }

 private:
  std::string text_of(const Output<Leadership>& output) override {
    return output.kind == OutputKind::notice ? text_of(output.notice) : text_of(output.message);
  }
  static std::string text_of(const Heartbeat& heartbeat) {
    std::string text = "says";
    if (heartbeat.capacity > kNotCandidate) text += fmt::format(" {}", heartbeat.capacity);
    if (heartbeat.leads) text += fmt::format(" leads {}", std::to_underlying(heartbeat.term));
    if (heartbeat.asks) text += " asks";
    if (heartbeat.heir != kNobody) text += fmt::format(" heir {}", index(heartbeat.heir));
    if (heartbeat.over > kNotOver) text += " over";
    return text;
  }
  static std::string text_of(const Notice& notice) {
    switch (notice.kind) {
      case Notice::Kind::hold:
        return "hold";
      case Notice::Kind::offer:
        return fmt::format("offer {}", notice.capacity);
      case Notice::Kind::ask:
        return "ask";
      case Notice::Kind::drop:
        return "drop";
      case Notice::Kind::leads:
        return fmt::format("lead {}", std::to_underlying(notice.token));
      case Notice::Kind::stop:
        return "stop";
      case Notice::Kind::lost:
        return "lost";
      case Notice::Kind::follows:
        return notice.node == kNobody ? "follow nobody"
                                      : fmt::format("follow {}", index(notice.node));
      case Notice::Kind::no_majority:
        return "no majority";
      case Notice::Kind::job_done:
        return fmt::format("job done by {}", index(notice.node));
    }
    return "?";
  }
};

}  // namespace tempo::groups
