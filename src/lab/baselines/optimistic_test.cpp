// Spirakis and Tampakas 1989, section 3.2, and Lamport 1977: one writer and one reader, driven by
// hand.
#include "lab/baselines/optimistic.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "machine/field_mutator.h"

namespace tempo::lock {
namespace {

using optimistic::Command;
using optimistic::Message;
using optimistic::Notice;
using optimistic::Phase;
using optimistic::Rules;

// A read takes up to 2 * (2 * 5 + 1) = 22 steps, a write 2 * 3 = 6: waits of 57 to 114 steps.
constexpr Rules kRules{
    .pieces = 2,
    .bounds = {.step_min = 1ns, .step_max = 2ns, .delay_min = 1ns, .delay_max = 5ns},
    .write = 3};

class SmallestDraw final : public Draw {
 public:
  std::uint64_t below(std::uint64_t /*limit*/) override { return 0; }
};

struct Harness {
  Harness(NodeId self, const Rules& rules) : site(self, rules) {
    step([&](auto& turn) { site.start(turn); });
  }
  template <class Input>
  void step(Input input) {
    out.clear();
    Turn<Optimistic> turn{now, draw, out};
    input(turn);
    EXPECT_EQ(site.check(), nullptr);
  }
  void pass(Steps steps) {
    const Instant until = now + Nanos{static_cast<std::int64_t>(steps)};
    while (site.timers().first() <= until) {
      now = site.timers().first();
      step([&](auto& turn) { site.on_timer(turn, site.timers().first_name()); });
    }
    now = until;
  }
  Message reply_to_request(std::uint32_t piece) {
    step([&](auto& turn) { site.receive(turn, NodeId{1}, {.attempt = 1, .piece = piece}); });
    return out.begin()->message;
  }
  void receive(const Message& message) {
    step([&](auto& turn) { site.receive(turn, NodeId{0}, message); });
  }

  Optimistic site;
  Instant now{1s};
  SmallestDraw draw;
  Outbox<Optimistic> out;
};

Harness reader() {
  Harness harness(NodeId{1}, kRules);
  harness.step([&](auto& turn) { harness.site.command(turn, {.kind = Command::Kind::read}); });
  return harness;
}
Message piece(std::uint32_t attempt, std::uint32_t number, std::uint64_t value, std::uint64_t begun,
              std::uint64_t ended) {
  return {.reply = true,
          .attempt = attempt,
          .piece = number,
          .value = value,
          .begun = begun,
          .ended = ended};
}

TEST(OptimisticRules, WaitsCoverTheSlowestReadAndWrite) {
  EXPECT_EQ(kRules.whole_read(), 22U);
  EXPECT_EQ(kRules.whole_write(), 6U);
  EXPECT_EQ(kRules.wait(), 57U);  // 28 * 2 + 1
}

TEST(OptimisticWriter, WritesOnePieceAfterAnother) {
  Harness writer(NodeId{0}, kRules);
  writer.pass(56);
  EXPECT_EQ(writer.site.phase(), Phase::waits);
  writer.pass(1);
  EXPECT_EQ(writer.reply_to_request(0), piece(1, 0, 0, 1, 0));  // begun, nothing written yet
  writer.pass(3);
  EXPECT_EQ(writer.reply_to_request(0), piece(1, 0, 1, 1, 0));
  EXPECT_EQ(writer.reply_to_request(1), piece(1, 1, 0, 1, 0));
  writer.pass(3);
  EXPECT_EQ(writer.reply_to_request(1), piece(1, 1, 1, 1, 1));
  EXPECT_EQ(writer.site.phase(), Phase::waits);
}

TEST(OptimisticWriter, StopsOnCommand) {
  Harness writer(NodeId{0}, kRules);
  writer.pass(58);
  writer.step([&](auto& turn) { writer.site.command(turn, {.kind = Command::Kind::stop}); });
  writer.pass(1000);
  EXPECT_EQ(writer.reply_to_request(0), piece(1, 0, 1, 1, 1));
  EXPECT_EQ(writer.site.phase(), Phase::idle);
}

TEST(OptimisticReader, AcceptsAReadWithoutAnOverlap) {
  Harness harness = reader();
  harness.pass(57);
  harness.receive(piece(1, 0, 4, 4, 4));
  EXPECT_EQ(harness.out.begin()->message.piece, 1U);
  harness.receive(piece(1, 1, 4, 4, 4));
  ASSERT_EQ(harness.out.size(), 1U);
  EXPECT_EQ(harness.out.begin()->notice.kind, Notice::Kind::read);
  EXPECT_EQ(harness.out.begin()->notice.value, 4U);
  EXPECT_FALSE(harness.out.begin()->notice.torn);
}

TEST(OptimisticReader, StartsAgainAfterAnOverlap) {
  struct Case {
    Message first, last;
  };
  for (const Case& overlap :
       {Case{piece(1, 0, 4, 5, 4),
             piece(1, 1, 5, 5, 5)},  // a write was in progress at the beginning
        Case{piece(1, 0, 4, 4, 4), piece(1, 1, 4, 5, 4)},     // a write began
        Case{piece(1, 0, 4, 4, 4), piece(1, 1, 5, 5, 5)}}) {  // a write began and ended
    Harness harness = reader();
    harness.pass(57);
    harness.receive(overlap.first);
    harness.receive(overlap.last);
    EXPECT_EQ(harness.site.phase(), Phase::waits);
    harness.pass(56);
    EXPECT_EQ(harness.site.phase(), Phase::waits);
    harness.pass(1);
    EXPECT_EQ(harness.site.phase(), Phase::works);
  }
}

TEST(OptimisticReader, IgnoresOldRepliesAndUnknownSites) {
  Harness harness = reader();
  harness.pass(57);
  harness.receive(piece(2, 0, 4, 4, 4));
  harness.receive(piece(1, 1, 4, 4, 4));
  harness.step([&](auto& turn) { harness.site.receive(turn, NodeId{2}, piece(1, 0, 4, 4, 4)); });
  EXPECT_TRUE(harness.out.empty());
  harness.pass(22);  // no reply: the reader requests the piece again
  EXPECT_EQ(harness.out.begin()->message.piece, 0U);
}

TEST(Optimistic, LamportsVersionDoesNotWait) {
  Rules rules = kRules;
  rules.waits = false;
  Harness writer(NodeId{0}, rules);
  writer.pass(0);
  EXPECT_EQ(writer.site.phase(), Phase::works);
  writer.pass(6);
  EXPECT_EQ(writer.reply_to_request(0), piece(1, 0, 1, 2, 1));
}

TEST(Optimistic, ListsAllItsFields) {
  Harness harness = reader();
  harness.pass(60);
  EXPECT_EQ(unnoticed_writes(harness.site, Instant{1s}), std::vector<std::string>{});
  EXPECT_EQ(unnoticed_writes(Message{}, Instant{}), std::vector<std::string>{});
}

}  // namespace
}  // namespace tempo::lock
