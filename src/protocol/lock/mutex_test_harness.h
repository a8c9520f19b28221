// One site of the bounded-delay mutex, driven by hand; its outputs are recorded as text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

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

// Draws always the same value.
class Fixed final : public Draw {
 public:
  explicit Fixed(std::uint64_t value) : value_(value) {}
  std::uint64_t below(std::uint64_t limit) override { return std::min(value_, limit - 1); }

 private:
  std::uint64_t value_;
};

// Site 1 of three, driven by hand. Its outputs are a list of texts: "*request 4" to all sites,
// "0:positive 2" to one site, "granted 4".
class Harness {
 public:
  explicit Harness(const Rules& rules, Birth birth = Birth::first, NodeId self = NodeId{1})
      : rules_(rules), site_(self, kIncarnation, rules_, birth) {
    Turn<Mutex> turn = new_turn();
    site_.start(turn);
    record();
  }

  void acquire(Mode mode = Mode::exclusive) { command(Command::acquire(mode)); }
  void release() { command(Command::release()); }
  void command(const Command& command) {
    Turn<Mutex> turn = new_turn();
    site_.command(turn, command);
    record();
  }
  void receive(std::uint32_t from, const Message& message) {
    Turn<Mutex> turn = new_turn();
    site_.receive(turn, NodeId{from}, message);
    record();
  }
  // Lets this many steps pass; due timers fire.
  void pass(Steps steps) {
    const Instant until = now_ + Nanos{static_cast<std::int64_t>(steps)};
    while (site_.timers().first() <= until) {
      now_ = site_.timers().first();
      Turn<Mutex> turn = new_turn();
      site_.on_timer(turn, site_.timers().first_name());
      record();
    }
    now_ = until;
  }
  void draws(std::uint64_t value) { draw_ = Fixed(value); }

  // Outputs since the last call.
  std::vector<std::string> outputs() { return std::exchange(outputs_, {}); }
  const Mutex& site() const { return site_; }

 private:
  Turn<Mutex> new_turn() {
    out_.clear();
    return {now_, draw_, out_};
  }
  void record() {
    EXPECT_EQ(site_.check(), nullptr);
    for (const Output<Mutex>& output : out_) {
      if (output.kind == OutputKind::notice) {
        record(output.notice);
        continue;
      }
      const Message& message = output.message;
      std::string text =
          output.kind == OutputKind::broadcast ? "*" : fmt::format("{}:", index(output.to));
      text += fmt::format("{} {}", name_of(message), message.number);
      if (message.kind == Kind::negative) text += fmt::format(" behind {}", message.ahead);
      if (message.reply) text += " reply";
      if (message.mode == Mode::shared) text += " shared";
      outputs_.push_back(text);
    }
  }
  void record(const Notice& notice) {
    if (notice.kind == Notice::Kind::granted)
      outputs_.push_back(fmt::format("granted {}", notice.number));
    if (notice.kind == Notice::Kind::distrusts) outputs_.emplace_back("distrusts");
    if (notice.kind == Notice::Kind::trusts) outputs_.emplace_back("trusts");
  }

  Rules rules_;
  Mutex site_;
  Instant now_{1s};
  Fixed draw_{0};
  Outbox<Mutex> out_;
  std::vector<std::string> outputs_;
};

using Outputs = std::vector<std::string>;

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
