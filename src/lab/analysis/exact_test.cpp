#include "lab/analysis/exact.h"

#include <utility>

#include <gtest/gtest.h>

#include "lab/analysis/decimal.h"
#include "lab/analysis/enclosure.h"

namespace tempo::analysis {
namespace {

TEST(Whole, CalculatesBeyondSixtyFourBits) {
  EXPECT_EQ(Whole::power(2, 100).text(), "1267650600228229401496703205376");
  EXPECT_EQ(Whole::binomial(100, 50).text(), "100891344545564193334812497256");
  EXPECT_EQ(Whole::binomial(3, 5), Whole{0});
  EXPECT_EQ((Whole{7} - Whole{10}).text(), "-3");
  EXPECT_EQ(Whole{5}.add_product(3, 4), Whole{17});
  EXPECT_EQ(Whole{5}.subtract_product(3, 4), Whole{-7});
}

TEST(Whole, RoundsInTheRequestedDirection) {
  EXPECT_EQ(Whole{-7}.divided_down(2), Whole{-4});
  EXPECT_EQ(Whole{-7}.divided_up(2), Whole{-3});
  EXPECT_EQ(Whole{7}.shifted_down(1), Whole{3});
  EXPECT_EQ(Whole{7}.shifted_up(1), Whole{4});
  EXPECT_EQ(Whole{12}.divided_exactly(4), Whole{3});
  EXPECT_DEATH(Whole{13}.divided_exactly(4), "");
  EXPECT_DEATH(Whole{13}.divided_down(0), "");
}

TEST(Whole, CountsBitsAndDigits) {
  EXPECT_EQ(Whole{255}.bits(), 8U);
  EXPECT_EQ(Whole{-999}.digits(), 3U);
  EXPECT_EQ(Whole::power(10, 40).digits(), 41U);
}

TEST(Whole, IsAValue) {
  Whole one = Whole::power(3, 200);
  const Whole copy = one;
  Whole moved = std::move(one);
  EXPECT_EQ(moved, copy);
  moved = 4;
  EXPECT_EQ(copy, Whole::power(3, 200));
}

TEST(Fraction, IsInLowestTerms) {
  EXPECT_EQ(Fraction(6, -4).text(), "-3/2");
  EXPECT_EQ((Fraction{1, 3} + Fraction{1, 6}).text(), "1/2");
  EXPECT_EQ((Fraction{1, 3} / Fraction{1, 6}).text(), "2");
  EXPECT_LT(Fraction(1, 3), Fraction(1, 2));
  EXPECT_EQ(Fraction::power(Fraction{2, 3}, 4).text(), "16/81");
  EXPECT_EQ(Fraction(1, 1000).digits(), 4U);
}

TEST(Fraction, ParsesThreeForms) {
  EXPECT_EQ(Fraction::parse("1/100").value(), Fraction(1, 100));
  EXPECT_EQ(Fraction::parse("0.010").value(), Fraction(1, 100));
  EXPECT_EQ(Fraction::parse("540").value(), Fraction{540});
  for (const char* bad : {"", "-1", "1/0", "1/00", "1.", ".5", "1e3", "1/2/3", "0x10", "1 ", "٣"})
    EXPECT_FALSE(Fraction::parse(bad)) << bad;
  EXPECT_FALSE(Fraction::parse(std::string(1'001, '1')));
}

TEST(Decimal, HasNoMoreDigitsThanTheNumber) {
  EXPECT_EQ(decimal(Fraction(1, 2)), "0.5");
  EXPECT_EQ(decimal(Fraction{-12} - Fraction(1, 4)), "-12.25");
  EXPECT_EQ(decimal(Fraction{0}), "0");
  EXPECT_EQ(decimal(Fraction{1200}), "1200");
  EXPECT_EQ(decimal(Fraction(1, 1'000'000)), "0.000001");
  EXPECT_EQ(decimal(Fraction(1, 10'000'000)), "1e-7");
}

TEST(Decimal, IsRoundedOnce) {
  EXPECT_EQ(decimal(Fraction(2, 3), 4), "0.6667");
  EXPECT_EQ(decimal(Fraction(99'999, 1'000), 4), "100.0");
  EXPECT_EQ(decimal(Fraction(99'994, 10'000), 4), "9.999");
  EXPECT_EQ(decimal(Fraction(25, 10), 1), "3");
  EXPECT_EQ(decimal(Fraction(7, 16'777'216), 15), "4.17232513427734e-7");
  EXPECT_EQ(decimal(Fraction{123'456'789}, 3), "123000000");
  EXPECT_EQ(decimal(Fraction(20'001, 10'000), 3), "2.00");
}

TEST(Decimal, IsCertifiedOnlyIfBothBoundsAgree) {
  const Fraction third{1, 3};
  const Fraction little{1, Whole::power(10, 20)};
  EXPECT_EQ(certified_decimal({third - little, third + little}, 10), "0.3333333333");
  EXPECT_FALSE(certified_decimal({third - little, third + little}, 20));
  // Across a rounding boundary the digits differ even for very close bounds.
  const Fraction border{Whole{25}, Whole{100}};
  EXPECT_FALSE(certified_decimal({border - little, border}, 1));
}

TEST(Enclosure, ContainsTheTrueValue) {
  const EnclosureScale scale(64);
  const auto holds = [](const Enclosure& enclosure, const Fraction& value) {
    const Bounds bounds = enclosure.bounds();
    return bounds.low <= value && value <= bounds.high &&
           bounds.high - bounds.low < Fraction(1, Whole::power(2, 56));
  };
  const Enclosure third = scale.fraction(1, 3);
  const Enclosure seventh = scale.fraction(1, 7);
  EXPECT_TRUE(holds(third, Fraction(1, 3)));
  EXPECT_TRUE(holds(third + seventh, Fraction(10, 21)));
  EXPECT_TRUE(holds(seventh - third, Fraction(-4, 21)));
  EXPECT_TRUE(holds(third * seventh, Fraction(1, 21)));
  EXPECT_TRUE(holds((seventh - third) * third, Fraction(-4, 63)));
  EXPECT_TRUE(holds(third * (seventh - third), Fraction(-4, 63)));
  EXPECT_TRUE(holds((seventh - third) * (seventh - third), Fraction(16, 441)));
  EXPECT_TRUE(holds(third * Whole{5}, Fraction(5, 3)));
  EXPECT_TRUE(holds(third / seventh, Fraction(7, 3)));
  EXPECT_EQ((scale.whole(0) * third).bounds().high, Fraction{0});
}

}  // namespace
}  // namespace tempo::analysis
