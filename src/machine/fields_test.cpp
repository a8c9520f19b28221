#include "machine/fields.h"

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/field_mutator.h"
#include "machine/timers.h"

namespace tempo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

enum class Mood : std::uint8_t { calm, angry };
const char* name_of(Mood mood) { return mood == Mood::calm ? "calm" : "angry"; }

enum class Clock : std::uint8_t { tick, tock, count };

struct Inner {
  std::uint16_t small = 0;
  Sequence sequence = kNoSequence;

  static constexpr auto fields(auto list) {
    return list(field<&Inner::small>("small"), field<&Inner::sequence>("sequence"));
  }
};

// One field of every kind that a list may hold.
struct Everything {
  bool flag = false;
  Mood mood = Mood::calm;
  std::int32_t number = -3;
  std::uint64_t wide = std::numeric_limits<std::uint64_t>::max();
  Nanos span = 5ms;
  Instant deadline = kNever;
  NodeId node = kNobody;
  Incarnation incarnation{7};
  Epoch epoch = kNoEpoch;
  Inner inner;
  Timers<Clock> timers;
  std::optional<NodeId> leader;
  std::vector<Inner> list;
  std::array<std::uint8_t, 3> row{1, 2, 3};
  NodeSet members;
  NodeMap<Inner> peers;

  static constexpr auto fields(auto list) {
    using M = Everything;
    return list(field<&M::flag>("flag"), field<&M::mood>("mood"), field<&M::number>("number"),
                field<&M::wide>("wide"), field<&M::span>("span"), field<&M::deadline>("deadline"),
                field<&M::node>("node"), field<&M::incarnation>("incarnation"),
                field<&M::epoch>("epoch"), field<&M::inner>("inner"), field<&M::timers>("timers"),
                field<&M::leader>("leader"), field<&M::list>("list"), field<&M::row>("row"),
                field<&M::members>("members"), field<&M::peers>("peers"));
  }
};

constexpr Instant at(Nanos span) { return Instant{span}; }

Everything filled() {
  Everything all;
  all.deadline = at(12s);
  all.node = node_at(2);
  all.epoch = {.round = 4, .node = node_at(1), .incarnation = Incarnation{9}};
  all.timers.set(Clock::tock, at(11s));
  all.leader = node_at(1);
  all.list = {{.small = 1, .sequence = Sequence{2}}, {.small = 3, .sequence = Sequence{4}}};
  all.members.insert(node_at(1));
  all.members.insert(node_at(70));
  all.peers[node_at(1)] = {.small = 5, .sequence = Sequence{6}};
  all.peers[node_at(70)] = {.small = 7, .sequence = Sequence{8}};
  return all;
}

TEST(Packing, StoresInstantsRelativeToNow) {
  Everything early = filled();
  Everything late = filled();
  late.deadline += 100s;
  late.timers.set(Clock::tock, at(111s));
  EXPECT_NE(packed(early, at(10s)), packed(late, at(10s)));
  EXPECT_EQ(packed(early, at(10s)), packed(late, at(110s)));
  EXPECT_NE(packed(early, at(10s)), packed(early, at(10s) + 1ns));
}

struct Deadline {
  Instant when;
  static constexpr auto fields(auto list) { return list(field<&Deadline::when>("when")); }
};

TEST(Packing, TreatsExpiredDeadlinesAsEqual) {
  const Instant now = at(10s);
  const std::string due_now = packed(Deadline{now}, now);
  EXPECT_EQ(packed(Deadline{at(0s)}, now), due_now);
  EXPECT_EQ(packed(Deadline{now - 1ns}, now), due_now);
  EXPECT_NE(packed(Deadline{now + 1ns}, now), due_now);
  EXPECT_NE(packed(Deadline{kNever}, now), due_now);
  EXPECT_NE(packed(Deadline{now + 1ns}, now), packed(Deadline{kNever}, now));
}

