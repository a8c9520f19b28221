// Experiments with the smallest effort, the page made of them, and independence from the order of
// work.
#include "lab/papers/experiment.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/papers/keep.h"
#include "lab/papers/page.h"
#include "lab/papers/ring_paper.h"

namespace tempo::papers {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// One thread, which works forwards or backwards.
class Bench final : public Workshop {
 public:
  explicit Bench(bool backwards = false) : backwards_(backwards) {}
  Effort effort() const override { return Effort::glance; }
  std::uint64_t seed() const override { return 1; }
  std::uint32_t threads() const override { return 1; }
  bool stopped() const override { return false; }
  void each(std::uint64_t count, const std::function<void(std::uint64_t)>& work) override {
    for (std::uint64_t i = 0; i < count; ++i) work(backwards_ ? count - 1 - i : i);
  }

 private:
  bool backwards_;
};

TEST(Experiments, HaveUniqueNames) {
  std::set<std::string_view> names;
  std::set<Paper> papers;
  for (const Experiment& one : experiments()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
    EXPECT_FALSE(one.title.empty()) << one.name;
    EXPECT_GT(one.seconds, 0) << one.name;
    papers.insert(one.paper);
  }
  EXPECT_EQ(papers.size(), kPapers);
}

TEST(Workshop, ScalesRunsWithTheEffort) {
  Bench bench;
  EXPECT_EQ(bench.runs(5'000), 100U);
  EXPECT_EQ(bench.runs(100), 8U);  // not below the smallest useful number
  EXPECT_EQ(bench.runs(4), 4U);
}

class RingPaper : public ::testing::TestWithParam<Experiment> {};

TEST_P(RingPaper, AgreesWithTheSmallestEffort) {
  Bench bench;
  const Findings findings = GetParam().run(bench);
  EXPECT_FALSE(findings.claims.empty());
  for (const Claim& claim : findings.claims) {
    EXPECT_TRUE(claim.verdict == Verdict::agrees || claim.verdict == Verdict::erratum)
        << claim.says << ": " << claim.prediction << ", " << claim.measurement << ", "
        << claim.interval;
    EXPECT_EQ(claim.paper, GetParam().paper);
    EXPECT_FALSE(claim.section.empty() || claim.says.empty() || claim.prediction.empty());
    EXPECT_EQ(claim.verdict == Verdict::erratum, !claim.repair.empty()) << claim.says;
  }
}
TEST_P(RingPaper, FindsTheSameInAnyOrder) {
  Bench forwards;
  Bench backwards(true);
  EXPECT_EQ(kept_text(GetParam().run(forwards), 1), kept_text(GetParam().run(backwards), 1));
}
INSTANTIATE_TEST_SUITE_P(All, RingPaper, ::testing::ValuesIn(ring_experiments()),
                         [](const auto& one) {
                           std::string name(one.param.name);
                           std::erase(name, '-');
                           return name;
                         });

// Every known erratum is refuted by a drawn counterexample, or its printed number by other numbers;
// the smallest effort omits the refused duplicate, which takes half a million states.
TEST(Errata, AreAllDrawn) {
  Bench bench;
  std::set<std::string> drawn;
  std::map<Paper, std::size_t> errata;
  std::multiset<std::string> numbers;
  for (const Experiment& one : experiments()) {
    const Findings findings = one.run(bench);
    for (const Claim& claim : findings.claims) {
      if (claim.repair.empty()) continue;
      EXPECT_EQ(claim.verdict, Verdict::erratum) << claim.says << ": " << claim.measurement;
      if (claim.diagram.empty()) {
        numbers.insert(claim.section);
        continue;
      }
      const auto diagram = std::ranges::find(findings.diagrams, claim.diagram, &Diagram::id);
      ASSERT_NE(diagram, findings.diagrams.end()) << claim.section << ", " << claim.says;
      EXPECT_THAT(diagram->html, HasSubstr("<svg")) << claim.diagram;
      EXPECT_THAT(diagram->caption, HasSubstr("ound by the checker")) << claim.diagram;
      EXPECT_TRUE(drawn.insert(claim.diagram).second) << claim.diagram << " belongs to two claims";
      ++errata[claim.paper];
    }
  }
  EXPECT_EQ(errata[Paper::tempo], 2U);
  EXPECT_EQ(errata[Paper::ring], 3U);
  EXPECT_EQ(errata[Paper::archimedean], 10U);
  EXPECT_EQ(errata[Paper::capacity], 5U);
  EXPECT_EQ(numbers, (std::multiset<std::string>{"6", "6", "6", "appendix, (1)", "appendix, (3)"}));
}

TEST(Page, HasEveryClaimChartAndDiagram) {
  Bench bench;
  std::vector<Chapter> chapters;
  for (const Experiment& one : ring_experiments()) chapters.push_back({&one, one.run(bench)});
  const std::string html = page(chapters, {.effort = Effort::glance, .version = "9.9"});
  EXPECT_THAT(html, HasSubstr("tempo 9.9, effort glance"));
  std::set<std::string> ids;
  for (const Chapter& chapter : chapters) {
    for (const report::Chart& chart : chapter.findings.charts) {
      EXPECT_TRUE(ids.insert("chart-" + chart.id).second) << chart.id;
      EXPECT_THAT(html, HasSubstr("id=\"chart-" + chart.id + '"'));
    }
    for (const Diagram& diagram : chapter.findings.diagrams) {
      EXPECT_TRUE(ids.insert("diagram-" + diagram.id).second) << diagram.id;
      EXPECT_THAT(html, HasSubstr("id=\"diagram-" + diagram.id + '"'));
    }
  }
  EXPECT_THAT(html, HasSubstr("<dt>repair</dt><dd>the larger one becomes inactive"));
  // The page loads nothing from elsewhere.
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  EXPECT_THAT(html, Not(HasSubstr("@import")));
  EXPECT_LT(html.size(), 2'000'000U);
}

TEST(Page, ShowsDisagreement) {
  const Experiment one{"bad", Paper::tempo, "Bad & worse", "", 1, nullptr};
  const std::string html =
      page({{&one, {.claims = {never({Paper::tempo, "1", "it <fails>"}, 3, 9)}}}}, {});
  EXPECT_THAT(html, HasSubstr("<div class=\"tally\" data-verdict=\"disagrees\"><b>1</b>"));
  EXPECT_THAT(html, HasSubstr("it &lt;fails&gt;"));
  EXPECT_THAT(html, HasSubstr("Bad &amp; worse"));
  EXPECT_THAT(html, HasSubstr("<span class=\"verdict disagrees\">disagrees</span>"));
}

}  // namespace
}  // namespace tempo::papers
