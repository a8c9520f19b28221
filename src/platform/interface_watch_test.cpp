#include "platform/interface_watch.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "platform/namespace_test_setup.h"

namespace tempo::sys {
namespace {

constexpr int kLongestWaitMs = 20'000;

bool reports_change(const InterfaceWatch& watch) {
  pollfd polled{.fd = watch.descriptor().value(), .events = POLLIN, .revents = 0};
  return poll(&polled, 1, kLongestWaitMs) == 1;
}

TEST(InterfaceWatch, IsSilentWithoutChanges) {
  InterfaceWatch watch;
  EXPECT_FALSE(watch.changed());
}

TEST(InterfaceWatch, DetectsAddedAndRemovedAddresses) {
  TEST_NAMESPACE(alone);
  InterfaceWatch watch;
  ASSERT_TRUE(watch.descriptor());
  ASSERT_TRUE(TestNamespace::ip("link set lo up"));
  EXPECT_TRUE(reports_change(watch));
  EXPECT_TRUE(watch.changed());
  EXPECT_FALSE(watch.changed());
  ASSERT_TRUE(TestNamespace::ip("addr add 10.1.0.1/24 dev lo"));
  EXPECT_TRUE(reports_change(watch));
  EXPECT_TRUE(watch.changed());
  ASSERT_TRUE(TestNamespace::ip("addr del 10.1.0.1/24 dev lo"));
  EXPECT_TRUE(reports_change(watch));
  EXPECT_TRUE(watch.changed());
  EXPECT_FALSE(watch.changed());
}

TEST(InterfaceWatch, IgnoresEventsThatChangeNothing) {
  TEST_NAMESPACE(alone);
  InterfaceWatch watch;
  ASSERT_TRUE(TestNamespace::ip("link set lo mtu 9000"));
  EXPECT_TRUE(reports_change(watch));
  EXPECT_FALSE(watch.changed());
  pollfd polled{.fd = watch.descriptor().value(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&polled, 1, 0), 0) << "the queue is drained";
}

}  // namespace
}  // namespace tempo::sys
