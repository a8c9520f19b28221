// The datagrams of chrony's SOCK reference clock.
#include "api/sock_sample.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tempo::doors {
namespace {

template <class T>
T at(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

TEST(SockSample, HasTheLayoutOfChrony) {
  const auto bytes =
      encode({.at = 1'700'000'000s + 123'456us, .offset = -0.25, .pulse = true, .leap = 2});
  EXPECT_EQ(at<std::int64_t>(bytes, 0), 1'700'000'000);
  EXPECT_EQ(at<std::int64_t>(bytes, 8), 123'456);
  EXPECT_EQ(at<double>(bytes, 16), -0.25);
  EXPECT_EQ(at<std::int32_t>(bytes, 24), 1);
  EXPECT_EQ(at<std::int32_t>(bytes, 28), 2);
  EXPECT_EQ(at<std::int32_t>(bytes, 36), 0x534f434b);
}

// A timeval has microseconds: the rest belongs to the offset.
TEST(SockSample, KeepsTheNanosecondsOfTheReading) {
  const auto sample = decode(encode({.at = 5s + 1999ns, .offset = 1e-6}));
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->at, 5s + 1us);
  EXPECT_NEAR(sample->offset, 1.999e-6, 1e-15);
}

TEST(SockSample, IsRefusedWithAnImpossibleField) {
  const auto good = encode({.at = 5s});
  const auto refused = [&](std::size_t offset, auto value) {
    auto bytes = good;
    std::memcpy(bytes.data() + offset, &value, sizeof value);
    return !decode(bytes);
  };
  EXPECT_TRUE(decode(good));
  EXPECT_FALSE(decode(std::span{good}.first(39)));
  std::vector<std::byte> longer(good.begin(), good.end());
  longer.emplace_back();
  EXPECT_FALSE(decode(longer));
  EXPECT_TRUE(refused(0, std::int64_t{-1}));
  EXPECT_TRUE(refused(0, std::numeric_limits<std::int64_t>::max()));
  EXPECT_TRUE(refused(8, std::int64_t{1'000'000}));
  EXPECT_TRUE(refused(8, std::int64_t{-1}));
  EXPECT_TRUE(refused(16, std::nan("")));
  EXPECT_TRUE(refused(16, std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(refused(16, -1e12));
  EXPECT_TRUE(refused(28, std::int32_t{4}));
  EXPECT_TRUE(refused(28, std::int32_t{-1}));
  EXPECT_TRUE(refused(36, std::int32_t{0x4b434f53}));
}

RC_GTEST_PROP(SockSample, IsReadOrRefused, (const std::array<std::uint8_t, kSockBytes>& noise)) {
  const auto sample = decode(std::as_bytes(std::span{noise}));
  if (sample) RC_ASSERT(std::isfinite(sample->offset) && sample->at >= 0ns);
}

}  // namespace
}  // namespace tempo::doors
