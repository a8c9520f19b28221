#include "platform/interface_watch.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>

#include "platform/namespace_test_setup.h"
#include "platform/network.h"

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

// Without a free descriptor getifaddrs() fails, and the daemon took that for "no interfaces": it
// left all its networks.
TEST(InterfaceWatch, KeepsTheLastListWithoutDescriptors) {
  InterfaceWatch watch;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto listed = interface_addresses();
  const auto found = find_networks({}, 525, false);
  const bool changed = watch.changed();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(listed);
  EXPECT_FALSE(found);
  EXPECT_FALSE(changed);
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
