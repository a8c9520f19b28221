// A master whose network carries UTC: its own, or that of its members. The clock comes to it by
// rate alone.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "protocol/sync/sync.h"

namespace tempo::node {
namespace {

constexpr Nanos kUtcBeyondRaw = 1'700'000'000s;

class CarriedUtc : public ::testing::Test {
 protected:
  CarriedUtc() {
    turn([](auto& turn) { turn.out.clear(); });
    notify({.what = SyncCommand::What::lead});
  }

  // UTC minus network time.
  Nanos gap() const {
    return now_.time_since_epoch() + kUtcBeyondRaw - sync_.dial().at(now_).time_since_epoch();
  }
  void notify(const SyncCommand& command) {
    turn([&](auto& turn) { sync_.command(turn, command); });
  }
  void own_utc(Nanos off = 0ns) {
    notify({.what = SyncCommand::What::utc,
            .at = now_,
            .by = now_.time_since_epoch() + kUtcBeyondRaw + off,
            .bound = 1ms});
  }
  // A member whose clock is ours and that says UTC is `off` from what it is.
  void member(std::uint32_t number, Nanos off, Nanos bound) {
    const SyncMessage probe{.kind = SyncMessage::Kind::probe,
                            .exchange = 1,
                            .received = gap() + off,
                            .sigma = 100ns,
                            .bound = 1us,
                            .utc_bound = bound};
    turn([&](auto& turn) { sync_.receive(turn, NodeId{number}, probe); });
  }
  // Once a second `each` is done, and every timer that is due.
  template <class Each>
  void run(int seconds, Each each) {
    for (int i = 0; i < seconds; ++i) {
      const WallTime before = sync_.dial().at(now_);
      now_ += 1s;
      EXPECT_GT(sync_.dial().at(now_), before + 999ms);
      each();
      for (int wakes = 0; sync_.timers().first() <= now_ && wakes < 10; ++wakes)
        turn([&](auto& turn) { sync_.on_timer(turn, sync_.timers().first_name()); });
    }
  }
  template <class Do>
  void turn(Do todo) {
    Outbox<Sync> outbox;
    Turn<Sync> turn{now_, draw_, outbox};
    todo(turn);
    for (const auto& output : outbox)
      if (output.kind == OutputKind::notice && output.notice.what == SyncNotice::What::stepped)
        ++steps_;
  }

  Stream chance_{1, 0, 0};
  StreamDraw draw_{chance_};
  SyncRules rules_;
  Instant now_{1000s};
  // Network time is 20 ms behind UTC at the start.
  Sync sync_{{.now = now_, .shows = WallTime{1000s + kUtcBeyondRaw - 20ms}}, rules_};
  int steps_ = 0;
};

TEST_F(CarriedUtc, OfTheMasterItself) {
  run(100, [&] { own_utc(); });
  EXPECT_GT(gap(), 19ms);  // no step
  run(12'000, [&] { own_utc(); });
  EXPECT_LT(std::chrono::abs(gap()), 20us);
  EXPECT_EQ(steps_, 0);
}

TEST_F(CarriedUtc, OfMembersThatOutvoteALiar) {
  run(12'000, [&] {
    member(2, 100us, 1ms);
    member(3, 3600s, 1us);
    member(4, -100us, 1ms);
    member(5, 0s, 0ns);  // carries none
  });
  EXPECT_LT(std::chrono::abs(gap()), 150us);
  EXPECT_EQ(steps_, 0);
}

// Said long ago, or by one against another: the clock goes its own way.
TEST_F(CarriedUtc, IsLeftAloneWithoutAMajority) {
  run(1000, [&] {
    member(2, 0s, 1ms);
    member(3, 1s, 1ms);
  });
  EXPECT_EQ(gap(), 20ms);
}

TEST_F(CarriedUtc, IsForgottenWhenNobodyTellsIt) {
  own_utc();
  run(1000, [] {});
  EXPECT_EQ(gap(), 20ms);
}

// Nobody carries it any more: the rate that was learnt stays, and nothing jumps.
TEST_F(CarriedUtc, IsHeldWhenItsBearerLeaves) {
  run(12'000, [&] { own_utc(); });
  const Nanos before = gap();
  run(1000, [] {});
  EXPECT_LT(std::chrono::abs(gap() - before), 100us);
  EXPECT_EQ(steps_, 0);
}

}  // namespace
}  // namespace tempo::node
