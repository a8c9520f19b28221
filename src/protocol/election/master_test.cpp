// The machine driven by hand: one node, peers made of messages, and chance that always says the
// same. Nodes are called by their numbers; the node under test is 1.
#include "protocol/election/master.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/field_mutator.h"

namespace tempo::election {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr NodeId kSelf{1};
constexpr Incarnation kLife{77};
constexpr Instant kStart{100s};

constexpr std::array<State, kStates> kAllStates{State::startup,  State::no_master,  State::master,
                                                State::slave,    State::candidate,  State::accept,
                                                State::conflict, State::consistency};
constexpr std::array kReliable{Kind::accept,   Kind::refuse,  Kind::quit,
                               Kind::conflict, Kind::adjtime, Kind::settime};

// Always the same share of what is possible: 0 the least, 1 the most.
class ShareDraw final : public Draw {
 public:
  explicit ShareDraw(double share) : share_(share) {}
  void set(double share) { share_ = share; }
  std::uint64_t below(std::uint64_t limit) override {
    return static_cast<std::uint64_t>(share_ * static_cast<double>(limit - 1));
  }

 private:
  double share_;
};

// Another node, as the one under test sees it: it numbers its messages and remembers its epoch.
struct Peer {
  NodeId id;
  Incarnation life{500};
  std::uint32_t last = 0;
  Epoch epoch{};

  Message says(Kind kind, Message with = {}) {
    with.kind = kind;
    with.incarnation = life;
    with.sequence = Sequence{++last};
    if (with.epoch == kNoEpoch) with.epoch = epoch;
    return with;
  }
};

Peer peer(std::uint32_t id) { return {.id = NodeId{id}, .life = Incarnation{500 + id}}; }
// A peer that rules, or ruled, in this round.
Peer master_of(std::uint32_t round, std::uint32_t id) {
  Peer master = peer(id);
  master.epoch = {round, master.id, master.life};
  return master;
}

class Hand {
 public:
  explicit Hand(std::string_view profile_name = "lan", std::uint32_t repeats = 0,
                Variant variant = {})
      : rules_{*profile(profile_name), repeats, variant}, machine_({kSelf, kLife}, rules_) {}
  Hand(const Hand&) = delete;
  Hand& operator=(const Hand&) = delete;

  using Lines = std::vector<std::string>;

  // What a step asks for, as text: "ack to 5", "loop to all", "adjusted by 5".
  Lines start() {
    return step([&](auto& turn) { machine_.start(turn); });
  }
  Lines hear(NodeId from, const Message& message) {
    return step([&](auto& turn) { machine_.receive(turn, from, message); });
  }
  Lines hear(Peer& from, Kind kind, const Message& with = {}) {
    return hear(from.id, from.says(kind, with));
  }
  Lines wake(Timer timer) {
    return step([&](auto& turn) { machine_.wake(turn, timer_id(timer)); });
  }
  Lines command(Command command) {
    return step([&](auto& turn) { machine_.command(turn, command); });
  }
  // Waits until this timer is due, and no longer, and wakes it.
  Lines run_out(Timer timer) {
    EXPECT_TRUE(runs(timer)) << name_of(timer);
    if (!runs(timer)) return {};
    now_ = machine_.timers().at(timer);
    return wake(timer);
  }
  // Time passes; whatever becomes due is woken in its order.
  Lines pass(Nanos span) {
    Lines all;
    const Instant end = now_ + span;
    while (machine_.timers().first() <= end) {
      now_ = std::max(now_, machine_.timers().first());
      const Lines lines =
          step([&](auto& turn) { machine_.wake(turn, machine_.timers().first_name()); });
      all.insert(all.end(), lines.begin(), lines.end());
    }
    now_ = end;
    return all;
  }
  // Time passes and nobody is woken: the process sleeps.
  void sleep(Nanos span) { now_ += span; }
  void draw_share(double share) { draw_.set(share); }

  const MasterElection& machine() const { return machine_; }
  State state() const { return machine_.state(); }
  Instant now() const { return now_; }
  const Timing& timing() const { return rules_.timing; }
  // From now until this timer runs out.
  Nanos left(Timer timer) const {
    EXPECT_TRUE(runs(timer)) << name_of(timer);
    return machine_.timers().at(timer) - now_;
  }
  bool runs(Timer timer) const { return machine_.timers().running(timer); }
  std::string packed_now() const { return packed(machine_, now_); }

  // Every message of the last step.
  const std::vector<Message>& sent() const { return sent_; }
  const Message& sent(Kind kind) const {
    const auto found = std::ranges::find(sent_, kind, &Message::kind);
    EXPECT_NE(found, sent_.end()) << name_of(kind) << " was not sent";
    static const Message nothing{};
    return found == sent_.end() ? nothing : *found;
  }

 private:
  template <class Do>
  Lines step(Do todo) {
    out_.clear();
    Turn<MasterElection> turn{now_, draw_, out_};
    todo(turn);
    EXPECT_EQ(machine_.check(), nullptr) << machine_.check();
    Lines lines;
    sent_.clear();
    for (const auto& output : out_) {
      if (output.kind == OutputKind::notice) {
        constexpr std::array<std::string_view, 4> kNews{"adjusted by", "set by", "down:", "ended"};
        std::string line{kNews[static_cast<std::size_t>(output.notice.news)]};
        if (output.notice.peer != kNobody) line += fmt::format(" {}", index(output.notice.peer));
        lines.push_back(line);
      } else {
        const bool all = output.kind == OutputKind::broadcast;
        lines.push_back(fmt::format("{} to {}", name_of(output.message),
                                    all ? "all" : std::to_string(index(output.to))));
        sent_.push_back(output.message);
      }
    }
    return lines;
  }

