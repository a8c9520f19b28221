// Small machines with planted faults, and the results of searching them.
#include "lab/check/explore.h"

#include <array>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "lab/check/core_model.h"
#include "machine/machine.h"

namespace tempo::check {
namespace {

// One machine with several behaviours.
class Toy {
 public:
  enum class Behaviour : std::uint8_t {
    baton,         // node 0 passes a baton on; fault: a duplicate counts as a baton
    meeting,       // every node broadcasts hello once; fault: it does not repeat it
    patient,       // the same, repeated until a hello arrives
    sequence,      // node 0 sends 1, then 2
    broadcasting,  // nodes 0 and 1 broadcast their numbers
    racing,        // node 0 sends a request and waits five ticks for the reply
    drawing,       // node 0 draws one of three values and sends it
    byzantine,     // node 1 sends arbitrary values at arbitrary times, three times
  };
  enum class Timer : std::uint8_t { act, idle, count };
  struct Message {
    std::uint8_t value = 0;
    static constexpr auto fields(auto list) { return list(field<&Message::value>("value")); }
  };
  using Command = Nothing;
  using Notice = Nothing;

  Toy(NodeId self, Behaviour behaviour) : self_(self), behaviour_(behaviour) {}

  void start(Turn<Toy>& turn) {
    switch (behaviour_) {
      case Behaviour::baton:
        if (first()) hold(turn);
        break;
      case Behaviour::meeting:
      case Behaviour::patient:
        turn.out.broadcast({1});
        timers_.set(Timer::idle, turn.now + 4ns);
        break;
      case Behaviour::sequence:
        if (first()) {
          turn.out.send(NodeId{1}, {1});
          turn.out.send(NodeId{1}, {2});
        }
        break;
      case Behaviour::broadcasting:
        if (index(self_) < 2) turn.out.broadcast({static_cast<std::uint8_t>(index(self_) + 1)});
        break;
      case Behaviour::racing:
        if (first()) {
          turn.out.send(NodeId{1}, {1});
          timers_.set(Timer::act, turn.now + 5ns);
        }
        break;
      case Behaviour::drawing:
        if (first()) turn.out.send(NodeId{1}, {static_cast<std::uint8_t>(turn.draw.below(3) + 1)});
        break;
      case Behaviour::byzantine:
        if (!first()) timers_.set(Timer::act, turn.now + 1ns);
        break;
    }
  }

  void receive(Turn<Toy>& turn, NodeId from, const Message& message) {
    switch (behaviour_) {
      case Behaviour::baton:
        hold(turn);
        break;
      case Behaviour::racing:
        if (!first())
          turn.out.send(from, {1});
        else
          value_ = 1;
        timers_.stop(Timer::act);
        break;
      default:
        seen_ = static_cast<std::uint8_t>(seen_ * 4 + message.value);
        value_ = message.value;
    }
  }

  void on_timer(Turn<Toy>& turn, TimerId timer) {
    if (turn.now < timers_.at(timer)) return;
    if (static_cast<Timer>(timer) == Timer::idle) {
      timers_.set(Timer::idle, turn.now + 4ns);
      if (behaviour_ == Behaviour::patient && value_ == 0) turn.out.broadcast({1});
      if (behaviour_ == Behaviour::patient) turn.out.broadcast({1});
      return;
    }
    timers_.stop(Timer::act);
    if (behaviour_ == Behaviour::baton) {
      value_ = 0;
      turn.out.send(NodeId{1 - index(self_)}, {1});
    } else if (behaviour_ == Behaviour::racing) {
      value_ = 2;
    } else if (behaviour_ == Behaviour::byzantine && ++messages_ <= 3) {
      const std::uint64_t drawn = turn.draw.below(3);
      if (drawn != 0) turn.out.send(NodeId{0}, {static_cast<std::uint8_t>(drawn)});
      timers_.set(Timer::act, turn.now + 1ns);
    }
  }

  void command(Turn<Toy>& /*turn*/, const Command& /*command*/) {}
  const Timers<Timer>& timers() const { return timers_; }
  const char* check() const { return nullptr; }
  std::uint8_t value() const { return value_; }
  std::uint8_t seen() const { return seen_; }

