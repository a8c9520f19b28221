// One host against hand-made packets: the old control messages, the limits, and what a TSP peer may
// not cause.
#include "protocol/classic/classic_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/machine_harness.h"

namespace tempo::classic {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using wire::tsp::Datagram;
using wire::tsp::Type;

constexpr NodeId kSelf{10};
constexpr NodeId kLower{3};
constexpr NodeId kHigher{20};

election::Rules rules_of(std::string_view profile) {
  return {.timing = *election::profile(profile), .repeats = 0, .variant = ClassicHost::variant()};
}

class Harness : public MachineHarness<ClassicHost> {
 public:
  explicit Harness(const Options& options = {}, std::uint8_t networks = 1)
      : rules_(rules_of("classic")) {
    make(ClassicHost::Identity{.self = kSelf,
                               .incarnation = Incarnation{1},
                               .name = wire::Name("me"),
                               .networks = networks},
         rules_, options, clock::SteeredClock(now(), WallTime{1'000'000s}, 0));
    start();
  }

  Lines hear(NodeId from, Type type, std::string_view name, std::uint16_t sequence = 7,
             std::int64_t micros = 0, std::uint8_t hops = wire::tsp::kHops,
             std::uint8_t network = 0) {
    return receive(from, {.network = network,
                          .datagram = {.type = type,
                                       .sequence = sequence,
                                       .micros = micros,
                                       .hops = hops,
                                       .name = wire::Name(name)}});
  }
  void become_master() {
    run_out(10s);
    ASSERT_EQ(machine().network(0)->state(), election::State::master);
  }
  void become_slave() {
    (void)hear(kLower, Type::masterup, "lower");
    ASSERT_EQ(machine().network(0)->state(), election::State::slave);
  }
  Nanos clock_gained(Instant since, WallTime then) {
    return (machine().time(now()) - then) - (now() - since);
  }
  void run_out(Nanos span) { (void)pass(span); }

  std::string text_of(const Output<ClassicHost>& output) override {
    if (output.kind == OutputKind::notice) {
      if (const auto* refused = std::get_if<Refused>(&output.notice))
        return fmt::format("refused {}", name_of(refused->reason));
      if (const auto* changed = std::get_if<ClockChanged>(&output.notice))
        return fmt::format("{} {} ms", changed->stepped ? "step" : "slew", changed->by / 1ms);
      if (std::holds_alternative<TimeLoop>(output.notice)) return "time loop";
      if (const auto* tracing = std::get_if<Tracing>(&output.notice))
        return tracing->on ? "trace on" : "trace off";
      return "";
    }
    const std::string to =
        output.kind == OutputKind::broadcast ? "all" : fmt::format("{}", index(output.to));
    return fmt::format("{} to {} on {}", classic::text_of(output.message), to,
                       output.message.network);
  }

