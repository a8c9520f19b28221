#include "protocol/classic/average.h"

#include <array>

#include <gtest/gtest.h>

namespace tempo::classic {
namespace {

Nanos correction(std::initializer_list<Nanos> offsets) {
  return network_correction(std::span(offsets.begin(), offsets.size()), 20ms);
}

TEST(NetworkCorrection, IsZeroForAMasterAlone) { EXPECT_EQ(correction({}), 0ns); }

// Two clocks have no majority: the plain average, however far apart they are.
TEST(NetworkCorrection, OfTwoClocksIsTheirAverage) {
  EXPECT_EQ(correction({10ms}), 5ms);
  EXPECT_EQ(correction({-2s}), -1s);
}

// Gusella and Zatti 1985, figure 1: the average of all clocks, the master's own included.
TEST(NetworkCorrection, IsTheAverageWithTheOwnClock) {
  EXPECT_EQ(correction({6ms, -3ms, 9ms}), 3ms);
  EXPECT_EQ(correction({4ms, 8ms}), 4ms);
}

TEST(NetworkCorrection, LeavesOutFaultyClocks) {
  EXPECT_EQ(correction({6ms, 3ms, 900ms}), 3ms);  // (0 + 6 + 3) / 3
  EXPECT_EQ(correction({500ms, 510ms, 505ms}), 505ms) << "the master's own clock is the faulty one";
}

// A group may be exactly as wide as the interval, and no wider.
TEST(NetworkCorrection, GroupsByTheWholeSpread) {
  EXPECT_EQ(correction({20ms, 10ms}), 10ms);
  EXPECT_EQ(correction({21ms, 41ms}), 31ms) << "two of three are within 20 ms, without the own";
  EXPECT_EQ(correction({-15ms, 15ms}), -7500us) << "equal groups that both hold the own: the lower";
}

TEST(NetworkCorrection, PrefersTheOwnClockAmongEqualGroups) {
  EXPECT_EQ(correction({-500ms, 500ms}), 0ns);
  EXPECT_EQ(correction({-500ms, -505ms, 4ms}), 2ms);
}

// The shortest ways count: a reply that waited in a queue does not change the offset.
TEST(OffsetProbe, UsesTheShortestWays) {
  OffsetProbe probe;
  EXPECT_FALSE(probe.offset());
  probe.add(37ms, -33ms);  // delay 2 ms, 35 ms ahead
  EXPECT_EQ(probe.offset(), 35ms);
  probe.add(90ms, -33ms);
  probe.add(37ms, 60ms);
  EXPECT_EQ(probe.offset(), 35ms);
}

}  // namespace
}  // namespace tempo::classic
