// Fixture of the tests in network namespaces.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "support/site.h"

namespace tempo::testbed {

class Netns : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string obstacle = Site::obstacle(); !obstacle.empty()) GTEST_SKIP() << obstacle;
  }

  static Site::Options options(std::string profile = "lan") {
    return {.tempod = TEMPO_TEMPOD, .profile = std::move(profile)};
  }
  // Adds and starts hosts with clocks up to half a second off and up to 50 ppm fast or slow.
  static void populate(Site& site, int hosts, int far = 0) {
    for (int i = 0; i < hosts; ++i)
      site.add({.far = i >= hosts - far,
                .offset = Nanos{(i * 137 % 1000 - 500) * 1'000'000},
                .drift = (i * 29 % 101 - 50) * 1e-6});
    site.start_all();
  }
  static bool all_synchronized(Site& site) {
    for (std::size_t i = 0; i < site.size(); ++i) {
      if (!site.host(i).running()) continue;
      const auto status = site.host(i).status();
      if (!status || (status->status != "synchronized" && status->status != "leads")) return false;
    }
    return true;
  }
  // Number of daemons that follow no other clock.
  static int roots(Site& site) {
    int count = 0;
    for (std::size_t i = 0; i < site.size(); ++i) {
      if (!site.host(i).running()) continue;
      const auto status = site.host(i).status();
      count += status && status->status == "leads" ? 1 : 0;
    }
    return count;
  }
  // All networks follow one daemon, and the clocks agree.
  static bool one_root(Site& site) {
    const auto spread = site.spread();
    return roots(site) == 1 && all_synchronized(site) && spread && *spread < 2ms;
  }
  // The same for several networks. A root that hears no majority of the members itself leads a
  // minority (doc/internals/membership.md).
  static bool one_root_across(Site& site) {
    std::set<std::string> roots;
    for (std::size_t i = 0; i < site.size(); ++i) {
      if (!site.host(i).running()) continue;
      const auto status = site.host(i).status();
      if (!status || status->status == "unsynchronized" || status->networks.empty()) return false;
      for (const obs::NetworkView& network : status->networks) roots.insert(network.root);
    }
    const auto spread = site.spread();
    return roots.size() == 1 && !roots.begin()->empty() && spread && *spread < 2ms;
  }
  // There is a master, and all others know its heir. A master that dies before that may be back
  // before any other host stands.
  static bool heir_is_known(Site& site) {
    const int master = site.master();
    for (std::size_t i = 0; i < site.size(); ++i) {
      if (static_cast<int>(i) == master) continue;
      const auto status = site.host(i).status();
      if (!status || status->networks.at(0).heir.empty()) return false;
    }
    return master >= 0;
  }
  // No clock is further from that of the master than its daemon states.
  static void expect_bounds_hold(Site& site) {
    const int master = site.master();
    if (master < 0) return;
    const auto reference = site.host(static_cast<std::size_t>(master)).clock_offset();
    ASSERT_TRUE(reference);
    for (std::size_t i = 0; i < site.size(); ++i) {
      const auto own = site.host(i).clock_offset();
      ASSERT_TRUE(own && own->bounded) << logs(site);
      // The clocks drift between the two readings, by less than 1 ppm of a second.
      EXPECT_LE(std::chrono::abs(own->offset - reference->offset),
                own->bound + own->uncertainty + reference->uncertainty + 1us)
          << site.host(i).name() << " states " << own->bound.count() << " ns\n"
          << logs(site);
    }
  }
  static std::string logs(Site& site) {
    std::string all = site.describe();
    for (std::size_t i = 0; i < site.size(); ++i)
      all += site.host(i).name() + ":\n" + site.host(i).log();
    return all;
  }
};

}  // namespace tempo::testbed
