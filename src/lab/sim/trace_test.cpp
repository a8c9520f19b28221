#include "lab/sim/trace.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace tempo::sim {
namespace {

constexpr Instant at(Nanos span) { return Instant{span}; }
constexpr NodeId kOne{0};
constexpr NodeId kTwo{1};

TEST(Milliseconds, HaveNoTrailingZeros) {
  EXPECT_EQ(milliseconds(at(0ns)), "0");
  EXPECT_EQ(milliseconds(at(1500250us)), "1500.25");
  EXPECT_EQ(milliseconds(at(2s)), "2000");
  EXPECT_EQ(milliseconds(at(1ns)), "0.000001");
  EXPECT_EQ(milliseconds(at(10ms + 10ns)), "10.00001");
}

TEST(TraceLine, DescribesEveryKind) {
  EXPECT_EQ(line({.at = at(2s), .what = What::sent, .node = kOne, .label = "masterup"}),
            "2000 1->* masterup");
  EXPECT_EQ(line({.at = at(2s), .what = What::sent, .node = kOne, .peer = kTwo, .label = "quit"}),
            "2000 1->2 quit");
  EXPECT_EQ(
      line({.at = at(2001ms), .what = What::received, .node = kOne, .peer = kTwo, .label = "quit"}),
      "2001 1->2 quit received");
  EXPECT_EQ(line({.at = at(2s), .what = What::lost, .node = kTwo, .peer = kOne, .label = "ack"}),
            "2000 2->1 ack lost");
  EXPECT_EQ(line({.at = at(1500us), .what = What::becomes, .node = kTwo, .label = "master"}),
            "1.5 2 becomes master");
  EXPECT_EQ(line({.at = at(3s), .what = What::disturbed, .node = kTwo, .label = "crashes"}),
            "3000 2 crashes");
  EXPECT_EQ(line({.at = at(3s), .what = What::disturbed, .node = kNobody, .label = "whole"}),
            "3000 network: whole");
}

Trace three(bool keep) {
  Trace trace(keep);
  trace.add({.at = at(1ms),
             .what = What::sent,
             .node = kOne,
             .peer = kTwo,
             .number = 1,
             .label = "quit"});
  trace.add({.at = at(2ms),
             .what = What::received,
             .node = kOne,
             .peer = kTwo,
             .number = 1,
             .sent = at(1ms),
             .label = "quit"});
  trace.add({.at = at(2ms), .what = What::becomes, .node = kTwo, .label = "slave"});
  return trace;
}

TEST(TraceText, OmitsReceptionsUnlessRequested) {
  EXPECT_EQ(text(three(true), false), "1 1->2 quit\n2 2 becomes slave\n");
  EXPECT_EQ(text(three(true), true), "1 1->2 quit\n2 1->2 quit received\n2 2 becomes slave\n");
  EXPECT_EQ(text(Trace(true), true), "");
}

TEST(Trace, KeepsHappeningsOnlyOnRequest) {
  EXPECT_EQ(three(true).happenings().size(), 3U);
  EXPECT_TRUE(three(false).happenings().empty());
  EXPECT_TRUE(three(false).complete());
}

TEST(Trace, ReportsWhenItIsFull) {
  Trace trace(true);
  const Happening happening{.at = at(1ms), .what = What::becomes, .node = kOne, .label = "slave"};
  for (std::size_t i = 0; i < Trace::kMaxHappenings; ++i) trace.add(happening);
  EXPECT_TRUE(trace.complete());
  const std::uint64_t hash = trace.hash();
  trace.add(happening);
  EXPECT_FALSE(trace.complete());
  EXPECT_EQ(trace.happenings().size(), Trace::kMaxHappenings);
  EXPECT_NE(trace.hash(), hash);  // the hash includes happenings that are not kept
}

TEST(Trace, HashesWhetherKeptOrNot) {
  EXPECT_EQ(three(true).hash(), three(false).hash());
  EXPECT_EQ(three(true).hash(), three(true).hash());
  EXPECT_NE(three(true).hash(), Trace(true).hash());
}

// Every difference that is visible in the text changes the hash.
TEST(Trace, HashCoversEveryField) {
  const Happening plain{
      .at = at(1ms), .what = What::sent, .node = kOne, .peer = kTwo, .label = "quit"};
  std::vector<Happening> different(9, plain);
  different[1].at += 1ns;
  different[2].what = What::lost;
  different[3].node = kTwo;
  different[4].peer = kOne;
  different[5].peer = kNobody;
  different[6].label = "quip";
  different[7].label = "qui";
  different[8].label = "";
  std::set<std::uint64_t> hashes;
  for (const Happening& happening : different) {
    Trace trace(false);
    trace.add(happening);
    hashes.insert(trace.hash());
  }
  EXPECT_EQ(hashes.size(), different.size());
}

TEST(Trace, HashDependsOnTheOrder) {
  const Happening first{.at = at(1ms), .what = What::becomes, .node = kOne, .label = "slave"};
  const Happening second{.at = at(1ms), .what = What::becomes, .node = kTwo, .label = "slave"};
  Trace there(false);
  there.add(first);
  there.add(second);
  Trace back(false);
  back.add(second);
  back.add(first);
  EXPECT_NE(there.hash(), back.hash());
  Trace twice(false);
  twice.add(first);
  twice.add(first);
  Trace once(false);
  once.add(first);
  EXPECT_NE(twice.hash(), once.hash());
}

// Computed by hand from the definition: (0 ^ 1) * 0x9e3779b97f4a7c15, then x ^ x >> 29.
TEST(Mixed, IsTheSameEverywhere) {
  const std::uint64_t product = 0x9e3779b97f4a7c15;
  EXPECT_EQ(mixed(0, 1), product ^ (product >> 29));
  EXPECT_EQ(mixed(0, 0), 0U);
  EXPECT_NE(mixed(mixed(0, 1), 2), mixed(mixed(0, 2), 1));
}

}  // namespace
}  // namespace tempo::sim