TEST(Packing, DoesNotDependOnTheOrderOfInsertion) {
  // 96 keys fill a map of 128 slots up to its limit. One more access makes one of the two maps
  // grow, so that equal maps hold their keys in different slots.
  constexpr std::uint32_t kKeys = 96;
  Everything up;
  Everything down;
  for (std::uint32_t i = 0; i < kKeys; ++i) {
    const std::uint32_t j = kKeys - 1 - i;
    up.members.insert(NodeId{i * 7});
    down.members.insert(NodeId{j * 7});
    up.peers[NodeId{i * 7}] = {.small = static_cast<std::uint16_t>(i), .sequence = Sequence{i}};
    down.peers[NodeId{j * 7}] = {.small = static_cast<std::uint16_t>(j), .sequence = Sequence{j}};
  }
  down.peers[NodeId{0}].small = 0;
  EXPECT_EQ(packed(up, at(0s)), packed(down, at(0s)));
  EXPECT_EQ(hash(up, at(0s)), hash(down, at(0s)));
}

TEST(Packing, IgnoresErasedSetElements) {
  Everything empty;
  Everything erased;
  erased.members.insert(node_at(500));
  erased.members.erase(node_at(500));
  EXPECT_EQ(packed(empty, at(0s)), packed(erased, at(0s)));
}

struct Two {
  std::vector<std::uint32_t> left;
  std::vector<std::uint32_t> right;
  static constexpr auto fields(auto list) {
    return list(field<&Two::left>("left"), field<&Two::right>("right"));
  }
};

// Without the sizes, [1 2][] and [1][2] would pack to the same bytes.
TEST(Packing, KeepsNeighbouringListsApart) {
  EXPECT_NE(packed(Two{{1, 2}, {}}, at(0s)), packed(Two{{1}, {2}}, at(0s)));
  EXPECT_NE(packed(Two{{}, {1, 2}}, at(0s)), packed(Two{{1}, {2}}, at(0s)));
}

struct Number {
  std::uint64_t value;
  static constexpr auto fields(auto list) { return list(field<&Number::value>("value")); }
};

// The exact bytes, because packed states of one build may be compared with those of another.
TEST(Packing, WritesSevenBitsPerByteLowFirst) {
  EXPECT_EQ(packed(Number{0}, at(0s)), std::string("\x00", 1));
  EXPECT_EQ(packed(Number{127}, at(0s)), "\x7f");
  EXPECT_EQ(packed(Number{128}, at(0s)), "\x80\x01");
  EXPECT_EQ(packed(Number{300}, at(0s)), "\xac\x02");
  EXPECT_EQ(packed(Number{std::numeric_limits<std::uint64_t>::max()}, at(0s)),
            "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

TEST(Packing, NoticesAWriteIntoEveryField) {
  const Writes empty = write_into_every_field(Everything{}, at(10s));
  EXPECT_THAT(empty.unnoticed, IsEmpty());
  // 8 single leaves, the epoch's 3, inner's 2, 2 timers, the optional, the vector, the row's 3, the
  // set and the map.
  EXPECT_EQ(empty.tried, 22U);

  const Writes full = write_into_every_field(filled(), at(10s));
  EXPECT_THAT(full.unnoticed, IsEmpty());
  // In addition the contents of the containers: the leader, two Inners, and two keys with an Inner
  // each.
  EXPECT_EQ(full.tried, 22U + 1 + 2 * 2 + 2 * 3);
}

struct Copies {
  std::uint32_t kept = 1;
  Inner inner;
  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    auto copy = self.inner;
    visit("kept", self.kept);
    visit("inner", copy);
  }
};

// The helper itself must be able to fail: this list visits a copy.
TEST(FieldMutator, NamesAFieldWhoseChangeIsLost) {
  EXPECT_THAT(unnoticed_writes(Copies{}, at(0s)), ElementsAre("inner.small", "inner.sequence"));
}

struct Derived {
  std::uint32_t kept = 1;
  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    const std::uint32_t twice = self.kept * 2;
    visit("kept", self.kept);
    visit("twice", twice);
  }
};

