#include "platform/loop.h"

#include <array>
#include <csignal>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/descriptor.h"

namespace tempo::sys {
namespace {

using ::testing::ElementsAre;

constexpr Nanos kLongestWait = 20s;

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    out = Descriptor{ends[0]};
    in = Descriptor{ends[1]};
  }
  void put() const { EXPECT_EQ(write(in.number(), "x", 1), 1); }
  void take() const {
    char byte = 0;
    EXPECT_EQ(read(out.number(), &byte, 1), 1);
  }
  Descriptor out;
  Descriptor in;
};

// Advances by the given amounts, one at each reading after the first.
class JumpingOscillator final : public Oscillator {
 public:
  explicit JumpingOscillator(std::vector<Nanos> jumps) : jumps_(std::move(jumps)) {}
  Instant now() override {
    const Instant shown = now_;
    if (next_ < jumps_.size()) now_ += jumps_[next_++];
    return shown;
  }
  Instant at(Instant raw) override { return raw; }
  std::size_t readings() const { return next_; }

 private:
  std::vector<Nanos> jumps_;
  std::size_t next_ = 0;
  Instant now_{1000s};
};

TEST(Loop, RoundsUpToMilliseconds) {
  const Instant now{5s};
  EXPECT_EQ(milliseconds_until(now, now, 250), 0);
  EXPECT_EQ(milliseconds_until(now - 1s, now, 250), 0);
  EXPECT_EQ(milliseconds_until(now + 1ns, now, 250), 1);
  EXPECT_EQ(milliseconds_until(now + 1ms, now, 250), 1);
  EXPECT_EQ(milliseconds_until(now + 1ms + 1ns, now, 250), 2);
  EXPECT_EQ(milliseconds_until(now + 1h, now, 250), 250);
  EXPECT_EQ(milliseconds_until(kNever, Instant{-5s}, 250), 250);
}

class LoopTest : public ::testing::Test {
 protected:
  Instant later() { return oscillator_->now() + kLongestWait; }
  std::unique_ptr<Oscillator> oscillator_ = real_oscillator();
  Loop loop_{*oscillator_};
};

TEST_F(LoopTest, NeverReturnsBeforeTheDeadline) {
  for (const Nanos span : {Nanos{0}, Nanos{100us}, Nanos{3ms}, Nanos{300ms}}) {
    const Instant deadline = oscillator_->now() + span;
    const Loop::Round round = loop_.wait(deadline);
    EXPECT_TRUE(round.due);
    EXPECT_EQ(round.called, 0);
    EXPECT_GE(oscillator_->now(), deadline);
  }
}

TEST_F(LoopTest, CallsReadyDescriptors) {
  const Pipe first;
  const Pipe second;
  std::vector<int> called;
  loop_.watch(first.out.number(), POLLIN, [&](short events) {
    EXPECT_EQ(events, POLLIN);
    first.take();
    called.push_back(1);
  });
  loop_.watch(second.out.number(), POLLIN, [&](short /*events*/) {
    second.take();
    called.push_back(2);
  });
  second.put();
  const Loop::Round round = loop_.wait(later());
  EXPECT_EQ(round.called, 1);
  EXPECT_FALSE(round.due);
  EXPECT_THAT(called, ElementsAre(2));
  first.put();
  second.put();
  EXPECT_EQ(loop_.wait(later()).called, 2);
  EXPECT_THAT(called, ElementsAre(2, 1, 2));
}

TEST_F(LoopTest, RunsCallbacksAfterTheDeadline) {
  const Pipe pipe;
  loop_.watch(pipe.out.number(), POLLIN, [&](short /*events*/) { pipe.take(); });
  pipe.put();
  const Loop::Round round = loop_.wait(oscillator_->now() - 1s);
  EXPECT_EQ(round.called, 1);
  EXPECT_TRUE(round.due);
}

TEST_F(LoopTest, SkipsForgottenDescriptors) {
  const Pipe first;
  const Pipe second;
  int called = 0;
  const auto forget_both = [&](short /*events*/) {
    loop_.forget(first.out.number());
    loop_.forget(second.out.number());
    ++called;
  };
  loop_.watch(first.out.number(), POLLIN, forget_both);
  loop_.watch(second.out.number(), POLLIN, forget_both);
  first.put();
  second.put();
  EXPECT_EQ(loop_.wait(later()).called, 1);
  EXPECT_EQ(called, 1);
  EXPECT_TRUE(loop_.wait(oscillator_->now()).due);
  EXPECT_EQ(called, 1);
}

