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

// Reads from a directory that stands for /proc.
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

TEST_F(Meter, HalvesTheCapacityAtALoadOfOnePerProcessor) {
  write("loadavg", "0.00 0.01 0.05 1/234 5678\n");
  EXPECT_EQ(measured("load"), 1'000'000);
  write("loadavg", std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + ".00 0.01 0.05 1/234 5678\n");
  EXPECT_EQ(measured("load"), 500'000);
  write("loadavg", std::to_string(3 * sysconf(_SC_NPROCESSORS_ONLN)) + ".00 9 9 1/2 3\n");
  EXPECT_EQ(measured("load"), 250'000);
}

// The format of the kernel, with the lines before and after.
TEST_F(Meter, ReadsAvailableMemory) {
  write("meminfo",
        "MemTotal:       16305168 kB\nMemFree:          812340 kB\n"
        "MemAvailable:    9876543 kB\nBuffers:          123456 kB\n");
  EXPECT_EQ(measured("free-memory"), 9'876'543);
}

TEST_F(Meter, ReadsUptimeInWholeSeconds) {
  write("uptime", "350735.47 234388.90\n");
  EXPECT_EQ(measured("uptime"), 350'735);
}

TEST_F(Meter, PrefersClocksWithSmallBounds) {
  EXPECT_EQ(clock_capacity(0), 1'000'000'000'000);
  EXPECT_EQ(clock_capacity(999), 1'000'000'000);
  EXPECT_EQ(clock_capacity(1'999'999), 500'000);
  EXPECT_EQ(clock_capacity(-1), clock_capacity(0)) << "a capacity is not negative";
}

TEST_F(Meter, MeasuresAgain) {
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
  EXPECT_EQ(meter->capacity(), 20) << "an invalid file changes nothing";
}

TEST_F(Meter, ReportsUnreadableFiles) {
  EXPECT_THAT(refused("load"), HasSubstr("/loadavg does not begin with a number; set TEMPO_PROC"));
  EXPECT_THAT(refused("uptime"), HasSubstr("/uptime does not begin with a number"));
  EXPECT_THAT(refused("free-memory"), HasSubstr("/meminfo contains no MemAvailable"));
  write("loadavg", "-1.0\n");
  write("meminfo", "MemTotal:       16305168 kB\nMemAvailable: lots\n");
  EXPECT_THAT(refused("load"), HasSubstr("/loadavg does not begin with a number"));
  EXPECT_THAT(refused("free-memory"), HasSubstr("/meminfo contains no MemAvailable"));
  EXPECT_THAT(refused("clock-quality"), HasSubstr("tempod"));
}

TEST_F(Meter, MeasuresThisMachine) {
  places_.proc = CapacityMeter::Places{}.proc;
  EXPECT_GT(measured("load"), 0);
  EXPECT_GT(measured("free-memory"), 0);
  EXPECT_GT(measured("uptime"), 0);
}

TEST_F(Meter, KeepsFixedCapacities) {
  EXPECT_EQ(measured("weight=17"), 17);
  EXPECT_EQ(measured("id"), measured("id"));
  for (const char* criterion : {"weight=17", "id", "random"})
    EXPECT_FALSE(CapacityMeter::create(criterion, places_)->changes()) << criterion;
}

// Two draws differ by less than a tenth, so that a draw never replaces a leader.
TEST_F(Meter, DrawsWithinTheMargin) {
  std::int64_t least = measured("random");
  std::int64_t most = least;
  for (int i = 0; i < 200; ++i) {
    const std::int64_t drawn = measured("random");
    least = std::min(least, drawn);
    most = std::max(most, drawn);
  }
  EXPECT_GE(least, 1'000'000);
  EXPECT_LT(most, 1'000'000 + 1'000'000 / 10);
  EXPECT_GT(most - least, 10'000) << "all equal";
}

TEST_F(Meter, ReadsTheNumberOfACommand) {
  EXPECT_EQ(measured("cmd=echo 42"), 42);
  EXPECT_EQ(measured("cmd=printf '7\\n\\n'"), 7);
  EXPECT_EQ(measured("cmd=echo 5; exit 1"), 5);
}

TEST_F(Meter, ReportsAFailingCommand) {
  EXPECT_EQ(
      refused("cmd=echo many"),
      "--criterion: command 'echo many' exited with status 0 and printed 'many'; it must print "
      "one whole number that is not negative, and exit");
  EXPECT_THAT(refused("cmd=echo -1"), HasSubstr("exited with status 0 and printed '-1'"));
  EXPECT_THAT(refused("cmd=exit 3"), HasSubstr("exited with status 3 and printed nothing"));
  EXPECT_THAT(refused("cmd=kill -9 $$"), HasSubstr("was ended by signal 9"));
  EXPECT_THAT(refused("cmd="), HasSubstr("needs a command"));
}

TEST(CapacityText, HasTheUnitOfTheCriterion) {
  EXPECT_EQ(capacity_text("load", 1'000'000), "load 0%");
  EXPECT_EQ(capacity_text("load", 729'927), "load 37%");
  EXPECT_EQ(capacity_text("free-memory", 9'876'543), "9645 MiB");
  EXPECT_EQ(capacity_text("uptime", 350'735), "4 d 1 h");
  EXPECT_EQ(capacity_text("clock-quality", clock_capacity(12'300)), "12.3 us");
  EXPECT_EQ(capacity_text("clock-quality", clock_capacity(640)), "640 ns");
  EXPECT_EQ(capacity_text("clock-quality", 0), "unsynchronized");
  EXPECT_EQ(capacity_text("weight", 17), "17");
}

TEST_F(Meter, RefusesInvalidCriteria) {
  EXPECT_THAT(refused("weight=-1"), HasSubstr("'weight=5'"));
  EXPECT_THAT(refused("weight"), HasSubstr("'weight=5'"));
  EXPECT_THAT(refused("load=3"), HasSubstr("load takes no value"));
  EXPECT_THAT(refused("beauty"), HasSubstr("unknown criterion 'beauty'"));
}

}  // namespace
}  // namespace tempo::cli
