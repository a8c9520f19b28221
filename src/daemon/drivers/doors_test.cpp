// ClockBound's segment and chronyd's socket, as their readers see them.
#include "daemon/drivers/doors.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/sock_sample.h"
#include "platform/unix_address.h"

namespace tempo::daemon {
namespace {

using ::testing::HasSubstr;

constexpr Nanos kReal = 1'700'000'000s;

class DoorsTest : public ::testing::Test {
 protected:
  DoorsTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tempo-doors-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
  }
  ~DoorsTest() override { std::filesystem::remove_all(directory_); }

  std::string path(const char* name) const { return directory_ + '/' + name; }
  // The kernel's clock, read within 100 ns.
  static sys::Bracket kernel() {
    return {.before = Instant{9s}, .real = kReal, .after = Instant{9s + 100ns}};
  }
  // Network time is `ahead` of the kernel's clock, within 3 us.
  static page::Reading network(Nanos ahead, page::Status status = page::Status::synchronized) {
    const WallTime time{kReal + ahead};
    return {.time = time, .earliest = time - 3us, .latest = time + 3us, .status = status};
  }
  template <class T>
  T segment(std::size_t offset) const {
    std::ifstream file(path("shm0"), std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    T value{};
    file.read(reinterpret_cast<char*>(&value), sizeof value);
    return value;
  }

  std::string directory_;
};

TEST_F(DoorsTest, AreClosedUnlessConfigured) {
  auto doors = Doors::open({});
  ASSERT_TRUE(doors) << doors.error();
  doors->publish(kernel(), network(0ns), 5s);
  EXPECT_EQ(doors->error(), "");
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

// 40 us between the clocks, 3 us of the interval, half of the reading, a nanosecond of rounding.
TEST_F(DoorsTest, BoundTheKernelsClockForClockBound) {
  auto doors = Doors::open({.clockbound = path("shm0"), .steered = true});
  ASSERT_TRUE(doors) << doors.error();
  for (const Nanos ahead : {40us, -40us}) {
    doors->publish(kernel(), network(ahead), 5s + 4ms);
    EXPECT_EQ(segment<std::int64_t>(48), 43'051);
    EXPECT_EQ(segment<std::int32_t>(68), 1);
  }
  EXPECT_EQ(segment<std::int64_t>(16), 5);
  EXPECT_EQ(segment<std::int64_t>(24), 4'000'000);
  EXPECT_EQ(segment<std::int64_t>(32), 1005);
  EXPECT_EQ(segment<std::uint32_t>(64), 50'000U);
  doors->publish(kernel(), network(0ns, page::Status::holdover), 6s);
  EXPECT_EQ(segment<std::int32_t>(68), 2);
  doors->publish(kernel(), page::Reading{}, 7s);
  EXPECT_EQ(segment<std::int32_t>(68), 0);
}

TEST_F(DoorsTest, ClaimNothingBeyondTheLimit) {
  auto doors = Doors::open({.clockbound = path("shm0"), .limit = 2us});
  ASSERT_TRUE(doors) << doors.error();
  doors->publish(kernel(), network(0ns), 5s);
  EXPECT_EQ(segment<std::int32_t>(68), 0);
  EXPECT_EQ(segment<std::uint32_t>(64), 1'000'000U);
}

TEST_F(DoorsTest, SendSamplesToChronyd) {
  auto doors = Doors::open({.chrony = path("chrony.sock")});
  ASSERT_TRUE(doors) << doors.error();
  doors->publish(kernel(), network(250us), 5s);
  EXPECT_THAT(doors->error(),
              HasSubstr("(No such file or directory); start chronyd with 'refclock SOCK"));
  const int chronyd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const auto address = sys::unix_address(path("chrony.sock"));
  ASSERT_EQ(::bind(chronyd, address->generic(), address->size), 0);
  doors->publish(kernel(), page::Reading{}, 5s);  // no time, no sample
  doors->publish(kernel(), network(250us), 6s);
  EXPECT_EQ(doors->error(), "");
  std::array<std::byte, 100> bytes{};
  ASSERT_EQ(::recv(chronyd, bytes.data(), bytes.size(), 0), 40);
  const auto sample = doors::decode(std::span{bytes}.first(40));
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->at, kReal);
  EXPECT_NEAR(sample->offset, 250e-6, 1e-12);
  EXPECT_EQ(sample->leap, 0);
  EXPECT_LT(::recv(chronyd, bytes.data(), bytes.size(), 0), 0);
  // chronyd reads nothing: samples are dropped, and nothing waits.
  for (int i = 0; i < 1000; ++i) doors->publish(kernel(), network(1us), 7s);
  EXPECT_EQ(doors->error(), "");
  ::close(chronyd);
}

}  // namespace
}  // namespace tempo::daemon