// A descriptor number may be reused within one round.
TEST_F(LoopTest, CallsRewatchedDescriptorsInTheNextRound) {
  const Pipe first;
  const Pipe second;
  std::vector<int> called;
  loop_.watch(first.out.number(), POLLIN, [&](short /*events*/) {
    called.push_back(1);
    first.take();
    loop_.watch(second.out.number(), POLLIN, [&](short /*more*/) {
      called.push_back(3);
      second.take();
    });
  });
  loop_.watch(second.out.number(), POLLIN, [&](short /*events*/) { called.push_back(2); });
  first.put();
  second.put();
  loop_.wait(later());
  EXPECT_THAT(called, ElementsAre(1));
  loop_.wait(later());
  EXPECT_THAT(called, ElementsAre(1, 3));
}

TEST_F(LoopTest, ChangesExpectedEvents) {
  const Pipe pipe;
  int called = 0;
  loop_.watch(pipe.in.number(), 0, [&](short /*events*/) { ++called; });
  EXPECT_EQ(loop_.wait(oscillator_->now()).called, 0);
  loop_.expect(pipe.in.number(), POLLOUT);
  EXPECT_EQ(loop_.wait(later()).called, 1);
}

TEST_F(LoopTest, DoesNotLookAtARestingDescriptor) {
  const Pipe pipe;
  int calls = 0;
  loop_.watch(pipe.out.number(), POLLIN, [&](short) { ++calls; });
  pipe.put();
  loop_.rest(pipe.out.number(), 50ms);
  const Instant before = oscillator_->now();
  loop_.wait(before + 20ms);
  EXPECT_EQ(calls, 0);
  loop_.wait(before + kLongestWait);
  EXPECT_EQ(calls, 1);
  EXPECT_GE(oscillator_->now(), before + 50ms);
}

TEST_F(LoopTest, HandlesSignalBeforeTheRound) {
  int called = 0;
  loop_.on_signal(SIGUSR1, [&] { ++called; });
  raise(SIGUSR1);
  raise(SIGUSR1);
  EXPECT_EQ(loop_.wait(later()).called, 1);
  EXPECT_EQ(called, 1);
  EXPECT_EQ(loop_.wait(oscillator_->now()).called, 0);
}

TEST_F(LoopTest, SignalEndsTheRound) {
  int called = 0;
  loop_.on_signal(SIGUSR1, [&] { ++called; });
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    kill(parent, SIGUSR1);
    _exit(0);
  }
  const Loop::Round round = loop_.wait(later());
  EXPECT_FALSE(round.due);
  EXPECT_EQ(called, 1);
  waitpid(child, nullptr, 0);
}

// The loop reads the clock between two polls and at the end: with 300 us between readings there are
// three more polls before a millisecond has passed.
TEST(LoopAwake, PollsRepeatedlyThenSleeps) {
  const auto readings_of_a_round = [](Nanos awake) {
    JumpingOscillator oscillator(std::vector<Nanos>(20, 300us));
    Loop loop(oscillator);
    loop.stay_awake(awake);
    const std::size_t before = oscillator.readings();
    EXPECT_TRUE(loop.wait(Instant{1000s} + 500us).due);
    return oscillator.readings() - before;
  };
  EXPECT_EQ(readings_of_a_round(1ms), readings_of_a_round(0ms) + 3);
}

TEST_F(LoopTest, RunsCallbacksWhileAwake) {
  loop_.stay_awake(kLongestWait);
  const Pipe pipe;
  int called = 0;
  loop_.watch(pipe.out.number(), POLLIN, [&](short) {
    ++called;
    pipe.take();
  });
  pipe.put();
  EXPECT_EQ(loop_.wait(later()).called, 1);
  EXPECT_EQ(called, 1);
}

