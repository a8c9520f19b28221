// King, Gendreau, Ni 1988, section 5.2: el(Y) as printed breaks uniqueness; as corrected it does
// not.
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lab/check/capacity/b2_model.h"
#include "lab/check/explore.h"

namespace tempo::check {
namespace {

using election::capacity::Command;
using election::capacity::Variant;

Finding check_b2(const B2World& world) {
  const B2Model model{.rules = b2_rules(world)};
  const std::vector<std::pair<NodeId, Command>> commands{{NodeId{0}, Command::hold()}};
  Space<B2Model> space(model, freedom_of(world), commands);
  return Search<B2Model>(space, {}).run();
}

void expect_unique(const B2World& world, std::uint64_t at_least) {
  const Finding finding = check_b2(world);
  EXPECT_TRUE(finding.complete) << finding.stopped;
  EXPECT_FALSE(finding.violation) << finding.violation->promise;
  EXPECT_GE(finding.states, at_least);
  std::printf("%llu states, %.1f s\n", static_cast<unsigned long long>(finding.states),
              finding.seconds);
}

TEST(CheckB2, ThePrintedChoiceIsNotUnique) {
  const Finding finding = check_b2({.variant = Variant::as_printed});
  ASSERT_TRUE(finding.violation);
  EXPECT_EQ(finding.violation->promise, "unique");
}

TEST(CheckB2, TheCorrectedChoiceIs) { expect_unique({}, 1'000); }

TEST(CheckB2, TheCorrectedChoiceIsWithDelaysOfOneAndTwoTicks) {
  if (std::getenv("TEMPO_SOAK") == nullptr) GTEST_SKIP() << "runs in make soak";
  expect_unique({.delay_max = 2}, 1'000);
}

}  // namespace
}  // namespace tempo::check