  Rules rules_;
  MasterElection machine_;
  Instant now_ = kStart;
  ShareDraw draw_{0.5};
  Outbox<MasterElection> out_;
  std::vector<Message> sent_;
};

// Who everybody follows, or is about to, in `bring_to`: round 10. The node itself becomes master in
// round 10 too.
Peer old_master() {
  Peer master = master_of(10, 9);
  master.last = 1000;
  return master;
}

// Leads a new machine to this state by the shortest way.
void bring_to(Hand& hand, State state) {
  Peer master = master_of(10, 9);
  Peer other = peer(4);
  hand.start();
  switch (state) {
    case State::startup:
      break;
    case State::no_master:
      hand.run_out(Timer::startup);
      break;
    case State::master:
    case State::conflict: {
      // A rumour of round 9: the next is 10.
      Message rumour;
      rumour.epoch = {9, NodeId{8}, Incarnation{1}};
      hand.hear(other, Kind::stale, rumour);
      hand.run_out(Timer::startup);
      hand.run_out(Timer::no_master);
      if (state == State::conflict) hand.hear(other, Kind::conflict);
      break;
    }
    case State::slave:
    case State::candidate:
    case State::accept:
      hand.hear(master, Kind::masterup);
      if (state == State::candidate) hand.command(Command::stand);
      if (state == State::accept) hand.hear(other, Kind::election);
      break;
    case State::consistency:
      hand.hear(master, Kind::masterack);
      break;
  }
  ASSERT_EQ(hand.state(), state);
}

class InEveryState : public ::testing::TestWithParam<State> {};
INSTANTIATE_TEST_SUITE_P(All, InEveryState, ::testing::ValuesIn(kAllStates),
                         [](const auto& row) { return std::string(name_of(row.param)); });

class InEveryFollowing : public ::testing::TestWithParam<State> {};
INSTANTIATE_TEST_SUITE_P(All, InEveryFollowing,
                         ::testing::Values(State::master, State::slave, State::candidate,
                                           State::accept, State::conflict, State::consistency),
                         [](const auto& row) { return std::string(name_of(row.param)); });

// --- acknowledgement ---

// A reliable message is acknowledged on arrival, before anything else is done about it.
TEST_P(InEveryState, EveryReliableMessageIsAcknowledgedFirst) {
  for (const Kind kind : kReliable) {
    Hand hand;
    bring_to(hand, GetParam());
    Peer sender = master_of(50, 6);
    const Message message = sender.says(kind);
    const auto lines = hand.hear(sender.id, message);
    ASSERT_FALSE(lines.empty()) << name_of(kind);
    EXPECT_EQ(lines.front(), "ack to 6") << name_of(kind);
    EXPECT_EQ(std::ranges::count(lines, "ack to 6"), 1) << name_of(kind);
    const Message& ack = hand.sent(Kind::ack);
    EXPECT_EQ(ack.answers, message.sequence);
    EXPECT_EQ(ack.subject_incarnation, sender.life);
    EXPECT_EQ(ack.incarnation, kLife);
  }
}

TEST_P(InEveryState, ADuplicateIsAcknowledgedAgainAndAppliedOnce) {
  for (const Kind kind : kReliable) {
    Hand hand;
    bring_to(hand, GetParam());
    Peer sender = master_of(50, 6);
    const Message message = sender.says(kind);
    hand.hear(sender.id, message);
    const State state = hand.state();
    const Epoch followed = hand.machine().followed();
    hand.sleep(10ms);
    std::array<Instant, Timers<Timer>::kCount> before{};
    for (std::uint8_t i = 0; i < before.size(); ++i)
      before[i] = hand.machine().timers().at(TimerId{i});

    EXPECT_THAT(hand.hear(sender.id, message), ElementsAre("ack to 6")) << name_of(kind);
    EXPECT_EQ(hand.sent(Kind::ack).answers, message.sequence);
    EXPECT_EQ(hand.state(), state) << name_of(kind);
    EXPECT_EQ(hand.machine().followed(), followed);
    for (std::uint8_t i = 0; i < before.size(); ++i)
      EXPECT_EQ(hand.machine().timers().at(TimerId{i}), before[i])
          << name_of(kind) << " touched " << name_of(static_cast<Timer>(i));
  }
}

// A sender that starts again counts from 1: its first messages are not old ones.
TEST(Acknowledgement, ARestartedSenderIsHeardAnew) {
  Hand hand;
  bring_to(hand, State::slave);
  Peer master = master_of(20, 6);
  EXPECT_THAT(hand.hear(master, Kind::adjtime), ElementsAre("ack to 6", "adjusted by 6"));
  Peer again = master;
  again.life = Incarnation{999};
  again.epoch = {21, again.id, again.life};
  again.last = 0;
  const Message first = again.says(Kind::adjtime);
  ASSERT_EQ(first.sequence, Sequence{1});
  EXPECT_THAT(hand.hear(again.id, first), ElementsAre("ack to 6", "adjusted by 6"));
  EXPECT_THAT(hand.hear(again.id, first), ElementsAre("ack to 6"));
}

TEST(Acknowledgement, OfAnotherLifeIsIgnored) {
  Hand hand;
  bring_to(hand, State::accept);
  Peer candidate = peer(4);
  candidate.last = 100;
  Message ack;
  // Its Accept is the third message it numbered: Masterreq, Slaveup, Accept.
  ack.answers = Sequence{3};
  ack.subject_incarnation = Incarnation{76};
  hand.hear(candidate, Kind::ack, ack);
  EXPECT_TRUE(hand.runs(Timer::retransmit));
  EXPECT_THAT(hand.run_out(Timer::retransmit), ElementsAre("accept to 4"));
  EXPECT_EQ(hand.sent(Kind::accept).sequence, Sequence{3});

  ack.subject_incarnation = kLife;
  ack.answers = Sequence{2};
  hand.hear(candidate, Kind::ack, ack);
  EXPECT_TRUE(hand.runs(Timer::retransmit)) << "another message was acknowledged";
  Peer stranger = peer(5);
  ack.answers = Sequence{3};
  hand.hear(stranger, Kind::ack, ack);
  EXPECT_TRUE(hand.runs(Timer::retransmit)) << "somebody else acknowledged it";
  hand.hear(candidate, Kind::ack, ack);
  EXPECT_FALSE(hand.runs(Timer::retransmit));
}

// --- corrections of a lower epoch ---

TEST_P(InEveryFollowing, ACorrectionOfALowerEpochIsAnsweredByStaleAndNothingElseIsDoneWithIt) {
  for (const Kind kind : {Kind::adjtime, Kind::settime}) {
    Hand hand;
    bring_to(hand, GetParam());
    const Epoch followed = hand.machine().followed();
    ASSERT_EQ(followed.round, 10U);
    Peer late = master_of(9, 6);
    const auto lines = hand.hear(late, kind);
    EXPECT_THAT(lines, Contains("stale to 6"));
    EXPECT_THAT(lines, Not(Contains("ack to 6")));
    EXPECT_THAT(lines, Not(Contains(StartsWith("adjusted"))));
    EXPECT_THAT(lines, Not(Contains(StartsWith("set"))));
    EXPECT_EQ(hand.sent(Kind::stale).epoch, followed);
    EXPECT_EQ(hand.machine().followed(), followed);
  }
}

// The same round, a smaller name or an earlier life: lower all the same.
TEST(LowerEpoch, IsComparedByRoundThenNameThenLife) {
  Hand hand;
  bring_to(hand, State::slave);  // follows (10, 9, 509)
  Peer smaller = master_of(10, 8);
  EXPECT_THAT(hand.hear(smaller, Kind::adjtime), ElementsAre("stale to 8"));
  Peer earlier = old_master();
  earlier.life = Incarnation{508};
  earlier.epoch.incarnation = earlier.life;
  EXPECT_THAT(hand.hear(earlier, Kind::adjtime), ElementsAre("stale to 9"));
  Peer same = old_master();
  EXPECT_THAT(hand.hear(same, Kind::adjtime), ElementsAre("ack to 9", "adjusted by 9"));
  Peer larger = master_of(10, 10);
  EXPECT_THAT(hand.hear(larger, Kind::adjtime), ElementsAre("ack to 10", "adjusted by 10"));
  EXPECT_EQ(hand.machine().master(), larger.id);
}

// --- repeats of Masterreq and Election ---

TEST(Repeats, OfMasterreqComeEveryFifthOfTheStartAndSayHowOldItIs) {
  Hand hand("lan", 4);
  EXPECT_THAT(hand.start(), ElementsAre("masterreq to all"));
  EXPECT_EQ(hand.sent(Kind::masterreq).age, 0ns);
  const Sequence call = hand.sent(Kind::masterreq).sequence;
  for (int i = 1; i <= 4; ++i) {
    EXPECT_EQ(hand.left(Timer::repeat), 100ms);
    EXPECT_THAT(hand.run_out(Timer::repeat), ElementsAre("masterreq to all"));
    EXPECT_EQ(hand.sent(Kind::masterreq).age, i * 100ms);
    EXPECT_EQ(hand.sent(Kind::masterreq).sequence, call);
  }
  EXPECT_FALSE(hand.runs(Timer::repeat));
}

TEST(Repeats, OfElectionComeEverySixthOfTheCandidateTimerAndSayHowOldItIs) {
  Hand hand("lan", 4);
  bring_to(hand, State::slave);
  EXPECT_THAT(hand.command(Command::stand), ElementsAre("election to all"));
  const Instant stood = hand.now();
  const Message first = hand.sent(Kind::election);
  EXPECT_EQ(first.age, 0ns);
  EXPECT_EQ(first.epoch, (Epoch{10, NodeId{9}, Incarnation{509}}));
  for (int i = 1; i <= 4; ++i) {
    EXPECT_EQ(hand.left(Timer::repeat), Nanos{200ms} / 6);
    EXPECT_THAT(hand.run_out(Timer::repeat), ElementsAre("election to all"));
    EXPECT_EQ(hand.sent(Kind::election).age, hand.now() - stood);
    EXPECT_EQ(hand.sent(Kind::election).sequence, first.sequence);
    EXPECT_EQ(hand.sent(Kind::election).epoch, first.epoch);
  }
  EXPECT_FALSE(hand.runs(Timer::repeat));
  EXPECT_LT(hand.now() - stood, 200ms) << "the last one leaves room for an answer";
}

TEST(Repeats, StopWhenTheCandidateWithdraws) {
  Hand hand("lan", 4);
  bring_to(hand, State::candidate);
  Peer master = old_master();
  EXPECT_TRUE(hand.runs(Timer::repeat));
  hand.hear(master, Kind::masterup);
  EXPECT_EQ(hand.state(), State::slave);
  EXPECT_FALSE(hand.runs(Timer::repeat));
}

TEST(Repeats, AreNotMadeWhenTheRulesWantNone) {
  Hand hand("lan", 0);
  hand.start();
  EXPECT_FALSE(hand.runs(Timer::repeat));
  Hand candidate("lan", 0);
  bring_to(candidate, State::candidate);
  EXPECT_FALSE(candidate.runs(Timer::repeat));
}

// --- rivals ---

TEST(Rival, InStartupIsOnlyWhoStartedLater) {
  Peer other = peer(4);
  Message asks;
  asks.age = 100ms;
  {
    Hand hand;
    hand.start();
    hand.sleep(100ms);
    EXPECT_THAT(hand.hear(other, Kind::masterreq, asks), IsEmpty());
    hand.run_out(Timer::startup);
    EXPECT_EQ(hand.state(), State::no_master) << "as old as ourselves: it gives way";
  }
  {
    Hand hand;
    hand.start();
    hand.sleep(100ms + 1ns);
    EXPECT_THAT(hand.hear(other, Kind::masterreq, asks), IsEmpty());
    hand.run_out(Timer::startup);
    EXPECT_EQ(hand.state(), State::slave) << "younger: we give way";
  }
}

TEST(Rival, CandidateYieldsToAnOlderCandidacyOnly) {
  for (const auto& [age, next] :
       {std::pair{Nanos{50ms}, State::candidate}, {50ms + 1ns, State::accept}}) {
    Hand hand;
    bring_to(hand, State::candidate);
    hand.sleep(50ms);
    Peer rival = peer(4);
    rival.last = 100;
    Message stands;
    stands.age = age;
    const auto lines = hand.hear(rival, Kind::election, stands);
    EXPECT_EQ(hand.state(), next);
    EXPECT_THAT(lines, ElementsAre(next == State::accept ? "accept to 4" : "refuse to 4"));
    EXPECT_EQ(hand.sent().front().answers, Sequence{rival.last});
  }
}

// --- answers are bound to the Election they answer ---

// The Election of `bring_to(candidate)`: Masterreq 1, Slaveup 2, Election 3.
constexpr Sequence kOurElection{3};

Message answering(Sequence election) {
  Message with;
  with.answers = election;
  return with;
}

TEST(Answers, ThatNameAnotherElectionAreAcknowledgedAndIgnored) {
  Hand hand;
  bring_to(hand, State::candidate);
  Peer other = peer(4);
  other.last = 100;
  Peer master = old_master();
  const Instant ends = hand.machine().timers().at(Timer::candidate);
  hand.sleep(10ms);
  for (const Sequence wrong : {Sequence{1}, Sequence{2}, Sequence{4}}) {
    EXPECT_THAT(hand.hear(other, Kind::accept, answering(wrong)), ElementsAre("ack to 4"));
    EXPECT_THAT(hand.hear(other, Kind::refuse, answering(wrong)), ElementsAre("ack to 4"));
    EXPECT_THAT(hand.hear(master, Kind::quit, answering(wrong)), ElementsAre("ack to 9"));
  }
  EXPECT_EQ(hand.state(), State::candidate);
  EXPECT_TRUE(hand.machine().list().empty());
  EXPECT_EQ(hand.machine().timers().at(Timer::candidate), ends);
}

TEST(Answers, ThatNameOursCount) {
  {
    Hand hand;
    bring_to(hand, State::candidate);
    Peer other = peer(4);
    hand.sleep(10ms);
    EXPECT_THAT(hand.hear(other, Kind::accept, answering(kOurElection)), ElementsAre("ack to 4"));
    EXPECT_TRUE(hand.machine().list().contains(other.id));
    EXPECT_EQ(hand.left(Timer::candidate), 200ms);
  }
  {
    Hand hand;
    bring_to(hand, State::candidate);
    Peer other = peer(4);
    EXPECT_THAT(hand.hear(other, Kind::refuse, answering(kOurElection)), ElementsAre("ack to 4"));
    EXPECT_EQ(hand.state(), State::slave);
    EXPECT_EQ(hand.machine().backoff(), 2U);
  }
  {
    Hand hand;
    bring_to(hand, State::candidate);
    Peer master = old_master();
    EXPECT_THAT(hand.hear(master, Kind::quit, answering(kOurElection)), ElementsAre("ack to 9"));
    EXPECT_EQ(hand.state(), State::slave);
    EXPECT_EQ(hand.machine().backoff(), 1U) << "a master exists: no collision";
  }
}

TEST(Answers, AQuitOfANewEpochIsObeyedWhateverItNames) {
  Hand hand;
  bring_to(hand, State::candidate);
  Peer newer = master_of(11, 6);
  EXPECT_THAT(hand.hear(newer, Kind::quit, answering(Sequence{99})), ElementsAre("ack to 6"));
  EXPECT_EQ(hand.state(), State::slave);
  EXPECT_EQ(hand.machine().followed(), newer.epoch);
}

TEST(Answers, AQuitOfALowerEpochIsObeyedIfItNamesOurElection) {
  {
    Hand hand;
    bring_to(hand, State::candidate);
    Peer lower = master_of(9, 6);
    EXPECT_THAT(hand.hear(lower, Kind::quit, answering(kOurElection)),
                ElementsAre("ack to 6", "stale to 6"));
    EXPECT_EQ(hand.state(), State::slave);
    EXPECT_EQ(hand.machine().followed().round, 10U);
  }
  {
    Hand hand;
    bring_to(hand, State::candidate);
    Peer lower = master_of(9, 6);
    EXPECT_THAT(hand.hear(lower, Kind::quit, answering(Sequence{2})),
                ElementsAre("ack to 6", "stale to 6"));
    EXPECT_EQ(hand.state(), State::candidate);
  }
}

TEST(Answers, NameTheElectionAndTheEpochFollowed) {
  Hand hand;
  bring_to(hand, State::slave);
  Peer candidate = peer(4);
  candidate.last = 41;
  hand.hear(candidate, Kind::election);
  EXPECT_EQ(hand.sent(Kind::accept).answers, Sequence{42});
  EXPECT_EQ(hand.sent(Kind::accept).epoch, hand.machine().followed());
  Peer other = peer(5);
  other.last = 7;
  hand.hear(other, Kind::election);
  EXPECT_EQ(hand.sent(Kind::refuse).answers, Sequence{8});
}

// --- repeated Elections ---

TEST(RepeatedElection, IsAnsweredAgainOnlyWhileTheAnswerIsNotAcknowledged) {
  Hand hand;
  bring_to(hand, State::slave);
  Peer candidate = peer(4);
  Message election = candidate.says(Kind::election);
  ASSERT_THAT(hand.hear(candidate.id, election), ElementsAre("accept to 4"));
  const Message accept = hand.sent(Kind::accept);
  election.age = 33ms;
  EXPECT_THAT(hand.hear(candidate.id, election), ElementsAre("accept to 4"));
  EXPECT_EQ(hand.sent(Kind::accept).sequence, accept.sequence) << "the same Accept";

  Message ack = answering(accept.sequence);
  ack.subject_incarnation = kLife;
  hand.hear(candidate, Kind::ack, ack);
  EXPECT_THAT(hand.hear(candidate.id, election), IsEmpty());
  EXPECT_EQ(hand.state(), State::accept);
}

TEST(RepeatedElection, IsAnsweredAgainWhateverTheStateByThen) {
  Hand hand;
  bring_to(hand, State::accept);
  Peer second = peer(5);
  Message election = second.says(Kind::election);
  ASSERT_THAT(hand.hear(second.id, election), ElementsAre("refuse to 5"));
  hand.sleep(1s);
  hand.wake(Timer::accept);
  ASSERT_EQ(hand.state(), State::slave);
  EXPECT_THAT(hand.hear(second.id, election), ElementsAre("refuse to 5"));
  EXPECT_EQ(hand.state(), State::slave) << "an old Election is not a new one";
}

TEST(RepeatedElection, OfAnEarlierNumberIsIgnored) {
  Hand hand;
  bring_to(hand, State::slave);
  Peer candidate = peer(4);
  const Message first = candidate.says(Kind::election);
  const Message second = candidate.says(Kind::election);
  hand.hear(candidate.id, second);
  EXPECT_THAT(hand.hear(candidate.id, first), IsEmpty());
}

TEST(RepeatedElection, WithANewNumberIsAcceptedAnew) {
  Hand hand;
  bring_to(hand, State::accept);
  hand.sleep(500ms);
  Peer candidate = peer(4);
  candidate.last = 100;
  EXPECT_THAT(hand.hear(candidate, Kind::election), ElementsAre("accept to 4"));
  EXPECT_EQ(hand.left(Timer::accept), 1s);
}

// The printed reading: one duplicated datagram kills an election.
TEST(RepeatedElection, IsRefusedInTheVariantThatRefusesDuplicates) {
  Hand hand("lan", 0, {.refuse_duplicate = true});
  bring_to(hand, State::slave);
  Peer candidate = peer(4);
  const Message election = candidate.says(Kind::election);
  EXPECT_THAT(hand.hear(candidate.id, election), ElementsAre("accept to 4"));
  EXPECT_THAT(hand.hear(candidate.id, election), ElementsAre("refuse to 4"));
}

// --- a master and its list ---

// Slaves 3, 5 and 7 have reported; the first Adjtime round has begun.
class Ruling : public ::testing::Test {
 protected:
  Ruling() {
    bring_to(hand, State::master);
    for (Peer* slave : {&third, &fifth, &seventh}) hand.hear(*slave, Kind::slaveup);
  }
  void acknowledge(Peer& slave) {
    Message ack = answering(asked(slave));
    ack.subject_incarnation = kLife;
    hand.hear(slave, Kind::ack, ack);
  }
  // The number of the last Adjtime of the round; a round sends them in ascending order.
  Sequence asked(const Peer& slave) const {
    const std::uint32_t place = slave.id == third.id ? 0 : slave.id == fifth.id ? 1 : 2;
    return Sequence{std::to_underlying(first_of_round) + place};
  }
  void begin_round() {
    ASSERT_THAT(hand.run_out(Timer::sync),
                ElementsAre("adjtime to 3", "adjtime to 5", "adjtime to 7"));
    first_of_round = hand.sent().front().sequence;
  }
  NodeId named_heir() {
    hand.run_out(Timer::loop);
    return hand.sent(Kind::loop).subject;
  }

