#include "protocol/lock/named.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/field_mutator.h"
#include "protocol/lock/mutex.h"

namespace tempo::lock {
namespace {

using Locks = Named<Mutex>;
static_assert(Machine<Locks>);

constexpr mutex::Rules kRules{
    .members = 3, .bounds = Bounds{.delay_max = 10ns}, .mindelay = 4, .delaystep = 3};

Locks locks(std::size_t most, bool again = false) {
  return Locks(
      [](LockId, bool missed) {
        return Mutex(NodeId{1}, Incarnation{5}, kRules,
                     missed ? mutex::Birth::again : mutex::Birth::first);
      },
      most, again);
}

class Fixed final : public Draw {
 public:
  std::uint64_t below(std::uint64_t /*limit*/) override { return 0; }
};

// A machine in somebody's hands; what it does is a list of words.
struct Hand {
  explicit Hand(Locks machine) : site(std::move(machine)) {}

  template <class Do>
  std::vector<std::string> does(Do todo) {
    out.clear();
    Turn<Locks> turn{now, draw, out};
    todo(turn);
    std::vector<std::string> words;
    for (const Output<Locks>& output : out) {
      const bool notice = output.kind == OutputKind::notice;
      const LockId lock = notice ? output.notice.lock : output.message.lock;
      const std::string what = !notice                 ? std::string(name_of(output.message.body))
                               : output.notice.no_room ? "no room"
                               : output.notice.body.kind == mutex::Notice::Kind::granted ? "granted"
                                                                                         : "";
      if (!what.empty()) words.push_back(fmt::format("{} {}", std::to_underlying(lock), what));
    }
    return words;
  }
  std::vector<std::string> acquire(std::uint32_t lock) {
    return does([&](auto& turn) {
      site.command(turn, {LockId{lock}, mutex::Command::acquire(Mode::exclusive)});
    });
  }
  std::vector<std::string> hears(std::uint32_t lock, const mutex::Message& message) {
    return does([&](auto& turn) { site.receive(turn, NodeId{0}, {LockId{lock}, message}); });
  }
  std::vector<std::string> wakes() {
    now = site.timers().first();
    return does([&](auto& turn) { site.wake(turn, TimerId{0}); });
  }

  Locks site;
  Instant now{1s};
  Fixed draw;
  Outbox<Locks> out;
};

using Words = std::vector<std::string>;

TEST(Named, LocksDoNotKnowOfEachOther) {
  Hand hand(locks(8));
  EXPECT_EQ(hand.acquire(7), Words{});
  EXPECT_EQ(hand.wakes(), Words{"7 request"});
  EXPECT_EQ(hand.acquire(3), Words{});
  EXPECT_EQ(hand.wakes(), Words{"3 request"});
  EXPECT_EQ(
      hand.hears(3,
                 {.kind = mutex::Kind::negative, .number = 1, .ahead = 1, .life = Incarnation{5}}),
      Words{});
  EXPECT_EQ(hand.wakes(), Words{"7 granted"});
  EXPECT_EQ(hand.wakes(), Words{});
  EXPECT_EQ(hand.hears(3, {.kind = mutex::Kind::positive, .number = 1, .life = Incarnation{5}}),
            Words{"3 granted"});
  EXPECT_EQ(hand.site.size(), 2U);
  EXPECT_EQ(hand.site.find(LockId{7})->phase(), mutex::Phase::inside);
  EXPECT_EQ(hand.site.find(LockId{4}), nullptr);
}

TEST(Named, ThereIsRoomForSoMany) {
  Hand hand(locks(1));
  hand.acquire(1);
  EXPECT_EQ(hand.acquire(2), Words{"2 no room"});
  EXPECT_EQ(hand.hears(2, {.number = 4}), Words{});
  EXPECT_EQ(hand.hears(2, {.reply = true, .number = 4}), Words{"2 positive"});
  EXPECT_EQ(hand.site.size(), 1U);
}

TEST(Named, WhatMayHaveBeenMissedIsAskedFor) {
  EXPECT_EQ(Hand(locks(2, true)).acquire(1), Words{"1 restart"});
}

TEST(Named, ListsAllItsFields) {
  Hand hand(locks(8));
  hand.acquire(7);
  hand.acquire(3);
  EXPECT_EQ(unnoticed_writes(hand.site, Instant{1s}), Words{});
  Locks copy = locks(8);
  unpack(copy, packed(hand.site, hand.now), hand.now);
  EXPECT_EQ(packed(copy, hand.now), packed(hand.site, hand.now));
}

}  // namespace
}  // namespace tempo::lock