 private:
  election::Rules rules_;
};

TEST(ClassicHost, TellsAControlProgramTheMaster) {
  Harness host;
  EXPECT_THAT(host.hear(kStranger, Type::msite, "asker", 99), IsEmpty()) << "no master yet";
  host.become_slave();
  EXPECT_THAT(host.hear(kStranger, Type::msite, "asker", 99),
              ElementsAre("ack of lower to 1023 on 0"));
  EXPECT_EQ(host.outputs().begin()->message.datagram.sequence, 99);
  EXPECT_THAT(host.hear(kHigher, Type::msitereq, "other"), IsEmpty()) << "only the master answers";
}

TEST(ClassicHost, AnswersMsitereqAsMaster) {
  Harness host;
  host.become_master();
  EXPECT_THAT(host.hear(kHigher, Type::msitereq, "other", 5), ElementsAre("ack of me to 20 on 0"));
  EXPECT_EQ(host.outputs().begin()->message.datagram.sequence, 5);
}

TEST(ClassicHost, StandsOnTest) {
  Harness host;
  host.become_slave();
  EXPECT_THAT(host.hear(kStranger, Type::test, "asker"), ElementsAre("election of me to all on 0"));
}

// Like timed without -M.
TEST(ClassicHost, NeverStandsUnlessItMayLead) {
  Harness host(Options{.may_lead = false});
  host.run_out(10s);
  EXPECT_EQ(host.machine().network(0)->state(), election::State::no_master);
  host.become_slave();
  EXPECT_THAT(host.hear(kStranger, Type::test, "asker"), IsEmpty());
  EXPECT_THAT(host.hear(kHigher, Type::election, "other"), ElementsAre("accept of me to 20 on 0"));
  host.run_out(3600s);
  EXPECT_NE(host.machine().network(0)->state(), election::State::master);
}

TEST(ClassicHost, AcknowledgesTracing) {
  Harness host;
  EXPECT_THAT(host.hear(kStranger, Type::traceon, "asker", 3),
              ElementsAre("ack of me to 1023 on 0", "trace on"));
  EXPECT_THAT(host.hear(kStranger, Type::traceoff, "asker", 4),
              ElementsAre("ack of me to 1023 on 0", "trace off"));
}

// Nobody changes the date of this host unless its operator allows it.
TEST(ClassicHost, RefusesSetdateByDefault) {
  Harness host;
  host.become_master();
  const WallTime before = host.machine().time(host.now());
  for (const Type type : {Type::setdate, Type::setdatereq})
    EXPECT_THAT(host.hear(kStranger, type, "asker", 1, 2'000'000'000'000'000),
                ElementsAre("refused setdate"));
  EXPECT_EQ(host.machine().time(host.now()), before);
}

TEST(ClassicHost, ObeysSetdateAsMasterIfAllowed) {
  Harness host({.setdate = true});
  host.become_master();
  (void)host.hear(kHigher, Type::slaveup, "slave");
  const std::int64_t now_us = host.machine().time(host.now()).time_since_epoch() / 1us;
  EXPECT_THAT(host.hear(kStranger, Type::setdate, "asker", 8, now_us + 3'600'000'000),
              ElementsAre("dateack of me to 1023 on 0", "step 3600000 ms",
                          fmt::format("settime {:.3f} s of me to 20 on 0",
                                      static_cast<double>(now_us) / 1e6 + 3600)));
}

TEST(ClassicHost, AsksItsMasterToSetTheDate) {
  Harness host({.setdate = true});
  host.become_slave();
  EXPECT_THAT(
      host.hear(kStranger, Type::setdate, "asker", 8, 1'000'100'000'000),
      ElementsAre("setdatereq 1000100.000 s of me to 3 on 0", "dateack of me to 1023 on 0"));
  EXPECT_THAT(host.hear(kHigher, Type::setdatereq, "other", 8, 1'000'100'000'000), IsEmpty())
      << "a slave is not asked by slaves";
}

// One forged Settime moved a network by an hour; here it is refused above the limit.
TEST(ClassicHost, RefusesCorrectionsAboveTheLimit) {
  Harness host({.correction_limit = 100s});
  host.become_slave();
  EXPECT_THAT(host.hear(kLower, Type::adjtime, "lower", 20, 100'000'001),
              ElementsAre("ack of me to 3 on 0", "refused correction limit"));
  EXPECT_THAT(host.hear(kLower, Type::settime, "lower", 21, 0),
              ElementsAre("ack of me to 3 on 0", "refused correction limit"));
  EXPECT_THAT(host.hear(kLower, Type::adjtime, "lower", 22, -100'000'000),
              ElementsAre("ack of me to 3 on 0", "step -100000 ms"));
}

TEST(ClassicHost, SlewsASmallCorrectionOnce) {
  Harness host;
  host.become_slave();
  const Instant since = host.now();
  const WallTime then = host.machine().time(since);
  EXPECT_THAT(host.hear(kLower, Type::adjtime, "lower", 20, -35'000),
              ElementsAre("ack of me to 3 on 0", "slew -35 ms"));
  EXPECT_THAT(host.hear(kLower, Type::adjtime, "lower", 20, -35'000),
              ElementsAre("ack of me to 3 on 0"))
      << "a retransmission";
  host.run_out(60s);
  EXPECT_LT(host.clock_gained(since, then), -10ms);
  EXPECT_GT(host.clock_gained(since, then), -34ms);
  host.run_out(61s);  // half of the 240 s to the next round
  EXPECT_NEAR(static_cast<double>(host.clock_gained(since, then).count()), -35e6, 1e3);
}

// An answer to nothing: a forged Masterack must not make a starting host a slave.
TEST(ClassicHost, IgnoresAMasterackThatAnswersNothing) {
  Harness host;
  const std::uint16_t asked = 1;  // the base 0 and the first number
  (void)host.hear(kLower, Type::masterack, "lower", asked + 5);
  EXPECT_EQ(host.machine().network(0)->state(), election::State::startup);
  (void)host.hear(kLower, Type::masterack, "lower", asked);
  EXPECT_EQ(host.machine().network(0)->state(), election::State::consistency);
}

// It presents itself as 4.3BSD's newcomers do, or a master of 4.3BSD would not list it.
TEST(ClassicHost, PresentsItselfAfterStarting) {
  Harness host;
  (void)host.hear(kLower, Type::masterack, "lower", 1);
  EXPECT_THAT(host.pass(1s), ElementsAre("slaveup of me to 3 on 0"));
}

TEST(ClassicHost, AcksEchoTheNumberOfTheMessage) {
  Harness host;
  host.become_slave();
  (void)host.hear(kHigher, Type::election, "other", 0);
  (void)host.hear(kLower, Type::quit, "lower", 4711);
  bool found = false;
  for (const auto& output : host.outputs())
    if (output.kind == OutputKind::send && output.message.datagram.type == Type::ack) {
      found = true;
      EXPECT_EQ(output.message.datagram.sequence, 4711);
    }
  EXPECT_TRUE(found);
}

TEST(ClassicHost, IgnoresItsOwnBroadcasts) {
  Harness host;
  host.become_master();
  // The control messages are never broadcast; a program on this host sends them in its name.
  for (std::uint8_t number = 1; number <= wire::tsp::kLastType; ++number) {
    const Type type{number};
    if (type == Type::test || type == Type::msite || type == Type::msitereq ||
        type == Type::traceon || type == Type::traceoff)
      continue;
    EXPECT_THAT(host.hear(kSelf, type, "me"), IsEmpty()) << wire::tsp::name_of(type);
  }
}

// A stranger takes no part in elections, whatever it sends.
TEST(ClassicHost, AStrangerElectsNobody) {
  Harness host;
  host.become_master();
  for (const Type type : {Type::quit, Type::resolve, Type::conflict, Type::masterreq,
                          Type::election, Type::slaveup, Type::loop, Type::adjtime, Type::settime})
    EXPECT_THAT(host.hear(kStranger, type, "asker"), IsEmpty());
  EXPECT_EQ(host.machine().network(0)->state(), election::State::master);
}

class Submaster : public testing::Test {
 protected:
  void SetUp() override {
    (void)host_.hear(kLower, Type::masterup, "lower", 0, 0, wire::tsp::kHops, 0);
    (void)host_.pass(10s);
    ASSERT_EQ(host_.machine().network(1)->state(), election::State::master);
    ASSERT_EQ(host_.machine().upstream(), 0);
  }
  Harness host_{{}, 3};
};

TEST_F(Submaster, ForwardsLoopsWithOneHopLess) {
  EXPECT_THAT(host_.hear(kLower, Type::loop, "lower", 9),
              ElementsAre("loop hops 9 of lower to all on 1"));
  EXPECT_THAT(host_.hear(kLower, Type::loop, "far", 9, 0, 2),
              ElementsAre("loop hops 1 of far to all on 1"));
  EXPECT_THAT(host_.hear(kLower, Type::loop, "far", 9, 0, 1), IsEmpty()) << "no hop is left";
  EXPECT_THAT(host_.hear(kHigher, Type::loop, "far", 9, 0, 5, 1), IsEmpty()) << "not from below";
}

// Its own Loop returns from the master that it follows: the time runs in a circle.
TEST_F(Submaster, DoesNotFollowItsOwnTime) {
  EXPECT_THAT(host_.hear(kLower, Type::loop, "me", 9, 0, 9), ElementsAre("time loop"));
  EXPECT_EQ(host_.machine().upstream(), kNoNetwork);
  EXPECT_THAT(host_.hear(kLower, Type::adjtime, "lower", 30, 5'000),
              ElementsAre("ack of me to 3 on 0"));
}

}  // namespace
}  // namespace tempo::classic
