#include "daemon/state.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace tempo::daemon {
namespace {

class Directory {
 public:
  Directory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tempo-state-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(State, RoundTrips) {
  const Directory directory;
  const State state{.incarnation = 17, .rate = -50e-6, .written_s = 1'800'000'000};
  ASSERT_TRUE(write_state(directory.path(), state));
  EXPECT_EQ(read_state(directory.path()).state.written_s, state.written_s);
  EXPECT_EQ(read_state(directory.path()).state.incarnation, state.incarnation);
  EXPECT_DOUBLE_EQ(read_state(directory.path()).state.rate, state.rate);
  EXPECT_EQ(read_state(directory.path()).lost, "");
  EXPECT_FALSE(std::filesystem::exists(directory.path() + "/state.new"));
}

TEST(State, HasDefaultsWithoutAFile) {
  EXPECT_EQ(read_state("/nonexistent").state, State{});
  EXPECT_EQ(read_state("/nonexistent").lost, "");
  const auto written = write_state("/nonexistent", {});
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().find("/nonexistent/state"), std::string::npos);
}

// One changed digit was taken for the rate of the clock, and an unreadable file for a first start.
TEST(State, ALostFileIsReportedAndReplacedByItsPredecessor) {
  const Directory directory;
  ASSERT_TRUE(write_state(directory.path(), {.incarnation = 17, .rate = -50e-6}));
  ASSERT_TRUE(write_state(directory.path(), {.incarnation = 18, .rate = -51e-6}));
  const std::string path = directory.path() + "/state";
  std::ofstream(path) << "lives 10\nrate_ppt 5\n";
  const LoadedState loaded = read_state(directory.path());
  EXPECT_EQ(loaded.state.incarnation, 18U) << "the lost file may have counted one more";
  EXPECT_DOUBLE_EQ(loaded.state.rate, -50e-6);
  EXPECT_NE(loaded.lost.find(path + " is damaged"), std::string::npos) << loaded.lost;
  std::filesystem::remove(path + ".old");
  EXPECT_EQ(read_state(directory.path()).state, State{});
  EXPECT_NE(read_state(directory.path()).lost, "");
}

TEST(State, HasDefaultsForDamagedValues) {
  EXPECT_EQ(parse_state("lives many\nrate_ppt 5x\n"), State{});
  EXPECT_EQ(parse_state("lives 4294967296\n"), State{});
  EXPECT_EQ(parse_state("written_s -5\n"), State{});
  EXPECT_EQ(parse_state("written_s 9000000000\n"), State{});  // the year 2255
  EXPECT_EQ(parse_state("rate_ppt 2000000000\n"), State{});  // 2000 ppm: implausible
  EXPECT_EQ(parse_state("what is this\nlives 3"), (State{.incarnation = 3}));
  EXPECT_EQ(parse_state(""), State{});
}

TEST(Rate, RoundTrips) {
  EXPECT_EQ(rate_text(-50e-6), "-50000000");
  EXPECT_DOUBLE_EQ(parse_rate("-50000000").value(), -50e-6);
  for (const char* text : {"", "fast", "5x", "2000000000", "9999999999999999999"})
    EXPECT_EQ(parse_rate(text), std::nullopt) << text;
}

TEST(Incarnations, AreOrderedByFileOrClock) {
  constexpr std::int64_t kYear2025 = 1'735'689'600;
  EXPECT_EQ(next_incarnation({.incarnation = 0}, kYear2025, 5), Incarnation{157'852'800});
  // The file has a later incarnation than the clock allows: the clock was set back.
  EXPECT_EQ(next_incarnation({.incarnation = 200'000'000}, kYear2025, 5), Incarnation{200'000'001});
}

// A machine without a clock that lost its file, or whose counter was at its end, had the same
// incarnation after every start; the others took its messages for repeated ones.
TEST(Incarnations, AreRandomWithoutFileAndClock) {
  EXPECT_EQ(next_incarnation({.incarnation = 0}, 0, 5), Incarnation{6});
  EXPECT_EQ(next_incarnation({.incarnation = 0xfffffffe}, 0, 7), Incarnation{8});
  EXPECT_EQ(next_incarnation({.incarnation = 0xffffffff}, 0, 7), Incarnation{8});
  EXPECT_EQ(next_incarnation({.incarnation = 0}, 0, ~std::uint64_t{0}), Incarnation{1U << 27});
}

}  // namespace
}  // namespace tempo::daemon
