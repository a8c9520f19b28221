#include "daemon/control/daemon_view.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tempo::daemon {
namespace {

obs::MemberView member(const std::string& name, double lease_ms, double longest_ms) {
  obs::MemberView view;
  view.name = name;
  view.expect = 3;
  view.lease_ms = lease_ms;
  view.lease_max_ms = longest_ms;
  return view;
}

// Machines with a shorter longest lease silently drop the requests of the others.
TEST(LeaseWarning, NamesMembersWithOtherLeaseTimes) {
  std::vector<obs::MemberView> members{member("a", 2000, 2000), member("b", 2000, 2000),
                                       member("c", 1000, 1000), member("d", 2000, 60000)};
  members[0].self = true;
  EXPECT_EQ(lease_warning(members),
            "lease times differ, so that machines may get no locks: this machine has 2000 ms "
            "(longest 2000 ms), c has 1000 ms (longest 1000 ms), d has 2000 ms (longest 60000 ms); "
            "set the same 'lease-ms' and 'lease-max-ms' under [locks] in tempo.toml on every "
            "machine");
}

TEST(LeaseWarning, IgnoresMembersWithoutLocks) {
  std::vector<obs::MemberView> members{member("a", 2000, 2000), member("b", 1000, 1000)};
  members[0].self = true;
  members[1].expect = 0;  // or it has announced nothing
  EXPECT_EQ(lease_warning(members), "");
  members[1].expect = 3;
  members[0].expect = 0;
  EXPECT_EQ(lease_warning(members), "");
}

}  // namespace
}  // namespace tempo::daemon
