// Results as text: lines, merging of parts, and the table.
#include "lab/cli/sweep/results.h"

#include <gtest/gtest.h>

namespace tempo::sweep {
namespace {

Spec spec_of_six() {
  return {.command = "sim toy",
          .options = {{"runs", std::int64_t{9}}},
          .axes = {{"nodes", {std::int64_t{3}, std::int64_t{5}, std::int64_t{7}}},
                   {"kind", {std::string("a"), std::string("b, \"c\"")}}}};
}

Json result(std::uint64_t cell) {
  return Json::object()
      .add("nodes", std::uint64_t{99})
      .add("wait", Json::object().add("mean", 0.5 + static_cast<double>(cell)).add_null("p99"));
}

std::string part(const Share& share) {
  const Spec spec = spec_of_six();
  Lines lines;
  for (std::uint64_t cell = 0; cell < spec.cells(); ++cell)
    if (share.has(cell)) lines[cell] = cell_line(spec, cell, 0, result(cell));
  return json_lines(header_line(spec, "1.0", share), lines);
}

TEST(SweepResults, MergesParts) {
  std::vector<Part> parts;
  for (const std::uint64_t number : {3U, 1U, 2U}) parts.push_back(*parse_part(part({number, 3})));
  const Result<Part> whole = merged(parts);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->cells, 6U);
  EXPECT_EQ(json_lines(whole->description, whole->lines), part({}));
  parts.push_back(parts[0]);  // the same part twice
  EXPECT_EQ(merged(parts)->lines, whole->lines);
}

TEST(SweepResults, RefusesToMergeDifferentSweeps) {
  Part one = *parse_part(part({1, 2}));
  Part other = *parse_part(part({2, 2}));
  other.description += ' ';
  EXPECT_FALSE(merged({one, other}));
  other = one;
  other.lines.begin()->second += ' ';
  EXPECT_FALSE(merged({one, other}));
}

TEST(SweepResults, IgnoresATruncatedLine) {
  const std::string text = part({});
  const Result<Part> cut = parse_part(std::string_view{text}.substr(0, text.size() - 5));
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->lines.size(), 5U);
  EXPECT_FALSE(cut->lines.contains(5));
}

TEST(SweepResults, RefusesOtherFiles) {
  EXPECT_FALSE(parse_part(""));
  EXPECT_FALSE(parse_part("hello\n"));
  EXPECT_FALSE(parse_part("{\"cell\":0}\n"));
  EXPECT_FALSE(parse_part("{\"sweep\":\"sim toy\",\"cells\":1}\n{\"cell\":1,\"result\":{}}\n"));
  EXPECT_FALSE(parse_part("{\"sweep\":\"x\",\"cells\":1,\"share\":{\"number\":3,\"of\":2}}\n"));
}

TEST(SweepResults, WritesAColumnForEveryValue) {
  const Spec spec = spec_of_six();
  Lines lines;
  lines[0] = cell_line(spec, 0, 0, result(0));
  lines[1] = cell_line(spec, 1, 1, Json::object().add("list", Json::array().push(4).push(5)));
  EXPECT_EQ(csv(lines),
            "cell,nodes,kind,status,result.nodes,wait.mean,wait.p99,list\n"
            "0,3,a,0,99,0.5,,\n"
            "1,3,\"b, \"\"c\"\"\",1,,,,\"[4,5]\"\n");
}

}  // namespace
}  // namespace tempo::sweep
