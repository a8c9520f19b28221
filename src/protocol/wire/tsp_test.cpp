#include "protocol/wire/tsp.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/hex.h"

namespace tempo::wire::tsp {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(const Datagram& datagram) {
  std::array<std::byte, kBytes> buffer{};
  buffer.fill(std::byte{0xee});
  write(datagram, buffer);
  return {buffer.begin(), buffer.end()};
}

// The bytes without trailing zeros.
std::string hex_of(const Datagram& datagram) {
  Bytes bytes = bytes_of(datagram);
  while (!bytes.empty() && bytes.back() == std::byte{0}) bytes.pop_back();
  return hex(bytes);
}

// A datagram of a historical daemon, whose unused bytes are uninitialised.
Bytes received(std::uint8_t type, std::string_view name, std::size_t size = 76) {
  Bytes bytes(size, std::byte{0xee});
  bytes.at(0) = std::byte{type};
  bytes.at(1) = std::byte{1};
  bytes.at(2) = std::byte{0x12};
  bytes.at(3) = std::byte{0x34};
  std::ranges::transform(name, bytes.begin() + 12,
                         [](char c) { return static_cast<std::byte>(c); });
  if (12 + name.size() < size) bytes.at(12 + name.size()) = std::byte{0};
  return bytes;
}

Error error_of(std::span<const std::byte> bytes) {
  const auto parsed = parse(bytes);
  return parsed ? Error::count : parsed.error();
}

void put(Bytes& bytes, std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i)
    bytes.at(at + i) = static_cast<std::byte>(value >> (24 - 8 * i));
}

