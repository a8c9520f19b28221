// Spirakis and Tampakas 1989, section 3.2, and Lamport 1977: one writer and one reader, driven by
// hand.
#include "lab/baselines/optimistic.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "machine/field_mutator.h"
#include "machine/machine_harness.h"

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

class Harness : public MachineHarness<Optimistic> {
 public:
  Harness(NodeId self, const Rules& rules) {
    make(self, rules);
    start();
  }
  using MachineHarness::receive;
  void receive(const Message& message) { receive(NodeId{0}, message); }
  void pass(Steps steps) { MachineHarness::pass(Nanos{static_cast<std::int64_t>(steps)}); }
  Message reply_to_request(std::uint32_t piece) {
    receive(NodeId{1}, {.attempt = 1, .piece = piece});
    return outputs().begin()->message;
  }
};

Harness reader() {
  Harness harness(NodeId{1}, kRules);
  harness.command({.kind = Command::Kind::read});
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
  EXPECT_EQ(writer.machine().phase(), Phase::waits);
  writer.pass(1);
  EXPECT_EQ(writer.reply_to_request(0), piece(1, 0, 0, 1, 0));  // begun, nothing written yet
  writer.pass(3);
  EXPECT_EQ(writer.reply_to_request(0), piece(1, 0, 1, 1, 0));
  EXPECT_EQ(writer.reply_to_request(1), piece(1, 1, 0, 1, 0));
  writer.pass(3);
  EXPECT_EQ(writer.reply_to_request(1), piece(1, 1, 1, 1, 1));
  EXPECT_EQ(writer.machine().phase(), Phase::waits);
}

TEST(OptimisticWriter, StopsOnCommand) {
  Harness writer(NodeId{0}, kRules);
  writer.pass(58);
  writer.command({.kind = Command::Kind::stop});
  writer.pass(1000);
  EXPECT_EQ(writer.reply_to_request(0), piece(1, 0, 1, 1, 1));
  EXPECT_EQ(writer.machine().phase(), Phase::idle);
}

TEST(OptimisticReader, AcceptsAReadWithoutAnOverlap) {
  Harness harness = reader();
  harness.pass(57);
  harness.receive(piece(1, 0, 4, 4, 4));
  EXPECT_EQ(harness.outputs().begin()->message.piece, 1U);
  harness.receive(piece(1, 1, 4, 4, 4));
  ASSERT_EQ(harness.outputs().size(), 1U);
  EXPECT_EQ(harness.outputs().begin()->notice.kind, Notice::Kind::read);
  EXPECT_EQ(harness.outputs().begin()->notice.value, 4U);
  EXPECT_FALSE(harness.outputs().begin()->notice.torn);
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
    EXPECT_EQ(harness.machine().phase(), Phase::waits);
    harness.pass(56);
    EXPECT_EQ(harness.machine().phase(), Phase::waits);
    harness.pass(1);
    EXPECT_EQ(harness.machine().phase(), Phase::works);
  }
}

TEST(OptimisticReader, IgnoresOldRepliesAndUnknownSites) {
  Harness harness = reader();
  harness.pass(57);
  harness.receive(piece(2, 0, 4, 4, 4));
  harness.receive(piece(1, 1, 4, 4, 4));
  harness.receive(NodeId{2}, piece(1, 0, 4, 4, 4));
  EXPECT_TRUE(harness.outputs().empty());
  harness.pass(22);  // no reply: the reader requests the piece again
  EXPECT_EQ(harness.outputs().begin()->message.piece, 0U);
}

TEST(Optimistic, LamportsVersionDoesNotWait) {
  Rules rules = kRules;
  rules.waits = false;
  Harness writer(NodeId{0}, rules);
  writer.pass(0);
  EXPECT_EQ(writer.machine().phase(), Phase::works);
  writer.pass(6);
  EXPECT_EQ(writer.reply_to_request(0), piece(1, 0, 1, 2, 1));
}

TEST(Optimistic, ListsAllItsFields) {
  Harness harness = reader();
  harness.pass(60);
  EXPECT_EQ(unnoticed_writes(harness.machine(), Instant{1s}), std::vector<std::string>{});
  EXPECT_EQ(unnoticed_writes(Message{}, Instant{}), std::vector<std::string>{});
}

}  // namespace
}  // namespace tempo::lock
