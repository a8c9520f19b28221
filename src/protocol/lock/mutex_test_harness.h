// One site of the bounded-delay mutex, driven by hand; its outputs are recorded as text.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "machine/machine_harness.h"
#include "protocol/lock/mutex.h"

namespace tempo::lock {

using mutex::Birth;
using mutex::Command;
using mutex::Kind;
using mutex::Message;
using mutex::Notice;
using mutex::Number;
using mutex::Phase;
using mutex::Rules;
using mutex::Variant;

// Steps of 1 to 2 ns, delays up to 10 ns: a window of 27 steps, a patience of 71.
inline constexpr Bounds kBounds{
    .step_min = 1ns, .step_max = 2ns, .delay_min = 1ns, .delay_max = 10ns};

inline constexpr Incarnation kIncarnation{9};

inline Rules three_sites() {
  return {.members = 3,
          .bounds = kBounds,
          .handling = {.request = 2, .reply = 1},
          .longest_hold = 5,
          .mindelay = 4,
          .delaystep = 3};
}

// Site 1 of three, driven by hand. Its outputs are a list of texts: "*request 4" to all sites,
// "0:positive 2" to one site, "granted 4".
class Harness : public MachineHarness<Mutex> {
 public:
  explicit Harness(const Rules& rules, Birth birth = Birth::first, NodeId self = NodeId{1})
      : rules_(rules) {
    make(self, kIncarnation, rules_, birth);
    start();
  }

  void acquire(Mode mode = Mode::exclusive) { command(Command::acquire(mode)); }
  void release() { command(Command::release()); }
  void receive(std::uint32_t from, const Message& message) {
    MachineHarness::receive(NodeId{from}, message);
  }
  // Lets this many steps pass; due timers fire.
  void pass(Steps steps) { MachineHarness::pass(Nanos{static_cast<std::int64_t>(steps)}); }
  void draws(std::uint64_t value) { draw().set_value(value); }

  // Outputs since the last call.
  Lines outputs() { return std::exchange(outputs_, {}); }
  const Mutex& site() const { return machine(); }

 private:
  std::string text_of(const Output<Mutex>& output) override {
    std::string text = output.kind == OutputKind::notice ? text_of(output.notice)
                       : output.kind == OutputKind::send
                           ? fmt::format("{}:{}", index(output.to), text_of(output.message))
                           : "*" + text_of(output.message);
    if (!text.empty()) outputs_.push_back(text);
    return text;
  }
  static std::string text_of(const Message& message) {
    std::string text = fmt::format("{} {}", name_of(message), message.number);
    if (message.kind == Kind::negative) text += fmt::format(" behind {}", message.ahead);
    if (message.reply) text += " reply";
    if (message.mode == Mode::shared) text += " shared";
    return text;
  }
  static std::string text_of(const Notice& notice) {
    if (notice.kind == Notice::Kind::granted) return fmt::format("granted {}", notice.number);
    if (notice.kind == Notice::Kind::distrusts) return "distrusts";
    return notice.kind == Notice::Kind::trusts ? "trusts" : "";
  }

  Rules rules_;
  Lines outputs_;
};

using Outputs = Lines;

inline Message request(Number number, Mode mode = Mode::exclusive, bool reply = false) {
  return {.kind = Kind::request, .mode = mode, .reply = reply, .number = number};
}
inline Message negative(Number number, Number ahead) {
  return {.kind = Kind::negative, .number = number, .ahead = ahead, .life = kIncarnation};
}
inline Message positive(Number number) {
  return {.kind = Kind::positive, .number = number, .life = kIncarnation};
}

// A site that has sent its request with this number.
inline Harness asking(const Rules& rules, Number number, Mode mode = Mode::exclusive) {
  Harness harness(rules);
  if (number > 1) harness.receive(0, request(number - 1));
  harness.acquire(mode);
  harness.pass(4);
  harness.outputs();
  return harness;
}
inline Harness inside(const Rules& rules, Number number, Mode mode = Mode::exclusive) {
  Harness harness = asking(rules, number, mode);
  harness.pass(27);
  EXPECT_EQ(harness.outputs(), Outputs{fmt::format("granted {}", number)});
  return harness;
}

}  // namespace tempo::lock