TEST(LoopSignals, RestoreHandlersAtTheEnd) {
  const auto oscillator = real_oscillator();
  struct sigaction now{};
  {
    Loop loop{*oscillator};
    loop.on_signal(SIGUSR2, [] {});
    sigaction(SIGUSR2, nullptr, &now);
    EXPECT_NE(now.sa_handler, SIG_DFL);
  }
  sigaction(SIGUSR2, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

// A machine that is suspended when the test says so.
class SleepyOscillator final : public Oscillator {
 public:
  Instant now() override { return raw_now(); }
  Instant at(Instant raw) override { return raw; }
  Lasted asleep() override { return asleep_; }
  void sleep(Nanos span) { be_asleep({asleep_.least + span, asleep_.most + span}); }
  void be_asleep(Lasted asleep) { asleep_ = asleep; }

 private:
  Lasted asleep_{.least = 1h, .most = 1h};  // before the test
};

TEST(LoopSleep, IsReportedOnceBeforeAnyCallback) {
  SleepyOscillator oscillator;
  Loop loop{oscillator};
  const Pipe pipe;
  int called = 0;
  loop.watch(pipe.out.number(), POLLIN, [&](short /*events*/) {
    pipe.take();
    ++called;
  });
  pipe.put();
  oscillator.sleep(5s);
  EXPECT_EQ(loop.slept(), Nanos{5s});
  const Loop::Round first = loop.wait(oscillator.now() + kLongestWait);
  EXPECT_EQ(first.suspended, Nanos{5s});
  EXPECT_EQ(first.called, 0);
  EXPECT_EQ(called, 0);
  EXPECT_EQ(loop.slept(), Nanos{0});
  const Loop::Round second = loop.wait(oscillator.now() + kLongestWait);
  EXPECT_EQ(second.suspended, Nanos{0});
  EXPECT_EQ(called, 1);
}

TEST(LoopSleep, AddsUpShortSuspensions) {
  SleepyOscillator oscillator;
  Loop loop{oscillator, 100ms, 100ms};
  oscillator.sleep(60ms);
  EXPECT_EQ(loop.wait(oscillator.now()).suspended, Nanos{0});
  oscillator.sleep(60ms);
  EXPECT_EQ(loop.wait(oscillator.now()).suspended, Nanos{120ms});
}

// A process that was preempted between two readings has a wider interval and does not take it for a
// suspension.
TEST(LoopSleep, IsNotASlowReading) {
  SleepyOscillator oscillator;
  oscillator.be_asleep({.least = 1h - 3s, .most = 1h});
  Loop loop{oscillator};
  oscillator.be_asleep({.least = 1h, .most = 1h});
  EXPECT_EQ(loop.wait(oscillator.now()).suspended, Nanos{0});
  oscillator.be_asleep({.least = 1h, .most = 1h + 3s});
  EXPECT_EQ(loop.wait(oscillator.now()).suspended, Nanos{0});
}

TEST(LoopSleep, IsNotReportedOnARunningMachine) {
  const auto oscillator = real_oscillator();
  const Lasted asleep = oscillator->asleep();
  EXPECT_LE(asleep.least, asleep.most);
  Loop loop{*oscillator};
  EXPECT_EQ(loop.wait(oscillator->now() + 5ms).suspended, Nanos{0});
}

TEST(LoopStall, IsALatePoll) {
  JumpingOscillator oscillator{{155ms}};  // the poll was for 5 ms
  Loop loop{oscillator, 100ms};
  EXPECT_EQ(loop.wait(Instant{1000s + 5ms}).stalled, Nanos{150ms});
}

TEST(LoopStall, IsLongWork) {
  JumpingOscillator oscillator{{1ms, 0ms, 300ms}};  // between the two rounds
  Loop loop{oscillator, 100ms};
  EXPECT_EQ(loop.wait(Instant{1000s}).stalled, Nanos{0});
  EXPECT_EQ(loop.wait(Instant{1000s}).stalled, Nanos{300ms});
}

TEST(LoopStall, IsNotASmallDelay) {
  JumpingOscillator oscillator{{105ms, 0ms, 100ms}};
  Loop loop{oscillator, 100ms};
  EXPECT_EQ(loop.wait(Instant{1000s + 5ms}).stalled, Nanos{0});
  EXPECT_EQ(loop.wait(Instant{1000s + 5ms}).stalled, Nanos{0});
}

}  // namespace
}  // namespace tempo::sys
