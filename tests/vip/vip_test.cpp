// tempo-vip as it runs: faults of the holder, and what every machine answers meanwhile.
#include <gmock/gmock.h>

#include "vip_site.h"

namespace tempo::testbed {
namespace {

using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::Not;

class Vip : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string obstacle = Site::obstacle(); !obstacle.empty()) GTEST_SKIP() << obstacle;
  }
};

// All processes of the holder stop: only its kernel can give the address up.
TEST_F(Vip, LeavesAStoppedMachineAndAKilledOneWithoutAnOverlap) {
  VipSite site(200ms);
  site.start();
  ASSERT_TRUE(site.held()) << site.logs();
  const int first = site.holder();

  site.pause_all(first, true);
  EXPECT_TRUE(site.held_by(1 - first)) << site.logs();
  site.pause_all(first, false);
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(site.holder(), 1 - first) << site.logs();

  // Without its process the lease is not given on before it ends.
  VipSite::end(site.vip_place(1 - first), SIGKILL);
  EXPECT_TRUE(site.held_by(first)) << site.logs();

  const auto seen = Observer::summary_of(site.observer().answers());
  EXPECT_EQ(seen.hand_overs, 2) << site.logs();
  EXPECT_EQ(seen.overlap, 0ns) << site.logs();
  EXPECT_LT(seen.gap, 3s) << site.logs() << site.times();

  // A new process finds what the killed one left, and a stop gives the address on at once.
  site.serve(static_cast<std::size_t>(1 - first));
  ASSERT_TRUE(site.site().wait(10s, [&] {
    return site.vip_status(static_cast<std::size_t>(1 - first)).find("on host") !=
           std::string::npos;
  })) << site.logs();
  EXPECT_THAT(site.in(static_cast<std::size_t>(1 - first), "nft list tables").out,
              Not(HasSubstr("tempo-vip")));
  VipSite::end(site.vip_place(first), SIGTERM);
  EXPECT_TRUE(site.held_by(1 - first)) << site.logs();
  EXPECT_EQ(Observer::summary_of(site.observer().answers()).overlap, 0ns) << site.logs();
  EXPECT_THAT(site.in(static_cast<std::size_t>(first), "ip address show dev eth0").out,
              Not(HasSubstr("10.99.0.200")));
}

TEST_F(Vip, NoticesRemovedRulesAndAnAddressInUse) {
  VipSite site(200ms);
  site.start();
  ASSERT_TRUE(site.held()) << site.logs();
  const auto first = static_cast<std::size_t>(site.holder());
  EXPECT_THAT(site.vip_status(first), HasSubstr("tables tempo-vip-web and tempo-vip-web-own"));

  // A firewall that flushes the rule set.
  EXPECT_EQ(site.in(first, "nft flush ruleset").status, 0);
  EXPECT_TRUE(site.held_by(static_cast<int>(1 - first))) << site.logs();
  EXPECT_THAT(site.vip_log(first), HasSubstr("somebody removed the rules"));
  EXPECT_EQ(Observer::summary_of(site.observer().answers()).overlap, 0ns) << site.logs();

  // Somebody else has the address: refused, by name.
  for (const std::size_t i : {first, 1 - first})
    VipSite::end(site.vip_place(static_cast<int>(i)), SIGTERM);
  site.in(2, "ip address add 10.99.0.200/24 dev eth0");
  site.serve(0);
  EXPECT_TRUE(site.site().wait(
      10s, [&] { return site.vip_status(0).find("10.99.0.200 is used by") != std::string::npos; }))
      << site.vip_status(0) << site.logs();
  EXPECT_THAT(site.in(0, "ip address show dev eth0").out, Not(HasSubstr("10.99.0.200")));
}

// What an attacker in tempo-vip may do: administer the network of its namespace, and stand.
TEST_F(Vip, HasNoRightButToAdministerTheNetwork) {
  VipSite site(1s);
  site.start();
  ASSERT_TRUE(site.held()) << site.logs();
  std::ostringstream text;
  text << std::ifstream(fmt::format("/proc/{}/status", site.vip(0).id())).rdbuf();
  const std::string status = text.str();
  for (const char* line : {"\nUid:\t65534\t65534\t65534", "\nCapPrm:\t0000000000001000\n",
                           "\nCapEff:\t0000000000001000\n", "\nCapBnd:\t0000000000000000\n",
                           "\nNoNewPrivs:\t1\n", "\nSeccomp:\t2\n"})
    EXPECT_THAT(status, HasSubstr(line));
}

// The user of tempo-vip at the control socket of tempod.
TEST_F(Vip, ItsUserMayStandAndNothingElse) {
  VipSite site(1s);
  site.site().start_all();
  ASSERT_TRUE(site.site().wait(20s, [&] { return site.site().master() >= 0; })) << site.logs();
  const auto as_nobody = [&](const std::string& line) {
    return site.in(0, fmt::format("setpriv --reuid=65534 --regid=65534 --clear-groups {} {}",
                                  TEMPO_BINARY, line));
  };
  const std::string at = "--socket " + site.host(0).socket();
  for (const std::string& line :
       {fmt::format("lock {} x -- true", at), fmt::format("set-time {} --yes --by 1s", at),
        fmt::format("forget {} host2", at), fmt::format("unlock {} x", at),
        fmt::format("resign-group {} web", at), fmt::format("reelect {}", at)}) {
    const Ended ended = as_nobody(line);
    EXPECT_NE(ended.status, 0) << line;
    EXPECT_THAT(ended.err, HasSubstr("permission denied")) << line;
  }
  const Ended elected = as_nobody(fmt::format("elect {} mine --criterion id -- true", at));
  EXPECT_EQ(elected.status, 0) << elected.err;
}

}  // namespace
}  // namespace tempo::testbed
