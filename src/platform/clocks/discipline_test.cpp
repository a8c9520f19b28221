// State of the kernel clock, read from a simulated kernel.
#include "platform/clocks/discipline.h"

#include <cerrno>
#include <vector>

#include <gtest/gtest.h>
#include <sys/timex.h>

namespace tempo::sys {
namespace {

class Told final : public KernelClock {
 public:
  explicit Told(const timex& state, std::vector<Nanos> pauses = {})
      : state_(state), pauses_(std::move(pauses)) {}
  Bracket read() override {
    const Bracket bracket{.before = now_, .real = {}, .after = now_ + 1us};
    now_ += 1us;
    return bracket;
  }
  int adjust(timex& request) override {
    if (request.modes != 0) return EPERM;
    if (error != 0) return error;
    if (calls_ < pauses_.size()) now_ += pauses_[calls_];
    ++calls_;
    request = state_;
    request.time.tv_usec += static_cast<long>(calls_) * 1000;  // every call has a different time
    return 0;
  }

  int error = 0;

 private:
  timex state_;
  std::vector<Nanos> pauses_;
  std::size_t calls_ = 0;
  Instant now_{100s};
};

timex state_of(int status) {
  timex state{};
  state.status = status;
  state.maxerror = 1500;
  state.tai = 37;
  state.time.tv_sec = 1'700'000'000;
  state.time.tv_usec = 500'000;
  return state;
}

TEST(Discipline, ReportsTheKernelState) {
  Told kernel(state_of(STA_NANO));
  const auto read = read_discipline(kernel);
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->synchronized);
  EXPECT_EQ(read->tai, 37);
  EXPECT_EQ(read->real, 1'700'000'000s + 501us);
  EXPECT_EQ(read->raw, Instant{100s + 1us});  // from 100 s to 2 us later
  EXPECT_EQ(read->most_error, 1500us + 1us);
}

TEST(Discipline, ReadsMicroseconds) {
  Told kernel(state_of(0));
  EXPECT_EQ(read_discipline(kernel)->real, 1'700'000'000s + 501ms);
}

TEST(Discipline, ReportsAnUnsynchronizedClock) {
  Told kernel(state_of(STA_NANO | STA_UNSYNC));
  EXPECT_FALSE(read_discipline(kernel)->synchronized);
}

TEST(Discipline, UsesTheNarrowestReading) {
  Told kernel(state_of(STA_NANO), {3ms, 200us, 500us});
  const auto read = read_discipline(kernel);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->real, 1'700'000'000s + 502us);  // the second call
  EXPECT_EQ(read->most_error, 1500us + 101us);
}

TEST(Discipline, ReportsKernelErrors) {
  Told kernel(state_of(0));
  kernel.error = ENOSYS;
  const auto read = read_discipline(kernel);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error(), "cannot read the system clock: clock_adjtime: Function not implemented");
}

// Reads the clock of this machine without changing it.
TEST(Discipline, IsReadFromThisMachine) {
  const auto kernel = real_kernel_clock();
  const auto read = read_discipline(*kernel);
  ASSERT_TRUE(read) << read.error();
  EXPECT_GT(read->real, 1'600'000'000s);
}

}  // namespace
}  // namespace tempo::sys
