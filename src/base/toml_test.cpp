// The parser returns values with their positions and reports all syntax errors of a file at once.
#include "base/toml.h"

#include <gtest/gtest.h>

namespace tempo {
namespace {

TEST(Toml, ReadsValuesInTheOrderOfTheFile) {
  const TomlFile file = read_toml(
      "zebra = 1\n"
      "[ant]\n"
      "b = \"text\"\n"
      "a = [1.5, true]\n");
  ASSERT_TRUE(file.mistakes.empty());
  ASSERT_EQ(file.table.size(), 2U);
  EXPECT_EQ(file.table[0].key, "zebra");
  EXPECT_EQ(std::get<std::int64_t>(file.table[0].node.value), 1);
  const auto& ant = std::get<TomlTable>(file.table[1].node.value);
  ASSERT_EQ(ant.size(), 2U);
  EXPECT_EQ(ant[0].key, "b");
  EXPECT_EQ(std::get<std::string>(ant[0].node.value), "text");
  EXPECT_EQ(ant[1].at, (TomlPlace{4, 1}));
  const auto& list = std::get<TomlArray>(ant[1].node.value);
  EXPECT_EQ(std::get<double>(list[0].value), 1.5);
  EXPECT_EQ(std::get<bool>(list[1].value), true);
  EXPECT_EQ(list[1].at, (TomlPlace{4, 11}));
}

TEST(Toml, ReportsAllSyntaxErrorsAtOnce) {
  const TomlFile file = read_toml("a = \nb = 2\nc = [1,\n= 4\n");
  ASSERT_GE(file.mistakes.size(), 2U);
  EXPECT_EQ(file.mistakes[0].at.line, 1U);
  // Keys below an invalid header would look misplaced.
  EXPECT_TRUE(read_toml("[?]\na = 1\n").table.empty());
  EXPECT_EQ(read_toml("[?]\na = 1\n").mistakes.size(), 1U);
}

// After a syntax error in an array toml++ reads quoted text as if it were outside the quotes.
// U+FEFD there reaches code that it marks as unreachable; a fuzzer found this.
TEST(Toml, ReportsNonAsciiCharactersInABrokenArray) {
  const TomlFile file = read_toml("a = [1\"9)\xEF\xBB\xBD(\"\nb = 2\n");
  ASSERT_FALSE(file.mistakes.empty());
  EXPECT_EQ(file.mistakes[0].at.line, 1U);
}

TEST(Toml, CountsColumnsInCharacters) {
  const TomlFile plain = read_toml("b = 2\na = \"ee\" c\n");
  const TomlFile accents = read_toml("b = 2\na = \"éé\" c\n");
  ASSERT_EQ(plain.mistakes.size(), 1U);
  ASSERT_EQ(accents.mistakes.size(), 1U);
  EXPECT_EQ(accents.mistakes[0].at, plain.mistakes[0].at);
}

TEST(Toml, DistinguishesNonAsciiKeys) {
  const TomlFile file = read_toml("\"é\" = 1\n\"è\" = 2\n");
  EXPECT_TRUE(file.mistakes.empty());
  EXPECT_EQ(file.table.size(), 2U);
}

TEST(Toml, ReturnsDatesAsUnsupported) {
  const TomlFile file = read_toml("day = 2024-02-29\n");
  ASSERT_EQ(file.table.size(), 1U);
  EXPECT_EQ(std::get<Odd>(file.table[0].node.value).what, "a date or time");
}

TEST(Toml, ReadsASingleValue) {
  EXPECT_EQ(std::get<std::int64_t>(read_toml_value("7")->value), 7);
  EXPECT_FALSE(read_toml_value("7 8"));
  EXPECT_FALSE(read_toml_value("1\nb = 2"));
}

}  // namespace
}  // namespace tempo
