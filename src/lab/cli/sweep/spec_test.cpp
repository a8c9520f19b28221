// Parsing the file of a sweep, and the errors in it.
#include "lab/cli/sweep/spec.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tempo::sweep {
namespace {

std::optional<std::vector<KnownOption>> known(const std::string& command) {
  if (command != "sim toy") return std::nullopt;
  return std::vector<KnownOption>{{"nodes"}, {"loss"}, {"kind"}, {"seed"}, {"fast", true}};
}

Spec good(const std::string& text) {
  const auto spec = read_spec(text, known);
  if (spec) return *spec;
  for (const TomlMistake& mistake : spec.error())
    ADD_FAILURE() << mistake.at.line << ": " << mistake.what;
  return {};
}

// The mistakes as "line: sentence".
std::vector<std::string> mistakes(const std::string& text) {
  std::vector<std::string> all;
  if (const auto spec = read_spec(text, known); !spec)
    for (const TomlMistake& mistake : spec.error())
      all.push_back(std::to_string(mistake.at.line) + ": " + mistake.what);
  return all;
}

TEST(SweepSpec, VariesTheLastOptionFastest) {
  const Spec spec = good(
      "command = \"sim toy\"\n"
      "seeds = 2\n"
      "[options]\n"
      "kind = \"ring\"\n"
      "fast = true\n"
      "[grid]\n"
      "nodes = [3, 5]\n"
      "loss = { from = 0, to = 0.3, step = 0.1 }\n");
  ASSERT_EQ(spec.cells(), 2U * 4U * 2U);
  using Words = std::vector<std::string>;
  EXPECT_EQ(spec.arguments(0),
            (Words{"sim", "toy", "--kind=ring", "--fast", "--nodes=3", "--loss=0", "--seed=1"}));
  EXPECT_EQ(spec.arguments(1).back(), "--seed=2");
  // Three steps of 0.1 are not 0.3 in a double; the option is printed as 0.3 all the same.
  EXPECT_EQ(spec.arguments(7),
            (Words{"sim", "toy", "--kind=ring", "--fast", "--nodes=3", "--loss=0.3", "--seed=2"}));
  EXPECT_EQ(spec.arguments(8)[4], "--nodes=5");
}

TEST(SweepSpec, HasOneCellWithoutAGrid) { EXPECT_EQ(good("command = \"sim toy\"\n").cells(), 1U); }

TEST(SweepSpec, AcceptsRangesByStepAndByFactor) {
  const Spec spec = good(
      "command = \"sim toy\"\n"
      "seeds = [7, 9]\n"
      "[grid]\n"
      "nodes = { from = 2, to = 17, factor = 2 }\n"
      "loss = { from = 1, to = 6, step = 2 }\n"
      "fast = [false, true]\n");
  ASSERT_EQ(spec.axes.size(), 4U);
  EXPECT_EQ(spec.axes[0].values, (std::vector<Value>{std::int64_t{2}, std::int64_t{4},
                                                     std::int64_t{8}, std::int64_t{16}}));
  EXPECT_EQ(spec.axes[1].values,
            (std::vector<Value>{std::int64_t{1}, std::int64_t{3}, std::int64_t{5}}));
  EXPECT_EQ(spec.axes[3].values, (std::vector<Value>{std::int64_t{7}, std::int64_t{9}}));
  EXPECT_EQ(spec.arguments(0).size(), 2U + 3U);  // a flag that is false is omitted
  EXPECT_EQ(spec.arguments(2).size(), 2U + 4U);
}

TEST(SweepSpec, ReportsAllMistakesAtOnce) {
  EXPECT_EQ(
      mistakes("command = \"sim toy\"\n"
               "colour = 1\n"
               "[options]\n"
               "node = 3\n"
               "json = true\n"
               "fast = 1\n"
               "kind = [\"a\", \"b\"]\n"
               "[grid]\n"
               "nodes = 3\n"
               "loss = { from = 1, to = 0 }\n"
               "seed = [1, 2, 1]\n"),
      (std::vector<std::string>{
          "2: unknown key 'colour'; a sweep has command, seeds, [options] and [grid]",
          "4: `tempo-lab sim toy` has no option --node; `tempo-lab sim toy --help` lists all",
          "5: --json is not allowed in a sweep; remove it",
          "6: fast is a flag; write true or false",
          "7: kind must have a single value here; put lists and ranges into [grid]",
          "9: nodes must be a list, for example [1, 2], or a range { from = 1, to = 9, step = 2 }",
          "10: loss is not a range; it needs from, to (not below from), and step or factor",
          "11: 1 occurs twice in seed"}));
}

TEST(SweepSpec, RefusesInvalidSweeps) {
  EXPECT_EQ(mistakes("command = \"now\"\n").size(), 1U);
  EXPECT_EQ(mistakes("command = 3\n").size(), 1U);
  EXPECT_EQ(mistakes("seeds = 3\n").size(), 1U);
  EXPECT_EQ(mistakes("command = \"sim toy\"\nseeds = 0\n").size(), 1U);
  EXPECT_EQ(mistakes("command = \"sim toy\"\n[grid]\nnodes = []\n").size(), 1U);
  EXPECT_EQ(mistakes("command = \"sim toy\"\n[options]\nseed = 1\n[grid]\nseed = [1]\n").size(),
            1U);
  EXPECT_EQ(mistakes("command = \"sim toy\"\n[grid]\n"
                     "nodes = { from = 1, to = 2000 }\nloss = { from = 1, to = 2000 }\n")
                .size(),
            1U);
  EXPECT_EQ(
      mistakes("command = \"sim toy\"\n[grid]\nloss = { from = 0, to = 1, step = 0 }\n").size(),
      1U);
  EXPECT_EQ(
      mistakes("command = \"sim toy\"\n[grid]\nloss = { from = 0, to = 1, step = 1e-9 }\n").size(),
      1U);
  EXPECT_EQ(
      mistakes("command = \"sim toy\"\n[grid]\nloss = { from = 0, to = 8, factor = 2 }\n").size(),
      1U);
  EXPECT_EQ(mistakes("command = \n[grid\n").size(), 2U);
}

}  // namespace
}  // namespace tempo::sweep
