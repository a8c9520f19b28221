// tempod in classic mode: real daemons and sockets, no other program.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "classic_network.h"
#include "protocol/wire/tsp.h"

namespace tempo::testbed {
namespace {

using testing::HasSubstr;
using wire::tsp::Type;

constexpr double kAgree_ms = 20;  // ICMP timestamps count milliseconds

// In the profile lan, because the timers of 4.3BSD take minutes.
class ClassicLive : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string obstacle = Site::obstacle(); !obstacle.empty()) GTEST_SKIP() << obstacle;
    if (run({"nft", "--version"}) != 0) GTEST_SKIP() << "needs nft (nftables)";
  }
};

TEST_F(ClassicLive, ElectsAMasterSetsClocksAndReplacesADeadMaster) {
  ClassicNetwork network("lan");
  std::vector<Host*> hosts{&network.tempod({.name = "bow"})};
  const auto leads = [](const Host* host) { return ClassicNetwork::state(*host) == "master"; };
  ASSERT_TRUE(network.wait(10s, [&] { return leads(hosts[0]); })) << network.logs();
  // Later hosts find it and get its time.
  hosts.push_back(&network.tempod({.offset = 7s, .name = "mast"}));
  hosts.push_back(&network.tempod({.offset = -300ms, .drift = 40e-6, .name = "stern"}));
  const auto follow = [&](const std::string& master, std::size_t first) {
    return std::ranges::all_of(
        hosts.begin() + static_cast<std::ptrdiff_t>(first), hosts.end(),
        [&](const Host* host) { return ClassicNetwork::master(*host) == master; });
  };
  ASSERT_TRUE(network.wait(10s, [&] { return follow("bow", 1); })) << network.logs();
  const auto agree = [&] {
    double low = 1e9;
    double high = -1e9;
    for (const Host* host : hosts) {
      if (!host->running()) continue;
      const auto offset = ClassicNetwork::offset_ms(*host);
      if (!offset) return false;
      low = std::min(low, *offset);
      high = std::max(high, *offset);
    }
    return high - low < kAgree_ms;
  };
  EXPECT_TRUE(network.wait(10s, agree)) << network.offsets() << network.logs();
  // Rounds: the master measures and corrects its slaves.
  EXPECT_TRUE(network.wait(10s, [&] {
    return ClassicNetwork::counter(*hosts[1], "classic_received_adjtime") > 0 &&
           ClassicNetwork::counter(*hosts[2], "classic_received_adjtime") > 0;
  })) << network.logs();

  // The commands of timedc, from another host.
  const Printed site =
      ClassicNetwork::tempo(*hosts[1], "msite " + hosts[0]->address() + " " + hosts[2]->address());
  EXPECT_EQ(site.status, 0) << site.out;
  EXPECT_THAT(site.out, HasSubstr(fmt::format("master of {} is bow", hosts[2]->address())));
  const Printed difference = ClassicNetwork::tempo(*hosts[1], "clockdiff " + hosts[2]->address());
  EXPECT_EQ(difference.status, 0) << difference.out;
  EXPECT_THAT(difference.out, HasSubstr("this clock"));
  EXPECT_EQ(ClassicNetwork::tempo(*hosts[1], "trace-on " + hosts[2]->address()).status, 0);
  EXPECT_TRUE(network.wait(5s, [&] {
    return hosts[2]->log().contains("trace: eth0: from " + hosts[0]->address());
  })) << hosts[2]->log();
  EXPECT_EQ(ClassicNetwork::tempo(*hosts[1], "trace-off " + hosts[2]->address()).status, 0);
  const Printed silent = ClassicNetwork::tempo(*hosts[1], "msite 10.99.0.99 --timeout 300ms");
  EXPECT_EQ(silent.status, 1);
  EXPECT_THAT(silent.out, HasSubstr("no answer within 300ms"));

  hosts[0]->kill_all();
  EXPECT_TRUE(network.wait(20s, [&] {
    return leads(hosts[1]) != leads(hosts[2]) &&
           ClassicNetwork::master(*hosts[1]) == ClassicNetwork::master(*hosts[2]);
  })) << network.logs();
  EXPECT_TRUE(agree()) << network.offsets();
}

