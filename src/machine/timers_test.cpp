#include "machine/timers.h"

#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include "machine/field_mutator.h"
#include "machine/fields.h"

namespace tempo {
namespace {

enum class Name : std::uint8_t { first, second, third, count };
constexpr Instant at(Nanos span) { return Instant{span}; }

TEST(Timers, StartStopped) {
  const Timers<Name> timers;
  EXPECT_EQ(timers.size(), 3U);
  EXPECT_EQ(timers.first(), kNever);
  for (const Name name : {Name::first, Name::second, Name::third}) {
    EXPECT_FALSE(timers.running(name));
    EXPECT_EQ(timers.at(name), kNever);
  }
}

TEST(Timers, FirstIsTheEarliest) {
  Timers<Name> timers;
  timers.set(Name::first, at(3s));
  timers.set(Name::second, at(1s));
  timers.set(Name::third, at(2s));
  EXPECT_EQ(timers.first(), at(1s));
  EXPECT_EQ(timers.first_name(), timer_id(Name::second));
  timers.stop(Name::second);
  EXPECT_FALSE(timers.running(Name::second));
  EXPECT_EQ(timers.first_name(), timer_id(Name::third));
  timers.set(Name::first, at(1s));
  EXPECT_EQ(timers.first_name(), timer_id(Name::first));
}

TEST(Timers, FirstIsTheLowestNameAmongEqualDeadlines) {
  Timers<Name> timers;
  timers.set(Name::third, at(1s));
  timers.set(Name::second, at(1s));
  EXPECT_EQ(timers.first_name(), timer_id(Name::second));
}

TEST(Timers, CanBeReadByTimerId) {
  Timers<Name> timers;
  timers.set(Name::third, at(1s));
  EXPECT_EQ(timers.at(TimerId{2}), at(1s));
  EXPECT_EQ(timers.at(TimerId{0}), kNever);
  EXPECT_EQ(timer_id(Name::third), TimerId{2});
}

TEST(Timers, StopAllStopsEveryTimer) {
  Timers<Name> timers;
  timers.set(Name::first, at(1s));
  timers.set(Name::third, at(2s));
  timers.stop_all();
  EXPECT_EQ(timers.first(), kNever);
}

TEST(Timers, TakeDueStopsATimerThatIsDue) {
  Timers<Name> timers;
  timers.set(Name::second, at(2s));
  EXPECT_FALSE(timers.take_due(timer_id(Name::first), at(9s)));
  EXPECT_FALSE(timers.take_due(timer_id(Name::second), at(1s)));
  EXPECT_EQ(first_due(timers, at(1s)), std::nullopt);
  EXPECT_EQ(first_due(timers, at(2s)), timer_id(Name::second));
  EXPECT_TRUE(timers.take_due(timer_id(Name::second), at(2s)));
  EXPECT_FALSE(timers.running(Name::second));
  EXPECT_FALSE(timers.take_due(timer_id(Name::second), at(3s)));
}

TEST(Timers, HaveACompleteFieldList) {
  Timers<Name> timers;
  timers.set(Name::second, at(1s));
  const Writes writes = write_into_every_field(timers, at(0s));
  EXPECT_EQ(writes.tried, 3U);
  EXPECT_TRUE(writes.unnoticed.empty());
}

}  // namespace
}  // namespace tempo
