// Key changes on real daemons, one machine at a time: a new key, and the first key of a cluster.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "netns.h"

namespace tempo::testbed {
namespace {

constexpr std::size_t kMachines = 5;

bool soaks() { return std::getenv("TEMPO_SOAK") != nullptr; }

// Five hosts with a configuration and a key file each.
class KeyChange : public Netns {
 protected:
  static std::string key_file(const Host& host) { return host.directory() + "/key"; }

  static void configure(const Host& host, bool key) {
    std::ofstream(host.directory() + "/tempo.toml")
        << fmt::format("key-file = \"{}\"\n", key ? key_file(host) : "");
  }

  static void add_hosts(Site& site, bool key) {
    for (std::size_t i = 0; i < kMachines; ++i) {
      const std::string config =
          fmt::format("{}/{}/tempo.toml", site.directory(), i + 1);  // of the host made now
      site.add({.offset = Nanos{static_cast<std::int64_t>(i) * 1'000'000},
                .drift = (static_cast<double>(i) - 2) * 1e-5,
                .arguments = {"--config", config}});
      configure(site.host(i), key);
    }
  }

  static void start_with_one_key(Site& site) {
    add_hosts(site, true);
    ASSERT_EQ(run({TEMPO_BINARY, "keygen", key_file(site.host(0))}), 0);
    for (std::size_t i = 1; i < kMachines; ++i)
      ASSERT_EQ(run({"cp", "-p", key_file(site.host(0)), key_file(site.host(i))}), 0);
    site.start_all();
  }

  static int keygen(const Host& host, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {TEMPO_BINARY, "keygen", "--socket", host.socket()});
    arguments.push_back(key_file(host));
    return run(arguments);
  }

  static int keys(const Host& host) {
    return run({TEMPO_BINARY, "keys", "--socket", host.socket()});
  }

  struct Sample {
    double bound_us = 0;  // the largest
    int masters = 0;
    bool complete = false;  // every host has answered, which a busy machine may prevent
    bool bounded = true;    // every host that has answered has a bound
  };
  static Sample sample(Site& site) {
    Sample now{.complete = true};
    for (std::size_t i = 0; i < site.size(); ++i) {
      const auto status = site.host(i).status();
      const auto bound = status ? status->bound_us() : std::nullopt;
      now.complete = now.complete && status.has_value();
      now.bounded = now.bounded && (!status || bound);
      if (bound) now.bound_us = std::max(now.bound_us, *bound);
      if (status && !status->networks.empty() && status->networks[0].state == "master")
        ++now.masters;
    }
    return now;
  }

  // Watches the site for that time: one master, and no bound above the limit.
  static void watch(Site& site, Nanos span, double limit_us) {
    const auto end = std::chrono::steady_clock::now() + span;
    bool complete = false;
    ASSERT_TRUE(site.wait(span + 5s, [&] {
      const Sample now = sample(site);
      complete = complete || now.complete;
      EXPECT_TRUE(now.bounded) << logs(site);
      EXPECT_LE(now.masters, 1) << logs(site);
      EXPECT_TRUE(!now.complete || now.masters == 1) << logs(site);
      EXPECT_LE(now.bound_us, limit_us) << logs(site);
      return HasFailure() || (complete && std::chrono::steady_clock::now() >= end);
    })) << logs(site);
  }

  // The largest bound of a settled network.
  static double normal_bound(Site& site) {
    double bound = 0;
    const auto end = std::chrono::steady_clock::now() + (soaks() ? 20s : 3s);
    while (std::chrono::steady_clock::now() < end) bound = std::max(bound, sample(site).bound_us);
    return bound;
  }

  static void take_step(Site& site, const std::string& step, double limit_us) {
    for (std::size_t i = 0; i < site.size(); ++i) {
      const Host& host = site.host(i);
      const double before = host.status()->keys_since_s;
      std::vector<std::string> arguments{step};
      if (step == "--add" && i > 0)
        arguments.insert(arguments.end(), {"--key", key_file(site.host(0))});
      ASSERT_EQ(keygen(host, arguments), 0) << step << " on " << host.name() << '\n' << logs(site);
      configure(host, true);
      host.reload();
      ASSERT_TRUE(site.wait(5s,
                            [&] {
                              const auto status = host.status();
                              return status && status->keys_since_s < before;
                            }))
          << step << " on " << host.name() << '\n'
          << logs(site);
      watch(site, soaks() ? 4s : 300ms, limit_us);
      if (HasFailure()) return;
    }
    for (std::size_t i = 0; i < site.size(); ++i)
      EXPECT_EQ(keys(site.host(i)), 0) << "all have taken the step\n" << logs(site);
  }

  static void expect_quiet_change(Site& site) {
    ASSERT_TRUE(site.wait(30s, [&] { return site.master() >= 0 && all_synchronized(site); }))
        << logs(site);
    ASSERT_TRUE(site.wait(30s, [&] { return sample(site).bound_us < 1000; })) << logs(site);
    const int master = site.master();
    const std::uint64_t round = site.host(0).status()->networks[0].epoch_round;
    const double limit_us = 2 * normal_bound(site);
    for (const char* step : {"--add", "--promote", "--drop"}) {
      take_step(site, step, limit_us);
      if (HasFailure()) return;
    }
    EXPECT_EQ(site.master(), master) << logs(site);
    for (std::size_t i = 0; i < site.size(); ++i) {
      const auto status = site.host(i).status();
      EXPECT_EQ(status->networks[0].epoch_round, round) << "nobody was elected meanwhile";
      EXPECT_EQ(status->keys, 1U);
      EXPECT_TRUE(status->authenticated);
      EXPECT_EQ(status->key_change, "");
    }
  }
};

TEST_F(KeyChange, OfARunningClusterDisturbsNobody) {
  Site site(options());
  ASSERT_NO_FATAL_FAILURE(start_with_one_key(site));
  expect_quiet_change(site);
}

TEST_F(KeyChange, ToAFirstKeyDisturbsNobodyAndEndsClosed) {
  Site site(options());
  add_hosts(site, false);
  site.start_all();
  expect_quiet_change(site);
  for (std::size_t i = 0; i < kMachines; ++i)
    EXPECT_NE(site.host(i).log().find("datagrams without a key are accepted"), std::string::npos)
        << "the mixed phase is in the log";
}

// A machine that lacks the new key was cut off: the steps refuse to go ahead of it.
TEST_F(KeyChange, DoesNotLeaveAMachineBehind) {
  Site site(options());
  ASSERT_NO_FATAL_FAILURE(start_with_one_key(site));
  ASSERT_TRUE(site.wait(30s, [&] { return site.master() >= 0 && all_synchronized(site); }))
      << logs(site);
  const Host& first = site.host(0);
  ASSERT_EQ(keygen(first, {"--add"}), 0);
  EXPECT_EQ(keygen(first, {"--promote"}), 2) << "tempod has not read the file yet";
  first.reload();
  ASSERT_TRUE(site.wait(5s, [&] { return first.status()->keys == 2; })) << logs(site);
  EXPECT_EQ(keys(first), 1) << "four members do not open the new key";
  EXPECT_EQ(keygen(first, {"--promote"}), 2);
  EXPECT_EQ(keygen(first, {"--withdraw"}), 0);
  first.reload();
  ASSERT_TRUE(site.wait(5s, [&] { return first.status()->keys == 1; })) << logs(site);
  EXPECT_EQ(keys(first), 0);
}

}  // namespace
}  // namespace tempo::testbed
