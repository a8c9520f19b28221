// Writing keeps the order of insertion; reading checks the type.
#include "base/json.h"

#include <cstdint>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo {
namespace {

using ::testing::ElementsAre;

TEST(Json, WritesInTheOrderOfInsertion) {
  Json list = Json::array();
  list.push(std::uint64_t{1}).push("two");
  const Json json = Json::object()
                        .add("z", std::int64_t{-1})
                        .add("a", 0.5)
                        .add("list", list)
                        .add("yes", true)
                        .add_null("nothing");
  EXPECT_EQ(json.line(), R"({"z":-1,"a":0.5,"list":[1,"two"],"yes":true,"nothing":null})");
  EXPECT_THAT(json.keys(), ElementsAre("z", "a", "list", "yes", "nothing"));
}

TEST(Json, ReplacesInvalidUtf8AndInfinity) {
  EXPECT_EQ(Json::object().add("a", "\xff").line(), "{\"a\":\"\xef\xbf\xbd\"}");
  EXPECT_EQ(Json::object().add("a", std::numeric_limits<double>::infinity()).line(),
            "{\"a\":null}");
}

TEST(Json, ReadsWholeNumbersInStrings) {
  const auto json = Json::parse(
      R"({"whole":"-9223372036854775808","large":"18446744073709551615","half":"0.5","word":"3x",)"
      R"("empty":"","spaced":" 3"})");
  ASSERT_TRUE(json);
  EXPECT_EQ(json->whole_at("whole"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(json->count_at("whole"), std::nullopt);
  EXPECT_EQ(json->whole_at("large"), std::nullopt);
  EXPECT_EQ(json->count_at("large"), 18446744073709551615U);
  EXPECT_EQ(json->number_at("large"), std::nullopt);
  for (const char* key : {"half", "word", "empty", "spaced"}) {
    EXPECT_EQ(json->whole_at(key), std::nullopt) << key;
    EXPECT_EQ(json->count_at(key), std::nullopt) << key;
  }
}

TEST(Json, ReadsMembersByType) {
  const auto json =
      Json::parse(R"({"text":"x","whole":-3,"large":18446744073709551615,"half":0.5,"flag":false,)"
                  R"("list":["a",1],"null":null})");
  ASSERT_TRUE(json);
  EXPECT_TRUE(json->is_object());
  EXPECT_EQ(json->text_at("text"), "x");
  EXPECT_EQ(json->text_at("whole"), std::nullopt);
  EXPECT_EQ(json->whole_at("whole"), -3);
  EXPECT_EQ(json->whole_at("half"), std::nullopt);
  EXPECT_EQ(json->whole_at("large"), std::nullopt);
  EXPECT_EQ(json->count_at("large"), 18446744073709551615U);
  EXPECT_EQ(json->count_at("whole"), std::nullopt);
  EXPECT_EQ(json->number_at("whole"), -3.0);
  EXPECT_EQ(json->number_at("half"), 0.5);
  EXPECT_EQ(json->number_at("text"), std::nullopt);
  EXPECT_EQ(json->flag_at("flag"), false);
  EXPECT_EQ(json->flag_at("null"), std::nullopt);
  EXPECT_TRUE(json->has("null"));
  EXPECT_FALSE(json->has("nought"));
  EXPECT_TRUE(json->at("null")->is_null());
  EXPECT_FALSE(json->at("nought"));
  ASSERT_EQ(json->at("list")->elements().size(), 2U);
  EXPECT_EQ(json->at("list")->elements()[0].as_text(), "a");
  EXPECT_EQ(json->at("list")->elements()[1].as_text(), std::nullopt);
  EXPECT_FALSE(json->at("list")->has("text"));
}

TEST(Json, ParseRefusesInvalidText) {
  for (const char* text : {"", "{", "{} {}", "{\"a\":}", "nul", "\"\xff\""})
    EXPECT_FALSE(Json::parse(text)) << text;
  EXPECT_FALSE(Json::parse(std::string(100'000, '[')));
}

}  // namespace
}  // namespace tempo
