// One site of the lock of known time in somebody's hands, who tells it what happens and reads what
// it does as words.
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

inline constexpr Incarnation kLife{9};

inline Rules three_sites() {
  return {.members = 3,
          .bounds = kBounds,
          .handling = {.request = 2, .reply = 1},
          .longest_hold = 5,
          .mindelay = 4,
          .delaystep = 3};
}

// Always the same draw.
class Fixed final : public Draw {
 public:
  explicit Fixed(std::uint64_t value) : value_(value) {}
  std::uint64_t below(std::uint64_t limit) override { return std::min(value_, limit - 1); }

 private:
  std::uint64_t value_;
};

// Site 1 of three, in somebody's hands. What it does is a list of words: "*request 4" to all,
// "0:positive 2" to one, "granted 4".
class Harness {
 public:
  explicit Harness(const Rules& rules, Birth birth = Birth::first, NodeId self = NodeId{1})
      : rules_(rules), site_(self, kLife, rules_, birth) {
    Turn<Mutex> turn = fresh();
    site_.start(turn);
    notify();
  }

  void acquire(Mode mode = Mode::exclusive) { notify(Command::acquire(mode)); }
  void release() { notify(Command::release()); }
  void notify(const Command& command) {
    Turn<Mutex> turn = fresh();
    site_.command(turn, command);
    notify();
  }
  void hears(std::uint32_t from, const Message& message) {
    Turn<Mutex> turn = fresh();
    site_.receive(turn, NodeId{from}, message);
    notify();
  }
  // So much time, and whatever is due in it.
  void pass(Steps steps) {
    const Instant until = now_ + Nanos{static_cast<std::int64_t>(steps)};
    while (site_.timers().first() <= until) {
      now_ = site_.timers().first();
      Turn<Mutex> turn = fresh();
      site_.on_timer(turn, site_.timers().first_name());
      notify();
    }
    now_ = until;
  }
  void draws(std::uint64_t value) { draw_ = Fixed(value); }

  // What it has done since this was asked last.
  std::vector<std::string> done() { return std::exchange(done_, {}); }
  const Mutex& site() const { return site_; }

 private:
  Turn<Mutex> fresh() {
    out_.clear();
    return {now_, draw_, out_};
  }
  void notify() {
    EXPECT_EQ(site_.check(), nullptr);
    for (const Output<Mutex>& output : out_) {
      if (output.kind == OutputKind::notice) {
        notify(output.notice);
        continue;
      }
      const Message& message = output.message;
      std::string text =
          output.kind == OutputKind::broadcast ? "*" : fmt::format("{}:", index(output.to));
      text += fmt::format("{} {}", name_of(message), message.number);
      if (message.kind == Kind::negative) text += fmt::format(" behind {}", message.ahead);
      if (message.reply) text += " reply";
      if (message.mode == Mode::shared) text += " shared";
      done_.push_back(text);
    }
  }
  void notify(const Notice& notice) {
    if (notice.kind == Notice::Kind::granted)
      done_.push_back(fmt::format("granted {}", notice.number));
    if (notice.kind == Notice::Kind::distrusts) done_.emplace_back("distrusts");
    if (notice.kind == Notice::Kind::trusts) done_.emplace_back("trusts");
  }

  Rules rules_;
  Mutex site_;
  Instant now_{1s};
  Fixed draw_{0};
  Outbox<Mutex> out_;
  std::vector<std::string> done_;
};

using Words = std::vector<std::string>;

inline Message request(Number number, Mode mode = Mode::exclusive, bool reply = false) {
  return {.kind = Kind::request, .mode = mode, .reply = reply, .number = number};
}
inline Message negative(Number number, Number ahead) {
  return {.kind = Kind::negative, .number = number, .ahead = ahead, .life = kLife};
}
inline Message positive(Number number) {
  return {.kind = Kind::positive, .number = number, .life = kLife};
}

// Has asked, with this number.
inline Harness asking(const Rules& rules, Number number, Mode mode = Mode::exclusive) {
  Harness harness(rules);
  if (number > 1) harness.hears(0, request(number - 1));
  harness.acquire(mode);
  harness.pass(4);
  harness.done();
  return harness;
}
inline Harness inside(const Rules& rules, Number number, Mode mode = Mode::exclusive) {
  Harness harness = asking(rules, number, mode);
  harness.pass(27);
  EXPECT_EQ(harness.done(), Words{fmt::format("granted {}", number)});
  return harness;
}

}  // namespace tempo::lock
