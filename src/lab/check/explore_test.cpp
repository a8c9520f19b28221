// Small machines with planted faults, and what the search makes of them.
#include "lab/check/explore.h"

#include <array>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "lab/check/core_model.h"
#include "machine/machine.h"

namespace tempo::check {
namespace {

// One machine, several plays; what a play does not use stays as it is.
class Toy {
 public:
  enum class Play : std::uint8_t {
    baton,    // node 0 holds a baton and hands it on; the fault: a copy is as good as the original
    meeting,  // everybody says hello once and waits; the fault: it is not said again
    patient,  // the same, said again until it is answered
    telling,  // node 0 says 1, then 2
    calling,  // nodes 0 and 1 call their own names to all
    racing,   // node 0 asks and gives the answer five ticks
    dicing,   // node 0 draws one of three and tells
    lying,    // node 1 tells node 0 what it likes, when it likes, three times
  };
  enum class Timer : std::uint8_t { act, idle, count };
  struct Message {
    std::uint8_t value = 0;
    template <class Self, class Visitor>
    static void fields(Self& self, Visitor& visit) {
      visit("value", self.value);
    }
  };
  using Command = Nothing;
  using Notice = Nothing;

  Toy(NodeId self, Play play) : self_(self), play_(play) {}

  void start(Turn<Toy>& turn) {
    switch (play_) {
      case Play::baton:
        if (first()) hold(turn);
        break;
      case Play::meeting:
      case Play::patient:
        turn.out.broadcast({1});
        timers_.set(Timer::idle, turn.now + 4ns);
        break;
      case Play::telling:
        if (first()) {
          turn.out.send(NodeId{1}, {1});
          turn.out.send(NodeId{1}, {2});
        }
        break;
      case Play::calling:
        if (index(self_) < 2) turn.out.broadcast({static_cast<std::uint8_t>(index(self_) + 1)});
        break;
      case Play::racing:
        if (first()) {
          turn.out.send(NodeId{1}, {1});
          timers_.set(Timer::act, turn.now + 5ns);
        }
        break;
      case Play::dicing:
        if (first()) turn.out.send(NodeId{1}, {static_cast<std::uint8_t>(turn.draw.below(3) + 1)});
        break;
      case Play::lying:
        if (!first()) timers_.set(Timer::act, turn.now + 1ns);
        break;
    }
  }

  void receive(Turn<Toy>& turn, NodeId from, const Message& message) {
    switch (play_) {
      case Play::baton:
        hold(turn);
        break;
      case Play::racing:
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
      if (play_ == Play::patient && value_ == 0) turn.out.broadcast({1});
      if (play_ == Play::patient) turn.out.broadcast({1});
      return;
    }
    timers_.stop(Timer::act);
    if (play_ == Play::baton) {
      value_ = 0;
      turn.out.send(NodeId{1 - index(self_)}, {1});
    } else if (play_ == Play::racing) {
      value_ = 2;
    } else if (play_ == Play::lying && ++lies_ <= 3) {
      const std::uint64_t lie = turn.draw.below(3);
      if (lie != 0) turn.out.send(NodeId{0}, {static_cast<std::uint8_t>(lie)});
      timers_.set(Timer::act, turn.now + 1ns);
    }
  }

  void command(Turn<Toy>& /*turn*/, const Command& /*command*/) {}
  const Timers<Timer>& timers() const { return timers_; }
  const char* check() const { return nullptr; }
  std::uint8_t value() const { return value_; }
  std::uint8_t seen() const { return seen_; }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("self", self.self_);
    visit("value", self.value_);
    visit("seen", self.seen_);
    visit("lies", self.lies_);
    visit("timers", self.timers_);
  }

 private:
  bool first() const { return self_ == NodeId{0}; }
  void hold(Turn<Toy>& turn) {
    value_ = 1;
    timers_.set(Timer::act, turn.now + 3ns);
  }

  NodeId self_;
  Play play_;
  std::uint8_t value_ = 0;
  std::uint8_t seen_ = 0;  // two bits for each message, the latest lowest
  std::uint8_t lies_ = 0;
  Timers<Timer> timers_;
};
static_assert(Machine<Toy>);

struct ToyView {
  std::uint8_t value = 0;
  std::uint8_t seen = 0;
};

struct ToyModel {
  using Machine = Toy;
  using View = ToyView;

