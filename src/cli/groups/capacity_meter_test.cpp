#include "cli/groups/capacity_meter.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tempo::cli {
namespace {

using ::testing::HasSubstr;

// A directory in the place of /proc.
class Meter : public testing::Test {
 protected:
  Meter() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tempo-proc-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    places_.proc = directory_;
  }
  ~Meter() override { std::filesystem::remove_all(directory_); }

  void write(const char* name, const std::string& text) const {
    std::ofstream(directory_ + '/' + name) << text;
  }
  std::int64_t measured(const std::string& criterion) const {
    const auto meter = CapacityMeter::create(criterion, places_);
    return meter ? meter->capacity() : -1;
  }
  std::string refused(const std::string& criterion) const {
    const auto meter = CapacityMeter::create(criterion, places_);
    return meter ? "" : meter.error();
  }

  std::string directory_;
  CapacityMeter::Places places_{.socket = "/nonexistent/sock"};
};

TEST_F(Meter, OfLoadHasItsHalfWhereEveryProcessorHasOneThingToDo) {
  write("loadavg", "0.00 0.01 0.05 1/234 5678\n");
  EXPECT_EQ(measured("load"), 1'000'000);
  write("loadavg", std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + ".00 0.01 0.05 1/234 5678\n");
  EXPECT_EQ(measured("load"), 500'000);
  write("loadavg", std::to_string(3 * sysconf(_SC_NPROCESSORS_ONLN)) + ".00 9 9 1/2 3\n");
  EXPECT_EQ(measured("load"), 250'000);
}

// As the kernel writes it, with the lines before and after.
TEST_F(Meter, OfMemoryIsWhatIsAvailable) {
  write("meminfo",
        "MemTotal:       16305168 kB\nMemFree:          812340 kB\n"
        "MemAvailable:    9876543 kB\nBuffers:          123456 kB\n");
  EXPECT_EQ(measured("free-memory"), 9'876'543);
}

TEST_F(Meter, OfUptimeIsInWholeSeconds) {
  write("uptime", "350735.47 234388.90\n");
  EXPECT_EQ(measured("uptime"), 350'735);
}

TEST_F(Meter, OfAClockIsTheBetterTheSmallerItsBound) {
  EXPECT_EQ(clock_capacity(0), 1'000'000'000'000);
  EXPECT_EQ(clock_capacity(999), 1'000'000'000);
  EXPECT_EQ(clock_capacity(1'999'999), 500'000);
  EXPECT_EQ(clock_capacity(-1), clock_capacity(0)) << "none is negative";
}

TEST_F(Meter, ReadsAgainWhenItIsAsked) {
  write("uptime", "10.00 1.00\n");
  auto meter = CapacityMeter::create("uptime", places_);
  ASSERT_TRUE(meter);
  EXPECT_TRUE(meter->changes());
  EXPECT_FALSE(meter->measure()) << "nothing new";
  write("uptime", "20.00 1.00\n");
  EXPECT_TRUE(meter->measure());
  EXPECT_EQ(meter->capacity(), 20);
  write("uptime", "soon\n");
  EXPECT_FALSE(meter->measure());
  EXPECT_EQ(meter->capacity(), 20) << "what cannot be understood changes nothing";
}

TEST_F(Meter, SaysWhatItCannotRead) {
  EXPECT_THAT(refused("load"), HasSubstr("/loadavg does not begin with a number; set TEMPO_PROC"));
  EXPECT_THAT(refused("uptime"), HasSubstr("/uptime does not begin with a number"));
  EXPECT_THAT(refused("free-memory"), HasSubstr("does not say how much memory is available"));
  write("loadavg", "-1.0\n");
  write("meminfo", "MemTotal:       16305168 kB\nMemAvailable: lots\n");
  EXPECT_THAT(refused("load"), HasSubstr("/loadavg does not begin with a number"));
  EXPECT_THAT(refused("free-memory"), HasSubstr("does not say how much memory is available"));
  EXPECT_THAT(refused("clock-quality"), HasSubstr("tempod"));
}

TEST_F(Meter, OfThisMachineHasSomething) {
  places_.proc = CapacityMeter::Places{}.proc;
  EXPECT_GT(measured("load"), 0);
  EXPECT_GT(measured("free-memory"), 0);
  EXPECT_GT(measured("uptime"), 0);
}

TEST_F(Meter, IsFixedWhereNothingIsMeasured) {
  EXPECT_EQ(measured("weight=17"), 17);
  EXPECT_EQ(measured("id"), measured("id"));
  for (const char* criterion : {"weight=17", "id", "random"})
    EXPECT_FALSE(CapacityMeter::create(criterion, places_)->changes()) << criterion;
}

// A draw outdoes no other by a tenth, so that nobody is unseated by one.
TEST_F(Meter, DrawsFromLessThanTheMargin) {
  std::int64_t least = measured("random");
  std::int64_t most = least;
  for (int i = 0; i < 200; ++i) {
    const std::int64_t drawn = measured("random");
    least = std::min(least, drawn);
    most = std::max(most, drawn);
  }
  EXPECT_GE(least, 1'000'000);
  EXPECT_LT(most, 1'000'000 + 1'000'000 / 10);
  EXPECT_GT(most - least, 10'000) << "all alike";
}

TEST_F(Meter, TakesTheWordOfACommand) {
  EXPECT_EQ(measured("cmd=echo 42"), 42);
  EXPECT_EQ(measured("cmd=printf '7\\n\\n'"), 7);
  EXPECT_THAT(refused("cmd=echo many"), HasSubstr("did not print a whole number"));
  EXPECT_THAT(refused("cmd=echo -1"), HasSubstr("did not print a whole number"));
  EXPECT_THAT(refused("cmd="), HasSubstr("give the command"));
}

TEST_F(Meter, RefusesBadWords) {
  EXPECT_THAT(refused("weight=-1"), HasSubstr("'weight=5'"));
  EXPECT_THAT(refused("weight"), HasSubstr("'weight=5'"));
  EXPECT_THAT(refused("load=3"), HasSubstr("'load' takes no value"));
  EXPECT_THAT(refused("beauty"), HasSubstr("there is no criterion 'beauty'"));
}

}  // namespace
}  // namespace tempo::cli
