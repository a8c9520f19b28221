#include "services/vip/holder.h"

#include <string>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "machine/machine_harness.h"

namespace tempo::vip {
namespace {

using Kind = Holder::Command::Kind;

class HolderTest : public MachineHarness<Holder>, public testing::Test {
 protected:
  HolderTest() {
    make(Holder::Rules{.announcements = 3});
    EXPECT_EQ(start(), Lines{"stand"});
  }
  std::string text_of(const Output<Holder>& output) override {
    using Notice = Holder::Notice::Kind;
    const Holder::Notice& notice = output.notice;
    switch (notice.kind) {
      case Notice::set_up:
        return "set up";
      case Notice::probe:
        return "probe";
      case Notice::arm:
        return fmt::format("arm {} {} ms", notice.slot, notice.span / 1ms);
      case Notice::grant:
        return fmt::format("grant {}", notice.slot);
      case Notice::announce:
        return "announce";
      case Notice::renew:
        return "renew";
      case Notice::verify:
        return "verify";
      case Notice::remove:
        return "remove";
      case Notice::confirm:
        return "confirm";
      case Notice::withdraw:
        return "withdraw";
      case Notice::stand:
        return "stand";
    }
    return "";
  }

  Lines lead(Nanos lease) { return command({.kind = Kind::lead, .until = now() + lease}); }
  // The kernel has armed the slot; its timeout began `late` before the answer was read.
  Lines armed(int slot, Nanos span) {
    return command(
        {.kind = Kind::armed, .until = now() + span, .slot = static_cast<std::uint8_t>(slot)});
  }
  Lines granted(int slot) {
    return command({.kind = Kind::granted, .slot = static_cast<std::uint8_t>(slot)});
  }
  Lines prepared() { return command({.kind = Kind::prepared}); }
  Lines avoid(Reason reason, bool on = true) {
    return command({.kind = Kind::avoid, .reason = reason, .on = on});
  }
  // Holds the addresses, with a lease of a second that began 10 ms ago and slot 1.
  void hold() {
    EXPECT_EQ(lead(1s), Lines{"set up"});
    EXPECT_EQ(prepared(), Lines{"probe"});
    EXPECT_EQ(run_out(Holder::Timer::probe), Lines{"arm 1 937 ms"});
    EXPECT_EQ(armed(1, 937ms), Lines{"grant 1"});
    EXPECT_EQ(granted(1), Lines{"announce"});
    EXPECT_EQ(machine().state(), State::hold);
  }
};

TEST_F(HolderTest, ClosesBeforeItAddsAndProbesBeforeItOpens) { hold(); }

TEST_F(HolderTest, ExtendsByTheOtherSlot) {
  hold();
  sleep(100ms);
  EXPECT_EQ(lead(1s), Lines{"arm 0 947 ms"});
  EXPECT_EQ(armed(0, 947ms), Lines{"grant 0"});
  EXPECT_EQ(granted(0), Lines{});
  sleep(100ms);
  EXPECT_EQ(lead(1s), Lines{"arm 1 947 ms"});
}

// The process stood still between the arming and its answer: the timeout, counted from the answer,
// might end after the lease.
TEST_F(HolderTest, GrantsNoSlotThatWasConfirmedLate) {
  EXPECT_EQ(lead(1s), Lines{"set up"});
  prepared();
  EXPECT_EQ(run_out(Holder::Timer::probe), Lines{"arm 1 937 ms"});
  sleep(100ms);
  EXPECT_EQ(armed(1, 937ms), Lines{"arm 1 837 ms"}) << "again, with what is left";
  sleep(900ms);
  EXPECT_EQ(armed(1, 837ms), Lines{}) << "nothing is left";
}

TEST_F(HolderTest, RemovesTheAddressesWhenTheKernelHasClosedTheGate) {
  hold();
  EXPECT_EQ(run_out(Holder::Timer::lapse), Lines{"remove"});
  EXPECT_EQ(machine().state(), State::lapsed);
  EXPECT_EQ(lead(1s), Lines{"set up"}) << "tempod extends the lease after all";
}

TEST_F(HolderTest, RemovesBeforeItConfirms) {
  hold();
  EXPECT_EQ(command({.kind = Kind::must_stop}), (Lines{"remove", "confirm"}));
  EXPECT_EQ(machine().state(), State::follow);
  EXPECT_EQ(command({.kind = Kind::must_stop}), Lines{"confirm"}) << "at any time";
}

TEST_F(HolderTest, RemovesBeforeItWithdraws) {
  for (const Reason reason : {Reason::rules_gone, Reason::failed}) {
    hold();
    EXPECT_EQ(avoid(reason), (Lines{"remove", "withdraw"}));
    EXPECT_EQ(run_out(Holder::Timer::retry), Lines{"stand"});
  }
}

TEST_F(HolderTest, StaysAwayWhileThereIsAReason) {
  EXPECT_EQ(avoid(Reason::link_down), Lines{"withdraw"});
  EXPECT_EQ(avoid(Reason::unfit), Lines{});
  EXPECT_EQ(avoid(Reason::link_down, false), Lines{});
  EXPECT_EQ(machine().reason(), Reason::unfit);
  EXPECT_EQ(avoid(Reason::unfit, false), Lines{"stand"});
}

// One claim may be a late datagram of the last holder.
TEST_F(HolderTest, AsksAgainAfterTheFirstClaimAndGivesUpAfterTheSecond) {
  EXPECT_EQ(lead(1s), Lines{"set up"});
  prepared();
  sleep(5ms);
  EXPECT_EQ(command({.kind = Kind::claimed}), Lines{"probe"});
  EXPECT_EQ(command({.kind = Kind::claimed}), (Lines{"remove", "withdraw"}));
  EXPECT_EQ(machine().reason(), Reason::in_use);

  EXPECT_EQ(run_out(Holder::Timer::retry), Lines{"stand"});
  hold();
  EXPECT_EQ(command({.kind = Kind::claimed}), Lines{"probe"});
  lead(20s);
  armed(0, 19s);
  granted(0);
  sleep(Holder::kClaimWindow + 1ms);
  EXPECT_EQ(command({.kind = Kind::claimed}), Lines{"probe"}) << "long ago";
}

// A machine that had been stopped read the claims of its successor before its own timers, took them
// for a conflict and was no candidate for five seconds.
TEST_F(HolderTest, IgnoresTheClaimsOfItsSuccessor) {
  hold();
  sleep(2s);
  EXPECT_EQ(command({.kind = Kind::claimed}), Lines{});
  EXPECT_EQ(command({.kind = Kind::claimed}), Lines{});
  EXPECT_EQ(machine().reason(), Reason::none);
  EXPECT_EQ(run_out(Holder::Timer::lapse), Lines{"remove"});
}

TEST_F(HolderTest, OpensNothingForTheRestOfALease) {
  EXPECT_EQ(lead(30ms), Lines{"set up"});
  prepared();
  EXPECT_EQ(run_out(Holder::Timer::probe), Lines{}) << "less than the shortest timeout is left";
  EXPECT_EQ(run_out(Holder::Timer::lapse), Lines{"remove"});
}

TEST_F(HolderTest, AnnouncesSeveralTimes) {
  hold();
  const auto announces = [](const Lines& lines) { return lines == Lines{"announce"}; };
  lead(10s);
  armed(0, 9s);
  granted(0);
  EXPECT_EQ(pass(5s, announces).size(), 2U) << "and once when the gate opened";
}

TEST_F(HolderTest, IgnoresWhatItDidNotAskFor) {
  EXPECT_EQ(prepared(), Lines{});
  EXPECT_EQ(armed(0, 1s), Lines{});
  EXPECT_EQ(granted(0), Lines{});
  EXPECT_EQ(command({.kind = Kind::claimed}), Lines{});
  EXPECT_EQ(machine().open_until(), BootTime{});
  hold();
  EXPECT_EQ(armed(0, 10s), Lines{});
  EXPECT_EQ(command({.kind = Kind::lead, .until = now() - 1s}), Lines{}) << "an old deadline";
}

}  // namespace
}  // namespace tempo::vip
