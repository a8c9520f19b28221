#include "lab/papers/keep.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

namespace tempo::papers {
namespace {

Findings something() {
  return {
      .claims =
          {equals({Paper::capacity, "6", "one"}, 1,
                  {.value = 1.5, .low = 0.5, .high = 2, .runs = 9}),
           erratum({Paper::archimedean, "2.2", "two"},
                   {.printed = "a", .seen = "b", .repair = "c", .found = true, .diagram = "way"})},
      .charts = {{.id = "chart",
                  .title = "T",
                  .caption = "C",
                  .x_name = "x",
                  .y_name = "y",
                  .x_log = true,
                  .series = {{.name = "s",
                              .mark = report::Mark::bars,
                              .points = {{1, 2}, {3, 4, 3.5, 4.5}},
                              .colour = 3}}}},
      .diagrams = {{.id = "way", .title = "W", .caption = "D", .html = "<div>\"</div>\n"}}};
}

const Experiment kExperiment{
    .name = "some", .paper = Paper::ring, .title = "", .about = "", .seconds = 1, .run = nullptr};

TEST(Keep, RestoresWhatWasWritten) {
  const Findings before = something();
  const Result<Findings> after = read_kept(kept_text(before, 7), 7);
  ASSERT_TRUE(after) << after.error();
  // Writing it again gives the same text.
  EXPECT_EQ(kept_text(*after, 7), kept_text(before, 7));
  ASSERT_EQ(after->claims.size(), 2U);
  EXPECT_EQ(after->claims[0].paper, Paper::capacity);
  EXPECT_EQ(after->claims[0].measured.high, 2);
  EXPECT_EQ(after->claims[0].verdict, Verdict::agrees);
  EXPECT_EQ(after->claims[1].verdict, Verdict::erratum);
  EXPECT_EQ(after->claims[1].repair, "c");
  EXPECT_TRUE(std::isnan(after->claims[1].predicted));
  ASSERT_EQ(after->charts.size(), 1U);
  EXPECT_TRUE(after->charts[0].x_log);
  EXPECT_FALSE(after->charts[0].y_log);
  EXPECT_EQ(after->charts[0].series[0].mark, report::Mark::bars);
  EXPECT_EQ(after->charts[0].series[0].colour, 3U);
  EXPECT_TRUE(std::isnan(after->charts[0].series[0].points[0].low));
  EXPECT_EQ(after->charts[0].series[0].points[1].high, 4.5);
  ASSERT_EQ(after->diagrams.size(), 1U);
  EXPECT_EQ(after->diagrams[0].html, "<div>\"</div>\n");
}

TEST(Keep, RejectsIncompleteTextAndOtherKeys) {
  const std::string text = kept_text(something(), 7);
  EXPECT_FALSE(read_kept(text, 8));
  EXPECT_FALSE(read_kept("", 7));
  EXPECT_FALSE(read_kept("{}", 7));
  EXPECT_FALSE(read_kept(text.substr(0, text.size() / 2), 7));
  std::string spoilt = text;
  spoilt.replace(spoilt.find("\"erratum\""), 9, "\"perhaps\"");
  EXPECT_FALSE(read_kept(spoilt, 7));
}

TEST(Keep, KeyDependsOnEveryInput) {
  const std::uint64_t key = key_of(kExperiment, Effort::quick, 1, 2);
  EXPECT_EQ(key, key_of(kExperiment, Effort::quick, 1, 2));
  EXPECT_NE(key, key_of(kExperiment, Effort::full, 1, 2));
  EXPECT_NE(key, key_of(kExperiment, Effort::quick, 3, 2));
  EXPECT_NE(key, key_of(kExperiment, Effort::quick, 1, 3));
  Experiment other = kExperiment;
  other.name = "other";
  EXPECT_NE(key, key_of(other, Effort::quick, 1, 2));
}

}  // namespace
}  // namespace tempo::papers
