// Collisions, several leaders of an anonymous ring, and the chain of Algorithm C: compared with the
// golden values and with a second method.
#include <gtest/gtest.h>

#include "lab/analysis/algorithm_c.h"
#include "lab/analysis/anonymous_ring.h"
#include "lab/analysis/collision.h"
#include "lab/analysis/decimal.h"
#include "lab/analysis/golden_test_file.h"

namespace tempo::analysis {
namespace {

TEST(Collision, AgreesWithTheGoldenValues) {
  int compared = 0;
  for (const Json& row : golden(TEMPO_TESTDATA "/collision.json").at("collision")->elements()) {
    const Collision asked{.daemons = static_cast<std::uint32_t>(row.count_at("N").value()),
                          .window = Fraction::parse(row.text_at("delta").value()).value(),
                          .width = Fraction::parse(row.text_at("R").value()).value()};
    EXPECT_EQ(collision(asked).text(), row.text_at("P").value());
    EXPECT_EQ(collision_integral(asked), collision(asked));
    EXPECT_GE(collision_bound(asked), collision(asked));
    EXPECT_DOUBLE_EQ(collision_bound(asked).nearest(),
                     std::stod(row.text_at("bound_N_delta_over_R").value()));
    ++compared;
  }
  EXPECT_GE(compared, 20);
}

TEST(Collision, IsCertainIfTheWindowIsTheWholeInterval) {
  EXPECT_EQ(collision({.daemons = 2, .window = 5, .width = 5}), Fraction{1});
  EXPECT_EQ(collision({.daemons = 2, .window = 9, .width = 5}), Fraction{1});
  EXPECT_EQ(collision_integral({.daemons = 2, .window = 9, .width = 5}), Fraction{1});
}

TEST(Collision, NeedsTwoDaemons) {
  EXPECT_EQ(collision({.daemons = 1, .window = 2, .width = 5}), Fraction{0});
  EXPECT_EQ(collision({.daemons = 1, .window = 9, .width = 5}), Fraction{0});
}

TEST(AnonymousRing, TwoLeadersAgreeWithTheGoldenValues) {
  const Json values = golden(TEMPO_TESTDATA "/anonymous_ring.json");
  for (const Json& row : values.at("two_synchronous_candidates")->elements()) {
    const auto k = static_cast<std::uint32_t>(row.count_at("k").value());
    EXPECT_EQ(all_elected(2, k).text(), row.text_at("P_two_leaders").value());
    const bool holds = all_elected(2, k) <= Fraction::power(Fraction(3, 4), k);
    EXPECT_EQ(holds, row.flag_at("holds").value());
  }
  for (std::uint32_t k = 2; k <= 60; ++k)
    EXPECT_LE(all_elected(2, k), Fraction::power(Fraction(3, 4), k)) << k;
}

TEST(AnonymousRing, PhasesAgreeWithTheGoldenValues) {
  const Json values = golden(TEMPO_TESTDATA "/anonymous_ring.json");
  for (const Json& row : values.at("phases")->elements()) {
    const auto n = static_cast<std::uint32_t>(row.count_at("n").value());
    EXPECT_EQ(candidates_drawn(n, 0).text(), row.text_at("P_X0").value());
    EXPECT_EQ(candidates_drawn(n, 1).text(), row.text_at("P_X1").value());
    EXPECT_EQ(mean_phases(n).text(), row.text_at("mean_phases").value());
    EXPECT_EQ(mean_phases(n) * candidates_drawn(n, 1), Fraction{1});
    Fraction all = 0;
    for (std::uint32_t c = 0; c <= n; ++c) all += candidates_drawn(n, c);
    EXPECT_EQ(all, Fraction{1});
  }
  EXPECT_LT(mean_phases(1000).nearest(), 2.718281828459);
}

// Enumerates every sequence of choices and checks it claim by claim.
Fraction by_enumeration(std::uint32_t candidates, std::uint32_t stages) {
  const std::uint32_t free_choices = candidates * (stages - 1);
  std::int64_t undetected = 0;
  for (std::uint32_t choices = 0; choices < 1U << free_choices; ++choices) {
    bool detected = false;
    for (std::uint32_t boundary = 1; boundary < stages; ++boundary) {
      const auto forwards = [&](std::uint32_t candidate, std::uint32_t stage) {
        candidate %= candidates;
        return stage == 0 || (choices >> ((stage - 1) * candidates + candidate) & 1) != 0;
      };
      for (std::uint32_t c = 0; c < candidates; ++c) {
        const bool sent = forwards(c, boundary - 1) && forwards(c, boundary);
        const std::uint32_t before = c + candidates - 1;
        const bool came = forwards(before, boundary - 1) && forwards(before, boundary);
        detected = detected || sent != came;  // its own claim is missing, or another one arrives
      }
    }
    undetected += detected ? 0 : 1;
  }
  return {undetected, Whole::power(2, free_choices)};
}

TEST(AnonymousRing, SeveralLeadersAgreeWithEnumeration) {
  for (std::uint32_t candidates = 1; candidates <= 4; ++candidates)
    for (std::uint32_t stages = 1; stages <= 4; ++stages)
      EXPECT_EQ(all_elected(candidates, stages),
                candidates == 1 ? Fraction{1} : by_enumeration(candidates, stages))
          << candidates << " candidates, " << stages << " stages";
}

TEST(AlgorithmC, AgreesWithTheGoldenValues) {
  int compared = 0;
  for (const Json& row : golden(TEMPO_TESTDATA "/algorithm_c.json").at("E")->elements()) {
    const auto a = static_cast<std::uint32_t>(row.count_at("a").value());
    const Fraction loss = Fraction::parse(row.text_at("p").value()).value();
    if (a > 12) continue;
    const Fraction mean = AlgorithmC(a, loss).mean_rounds(a);
    if (const auto exact = row.text_at("E")) {
      EXPECT_EQ(mean.text(), *exact);
    }
    EXPECT_NEAR(mean.nearest(), std::stod(row.text_at("E_dec").value()), 1e-12);
    ++compared;
  }
  EXPECT_EQ(compared, 24);
  for (const Json& row : golden(TEMPO_TESTDATA "/algorithm_c.json").at("P")->elements()) {
    const AlgorithmC chain(8, Fraction::parse(row.text_at("p").value()).value());
    EXPECT_EQ(chain
                  .step(static_cast<std::uint32_t>(row.count_at("i").value()),
                        static_cast<std::uint32_t>(row.count_at("j").value()))
                  .text(),
              row.text_at("P").value());
  }
}

}  // namespace
}  // namespace tempo::analysis