  static constexpr auto fields(auto list) {
    using M = Toy;
    return list(field<&M::self_>("self"), field<&M::value_>("value"), field<&M::seen_>("seen"),
                field<&M::messages_>("lies"), field<&M::timers_>("timers"),
                fixed<&M::behaviour_>());
  }
  friend FieldCheck;

 private:
  bool first() const { return self_ == NodeId{0}; }
  void hold(Turn<Toy>& turn) {
    value_ = 1;
    timers_.set(Timer::act, turn.now + 3ns);
  }

  NodeId self_;
  Behaviour behaviour_;
  std::uint8_t value_ = 0;
  std::uint8_t seen_ = 0;      // two bits for each message, the latest in the lowest bits
  std::uint8_t messages_ = 0;  // byzantine: messages sent so far
  Timers<Timer> timers_;
};
static_assert(CheckableMachine<Toy>);

struct ToyView {
  std::uint8_t value = 0;
  std::uint8_t seen = 0;
};

struct ToyModel {
  using Machine = Toy;
  using View = ToyView;

  Toy::Behaviour behaviour;

  Machine make(NodeId node, Incarnation /*incarnation*/) const { return {node, behaviour}; }
  View view(const Machine& machine) const { return {machine.value(), machine.seen()}; }
  const char* broken(const Scene<View>& scene) const {
    const auto at = [&](std::uint32_t i) { return scene.up(i) ? *scene.slots[i].view : View{}; };
    switch (behaviour) {
      case Toy::Behaviour::baton:
        return at(0).value + at(1).value > 1 ? "one-holder" : nullptr;
      case Toy::Behaviour::sequence:
        return at(1).seen == 2 ? "in-order" : nullptr;
      case Toy::Behaviour::broadcasting:
        // Nodes that received both broadcasts must have received them in the same order.
        return (at(2).seen == 6 && at(3).seen == 9) || (at(2).seen == 9 && at(3).seen == 6)
                   ? "same-order"
                   : nullptr;
      case Toy::Behaviour::racing:
        return at(0).value == 2 ? "answered-in-time" : nullptr;
      case Toy::Behaviour::byzantine:
        return at(0).seen == ((2 * 4) + 1) * 4 + 2 ? "never-2-1-2" : nullptr;
      default:
        return nullptr;
    }
  }
};

struct MeetingModel : ToyModel {
  bool good(const Scene<View>& scene) const {
    for (std::uint32_t i = 0; i < scene.nodes; ++i)
      if (scene.up(i) && scene.slots[i].view->value == 0) return false;
    return true;
  }
};

template <class Model>
Finding searched(const Model& model, const Freedom& freedom) {
  Space<Model> space(model, freedom);
  return Search<Model>(space, {}).run();
}

std::string_view property(const Finding& finding) {
  return finding.violation ? std::string_view{finding.violation->property} : "none";
}

// Node 1 has the baton a tick after it was passed on and passes it on three ticks later. A
// duplicate that arrives by then is harmless; one that takes four ticks makes a second holder.
TEST(Search, FindsADuplicateThatCountsAsTheOriginal) {
  const ToyModel model{Toy::Behaviour::baton};
  EXPECT_TRUE(searched(model, {.nodes = 2, .delay_max = 5}).complete);
  EXPECT_TRUE(searched(model, {.nodes = 2, .delay_max = 3, .budget = {.duplicates = 1}}).complete);
  const Finding finding =
      searched(model, {.nodes = 2, .delay_max = 4, .budget = {.duplicates = 1}});
  EXPECT_FALSE(finding.complete);
  EXPECT_EQ(property(finding), "one-holder");
}

TEST(Search, ReportsAShortestTrace) {
  const ToyModel model{Toy::Behaviour::sequence};
  Space<ToyModel> space(model, {.nodes = 2});
  const Finding finding = Search<ToyModel>(space, {}).run();
  ASSERT_EQ(property(finding), "in-order");
  // Two starts, a tick, the second message before the first: four moves are the minimum.
  ASSERT_EQ(finding.violation->prefix.size(), 4U);
  EXPECT_EQ(finding.violation->prefix[0].what, Happening::start);
  EXPECT_EQ(finding.violation->prefix[2].what, Happening::tick);
  EXPECT_EQ(finding.violation->prefix[3].what, Happening::deliver);
  EXPECT_EQ(space.parts().message(finding.violation->prefix[3].detail).value, 2);
}

TEST(Search, ReportsTheSameTraceWithFingerprints) {
  const ToyModel model{Toy::Behaviour::sequence};
  Space<ToyModel> space(model, {.nodes = 2});
  Space<ToyModel> other(model, {.nodes = 2});
  const Finding exact = Search<ToyModel>(space, {}).run();
  const Finding likely = Search<ToyModel>(other, {.fingerprints = true}).run();
  ASSERT_EQ(property(likely), "in-order");
  ASSERT_EQ(likely.violation->prefix.size(), exact.violation->prefix.size());
  for (std::size_t i = 0; i < exact.violation->prefix.size(); ++i) {
    EXPECT_EQ(likely.violation->prefix[i].what, exact.violation->prefix[i].what);
    EXPECT_EQ(likely.violation->prefix[i].node, exact.violation->prefix[i].node);
    EXPECT_EQ(likely.violation->prefix[i].detail, exact.violation->prefix[i].detail);
  }
}

TEST(Search, KeepsTheOrderOfALinkOnRequest) {
  const ToyModel model{Toy::Behaviour::sequence};
  EXPECT_TRUE(searched(model, {.nodes = 2, .network = Network::fifo}).complete);
  EXPECT_FALSE(searched(model, {.nodes = 2, .network = Network::ordered}).complete);
}

// Node 1 starts while both messages are under way and may miss the first one.
TEST(Search, MissesMessagesThatArriveBeforeTheStart) {
  const ToyModel model{Toy::Behaviour::sequence};
  EXPECT_EQ(property(searched(model, {.nodes = 2, .network = Network::fifo, .starts = {0, 2}})),
            "in-order");
}

TEST(Search, OrdersBroadcastsOnRequest) {
  const ToyModel model{Toy::Behaviour::broadcasting};
  EXPECT_EQ(property(searched(model, {.nodes = 4})), "same-order");
  EXPECT_EQ(property(searched(model, {.nodes = 4, .network = Network::fifo})), "same-order");
  EXPECT_TRUE(searched(model, {.nodes = 4, .network = Network::ordered}).complete);
}

TEST(Search, UsesTimeOnlyWithBoundedTiming) {
  const ToyModel model{Toy::Behaviour::racing};
  EXPECT_TRUE(searched(model, {.nodes = 2}).complete);
  EXPECT_EQ(property(searched(model, {.nodes = 2, .delay_max = 3})), "answered-in-time");
  EXPECT_EQ(property(searched(model, {.nodes = 2, .timing = Timing::free})), "answered-in-time");
  EXPECT_EQ(property(searched(model, {.nodes = 2, .budget = {.losses = 1}})), "answered-in-time");
  EXPECT_EQ(property(searched(model, {.nodes = 2, .budget = {.drifts = 2}})), "answered-in-time");
  EXPECT_EQ(property(searched(model, {.nodes = 2, .budget = {.pauses = 1}})), "answered-in-time");
}

// Node 1 replies before the request; the reply arrives in the tick in which node 0 gives up.
TEST(Search, DeliversMessagesBeforeTimersOnRequest) {
  struct Model : ToyModel {
    void started(Toy&, NodeId node, Turn<Toy>& turn) const {
      if (node == NodeId{1}) turn.out.send(NodeId{0}, {1});
    }
  };
  const Model model{{Toy::Behaviour::racing}};
  const Freedom either{.nodes = 2, .delay_min = 5, .delay_max = 5};
  EXPECT_EQ(property(searched(model, either)), "answered-in-time");
  Freedom mail = either;
  mail.mail_first = true;
  EXPECT_TRUE(searched(model, mail).complete);
}

TEST(Search, TriesEveryDraw) {
  const ToyModel model{Toy::Behaviour::drawing};
  const Finding finding = searched(model, {.nodes = 2, .delay_max = 1});
  // Three initial states, each with its message before and after the tick, and then delivered.
  EXPECT_EQ(finding.states, 9U);
}

TEST(Search, TriesEveryChoiceOfAnAdversary) {
  EXPECT_EQ(property(searched(ToyModel{Toy::Behaviour::byzantine}, {.nodes = 2})), "never-2-1-2");
}

TEST(Search, FindsADeadEnd) {
  // The baton is lost and no node can do anything any more.
  struct Model : ToyModel {
    bool good(const Scene<View>&) const { return false; }
  };
  const Finding finding =
      searched(Model{{Toy::Behaviour::baton}}, {.nodes = 2, .budget = {.losses = 1}});
  EXPECT_EQ(property(finding), kDeadEnd);
}

TEST(Search, RequiresThatAGoodStateStaysReachable) {
  const MeetingModel once{{Toy::Behaviour::meeting}};
  EXPECT_TRUE(searched(once, {.nodes = 2}).complete);
  const Finding finding = searched(once, {.nodes = 2, .budget = {.losses = 1}});
  ASSERT_EQ(property(finding), kComesGood);
  // Two starts, one of whose messages is lost; a tick and the arrival of the other; ticks until
  // both idle timers are due. Then without end: both timers, four ticks.
  EXPECT_EQ(finding.violation->prefix.size(), 5U);
  EXPECT_EQ(finding.violation->cycle.size(), 3U);
  for (const Move& move : finding.violation->cycle)
    EXPECT_TRUE(move.what == Happening::tick || move.what == Happening::wake);
  EXPECT_TRUE(
      searched(MeetingModel{{Toy::Behaviour::patient}}, {.nodes = 2, .budget = {.losses = 1}})
          .complete);
}

TEST(Search, CrashesAndRestarts) {
  const MeetingModel patient{{Toy::Behaviour::patient}};
  // The crashed node was heard before, unless that message was lost: then the other node waits
  // without end.
  EXPECT_TRUE(searched(patient, {.nodes = 2, .budget = {.crashes = 1}}).complete);
  EXPECT_EQ(property(searched(patient, {.nodes = 2, .budget = {.losses = 1, .crashes = 1}})),
            kComesGood);
}

// A patient node that has received nothing sends two equal messages in one step.
TEST(Search, CountsEqualMessagesOnceInASet) {
  const ToyModel model{Toy::Behaviour::patient};
  const std::uint64_t bag = searched(model, {.nodes = 2, .budget = {.losses = 1}}).states;
  const std::uint64_t set =
      searched(model, {.nodes = 2, .network = Network::set, .budget = {.losses = 1}}).states;
  EXPECT_LT(set, bag);
}

TEST(Space, DecodesWhatItEncodes) {
  const ToyModel model{Toy::Behaviour::broadcasting};
  Space<ToyModel> space(model, {.nodes = 4,
                                .starts = {0, 1, 2, 3},
                                .cut_until = 2,
                                .side = 1,
                                .budget = {.losses = 1, .crashes = 1, .restarts = 1, .pauses = 1}});
  std::array<char, Space<ToyModel>::kMaxBytes> once;
  std::array<char, Space<ToyModel>::kMaxBytes> twice;
  std::vector<Space<ToyModel>::State> states;
  space.begin([&](const auto& state, const auto&) { states.push_back(state); });
  for (std::size_t i = 0; i < states.size() && states.size() < 2'000; ++i) {
    const auto here = states[i];
    space.successors(here, [&](const auto& next, const Move&, const char*, bool) {
      const std::string_view row{once.data(), space.encode(next, once.data())};
      const std::size_t size = space.encode(space.decode(row), twice.data());
      EXPECT_EQ(row, (std::string_view{twice.data(), size}));
      states.push_back(next);
    });
  }
  EXPECT_GT(states.size(), 1'000U);
}

}  // namespace
}  // namespace tempo::check