TEST_F(ClassicLive, RefusesAForgedSettimeAndSetdate) {
  ClassicNetwork network("lan");
  Host& victim = network.tempod({.name = "victim"});
  Host& forger = network.add({.name = "forger"});
  ASSERT_TRUE(network.wait(10s, [&] { return ClassicNetwork::state(victim) == "master"; }));
  const auto offset = ClassicNetwork::offset_ms(victim);
  ASSERT_TRUE(offset);
  const std::int64_t year = 365LL * 86'400 * 1'000'000;
  ClassicNetwork::send(forger, victim.address(), std::to_underlying(Type::setdate), 7, 50 * year,
                       "forger");
  EXPECT_TRUE(
      network.wait(5s, [&] { return ClassicNetwork::counter(victim, "classic_refused") == 1; }));
  EXPECT_THAT(victim.log(), HasSubstr("classic.setdate does not allow"));
  // As a master: the victim yields to a lower name and follows it, but not that far.
  ClassicNetwork::send(forger, victim.address(), std::to_underlying(Type::quit), 8, 0, "a", 525);
  ClassicNetwork::send(forger, victim.address(), std::to_underlying(Type::settime), 9, 50 * year,
                       "a", 525);
  EXPECT_TRUE(network.wait(5s, [&] {
    return ClassicNetwork::counter(victim, "classic_refused") == 2;
  })) << victim.log();
  const auto after = ClassicNetwork::offset_ms(victim);
  ASSERT_TRUE(after);
  EXPECT_LT(std::abs(*after - *offset), kAgree_ms);
}

TEST_F(ClassicLive, ListensToItsPeersOnly) {
  ClassicNetwork network("lan");
  Host& one = network.tempod({.name = "one"}, {"--set", "classic.peers=10.99.0.9"});
  Host& other = network.tempod({.name = "other"});
  const auto leads = [](const Host& host) { return ClassicNetwork::state(host) == "master"; };
  EXPECT_TRUE(network.wait(10s, [&] {
    return leads(one) && ClassicNetwork::counter(one, "classic_dropped_other_address") > 0;
  })) << network.logs();
  EXPECT_EQ(ClassicNetwork::tempo(other, "msite --timeout 300ms " + one.address()).status, 1);
}

TEST_F(ClassicLive, ASubmasterCarriesTheTimeToItsSecondNetwork) {
  ClassicNetwork network("lan", 2);
  Host& root = network.tempod({.lans = {0}, .offset = 3s, .name = "root"});
  ASSERT_TRUE(network.wait(10s, [&] { return ClassicNetwork::state(root) == "master"; }));
  Host& between = network.tempod({.lans = {0, 1}, .name = "between"});
  ASSERT_TRUE(network.wait(15s, [&] {
    return ClassicNetwork::master(between, 0) == "root" &&
           ClassicNetwork::state(between, 1) == "master";
  })) << network.logs();
  Host& leaf = network.tempod({.lans = {1}, .offset = -5s, .name = "leaf"});
  EXPECT_TRUE(network.wait(15s, [&] {
    const auto top = ClassicNetwork::offset_ms(root);
    const auto low = ClassicNetwork::offset_ms(leaf);
    return ClassicNetwork::master(leaf) == "between" && top && low &&
           std::abs(*top - *low) < kAgree_ms;
  })) << network.logs();
}

TEST_F(ClassicLive, AnswersLocalProgramsAndRefusesWhatTspLacks) {
  ClassicNetwork network("lan");
  Host& host = network.tempod({.name = "alone"});
  ASSERT_TRUE(network.wait(10s, [&] { return ClassicNetwork::state(host) == "master"; }));
  const auto status = host.status();
  ASSERT_TRUE(status);
  EXPECT_EQ(status->status, "unsynchronized") << "TSP has no error bound";
  EXPECT_EQ(status->profile, "lan");
  EXPECT_THAT(status->warnings, testing::Contains(HasSubstr("TSP has no authentication")));
  ipc::Request request;
  request.verb = ipc::Verb::locks;
  const auto locks = host.ask(request, 2s);
  ASSERT_FALSE(locks);
  EXPECT_THAT(locks.error().message, HasSubstr("not possible in classic mode"));
  request.verb = ipc::Verb::reelect;
  EXPECT_FALSE(host.ask(request, 2s));
}

}  // namespace
}  // namespace tempo::testbed
