// The state counts of the reference model, compared with a second, naive explorer written from the
// description alone.
#include "lab/check/core_model.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "lab/check/explore.h"

namespace tempo::check {
namespace {

// A process is (state, timeouts used, got, sorted inbox of (type, sender)); a world is a vector of
// them. 0 slave, 1 candidate, 2 accept, 3 master; messages e, a, r, m, k.
struct Process {
  int state = 0;
  int timeouts = 0;
  std::set<int> got;
  std::multiset<std::pair<char, int>> inbox;
  auto operator<=>(const Process&) const = default;
};
using Processes = std::vector<Process>;

class Naive {
 public:
  Naive(int nodes, int timeouts, int capacity)
      : nodes_(nodes), timeouts_(timeouts), capacity_(static_cast<std::size_t>(capacity * nodes)) {
    visit(Processes(static_cast<std::size_t>(nodes)));
    while (!todo_.empty()) {
      const Processes world = todo_.back();
      todo_.pop_back();
      for (int i = 0; i < nodes_; ++i) expand(world, i);
    }
  }

  std::size_t states() const { return seen_.size(); }
  std::size_t transitions() const { return transitions_; }
  // States up to a permutation of the nodes: counts the least member of each orbit.
  std::size_t orbits() const {
    std::set<Processes> least;
    for (const Processes& world : seen_) {
      std::vector<int> to(static_cast<std::size_t>(nodes_));
      for (int i = 0; i < nodes_; ++i) to[static_cast<std::size_t>(i)] = i;
      Processes smallest = world;
      do smallest = std::min(smallest, renamed(world, to));
      while (std::ranges::next_permutation(to).found);
      least.insert(smallest);
    }
    return least.size();
  }

 private:
  static Processes renamed(const Processes& world, const std::vector<int>& to) {
    Processes other(world.size());
    for (std::size_t i = 0; i < world.size(); ++i) {
      Process process = world[i];
      process.got.clear();
      for (const int node : world[i].got) process.got.insert(to[static_cast<std::size_t>(node)]);
      process.inbox.clear();
      for (const auto& [type, from] : world[i].inbox)
        process.inbox.emplace(type, to[static_cast<std::size_t>(from)]);
      other[static_cast<std::size_t>(to[i])] = process;
    }
    return other;
  }

  void visit(const Processes& world) {
    if (seen_.insert(world).second) todo_.push_back(world);
  }
  // Tries every combination of losses.
  void send(Processes world, int from, std::vector<std::pair<char, int>> what) {
    if (what.empty()) {
      ++transitions_;
      visit(world);
      return;
    }
    const auto [type, to] = what.back();
    what.pop_back();
    send(world, from, what);
    auto& inbox = world[static_cast<std::size_t>(to)].inbox;
    if (inbox.size() == capacity_) return;
    inbox.emplace(type, from);
    send(world, from, what);
  }
  std::vector<std::pair<char, int>> to_all(char type, int from) const {
    std::vector<std::pair<char, int>> all;
    for (int to = 0; to < nodes_; ++to)
      if (to != from) all.emplace_back(type, to);
    return all;
  }
  void expand(const Processes& before, int i) {
    const auto at = static_cast<std::size_t>(i);
    Processes world = before;
    Process& self = world[at];
    if (self.state == 0 && self.timeouts < timeouts_) {
      ++self.timeouts;
      self.state = 1;
      self.got.clear();
      send(world, i, to_all('e', i));
    } else if (self.state == 1) {
      self.state = 3;
      send(world, i, to_all('m', i));
    } else if (self.state == 2) {
      self.state = 0;
      send(world, i, {});
    }
    const std::set<std::pair<char, int>> distinct(before[at].inbox.begin(), before[at].inbox.end());
    for (const auto& message : distinct) {
      Processes next = before;
      next[at].inbox.erase(next[at].inbox.find(message));
      take(next, i, message.first, message.second);
    }
  }
  void take(Processes& world, int i, char type, int from) {
    Process& self = world[static_cast<std::size_t>(i)];
    std::vector<std::pair<char, int>> answer;
    const bool was_master = self.state == 3;
    if (type == 'e') {
      answer.emplace_back(self.state == 0 ? 'a' : was_master ? 'm' : 'r', from);
      if (self.state == 0) self.state = 2;
    } else if (type == 'a' && self.state == 1) {
      self.got.insert(from);
      answer.emplace_back('k', from);
    } else if ((type == 'r' && self.state == 1) || (type == 'm' && !was_master)) {
      self.state = 0;
      self.got.clear();
    }
    send(world, i, answer);
  }