  Hand hand;
  Peer third = peer(3), fifth = peer(5), seventh = peer(7);
  Sequence first_of_round = kNoSequence;
};

TEST_F(Ruling, TheHeirIsTheHighestListed) {
  EXPECT_EQ(named_heir(), seventh.id);
  Peer ninth = peer(9);
  hand.hear(ninth, Kind::slaveup);
  EXPECT_EQ(named_heir(), ninth.id);
}

TEST_F(Ruling, TheHeirIsTheHighestThatAnswers) {
  begin_round();
  acknowledge(third);
  acknowledge(fifth);
  hand.pass(50ms);  // 7 is asked again
  hand.pass(200ms);
  EXPECT_EQ(hand.sent(Kind::loop).subject, fifth.id);
  acknowledge(seventh);
  EXPECT_EQ(named_heir(), seventh.id) << "it answers again";
}

TEST(Heir, IsNobodyWhileNobodyIsListed) {
  Hand hand;
  bring_to(hand, State::master);
  hand.run_out(Timer::loop);
  EXPECT_EQ(hand.sent(Kind::loop).subject, kNobody);
}

// Sent at 0, 50, 150, 350 and 750 ms; the last one is waited for as long as a sixth would be.
TEST_F(Ruling, WhoDoesNotAnswerFiveSendsIsDropped) {
  begin_round();
  acknowledge(third);
  acknowledge(fifth);
  const Instant began = hand.now();
  std::vector<Nanos> sends;
  while (hand.machine().list().contains(seventh.id) && hand.now() < began + 5s) {
    const auto lines = hand.run_out(Timer::retransmit);
    if (std::ranges::count(lines, "adjtime to 7") > 0) {
      sends.push_back(hand.now() - began);
    } else {
      EXPECT_THAT(lines, ElementsAre("down: 7"));
    }
  }
  EXPECT_THAT(sends, ElementsAre(50ms, 150ms, 350ms, 750ms));
  EXPECT_EQ(hand.now() - began, 1550ms);
  EXPECT_TRUE(hand.machine().list().contains(third.id));
  EXPECT_TRUE(hand.machine().list().contains(fifth.id));
}

// The retransmission outlasts a round; who still owes an answer is not asked anew.
TEST_F(Ruling, WhoHasNotAnsweredTheLastRoundIsNotAskedAnew) {
  begin_round();
  acknowledge(third);
  acknowledge(fifth);
  EXPECT_THAT(hand.run_out(Timer::sync), ElementsAre("adjtime to 3", "adjtime to 5"));
}

TEST_F(Ruling, ANewcomerIsSetOnceForEachQuestion) {
  Peer newcomer = peer(8);
  const Message question = newcomer.says(Kind::masterreq);
  EXPECT_THAT(hand.hear(newcomer.id, question), ElementsAre("masterack to 8", "settime to 8"));
  EXPECT_THAT(hand.hear(newcomer.id, question), ElementsAre("masterack to 8")) << "a repeat";
  EXPECT_THAT(hand.hear(newcomer, Kind::masterreq), ElementsAre("masterack to 8", "settime to 8"));
  EXPECT_TRUE(hand.machine().list().contains(newcomer.id));
}

TEST_F(Ruling, ASlaveThatWasNeverSetIsSet) {
  Peer slave = peer(8);
  Message report;
  report.not_set = true;
  EXPECT_THAT(hand.hear(slave, Kind::slaveup, report), ElementsAre("settime to 8"));
  report.not_set = false;
  EXPECT_THAT(hand.hear(slave, Kind::slaveup, report), IsEmpty());
}

// Its slaves follow at once, not at the next Loop; but Loops out of turn are rare.
TEST_F(Ruling, AMasterThatYieldsIsAnsweredByLoopAtOnce) {
  Peer yielding = peer(8);
  Message report;
  report.was_master = true;
  EXPECT_THAT(hand.hear(yielding, Kind::slaveup, report), ElementsAre("loop to all"));
  hand.sleep(200ms - 1ns);
  EXPECT_THAT(hand.hear(yielding, Kind::slaveup, report), IsEmpty());
  hand.sleep(1ns);
  EXPECT_THAT(hand.hear(yielding, Kind::slaveup, report), ElementsAre("loop to all"));
}

TEST_F(Ruling, AMasterOfALowerEpochIsToldToQuitOneAtATime) {
  Peer lower = master_of(9, 8);
  EXPECT_THAT(hand.hear(lower, Kind::loop), ElementsAre("quit to 8", "loop to all"));
  EXPECT_EQ(hand.sent(Kind::quit).answers, kNoSequence) << "meant for a master";
  EXPECT_EQ(hand.sent(Kind::quit).epoch, hand.machine().followed());
  EXPECT_TRUE(hand.machine().list().contains(lower.id));
  EXPECT_THAT(hand.hear(lower, Kind::loop), IsEmpty());
}

TEST_F(Ruling, AnElectionIsCutShort) {
  Peer late = peer(8);
  late.last = 30;
  EXPECT_THAT(hand.hear(late, Kind::election), ElementsAre("quit to 8"));
  EXPECT_EQ(hand.sent(Kind::quit).answers, Sequence{31});
  EXPECT_TRUE(hand.machine().list().contains(late.id));
}

TEST_F(Ruling, AnElectionOfWhoFollowsAHigherEpochIsAccepted) {
  Peer other = peer(8);
  other.epoch = {12, NodeId{6}, Incarnation{1}};
  EXPECT_THAT(hand.hear(other, Kind::election), ElementsAre("accept to 8"));
  EXPECT_EQ(hand.state(), State::accept);
  EXPECT_TRUE(hand.machine().list().empty());
  EXPECT_EQ(hand.machine().followed(), other.epoch);
}

TEST_F(Ruling, AHigherMasterIsFollowed) {
  Peer higher = master_of(11, 6);
  EXPECT_THAT(hand.hear(higher, Kind::loop), ElementsAre("slaveup to 6"));
  EXPECT_TRUE(hand.sent(Kind::slaveup).was_master);
  EXPECT_EQ(hand.state(), State::slave);
  EXPECT_TRUE(hand.machine().list().empty());
  EXPECT_EQ(hand.left(Timer::election), 3750ms) << "the middle of 2.5 to 5 s";
}

// A living newer master has spoken within a candidate timer; a dead one is replaced after it.
TEST_F(Ruling, StaleOfAHigherEpochMakesASlaveWithLittlePatience) {
  Peer slave = peer(3);
  Message stale;
  stale.epoch = {11, NodeId{6}, Incarnation{1}};
  EXPECT_THAT(hand.hear(slave, Kind::stale, stale), ElementsAre("slaveup to 6"));
  EXPECT_TRUE(hand.sent(Kind::slaveup).was_master);
  EXPECT_EQ(hand.state(), State::slave);
  EXPECT_EQ(hand.left(Timer::election), 200ms);
}

TEST_F(Ruling, StaleThatNamesAnEarlierLifeOfOursMakesACandidate) {
  Peer slave = peer(3);
  Message stale;
  stale.epoch = {11, kSelf, Incarnation{5}};
  EXPECT_THAT(hand.hear(slave, Kind::stale, stale), ElementsAre("election to all"));
  EXPECT_EQ(hand.state(), State::candidate);
  // Its next mastership is above the earlier life's.
  hand.run_out(Timer::candidate);
  EXPECT_EQ(hand.machine().followed(), (Epoch{12, kSelf, kLife}));
}

TEST_F(Ruling, StaleOfALowerEpochChangesNothing) {
  Peer slave = peer(3);
  Message stale;
  stale.epoch = {9, NodeId{6}, Incarnation{1}};
  EXPECT_THAT(hand.hear(slave, Kind::stale, stale), IsEmpty());
  EXPECT_EQ(hand.state(), State::master);
}

// --- rounds ---

TEST(Rounds, ANewMasterTakesTheNextAfterEveryRoundSeen) {
  for (const Kind kind : {Kind::election, Kind::accept, Kind::refuse, Kind::stale}) {
    Hand hand;
    bring_to(hand, State::candidate);
    Peer other = peer(4);
    other.last = 100;
    Message rumour;
    rumour.epoch = {30, NodeId{2}, Incarnation{1}};
    hand.hear(other, kind, rumour);
    ASSERT_EQ(hand.state(), State::candidate) << name_of(kind);
    EXPECT_EQ(hand.machine().followed().round, 10U) << "such a message raises the round seen only";
    hand.run_out(Timer::candidate);
    EXPECT_EQ(hand.machine().followed(), (Epoch{31, kSelf, kLife})) << name_of(kind);
    EXPECT_EQ(hand.sent(Kind::masterup).epoch, hand.machine().followed());
  }
}

TEST(Rounds, AMasterKeepsItsEpochThroughAConflict) {
  Hand hand;
  bring_to(hand, State::conflict);
  const Epoch before = hand.machine().followed();
  EXPECT_THAT(hand.run_out(Timer::conflict), ElementsAre("masterup to all"));
  EXPECT_EQ(hand.machine().followed(), before);
}

// --- what is withdrawn with the state it belonged to ---

TEST(Withdrawal, WhoStopsRulingStopsCorrectingAndQuitting) {
  Hand hand;
  bring_to(hand, State::master);
  Peer newcomer = peer(3), late = peer(4);
  hand.hear(newcomer, Kind::masterreq);  // Settime
  late.last = 100;
  hand.hear(late, Kind::election);  // Quit
  hand.run_out(Timer::sync);        // Adjtime
  ASSERT_TRUE(hand.runs(Timer::retransmit));
  Peer higher = master_of(11, 6);
  hand.hear(higher, Kind::loop);
  EXPECT_FALSE(hand.runs(Timer::retransmit));
}

TEST(Withdrawal, WhoStopsStandingStopsItsConflict) {
  Hand hand;
  bring_to(hand, State::consistency);
  Peer rival = master_of(11, 6);
  ASSERT_THAT(hand.hear(rival, Kind::masterack), ElementsAre("slaveup to 6", "conflict to 9"));
  hand.command(Command::stand);
  ASSERT_EQ(hand.state(), State::candidate);
  EXPECT_TRUE(hand.runs(Timer::retransmit));
  hand.hear(rival, Kind::masterup);
  ASSERT_EQ(hand.state(), State::slave);
  EXPECT_FALSE(hand.runs(Timer::retransmit));
}

TEST(Withdrawal, WhoLeavesAcceptStopsItsAccept) {
  {
    Hand hand;
    bring_to(hand, State::accept);
    hand.sleep(1s);
    hand.wake(Timer::accept);
    ASSERT_EQ(hand.state(), State::slave);
    EXPECT_FALSE(hand.runs(Timer::retransmit));
  }
  {
    Hand hand;
    bring_to(hand, State::accept);
    Peer candidate = master_of(11, 4);
    candidate.last = 100;
    hand.hear(candidate, Kind::masterup);
    ASSERT_EQ(hand.state(), State::slave);
    EXPECT_FALSE(hand.runs(Timer::retransmit));
  }
}

TEST(Withdrawal, WhoLeavesAcceptKeepsItsRefusal) {
  Hand hand;
  bring_to(hand, State::accept);
  Peer second = peer(5);
  hand.hear(second, Kind::election);
  hand.sleep(1s);
  hand.wake(Timer::accept);
  ASSERT_EQ(hand.state(), State::slave);
  EXPECT_TRUE(hand.runs(Timer::retransmit));
}

TEST(Withdrawal, WhoBecomesMasterStopsRefusing) {
  Hand hand;
  bring_to(hand, State::candidate);
  Peer rival = peer(5);
  ASSERT_THAT(hand.hear(rival, Kind::election), ElementsAre("refuse to 5"));
  EXPECT_TRUE(hand.runs(Timer::retransmit));
  hand.run_out(Timer::candidate);
  ASSERT_EQ(hand.state(), State::master);
  EXPECT_FALSE(hand.runs(Timer::retransmit));
}

// --- candidacies ---

TEST(Candidacy, IsProlongedByAcceptsButEndsWithinHalfAnAcceptTimer) {
  Hand hand;
  bring_to(hand, State::candidate);
  const Instant stood = hand.now();
  for (std::uint32_t i = 2; i < 9; ++i) {
    hand.sleep(90ms);
    if (hand.state() != State::candidate ||
        hand.machine().timers().at(Timer::candidate) <= hand.now())
      break;
    Peer other = peer(20 + i);
    hand.hear(other, Kind::accept, answering(kOurElection));
    EXPECT_EQ(hand.machine().timers().at(Timer::candidate),
              std::min(hand.now() + 200ms, stood + 500ms));
  }
  EXPECT_EQ(hand.machine().timers().at(Timer::candidate), stood + 500ms);
}

TEST(Candidacy, DoublesTheRangeAfterEachCollisionUpToSixteen) {
  Hand hand;
  hand.draw_share(1);
  bring_to(hand, State::slave);
  std::uint32_t refusing = 20;
  for (const std::uint32_t backoff : {2U, 4U, 8U, 16U, 16U}) {
    hand.command(Command::stand);
    Peer other = peer(++refusing);
    hand.hear(other, Kind::refuse, answering(hand.sent(Kind::election).sequence));
    EXPECT_EQ(hand.machine().backoff(), backoff);
    EXPECT_EQ(hand.left(Timer::election), 2500ms + backoff * 2500ms);
  }
  Peer newer = master_of(11, 6);
  hand.hear(newer, Kind::masterup);
  EXPECT_EQ(hand.machine().backoff(), 1U);
  EXPECT_EQ(hand.left(Timer::election), 5s);
}

TEST(Candidacy, FoundOverdueByMoreThanItsTimerMakesNobodyMaster) {
  Hand prompt;
  bring_to(prompt, State::candidate);
  prompt.sleep(400ms);
  prompt.wake(Timer::candidate);
  EXPECT_EQ(prompt.state(), State::master);
  Hand sleeper;
  bring_to(sleeper, State::candidate);
  sleeper.sleep(400ms + 1ns);
  EXPECT_THAT(sleeper.wake(Timer::candidate), IsEmpty());
  EXPECT_EQ(sleeper.state(), State::slave);
}

TEST(NoMaster, FoundOverdueBeginsAgain) {
  Hand prompt;
  bring_to(prompt, State::no_master);
  prompt.sleep(700ms);
  EXPECT_THAT(prompt.wake(Timer::no_master), ElementsAre("masterup to all"));
  Hand sleeper;
  bring_to(sleeper, State::no_master);
  sleeper.sleep(700ms + 1ns);
  EXPECT_THAT(sleeper.wake(Timer::no_master), ElementsAre("masterreq to all"));
  EXPECT_EQ(sleeper.state(), State::startup);
}

// --- patience ---

TEST(Patience, IsDrawnOnceAndRestartedWithTheSameValue) {
  Hand hand;
  hand.draw_share(0.25);
  bring_to(hand, State::slave);
  hand.draw_share(0.75);
  Peer master = old_master();
  for (const Kind kind :
       {Kind::adjtime, Kind::settime, Kind::masterup, Kind::loop, Kind::resolve, Kind::quit}) {
    hand.sleep(100ms);
    hand.hear(master, kind);
    EXPECT_EQ(hand.left(Timer::election), 3125ms) << name_of(kind);
  }
  Peer newer = master_of(11, 6);
  hand.hear(newer, Kind::loop);
  EXPECT_EQ(hand.left(Timer::election), 4375ms) << "a new master: drawn anew";
}

TEST(Patience, IsNotTouchedByMasterreqNorByStrangers) {
  Hand hand;
  bring_to(hand, State::slave);
  const Nanos patience = hand.left(Timer::election);
  hand.sleep(100ms);
  Peer other = peer(4);
  for (const Kind kind :
       {Kind::masterreq, Kind::slaveup, Kind::accept, Kind::refuse, Kind::conflict, Kind::stale}) {
    hand.hear(other, kind);
    EXPECT_EQ(hand.left(Timer::election), patience - 100ms) << name_of(kind);
  }
  Peer lower = master_of(9, 6);
  hand.hear(lower, Kind::loop);
  EXPECT_EQ(hand.left(Timer::election), patience - 100ms) << "a Loop of a lower epoch";
}

// --- overlooked, and given up ---

TEST(Overlooked, ASlaveSpeaksUpAfterTwoIntervalsAndFourTimesInEach) {
  Hand hand;
  bring_to(hand, State::slave);
  Peer master = old_master();
  const Instant followed = hand.now();
  std::vector<Nanos> spoke;
  while (hand.now() < followed + 4s) {
    hand.sleep(10ms);
    const auto lines = hand.hear(master, Kind::loop);
    if (!lines.empty()) {
      EXPECT_THAT(lines, ElementsAre("slaveup to 9"));
      spoke.push_back(hand.now() - followed);
    }
  }
  ASSERT_FALSE(spoke.empty());
  EXPECT_EQ(spoke.front(), 2s);
  EXPECT_THAT(spoke,
              ElementsAre(2000ms, 2250ms, 2500ms, 2750ms, 3000ms, 3250ms, 3500ms, 3750ms, 4000ms));
}

TEST(Overlooked, ACorrectionKeepsItQuietForTwoMoreIntervals) {
  Hand hand;
  bring_to(hand, State::slave);
  Peer master = old_master();
  hand.sleep(1s);
  hand.hear(master, Kind::adjtime);
  hand.sleep(2s - 1ns);
  EXPECT_THAT(hand.hear(master, Kind::loop), IsEmpty());
  hand.sleep(1ns);
  EXPECT_THAT(hand.hear(master, Kind::loop), ElementsAre("slaveup to 9"));
}

// One wrong firewall rule: the master is heard and hears nothing.
TEST(GivenUp, AfterEightIntervalsWithoutAWordOfItsOwn) {
  for (const Kind kind : {Kind::loop, Kind::masterup, Kind::resolve}) {
    Hand hand;
    bring_to(hand, State::slave);
    Peer master = old_master();
    const Nanos patience = hand.left(Timer::election);
    hand.sleep(8s - 1ns);
    hand.hear(master, kind);
    EXPECT_EQ(hand.left(Timer::election), patience) << name_of(kind);
    hand.sleep(1ns);
    hand.hear(master, kind);
    EXPECT_EQ(hand.left(Timer::election), patience - 1ns) << name_of(kind);
  }
}

TEST(GivenUp, ItsBeaconStopsNoCandidateAndNoAccept) {
  for (const State state : {State::candidate, State::accept}) {
    for (const Kind kind : {Kind::loop, Kind::masterup, Kind::resolve}) {
      Hand hand;
      bring_to(hand, State::slave);
      Peer master = old_master();
      hand.sleep(8s);
      Peer other = peer(4);
      other.last = 100;
      if (state == State::candidate)
        hand.command(Command::stand);
      else
        hand.hear(other, Kind::election);
      ASSERT_EQ(hand.state(), state);
      EXPECT_THAT(hand.hear(master, kind), IsEmpty()) << name_of(kind);
      EXPECT_EQ(hand.state(), state) << name_of(kind);
    }
  }
}

TEST(GivenUp, UntilSomethingAddressedArrives) {
  for (const Kind kind : {Kind::adjtime, Kind::settime, Kind::masterack, Kind::quit}) {
    Hand hand;
    bring_to(hand, State::slave);
    Peer master = old_master();
    const Nanos patience = hand.left(Timer::election);
    hand.sleep(9s);
    hand.hear(master, kind);
    hand.sleep(10ms);
    hand.hear(master, Kind::loop);
    EXPECT_EQ(hand.left(Timer::election), patience) << name_of(kind);
  }
}

// A Loop is heard by all and proves nothing; nor does a correction by somebody else's epoch.
TEST(GivenUp, LoopsDoNotPutItOff) {
  Hand hand;
  bring_to(hand, State::slave);
  Peer master = old_master();
  for (int i = 0; i < 32; ++i) {
    hand.sleep(250ms);
    hand.hear(master, Kind::loop);
  }
  const Nanos left = hand.left(Timer::election);
  hand.sleep(250ms);
  hand.hear(master, Kind::loop);
  EXPECT_EQ(hand.left(Timer::election), left - 250ms);
}

// --- crash hints ---

Message gone(const Peer& who) {
  Message hint;
  hint.subject = who.id;
  hint.subject_incarnation = who.life;
  return hint;
}

// A slave that has heard a Loop which names this heir.
void follow_with_heir(Hand& hand, NodeId heir) {
  bring_to(hand, State::slave);
  Peer master = old_master();
  Message loop;
  loop.subject = heir;
  hand.hear(master, Kind::loop, loop);
  ASSERT_EQ(hand.machine().heir(), heir);
}

TEST(CrashHint, TheHeirStandsAtOnce) {
  Hand hand;
  follow_with_heir(hand, kSelf);
  Peer parent = old_master();
  EXPECT_THAT(hand.hear(parent, Kind::masterdown, gone(parent)), ElementsAre("election to all"));
  EXPECT_EQ(hand.state(), State::candidate);
}

TEST(CrashHint, TheOthersWaitTwoCandidateTimesAndADraw) {
  for (const auto& [share, wait] : {std::pair{0.0, 400ms}, {1.0, 2900ms}}) {
    Hand hand;
    follow_with_heir(hand, NodeId{5});
    hand.draw_share(share);
    Peer parent = old_master();
    EXPECT_THAT(hand.hear(parent, Kind::masterdown, gone(parent)), IsEmpty());
    EXPECT_EQ(hand.state(), State::slave);
    EXPECT_EQ(hand.left(Timer::election), wait);
  }
}

TEST(CrashHint, WithoutAnHeirEverybodyDrawsFromHalfTheWidth) {
  for (const auto& [share, wait] : {std::pair{0.0, 0ms}, {1.0, 1250ms}}) {
    Hand hand;
    bring_to(hand, State::slave);
    hand.draw_share(share);
    Peer parent = old_master();
    hand.hear(parent, Kind::masterdown, gone(parent));
    EXPECT_EQ(hand.left(Timer::election), wait);
  }
}

// The parent drew the incarnation: a hint about an earlier life, or another node, says nothing.
TEST(CrashHint, OfAnotherLifeOrAnotherNodeIsIgnored) {
  Hand hand;
  follow_with_heir(hand, kSelf);
  Peer parent = old_master();
  Message earlier = gone(parent);
  earlier.subject_incarnation = Incarnation{508};
  EXPECT_THAT(hand.hear(parent, Kind::masterdown, earlier), IsEmpty());
  Message other = gone(parent);
  other.subject = NodeId{4};
  EXPECT_THAT(hand.hear(parent, Kind::masterdown, other), IsEmpty());
  EXPECT_EQ(hand.state(), State::slave);
  EXPECT_EQ(hand.left(Timer::election), 3750ms);
}

TEST(CrashHint, IsHeededBySlavesOnly) {
  for (const State state : kAllStates) {
    Hand hand;
    bring_to(hand, state);
    Peer parent = peer(9);
    const std::string before = hand.packed_now();
    EXPECT_THAT(hand.hear(parent, Kind::masterdown, gone(parent)), IsEmpty());
    EXPECT_EQ(hand.packed_now() != before, state == State::slave) << name_of(state);
  }
}

// A Loop still under way does not undo the hint; a living master's Quit does.
TEST(CrashHint, CountsAsGivenUpForOneAcceptTime) {
  Hand hand;
  follow_with_heir(hand, NodeId{5});
  hand.draw_share(1);
  Peer master = old_master();
  master.last += 10;
  hand.hear(master, Kind::masterdown, gone(master));
  ASSERT_EQ(hand.left(Timer::election), 2900ms);
  hand.sleep(1s - 1ns);
  hand.hear(master, Kind::loop);
  EXPECT_EQ(hand.left(Timer::election), 1900ms + 1ns);
  hand.sleep(1ns);
  hand.hear(master, Kind::loop);
  EXPECT_EQ(hand.left(Timer::election), 3750ms) << "it lives after all";
}

TEST(CrashHint, IsUndoneByALivingMastersQuit) {
  Hand hand;
  follow_with_heir(hand, kSelf);
  Peer master = old_master();
  master.last += 10;
  hand.hear(master, Kind::masterdown, gone(master));
  ASSERT_EQ(hand.state(), State::candidate);
  const Sequence election = hand.sent(Kind::election).sequence;
  hand.hear(master, Kind::loop);
  ASSERT_EQ(hand.state(), State::candidate) << "given up for now";
  hand.hear(master, Kind::quit, answering(election));
  EXPECT_EQ(hand.state(), State::slave);
  hand.sleep(10ms);
  hand.hear(master, Kind::loop);
  EXPECT_EQ(hand.left(Timer::election), 3750ms);
}

TEST(CrashHint, ARestartedMastersMasterreqIsOne) {
  Hand heir;
  follow_with_heir(heir, kSelf);
  Peer again = peer(9);
  again.life = Incarnation{600};
  EXPECT_THAT(heir.hear(again, Kind::masterreq), ElementsAre("election to all"));
  Hand other;
  follow_with_heir(other, NodeId{5});
  other.draw_share(0);
  other.hear(again, Kind::masterreq);
  EXPECT_EQ(other.left(Timer::election), 400ms);
  // A Masterreq of the life followed is old.
  Hand same;
  follow_with_heir(same, kSelf);
  Peer master = old_master();
  EXPECT_THAT(same.hear(master, Kind::masterreq), IsEmpty());
  EXPECT_EQ(same.state(), State::slave);
}

// --- consistency ---

TEST(Consistency, TheFirstOfTwoMastersIsToldAndTheHigherFollowed) {
  Hand hand;
  bring_to(hand, State::consistency);
  Peer higher = master_of(11, 6);
  EXPECT_THAT(hand.hear(higher, Kind::masterack), ElementsAre("slaveup to 6", "conflict to 9"));
  EXPECT_EQ(hand.state(), State::slave);
  EXPECT_EQ(hand.machine().master(), higher.id);
  Hand other;
  bring_to(other, State::consistency);
  Peer lower = master_of(9, 6);
  EXPECT_THAT(other.hear(lower, Kind::masterack), ElementsAre("stale to 6", "conflict to 9"));
  EXPECT_EQ(other.state(), State::slave);
  EXPECT_EQ(other.machine().master(), NodeId{9});
}

// --- without epochs ---

TEST(NoEpoch, OfTwoMastersTheSmallerNameTellsTheOtherToQuit) {
  Hand hand("lan", 0, {.no_epoch = true});
  hand.start();
  hand.run_out(Timer::startup);
  hand.run_out(Timer::no_master);
  ASSERT_EQ(hand.state(), State::master);
  Peer larger = master_of(0, 6);
  EXPECT_THAT(hand.hear(larger, Kind::loop), ElementsAre("quit to 6"));
  Peer smaller = master_of(0, 0);
  EXPECT_THAT(hand.hear(smaller, Kind::loop), IsEmpty());
  EXPECT_THAT(hand.hear(smaller, Kind::quit), ElementsAre("ack to 0"));
  EXPECT_EQ(hand.state(), State::slave);
}

TEST(NoEpoch, AMasterAppliesNoCorrection) {
  Hand hand("lan", 0, {.no_epoch = true});
  hand.start();
  hand.run_out(Timer::startup);
  hand.run_out(Timer::no_master);
  Peer other = master_of(0, 6);
  EXPECT_THAT(hand.hear(other, Kind::adjtime), ElementsAre("ack to 6"));
  EXPECT_THAT(hand.hear(other, Kind::masterup), IsEmpty());
  EXPECT_EQ(hand.state(), State::master);
}

// Told of a conflict at once, two masters answer each other's Resolve: only the smaller may.
TEST(NoEpoch, InConflictTheSmallerNamesResolveAloneIsAnswered) {
  for (const bool kills_both : {false, true}) {
    Hand hand("lan", 0, {.no_epoch = true, .conflict_kills_both = kills_both});
    hand.start();
    hand.run_out(Timer::startup);
    hand.run_out(Timer::no_master);
    Peer newcomer = peer(4);
    ASSERT_THAT(hand.hear(newcomer, Kind::conflict), ElementsAre("ack to 4", "resolve to all"));
    Peer smaller = master_of(0, 0);
    EXPECT_THAT(hand.hear(smaller, Kind::resolve), ElementsAre("masterack to 0"));
    Peer larger = master_of(0, 6);
    const auto answer = hand.hear(larger, Kind::resolve);
    EXPECT_EQ(answer, kills_both ? Hand::Lines{"masterack to 6"} : Hand::Lines{});
    EXPECT_THAT(hand.hear(larger, Kind::masterack), ElementsAre("quit to 6", "resolve to all"));
    EXPECT_EQ(hand.left(Timer::conflict), 300ms);
  }
}

// --- stopping ---

TEST_P(InEveryState, StopEndsItAndAMasterSaysSo) {
  Hand hand;
  bring_to(hand, GetParam());
  const auto lines = hand.command(Command::stop);
  const bool rules = GetParam() == State::master || GetParam() == State::conflict;
  if (rules) {
    EXPECT_THAT(lines, ElementsAre("masterdown to all", "ended"));
    EXPECT_EQ(hand.sent(Kind::masterdown).subject, kSelf);
    EXPECT_EQ(hand.sent(Kind::masterdown).subject_incarnation, kLife);
  } else {
    EXPECT_THAT(lines, ElementsAre("ended"));
  }
  EXPECT_TRUE(hand.machine().ended());
  EXPECT_EQ(hand.machine().timers().first(), kNever);
  Peer master = master_of(50, 6);
  for (std::size_t i = 0; i < kKinds; ++i)
    EXPECT_THAT(hand.hear(master, static_cast<Kind>(i)), IsEmpty());
  EXPECT_THAT(hand.command(Command::stand), IsEmpty());
  EXPECT_EQ(hand.machine().timers().first(), kNever);
}

// --- harmless things ---

TEST_P(InEveryState, ItsOwnBroadcastIsDiscarded) {
  Hand hand;
  bring_to(hand, GetParam());
  const std::string before = hand.packed_now();
  Peer self = master_of(99, 1);
  for (std::size_t i = 0; i < kKinds; ++i) {
    EXPECT_THAT(hand.hear(self, static_cast<Kind>(i)), IsEmpty());
    EXPECT_EQ(hand.packed_now(), before) << name_of(static_cast<Kind>(i));
  }
}

TEST_P(InEveryState, ATimerWokenEarlyDoesNothing) {
  Hand hand("lan", 4);
  bring_to(hand, GetParam());
  const std::string before = hand.packed_now();
  for (std::uint8_t i = 0; i < Timers<Timer>::kCount; ++i) {
    EXPECT_THAT(hand.wake(static_cast<Timer>(i)), IsEmpty()) << name_of(static_cast<Timer>(i));
    EXPECT_EQ(hand.packed_now(), before) << name_of(static_cast<Timer>(i));
  }
}

// A forged master's message that names no mastership: nobody is followed, nothing falls over. In a
// process of its own, because a machine that falls over takes its process with it.
TEST_P(InEveryState, AMastersMessageWithoutAMastershipDoesNoHarm) {
  for (std::size_t i = 0; i < kKinds; ++i) {
    const auto kind = static_cast<Kind>(i);
    if (!masters_message(kind)) continue;
    const auto receive = [&] {
      Hand hand;
      bring_to(hand, GetParam());
      const Epoch followed = hand.machine().followed();
      Peer forger = peer(6);
      hand.hear(forger, kind);
      return hand.machine().followed() == followed ? 0 : 1;
    };
    EXPECT_EXIT(std::_Exit(receive()), ::testing::ExitedWithCode(0), "") << name_of(kind);
  }
}

// --- the field list ---

// A master with something in every container, all its spans in the future.
TEST(Fields, EveryOneOfThemShowsInThePackedForm) {
  Hand hand("lan", 4);
  bring_to(hand, State::master);
  Peer slave = peer(3), newcomer = peer(4);
  hand.hear(slave, Kind::slaveup);
  hand.hear(newcomer, Kind::masterreq);
  ASSERT_TRUE(hand.runs(Timer::retransmit));
  const Writes writes = write_into_every_field(hand.machine(), hand.now());
  EXPECT_THAT(writes.unnoticed, IsEmpty());
  EXPECT_GT(writes.tried, 40U);
  // The rules are shared and never change: the pointer to them stays out of the list. The rest is
  // padding that the compiler does not tell from members: four bytes before the instants, five
  // after the last bool.
  EXPECT_EQ(unlisted_bytes(hand.machine()), sizeof(const Rules*) + 9);
}

TEST(Fields, OfAMessageAllShowInThePackedForm) {
  const Message message{};
  const Writes writes = write_into_every_field(message, kStart);
  EXPECT_THAT(writes.unnoticed, IsEmpty());
  EXPECT_EQ(unlisted_bytes(message), 0U);
  const Notice notice{};
  EXPECT_THAT(unnoticed_writes(notice, kStart), IsEmpty());
  EXPECT_EQ(unlisted_bytes(notice), 0U);
}

}  // namespace
}  // namespace tempo::election