TEST(FieldMutator, SkipsConstFields) {
  EXPECT_THAT(unnoticed_writes(Derived{}, at(0s)), IsEmpty());
}

// As many entries as members, but one is missing. A list with fewer entries does not compile: see
// testdata/forgotten_member.cpp.
struct Incomplete {
  std::uint8_t listed = 1;
  std::uint8_t forgotten = 2;
  static constexpr auto fields(auto list) {
    return list(field<&Incomplete::listed>("listed"), field<&Incomplete::listed>("again"));
  }
};
static_assert(!FieldCheck::complete<Incomplete>());
static_assert(FieldCheck::complete<Everything>());

TEST(Renaming, ReachesEveryNode) {
  Everything all = filled();
  const std::vector<NodeId> swap{node_at(0), node_at(2), node_at(1)};
  Renamer renamer{swap};
  visit_fields(all, renamer);

  EXPECT_EQ(all.node, node_at(1));
  EXPECT_EQ(all.epoch.node, node_at(2));
  EXPECT_EQ(all.leader, node_at(2));
  EXPECT_TRUE(all.members.contains(node_at(2)));
  EXPECT_FALSE(all.members.contains(node_at(1)));
  ASSERT_NE(all.peers.find(node_at(2)), nullptr);
  EXPECT_EQ(all.peers.find(node_at(2))->small, 5);
  EXPECT_EQ(all.peers.find(node_at(1)), nullptr);
  // A node without a new number keeps its own.
  EXPECT_TRUE(all.members.contains(node_at(70)));
  EXPECT_NE(all.peers.find(node_at(70)), nullptr);
}

TEST(Renaming, SwappingTwiceRestoresTheValue) {
  Everything all = filled();
  const std::vector<NodeId> swap{node_at(0), node_at(2), node_at(1)};
  Renamer renamer{swap};
  visit_fields(all, renamer);
  EXPECT_NE(packed(all, at(0s)), packed(filled(), at(0s)));
  visit_fields(all, renamer);
  EXPECT_EQ(packed(all, at(0s)), packed(filled(), at(0s)));
}

TEST(Renaming, KeepsNobody) {
  Everything all;
  const std::vector<NodeId> swap{node_at(1), node_at(0)};
  Renamer renamer{swap};
  visit_fields(all, renamer);
  EXPECT_EQ(all.node, kNobody);
  EXPECT_EQ(all.epoch.node, kNobody);
  EXPECT_EQ(all.leader, std::nullopt);
}

TEST(Printing, WritesReadableText) {
  Everything all = filled();
  all.wide = 6;
  all.mood = Mood::angry;
  EXPECT_EQ(printed(all, at(10s)),
            "flag=0 mood=angry number=-3 wide=6 span=5000000ns deadline=+2000000000ns node=2 "
            "incarnation=7 epoch=4/1/9 inner{small=0 sequence=0} "
            "timers{timer=never timer=+1000000000ns} leader=1 leader=1 "
            "list=2 list{small=1 sequence=2} list{small=3 sequence=4} row=3 row=1 row=2 row=3 "
            "members=2 members=1 members=70 "
            "peers=2 peers=1 peers{small=5 sequence=6} peers=70 peers{small=7 sequence=8}");
}

TEST(Printing, WritesNobodyAsMinusOneAndExpiredDeadlinesAsNegative) {
  Everything all;
  all.deadline = at(9s);
  const std::string text = printed(all, at(10s));
  EXPECT_NE(text.find("node=-1"), std::string::npos) << text;
  EXPECT_NE(text.find("deadline=-1000000000ns"), std::string::npos) << text;
  EXPECT_NE(text.find("epoch=0/-1/0"), std::string::npos) << text;
}

}  // namespace
}  // namespace tempo