  int nodes_;
  int timeouts_;
  std::size_t capacity_;
  std::set<Processes> seen_;
  std::vector<Processes> todo_;
  std::size_t transitions_ = 0;
};

Finding checked(std::uint32_t nodes, std::uint32_t timeouts, std::uint32_t capacity,
                bool symmetry = false) {
  const CoreModel model{timeouts};
  Space<CoreModel> space(model, core_freedom(nodes, capacity, symmetry));
  return Search<CoreModel>(space, {}).run();
}

TEST(CoreModel, HasTheKnownCounts) {
  const Finding one = checked(2, 1, 1);
  EXPECT_TRUE(one.complete);
  EXPECT_EQ(one.states, 405U);
  EXPECT_EQ(one.transitions, 1'284U);
  EXPECT_EQ(checked(2, 2, 1).states, 1'543U);
}

TEST(CoreModel, AgreesWithANaiveExplorer) {
  for (const auto& [nodes, timeouts, capacity] :
       {std::tuple{1, 3, 1}, {2, 1, 1}, {2, 0, 1}, {2, 3, 1}, {2, 1, 2}}) {
    const Naive naive(nodes, timeouts, capacity);
    const auto n = static_cast<std::uint32_t>(nodes);
    const Finding plain =
        checked(n, static_cast<std::uint32_t>(timeouts), static_cast<std::uint32_t>(capacity));
    EXPECT_EQ(plain.states, naive.states()) << nodes << ' ' << timeouts << ' ' << capacity;
    EXPECT_EQ(plain.transitions, naive.transitions());
    EXPECT_EQ(
        checked(n, static_cast<std::uint32_t>(timeouts), static_cast<std::uint32_t>(capacity), true)
            .states,
        naive.orbits());
  }
}

TEST(CoreModel, IsTheSameWithTwoThreads) {
  const CoreModel model{3};
  Space<CoreModel> space(model, core_freedom(2, 2, false));
  Space<CoreModel> other(model, core_freedom(2, 2, false));
  const Finding one = Search<CoreModel>(space, {.threads = 1}).run();
  const Finding two = Search<CoreModel>(other, {.threads = 2}).run();
  EXPECT_EQ(one.states, two.states);
  EXPECT_EQ(one.transitions, two.transitions);
  EXPECT_EQ(one.depth, two.depth);
  EXPECT_TRUE(two.complete);
}

TEST(CoreModel, IsTheSameWithFingerprints) {
  const CoreModel model{3};
  for (const unsigned threads : {1U, 2U}) {
    Space<CoreModel> space(model, core_freedom(2, 2, false));
    Space<CoreModel> other(model, core_freedom(2, 2, false));
    const Finding exact = Search<CoreModel>(space, {}).run();
    const Finding likely =
        Search<CoreModel>(other, {.fingerprints = true, .threads = threads}).run();
    EXPECT_EQ(exact.omission, 0);
    EXPECT_TRUE(likely.complete);
    EXPECT_EQ(likely.states, exact.states);
    EXPECT_EQ(likely.transitions, exact.transitions);
    EXPECT_EQ(likely.depth, exact.depth);
    EXPECT_EQ(likely.omission, omission(exact.states));
  }
  EXPECT_DOUBLE_EQ(omission(std::uint64_t{1} << 32), 0.5);  // the birthday paradox
}

// 4,855,301 states; 810,089 up to a permutation of the processes. Too slow with sanitizers.
TEST(CoreModel, HasTheKnownCountsOfThree) {
  if (std::getenv("TEMPO_SOAK") == nullptr) GTEST_SKIP() << "runs in make soak and make bench";
  const Finding finding = checked(3, 1, 1);
  EXPECT_EQ(finding.states, 4'855'301U);
  EXPECT_EQ(finding.transitions, 38'782'551U);
  EXPECT_EQ(checked(3, 1, 1, true).states, 810'089U);
}

TEST(CoreModel, StopsAtTheMemoryLimit) {
  const CoreModel model{1};
  Space<CoreModel> space(model, core_freedom(3, 1, false));
  const Finding finding = Search<CoreModel>(space, {.memory = std::size_t{8} << 20}).run();
  EXPECT_FALSE(finding.complete);
  EXPECT_EQ(finding.stopped, "memory limit reached");
  EXPECT_LT(finding.bytes, std::size_t{32} << 20);
  EXPECT_GT(finding.states, 10'000U);
}

TEST(CoreModel, StopsOnRequest) {
  const CoreModel model{1};
  Space<CoreModel> space(model, core_freedom(3, 1, false));
  const Finding finding =
      Search<CoreModel>(space, {.progress = [](const Progress& at) { return at.states < 1'000; }})
          .run();
  EXPECT_FALSE(finding.complete);
  EXPECT_EQ(finding.stopped, "interrupted");
}

// Verifies kSymmetric: a machine with renamed nodes, given the renamed inputs, ends in the renamed
// state.
TEST(CoreModel, IsSymmetric) {
  static_assert(CoreModel::kSymmetric);
  Stream chance(7, 1, 1);
  for (int counterexample = 0; counterexample < 200; ++counterexample) {
    std::vector<NodeId> to{NodeId{0}, NodeId{1}, NodeId{2}, NodeId{3}};
    for (std::size_t i = 3; i > 0; --i) std::swap(to[i], to[chance.below(i + 1)]);
    CoreProcess plain(NodeId{0}, 3);
    CoreProcess renamed(to[0], 3);
    Outbox<CoreProcess> out;
    Outbox<CoreProcess> out_renamed;
    EveryDraw draw;
    Turn<CoreProcess> turn{Instant{}, draw, out};
    Turn<CoreProcess> turn_renamed{Instant{}, draw, out_renamed};
    plain.start(turn);
    renamed.start(turn_renamed);
    for (int i = 0; i < 12; ++i) {
      out.clear();
      out_renamed.clear();
      const std::uint64_t what = chance.below(8);
      if (what < 5) {
        const NodeId from{static_cast<std::uint32_t>(1 + chance.below(3))};
        const CoreProcess::Message message{static_cast<CoreProcess::Kind>(what)};
        plain.receive(turn, from, message);
        renamed.receive(turn_renamed, to[index(from)], message);
      } else {
        plain.on_timer(turn, timer_id(what - 5));
        renamed.on_timer(turn_renamed, timer_id(what - 5));
      }
      CoreProcess expected = plain;
      Renamer renamer{to};
      visit_fields(expected, renamer);
      ASSERT_EQ(packed(expected, Instant{}), packed(renamed, Instant{}));
      ASSERT_EQ(out.size(), out_renamed.size());
      for (std::size_t k = 0; k < out.size(); ++k) {
        EXPECT_EQ(out.begin()[k].kind, out_renamed.begin()[k].kind);
        if (out.begin()[k].kind != OutputKind::send) continue;
        EXPECT_EQ(to[index(out.begin()[k].to)], out_renamed.begin()[k].to);
      }
    }
  }
}

}  // namespace
}  // namespace tempo::check
