#include "lab/studies/election/fault.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tempo::sim::election {
namespace {

using tempo::election::Kind;
using ::testing::ElementsAre;
using ::testing::StartsWith;

constexpr std::uint32_t kNodes = 12;
constexpr int kActs = static_cast<int>(Act::rough) + 1;

// Sets only the members that the act's line contains; the others keep their defaults.
rc::Gen<Fault> any_fault() {
  return rc::gen::exec([] {
    const auto node = [] { return NodeId{*rc::gen::inRange(0U, kNodes)}; };
    const auto span = [] { return Nanos{*rc::gen::inRange<std::int64_t>(0, 3'600'000'000'000)}; };
    Fault fault;
    fault.act = static_cast<Act>(*rc::gen::inRange(0, kActs));
    switch (fault.act) {
      case Act::calm:
      case Act::rough:
        break;
      case Act::partition:
        for (int i = *rc::gen::inRange(1, 6); i > 0; --i) fault.side.push_back(node());
        break;
      case Act::cut:
        fault.node = node();
        fault.peer = node();
        break;
      case Act::lose:
      case Act::twice:
      case Act::late:
        fault.node = *rc::gen::arbitrary<bool>() ? node() : kNobody;
        fault.peer = *rc::gen::arbitrary<bool>() ? node() : kNobody;
        fault.any_kind = *rc::gen::arbitrary<bool>();
        if (!fault.any_kind)
          fault.kind =
              static_cast<Kind>(*rc::gen::inRange<std::size_t>(0, tempo::election::kKinds));
        if (fault.act == Act::late) fault.extra = span();
        break;
      default:
        fault.node = node();
    }
    if (*rc::gen::arbitrary<bool>()) fault.lasts = span();
    return fault;
  });
}

// A fault written as text and parsed again is the same fault.
RC_GTEST_PROP(FaultText, ReadsBackAsWritten, ()) {
  const Fault fault = *any_fault();
  const std::string text = fault_text(fault);
  RC_LOG() << text << '\n';
  const Result<Fault> read = parse_fault(text, kNodes);
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->act == fault.act);
  RC_ASSERT(read->node == fault.node);
  RC_ASSERT(read->peer == fault.peer);
  RC_ASSERT(read->lasts == fault.lasts);
  RC_ASSERT(read->side == fault.side);
  RC_ASSERT(read->any_kind == fault.any_kind);
  RC_ASSERT(read->kind == fault.kind);
  RC_ASSERT(read->extra == fault.extra);
  RC_ASSERT(read->at == Instant{});
}

TEST(FaultText, IsReadable) {
  EXPECT_EQ(fault_text({.act = Act::start, .node = NodeId{0}}), "start 1");
  EXPECT_EQ(fault_text({.act = Act::crash, .node = NodeId{2}, .lasts = 500ms}),
            "crash 3 for 500ms");
  EXPECT_EQ(fault_text({.act = Act::partition, .lasts = 5s, .side = {NodeId{0}, NodeId{1}}}),
            "partition 1,2 for 5s");
  EXPECT_EQ(fault_text({.act = Act::cut, .node = NodeId{0}, .peer = NodeId{1}}), "cut 1->2");
  EXPECT_EQ(fault_text({.act = Act::lose,
                        .node = NodeId{0},
                        .peer = NodeId{1},
                        .kind = Kind::election,
                        .any_kind = false}),
            "lose 1->2 election");
  EXPECT_EQ(fault_text({.act = Act::late,
                        .peer = NodeId{2},
                        .lasts = 1s,
                        .kind = Kind::accept,
                        .any_kind = false,
                        .extra = 300ms}),
            "late *->3 accept 300ms for 1s");
  EXPECT_EQ(fault_text({.act = Act::twice}), "twice *->* any");
  EXPECT_EQ(fault_text({.act = Act::calm}), "calm");
}

TEST(ParseFault, AllowsSpacesBetweenWords) {
  const Result<Fault> fault = parse_fault("  partition   1,3   for  2s ", kNodes);
  ASSERT_TRUE(fault.has_value()) << fault.error();
  EXPECT_THAT(fault->side, ElementsAre(NodeId{0}, NodeId{2}));
  EXPECT_EQ(fault->lasts, 2s);
}

std::string failure_of(std::string_view text) {
  const Result<Fault> fault = parse_fault(text, 3);
  return fault.has_value() ? "no failure" : fault.error();
}

TEST(ParseFault, ReportsErrors) {
  EXPECT_EQ(failure_of(""), "'' is not a script command");
  EXPECT_EQ(failure_of("Crash 1"), "'Crash' is not a script command");
  EXPECT_EQ(failure_of("crash"), "'' is not a node; nodes are numbered from 1 to 3");
  EXPECT_EQ(failure_of("crash 4"), "'4' is not a node; nodes are numbered from 1 to 3");
  EXPECT_EQ(failure_of("crash *"), "'*' is not a node; nodes are numbered from 1 to 3");
  EXPECT_EQ(failure_of("crash 1.5"), "'1.5' is not a node; nodes are numbered from 1 to 3");
  EXPECT_EQ(failure_of("crash 99999999999"),
            "'99999999999' is not a node; nodes are numbered from 1 to 3");
  EXPECT_EQ(failure_of("partition"), "'' is not a node; nodes are numbered from 1 to 3");
  EXPECT_EQ(failure_of("lose 1->2"), "unknown message kind ''");
  EXPECT_EQ(failure_of("lose 1>2 any"), "'1>2' must name two nodes, for example 1->2 or *->3");
  EXPECT_EQ(failure_of("calm 1"), "too many words in 'calm 1'");
  EXPECT_EQ(failure_of("crash 1 for 1s now"), "too many words in 'crash 1 for 1s now'");
  EXPECT_THAT(failure_of("crash 1 for"), StartsWith("'' is not a duration"));
  EXPECT_THAT(failure_of("late 1->2 any soon"), StartsWith("'soon' is not a duration"));
}

}  // namespace
}  // namespace tempo::sim::election
