// A master that knows UTC from its own host or from members: network time approaches UTC by rate
// alone.
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "machine/machine_harness.h"
#include "protocol/sync/sync.h"

namespace tempo::node {
namespace {

constexpr Nanos kUtcBeyondRaw = 1'700'000'000s;

class CarriedUtc : public ::testing::Test, public MachineHarness<Sync> {
 protected:
  // Network time is 20 ms behind UTC at the start.
  CarriedUtc() : MachineHarness(Instant{1000s}) {
    make(Sync::Start{.now = now(), .shows = WallTime{1000s + kUtcBeyondRaw - 20ms}}, rules_);
    command(Lead{});
  }

  // UTC minus network time.
  Nanos gap() const {
    return now().time_since_epoch() + kUtcBeyondRaw -
           machine().steered_clock().at(now()).time_since_epoch();
  }
  void own_utc(Nanos off = 0ns) {
    command(
        CarryUtc{.at = now(), .utc = now().time_since_epoch() + kUtcBeyondRaw + off, .bound = 1ms});
  }
  // A probe of a member whose clock equals ours and whose UTC is wrong by `off`.
  void member(std::uint32_t number, Nanos off, Nanos bound) {
    receive(NodeId{number},
            Probe{.exchange = 1,
                  .report = {
                      .sigma = 100ns, .bound = 1us, .utc_gap = gap() + off, .utc_bound = bound}});
  }
  // Calls `each` once a second and fires every timer that is due.
  template <class Each>
  void run(int seconds, Each each) {
    for (int i = 0; i < seconds; ++i) {
      const WallTime before = machine().steered_clock().at(now());
      sleep(1s);
      EXPECT_GT(machine().steered_clock().at(now()), before + 999ms);
      each();
      pass(0s);
    }
  }
  int steps() const { return steps_; }

 private:
  std::string text_of(const Output<Sync>& output) override {
    if (output.kind == OutputKind::notice && std::holds_alternative<Stepped>(output.notice))
      ++steps_;
    return "";
  }

  SyncRules rules_;
  int steps_ = 0;
};

TEST_F(CarriedUtc, OfTheMasterItself) {
  run(100, [&] { own_utc(); });
  EXPECT_GT(gap(), 19ms);  // no step
  run(12'000, [&] { own_utc(); });
  EXPECT_LT(std::chrono::abs(gap()), 20us);
  EXPECT_EQ(steps(), 0);
}

TEST_F(CarriedUtc, OfMembersThatOutvoteAFalseSource) {
  run(12'000, [&] {
    member(2, 100us, 1ms);
    member(3, 3600s, 1us);
    member(4, -100us, 1ms);
    member(5, 0s, 0ns);  // carries none
  });
  EXPECT_LT(std::chrono::abs(gap()), 150us);
  EXPECT_EQ(steps(), 0);
}

// Two sources that disagree: network time follows neither.
TEST_F(CarriedUtc, IsIgnoredWithoutAMajority) {
  run(1000, [&] {
    member(2, 0s, 1ms);
    member(3, 1s, 1ms);
  });
  EXPECT_EQ(gap(), 20ms);
}

TEST_F(CarriedUtc, ExpiresWithoutNewCommands) {
  own_utc();
  run(1000, [] {});
  EXPECT_EQ(gap(), 20ms);
}

// When the last source is lost, network time keeps its rate and does not step.
TEST_F(CarriedUtc, RateIsKeptWhenTheSourceIsLost) {
  run(12'000, [&] { own_utc(); });
  const Nanos before = gap();
  run(1000, [] {});
  EXPECT_LT(std::chrono::abs(gap() - before), 100us);
  EXPECT_EQ(steps(), 0);
}

}  // namespace
}  // namespace tempo::node