TEST(Tsp, EncodesDatagrams) {
  const Datagram back{
      .type = Type::adjtime, .sequence = 0x1234, .micros = -35'000, .name = Name("earth")};
  EXPECT_EQ(bytes_of(back).size(), 268);
  EXPECT_EQ(hex_of(back), "01011234ffffffff000eb9886561727468");  // -1 s, 965000 us
  EXPECT_EQ(hex_of({.type = Type::settime,
                    .sequence = 0xffff,
                    .micros = 1'794'770'693'258'145,
                    .name = Name("h1")}),
            "0501ffff6afa07050003f0616831");
  EXPECT_EQ(hex_of({.type = Type::loop, .sequence = 7, .hops = 10, .name = Name("h1")}),
            "180100070a000000000000006831");
}

TEST(Tsp, WritesOnlyFieldsOfTheType) {
  EXPECT_EQ(hex_of({.type = Type::election, .micros = 5, .hops = 9, .name = Name("a")}),
            "08010000000000000000000061");
}

TEST(Tsp, IgnoresFieldsThatTheTypeDoesNotCarry) {
  const Datagram read = parse(received(8, "earth")).value();
  EXPECT_EQ(read, (Datagram{.type = Type::election, .sequence = 0x1234, .name = Name("earth")}));
  const Datagram loop = parse(received(24, "earth")).value();
  EXPECT_EQ(loop.hops, 0xee);
  EXPECT_EQ(loop.micros, 0);
}

TEST(Tsp, CarriesTimeInFourTypes) {
  for (std::uint8_t type = 1; type <= kLastType; ++type) {
    Bytes bytes = received(type, "h1");
    put(bytes, 4, 0xffffffff);
    put(bytes, 8, 965'000);
    const bool time = type == 1 || type == 5 || type == 22 || type == 23;
    EXPECT_EQ(parse(bytes).value().micros, time ? -35'000 : 0) << int{type};
    EXPECT_EQ(carries_time(Type{type}), time) << int{type};
  }
}

TEST(Tsp, ReadsTheWholeRangeOfSeconds) {
  const auto micros_of = [](std::uint32_t seconds, std::uint32_t micros) {
    Bytes bytes = received(5, "h1");
    put(bytes, 4, seconds);
    put(bytes, 8, micros);
    return parse(bytes).value().micros;
  };
  EXPECT_EQ(micros_of(0x7fffffff, 999'999), 2'147'483'647'999'999);
  EXPECT_EQ(micros_of(0x80000000, 0), -2'147'483'648'000'000);
  EXPECT_EQ(micros_of(0, 1), 1);
}

TEST(Tsp, WritesTheLowerBitsOfLargeSeconds) {
  const Datagram late{.type = Type::settime, .micros = 2'147'483'648'000'001, .name = Name("h")};
  EXPECT_EQ(hex_of(late), "05010000800000000000000168");
}

TEST(Tsp, RefusesMicrosecondsOfASecondOrMore) {
  Bytes bytes = received(1, "h1");
  put(bytes, 8, 1'000'000);
  EXPECT_EQ(error_of(bytes), Error::bad_micros);
  put(bytes, 8, static_cast<std::uint32_t>(-35'000));
  EXPECT_EQ(error_of(bytes), Error::bad_micros);
  put(bytes, 8, 999'999);
  EXPECT_EQ(error_of(bytes), Error::count);
}

TEST(Tsp, NeedsThirteenBytes) {
  const Bytes bytes = received(2, "", 13);
  EXPECT_EQ(parse(bytes).value().name.text(), "");
  for (std::size_t size = 0; size < 13; ++size)
    EXPECT_EQ(error_of(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size))),
              Error::too_short);
}

TEST(Tsp, AcceptsLongDatagrams) {
  for (const std::size_t size : {14U, 76U, 88U, 268U, 1472U, 65507U})
    EXPECT_EQ(parse(received(2, "x", size)).value().name.text(), "x");
}

TEST(Tsp, RefusesOtherVersions) {
  for (const int version : {0, 2, 255}) {
    Bytes bytes = received(2, "h1");
    bytes[1] = static_cast<std::byte>(version);
    EXPECT_EQ(error_of(bytes), Error::wrong_version);
  }
}

TEST(Tsp, RefusesUnknownTypes) {
  EXPECT_EQ(error_of(received(0, "h1")), Error::bad_type);
  EXPECT_EQ(error_of(received(25, "h1")), Error::bad_type);
  EXPECT_EQ(error_of(received(255, "h1")), Error::bad_type);
  EXPECT_EQ(error_of(received(0x54, "h1")), Error::bad_type) << "tempo's own first byte";
}

TEST(Tsp, RefusesInvalidNames) {
  EXPECT_EQ(error_of(received(2, std::string(64, 'x'), 76)), Error::no_end);
  EXPECT_EQ(error_of(received(2, "x", 13)), Error::no_end);
  EXPECT_EQ(parse(received(2, std::string(63, 'x'), 76)).value().name.text(), std::string(63, 'x'));
  EXPECT_EQ(error_of(received(2, std::string(64, 'x'), 268)), Error::long_name);
  EXPECT_EQ(error_of(received(2, "h\x1b[2J")), Error::bad_name);
}

TEST(Tsp, TypesAndErrorsHaveUniqueNames) {
  std::set<std::string_view> errors;
  for (std::uint8_t i = 0; i < std::to_underlying(Error::count); ++i)
    errors.insert(name_of(Error{i}));
  EXPECT_EQ(errors.size(), std::to_underlying(Error::count));
  EXPECT_EQ(name_of(Error::bad_name), "bad_name");
  EXPECT_EQ(name_of(Error::bad_micros), "bad_micros");
  std::set<std::string_view> types;
  for (std::uint8_t i = 1; i <= kLastType; ++i) types.insert(name_of(Type{i}));
  EXPECT_EQ(types.size(), kLastType);
  EXPECT_EQ(name_of(Type::adjtime), "adjtime");
  EXPECT_EQ(name_of(Type{16}), "dateack");
  EXPECT_EQ(name_of(Type{24}), "loop");
}

}  // namespace
}  // namespace tempo::wire::tsp