  Toy::Play play;

  Machine make(NodeId node, Incarnation /*life*/) const { return {node, play}; }
  View view(const Machine& machine) const { return {machine.value(), machine.seen()}; }
  const char* broken(const Scene<View>& scene) const {
    const auto at = [&](std::uint32_t i) { return scene.up(i) ? *scene.slots[i].view : View{}; };
    switch (play) {
      case Toy::Play::baton:
        return at(0).value + at(1).value > 1 ? "one-holder" : nullptr;
      case Toy::Play::telling:
        return at(1).seen == 2 ? "in-order" : nullptr;
      case Toy::Play::calling:
        // Whoever has heard both has heard them in the order in which everybody else has.
        return (at(2).seen == 6 && at(3).seen == 9) || (at(2).seen == 9 && at(3).seen == 6)
                   ? "same-order"
                   : nullptr;
      case Toy::Play::racing:
        return at(0).value == 2 ? "answered-in-time" : nullptr;
      case Toy::Play::lying:
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

// Node 1 has the baton a tick after it was handed on and hands it on three ticks later. A copy that
// comes by then is harmless; one that takes four ticks makes a second holder.
TEST(Search, FindsTheCopyThatIsAsGoodAsTheOriginal) {
  const ToyModel model{Toy::Play::baton};
  EXPECT_TRUE(searched(model, {.nodes = 2, .delay_max = 5}).complete);
  EXPECT_TRUE(searched(model, {.nodes = 2, .delay_max = 3, .budget = {.duplicates = 1}}).complete);
  const Finding finding =
      searched(model, {.nodes = 2, .delay_max = 4, .budget = {.duplicates = 1}});
  EXPECT_FALSE(finding.complete);
  EXPECT_EQ(property(finding), "one-holder");
}

TEST(Search, GivesTheShortestWay) {
  const ToyModel model{Toy::Play::telling};
  Space<ToyModel> space(model, {.nodes = 2});
  const Finding finding = Search<ToyModel>(space, {}).run();
  ASSERT_EQ(property(finding), "in-order");
  // Two starts, a tick, the second message before the first: four, and no fewer.
  ASSERT_EQ(finding.violation->prefix.size(), 4U);
  EXPECT_EQ(finding.violation->prefix[0].what, Happening::start);
  EXPECT_EQ(finding.violation->prefix[2].what, Happening::tick);
  EXPECT_EQ(finding.violation->prefix[3].what, Happening::deliver);
  EXPECT_EQ(space.parts().message(finding.violation->prefix[3].detail).value, 2);
}

TEST(Search, GivesTheSameWayByFingerprints) {
  const ToyModel model{Toy::Play::telling};
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

TEST(Search, KeepsTheOrderOfALinkIfToldTo) {
  const ToyModel model{Toy::Play::telling};
  EXPECT_TRUE(searched(model, {.nodes = 2, .network = Network::fifo}).complete);
  EXPECT_FALSE(searched(model, {.nodes = 2, .network = Network::ordered}).complete);
}

// Node 1 starts when both messages are under way, and may be too late for the first.
TEST(Search, MissesWhatComesTooEarly) {
  const ToyModel model{Toy::Play::telling};
  EXPECT_EQ(property(searched(model, {.nodes = 2, .network = Network::fifo, .starts = {0, 2}})),
            "in-order");
}

TEST(Search, OrdersBroadcastsIfToldTo) {
  const ToyModel model{Toy::Play::calling};
  EXPECT_EQ(property(searched(model, {.nodes = 4})), "same-order");
  EXPECT_EQ(property(searched(model, {.nodes = 4, .network = Network::fifo})), "same-order");
  EXPECT_TRUE(searched(model, {.nodes = 4, .network = Network::ordered}).complete);
}

TEST(Search, KnowsTimeOnlyIfItIsBounded) {
  const ToyModel model{Toy::Play::racing};
  EXPECT_TRUE(searched(model, {.nodes = 2}).complete);
  EXPECT_EQ(property(searched(model, {.nodes = 2, .delay_max = 3})), "answered-in-time");
  EXPECT_EQ(property(searched(model, {.nodes = 2, .timing = Timing::free})), "answered-in-time");
  EXPECT_EQ(property(searched(model, {.nodes = 2, .budget = {.losses = 1}})), "answered-in-time");
  EXPECT_EQ(property(searched(model, {.nodes = 2, .budget = {.drifts = 2}})), "answered-in-time");
  EXPECT_EQ(property(searched(model, {.nodes = 2, .budget = {.pauses = 1}})), "answered-in-time");
}

// Node 1 answers before it was asked; the answer comes in the tick in which node 0 gives up.
TEST(Search, LetsMailArriveBeforeTimersFireIfToldTo) {
  struct Model : ToyModel {
    void started(Toy&, NodeId node, Turn<Toy>& turn) const {
      if (node == NodeId{1}) turn.out.send(NodeId{0}, {1});
    }
  };
  const Model model{{Toy::Play::racing}};
  const Freedom either{.nodes = 2, .delay_min = 5, .delay_max = 5};
  EXPECT_EQ(property(searched(model, either)), "answered-in-time");
  Freedom mail = either;
  mail.mail_first = true;
  EXPECT_TRUE(searched(model, mail).complete);
}

TEST(Search, TriesEveryDraw) {
  const ToyModel model{Toy::Play::dicing};
  const Finding finding = searched(model, {.nodes = 2, .delay_max = 1});
  // Three beginnings, each with its message before and after the tick, and then delivered.
  EXPECT_EQ(finding.states, 9U);
}

TEST(Search, LetsAnAdversaryChoose) {
  EXPECT_EQ(property(searched(ToyModel{Toy::Play::lying}, {.nodes = 2})), "never-2-1-2");
}

TEST(Search, SeesADeadEnd) {
  // The baton is lost, nobody has anything to do any more.
  struct Model : ToyModel {
    bool good(const Scene<View>&) const { return false; }
  };
  const Finding finding =
      searched(Model{{Toy::Play::baton}}, {.nodes = 2, .budget = {.losses = 1}});
  EXPECT_EQ(property(finding), kDeadEnd);
}

TEST(Search, AsksThatTheWorldCanComeGood) {
  const MeetingModel once{{Toy::Play::meeting}};
  EXPECT_TRUE(searched(once, {.nodes = 2}).complete);
  const Finding finding = searched(once, {.nodes = 2, .budget = {.losses = 1}});
  ASSERT_EQ(property(finding), kComesGood);
  // Two starts, one of which is not heard; a tick, the other is heard; ticks until both idle timers
  // are due. Then for ever: both timers, four ticks.
  EXPECT_EQ(finding.violation->prefix.size(), 5U);
  EXPECT_EQ(finding.violation->cycle.size(), 3U);
  for (const Move& move : finding.violation->cycle)
    EXPECT_TRUE(move.what == Happening::tick || move.what == Happening::wake);
  EXPECT_TRUE(
      searched(MeetingModel{{Toy::Play::patient}}, {.nodes = 2, .budget = {.losses = 1}}).complete);
}

TEST(Search, CrashesAndRestarts) {
  const MeetingModel patient{{Toy::Play::patient}};
  // Who died was heard before, unless that was lost: then the other has nobody to meet.
  EXPECT_TRUE(searched(patient, {.nodes = 2, .budget = {.crashes = 1}}).complete);
  EXPECT_EQ(property(searched(patient, {.nodes = 2, .budget = {.losses = 1, .crashes = 1}})),
            kComesGood);
}

// A patient node that has heard nothing says hello twice in one step.
TEST(Search, CountsEqualMessagesOnceInASet) {
  const ToyModel model{Toy::Play::patient};
  const std::uint64_t bag = searched(model, {.nodes = 2, .budget = {.losses = 1}}).states;
  const std::uint64_t set =
      searched(model, {.nodes = 2, .network = Network::set, .budget = {.losses = 1}}).states;
  EXPECT_LT(set, bag);
}

TEST(Space, DecodesWhatItEncodes) {
  const ToyModel model{Toy::Play::calling};
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
