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

std::string repeated(std::string_view part, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += part;
  return text;
}

// A key of 100,000 dotted parts made 100,000 nested tables, and the recursion of the parser
// overflowed the stack.
TEST(Toml, RefusesDeepNesting) {
  constexpr int kDeep = 100'000;
  const std::string dotted = repeated("a.", kDeep) + "a";
  const std::string quoted = repeated("\"=\" . ", kDeep) + "a";
  const std::string braces = repeated("{a = ", kDeep) + "1" + repeated("}", kDeep);
  const std::string lists = repeated("[", kDeep) + repeated("]", kDeep);
  for (const std::string& text :
       {dotted + " = 1\n", quoted + " = 1\n", '[' + dotted + "]\n", "[[" + dotted + "]]\n",
        "b = {" + dotted + " = 1}\n", "b = " + braces + "\n", "b = " + lists + "\n"}) {
    const TomlFile file = read_toml("first = 1\n" + text);
    ASSERT_EQ(file.mistakes.size(), 1U) << text.substr(0, 20);
    EXPECT_EQ(file.mistakes[0].at.line, 2U) << text.substr(0, 20);
  }
  for (const std::string& value : {'{' + dotted + " = 1}", braces, lists})
    EXPECT_FALSE(read_toml_value(value)) << value.substr(0, 20);
  EXPECT_EQ(read_toml(dotted + " = 1\n").mistakes[0].what, "a key has at most 8 parts; shorten it");
}

TEST(Toml, RefusesLongKeys) {
  const std::string key(257, 'k');
  for (const std::string& text : {key + " = 1\n", '"' + key + "\" = 1\n", '[' + key + "]\n"})
    ASSERT_EQ(read_toml(text).mistakes.size(), 1U) << text;
}

TEST(Toml, LimitsOnlyKeysAndBrackets) {
  const TomlFile file =
      read_toml("# " + repeated(".", 1000) + "\nlist = [" + repeated("\"10.0.0.1\", 1.5, ", 1000) +
                "2.5]\ntext = \"" + repeated("a.[{", 1000) + "\"\nlong = '''\n" +
                repeated("a.b = [\n", 1000) + "'''\nnested = [\n[\"" + std::string(300, 'x') +
                "\"]]\na.b.c.d.e.f.g.h = " + repeated("[", 16) + repeated("]", 16) + "\n[t]\n");
  ASSERT_TRUE(file.mistakes.empty()) << file.mistakes[0].what << ' ' << file.mistakes[0].at.line;
  EXPECT_EQ(file.table.size(), 6U);
}

}  // namespace
}  // namespace tempo
