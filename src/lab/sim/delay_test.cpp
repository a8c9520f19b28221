#include "lab/sim/delay.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::sim {
namespace {

using ::testing::StartsWith;

Delay parsed(const std::string& text) {
  const Result<Delay> delay = Delay::parse(text);
  EXPECT_TRUE(delay.has_value()) << text << ": " << delay.error();
  return *delay;
}

std::string failure_of(const std::string& text) {
  const Result<Delay> delay = Delay::parse(text);
  return delay.has_value() ? "no failure" : delay.error();
}

TEST(Delay, ParsesEveryKind) {
  for (const std::string text :
       {"100us", "1ns", "uniform:1ms..2ms", "uniform:0..5us", "uniform:3ms..3ms", "exp:20us",
        "normal:1ms,100us", "normal:1ms,0", "pareto:1ms,2.5", "100us+exp:20us", "0+exp:20us",
        "1us+2us+3us+4us+5us+6us+7us+8us"}) {
    EXPECT_EQ(parsed(text).text(), text);
  }
}

TEST(Delay, PrintsTheTextItParses) {
  EXPECT_EQ(Delay::constant(100us).text(), "100us");
  EXPECT_EQ(Delay::uniform(100us, 2ms).text(), "uniform:100us..2ms");
  EXPECT_EQ(parsed(Delay::uniform(0s, 8ms).text()).bound(), 8ms);
}

TEST(Delay, ReportsErrors) {
  EXPECT_THAT(failure_of(""), StartsWith("'' is not a duration"));
  EXPECT_THAT(failure_of("soon"), StartsWith("'soon' is not a duration"));
  EXPECT_THAT(failure_of("-1ms"), StartsWith("'-1ms' is not a duration"));
  EXPECT_THAT(failure_of("1ms+"), StartsWith("'' is not a duration"));
  EXPECT_EQ(failure_of("gamma:1ms"),
            "'gamma:1ms' is not a delay; use 100us, uniform:a..b, exp:mean, normal:mean,sd or "
            "pareto:min,alpha, "
            "or a sum of these with +");
  EXPECT_EQ(failure_of("uniform:1ms"), "'1ms' must have the form uniform:a..b");
  EXPECT_EQ(failure_of("uniform:2ms..1ms"),
            "'uniform:2ms..1ms': the upper bound is below the lower bound");
  EXPECT_THAT(failure_of("uniform:..1ms"), StartsWith("'' is not a duration"));
  EXPECT_THAT(failure_of("uniform:1ms.."), StartsWith("'' is not a duration"));
  EXPECT_THAT(failure_of("exp:"), StartsWith("'' is not a duration"));
  EXPECT_EQ(failure_of("normal:1ms"), "'1ms' must have the form normal:mean,sd");
  EXPECT_THAT(failure_of("normal:x,1ms"), StartsWith("'x' is not a duration"));
  EXPECT_THAT(failure_of("normal:1ms,x"), StartsWith("'x' is not a duration"));
  EXPECT_EQ(failure_of("pareto:1ms"), "'1ms' must have the form pareto:min,alpha");
  for (const std::string alpha : {"", "x", "0", "-1", "1001", "1.5x", "nan", "inf"}) {
    EXPECT_EQ(failure_of("pareto:1ms," + alpha),
              "'pareto:1ms," + alpha + "': alpha must be above 0 and at most 1000");
  }
  EXPECT_EQ(failure_of("1us+1us+1us+1us+1us+1us+1us+1us+1us"),
            "'1us+1us+1us+1us+1us+1us+1us+1us+1us' has more than 8 terms");
  for (const std::string nothing : {"0", "0ms"}) {
    EXPECT_EQ(failure_of(nothing), "a delay of zero is not allowed; write 1ns or more");
  }
}

TEST(Delay, ComputesItsMean) {
  EXPECT_EQ(parsed("100us").mean(), 100us);
  EXPECT_EQ(parsed("uniform:1ms..3ms").mean(), 2ms);
  EXPECT_EQ(parsed("exp:20us").mean(), 20us);
  EXPECT_EQ(parsed("normal:1ms,100us").mean(), 1ms);
  EXPECT_EQ(parsed("pareto:1ms,3").mean(), 1500us);
  EXPECT_EQ(parsed("100us+exp:20us+uniform:0..10us").mean(), 125us);
  EXPECT_GT(parsed("pareto:1ms,1").mean(), 24h * 365);  // no finite mean; the tail is cut far out
}

TEST(Delay, ComputesItsBound) {
  EXPECT_EQ(parsed("100us").bound(), 100us);
  EXPECT_EQ(parsed("uniform:1ms..3ms").bound(), 3ms);
  EXPECT_EQ(parsed("1ms+uniform:1ms..3ms").bound(), 4ms);
  for (const std::string text : {"exp:1us", "normal:1ms,1us", "pareto:1us,5", "1ms+exp:1us"})
    EXPECT_EQ(parsed(text).bound(), Nanos::max()) << text;
}

struct Sampled {
  double mean = 0;
  Nanos least = Nanos::max();
  Nanos most{0};
};
constexpr int kSamples = 40'000;

Sampled sampled(const Delay& delay) {
  Stream stream(11, 1, 0);
  Sampled result;
  for (int i = 0; i < kSamples; ++i) {
    const Nanos sample = delay.sample(stream);
    result.mean += static_cast<double>(sample.count()) / kSamples;
    result.least = std::min(result.least, sample);
    result.most = std::max(result.most, sample);
  }
  return result;
}

// Expects the mean of the samples within five standard errors, plus half a nanosecond for rounding.
void expect_mean(const std::string& text, double deviation_ns) {
  const Delay delay = parsed(text);
  const double error = 5 * deviation_ns / std::sqrt(double{kSamples}) + 0.5;
  EXPECT_NEAR(sampled(delay).mean, static_cast<double>(delay.mean().count()), error) << text;
}

TEST(Delay, SamplesHaveTheMean) {
  expect_mean("100us", 0);
  expect_mean("uniform:1ms..3ms", 2e6 / std::sqrt(12.0));
  expect_mean("exp:20us", 2e4);
  expect_mean("normal:1ms,100us", 1e5);
  // alpha 3: the variance is min^2 alpha / ((alpha-1)^2 (alpha-2)).
  expect_mean("pareto:1ms,3", 1e6 * std::sqrt(3.0 / 4.0));
  expect_mean("100us+exp:20us", 2e4);
  expect_mean("uniform:1ms..3ms+exp:1ms", 1e6 * std::sqrt(4.0 / 12.0 + 1.0));
}

TEST(Delay, SamplesStayWithinTheBound) {
  const Sampled uniform = sampled(parsed("uniform:1ms..3ms"));
  EXPECT_GE(uniform.least, 1ms);
  EXPECT_LE(uniform.most, 3ms);
  EXPECT_LT(uniform.least, 1001us);  // one sample in two thousand is this close to the lower end
  EXPECT_GT(uniform.most, 2999us);
  EXPECT_GE(sampled(parsed("1ms+exp:1ms")).least, 1ms);
  EXPECT_GE(sampled(parsed("pareto:1ms,3")).least, 1ms);
  EXPECT_EQ(sampled(parsed("1ms+2ms")).most, 3ms);
  EXPECT_EQ(sampled(parsed("1ms+2ms")).least, 3ms);
}

// No message arrives at the instant at which it was sent, and the longest sample is bounded.
TEST(Delay, SamplesAreAtLeastOneNanosecond) {
  for (const std::string text :
       {"uniform:0..0", "uniform:0..1ns", "exp:0", "exp:1ns", "normal:0,1ms", "0+0"})
    EXPECT_EQ(sampled(parsed(text)).least, 1ns) << text;
  EXPECT_LE(sampled(parsed("pareto:1s,0.01")).most, Nanos{1'000'000'000'000'000'000});
}

// Two samples from one stream differ; an equal stream gives equal samples.
TEST(Delay, DrawsFromTheStream) {
  const Delay delay = parsed("exp:1ms");
  Stream first(1, 1, 0);
  Stream again(1, 1, 0);
  Stream other(1, 1, 1);
  const Nanos one = delay.sample(first);
  EXPECT_NE(one, delay.sample(first));
  EXPECT_EQ(one, delay.sample(again));
  EXPECT_NE(one, delay.sample(other));
}

TEST(DelayDeathTest, RequiresAPositiveSpan) {
  EXPECT_DEATH(Delay::constant(0s), "span > Nanos\\{0\\}");
  EXPECT_DEATH(Delay::uniform(2ms, 1ms), "low <= high");
  EXPECT_DEATH(Delay::uniform(0s, 0s), "high > Nanos\\{0\\}");
}

}  // namespace
}  // namespace tempo::sim
