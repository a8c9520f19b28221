#include "protocol/wire/name.h"

#include <string>

#include <gtest/gtest.h>

namespace tempo::wire {
namespace {

TEST(Name, IsTruncatedAndCleaned) {
  EXPECT_EQ(Name("earth").text(), "earth");
  EXPECT_EQ(Name("ea\x1b[1mrth\n").text(), "ea?[1mrth?");
  EXPECT_EQ(Name(std::string(64, 'x')).text(), std::string(63, 'x'));
  EXPECT_EQ(Name("a"), Name("a"));
  EXPECT_FALSE(Name("a") == Name("ab"));
}

TEST(Name, ReadRefusesInvalidText) {
  const auto read = [](std::string_view text) {
    return Name::read(std::as_bytes(std::span(text)));
  };
  EXPECT_EQ(read("earth").value().text(), "earth");
  EXPECT_EQ(read("").value().text(), "");
  EXPECT_EQ(read(std::string(63, 'x')).value().text(), std::string(63, 'x'));
  EXPECT_FALSE(read(std::string(64, 'x')).has_value());
  EXPECT_FALSE(read("ea\x1brth").has_value());
}

}  // namespace
}  // namespace tempo::wire
