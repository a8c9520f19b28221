// An attacker on the network without the key: noise, recordings, and forgeries in the name of the
// master. The daemons only count them, by reason.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "netns.h"
#include "support/forger.h"
#include "support/recorder.h"
#include "tempo/lock.h"

namespace tempo::testbed {
namespace {

constexpr std::size_t kHosts = 3;

// State that must not change, and counters that must add up.
struct Look {
  int master = -1;
  std::vector<pid_t> workers{};
  std::vector<std::string> logs{};
  std::vector<std::uint64_t> rounds{};  // rounds of the epochs
  std::vector<Nanos> clocks{};
  std::map<std::string, std::uint64_t> counters{};  // sum over all hosts
  std::uint64_t dropped = 0;                        // dropped because of full buffers
  std::uint64_t lost = Site::lost_on_the_way();     // lost by the kernel, possibly ours

  std::uint64_t refused() const {
    std::uint64_t sum = 0;
    for (const auto& [name, count] : counters)
      if (name.starts_with("refused_")) sum += count;
    return sum;
  }
};

class Intruder : public Netns {
 protected:
  static Site::Options with_key(bool key) {
    Site::Options all = options();
    all.key = key;
    return all;
  }
  static std::vector<std::string> targets(Site& site) {
    std::vector<std::string> addresses;
    for (std::size_t i = 0; i < kHosts; ++i) addresses.push_back(site.host(i).address());
    return addresses;
  }
  static Look look(Site& site) {
    Look seen{.master = site.master_of_first(kHosts)};
    for (std::size_t i = 0; i < kHosts; ++i) {
      const Host& host = site.host(i);
      const auto status = host.status();
      const auto clock = host.clock_offset();
      EXPECT_TRUE(status && clock) << host.name();
      if (!status || !clock) continue;
      seen.workers.push_back(host.worker());
      seen.logs.push_back(host.log());
      seen.rounds.push_back(status->networks.at(0).epoch_round);
      seen.clocks.push_back(clock->offset);
      for (const auto& [name, count] : status->counters) seen.counters[name] += count;
      seen.dropped += host.dropped();
      EXPECT_EQ(status->members.size(), kHosts);
    }
    return seen;
  }
  static void expect_nothing_has_changed(Site& site, const Look& before, const Look& after) {
    EXPECT_EQ(after.master, before.master) << logs(site);
    EXPECT_EQ(after.workers, before.workers) << "a worker died\n" << logs(site);
    EXPECT_EQ(after.logs, before.logs) << "nothing may be logged";
    EXPECT_EQ(after.rounds, before.rounds);
    ASSERT_EQ(after.clocks.size(), before.clocks.size());
    // Network time drifts at most 50 ppm from the clock of this machine, which is the reference.
    for (std::size_t i = 0; i < kHosts; ++i)
      EXPECT_LT(std::chrono::abs(after.clocks[i] - before.clocks[i]), 20ms) << i;
    const auto spread = site.spread_of_first(kHosts);
    ASSERT_TRUE(spread);
    EXPECT_LT(*spread, 1ms);
  }
};

// Random, mutated and replayed datagrams against a cluster with a key; a million of them in the
// soak test.
TEST_F(Intruder, AFloodOfFalseDatagramsChangesNothing) {
  Site site(with_key(true));
  populate(site, kHosts);
  ASSERT_TRUE(site.wait(20s, [&] { return site.master() >= 0 && all_synchronized(site); }))
      << logs(site);
  const Host& intruder = site.add({});
  const Look before = look(site);
  const int count = std::getenv("TEMPO_SOAK") != nullptr ? 1'000'000 : 100'000;
  const Attack attack = intruder.attack(targets(site), count);
  EXPECT_GT(attack.captured, 0) << "no datagram was captured for replay";
  EXPECT_EQ(attack.sent, count);
  // Each datagram was refused by a daemon or never reached it. The kernel does not say which
  // packets it lost between namespaces; those count as not arrived.
  const auto accounted = [&](const Look& seen) {
    return seen.refused() - before.refused() + seen.dropped - before.dropped;
  };
  site.wait(10s, [&] { return accounted(look(site)) == static_cast<std::uint64_t>(count); });
  const Look after = look(site);
  EXPECT_LE(after.refused() - before.refused(), static_cast<std::uint64_t>(count));
  EXPECT_GE(accounted(after) + after.lost - before.lost, static_cast<std::uint64_t>(count));
  EXPECT_LT(after.dropped - before.dropped, static_cast<std::uint64_t>(count) / 10)
      << "a flood that fills buffers tests nothing";
  std::uint64_t malformed = 0;
  for (const auto& [name, times] : after.counters) {
    if (name.starts_with("malformed_")) malformed += times;
    if (times > before.counters.at(name)) RecordProperty(name, std::to_string(times));
  }
  RecordProperty("dropped_by_kernels", std::to_string(after.dropped - before.dropped));
  EXPECT_EQ(malformed, after.counters.at("refused_malformed"));
  expect_nothing_has_changed(site, before, after);
}

// A flood as fast as this machine sends it, without regard to buffers. A client on each host takes
// a lock and gives it back all the time: no request fails, and no lock is lost.
TEST_F(Intruder, NoLockFailsUnderAFlood) {
  Site::Options options = with_key(true);
  options.arguments = {"--set", "locks.expect=3"};
  Site site(options);
  populate(site, kHosts);
  ASSERT_TRUE(site.wait(20s, [&] { return site.master() >= 0 && all_synchronized(site); }))
      << logs(site);
  const Host& intruder = site.add({});
  const Look before = look(site);
  struct Client {
    std::uint64_t locks = 0;
    std::uint64_t failed = 0;
    Nanos longest{0};  // wait
  };
  std::array<Client, kHosts> clients;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < kHosts; ++i) {
    auto connected = Locks::connect(site.host(i).socket(), 10s);
    ASSERT_TRUE(connected) << connected.error().message;
    ASSERT_TRUE(connected->acquire("warm", {.wait = 30s})) << logs(site);
    threads.emplace_back([&client = clients[i],
                          locks = std::move(*connected)](const std::stop_token& stop) mutable {
      while (!stop.stop_requested()) {
        const auto asked = std::chrono::steady_clock::now();
        auto lock = locks.acquire("door", {.wait = 20s});
        client.longest = std::max<Nanos>(client.longest, std::chrono::steady_clock::now() - asked);
        const bool held = lock && lock->remaining() > 0ns;
        ++(held ? client.locks : client.failed);
        if (lock) lock->release();
      }
    });
  }
  const bool soak = std::getenv("TEMPO_SOAK") != nullptr;
  const Attack attack =
      intruder.attack(targets(site), soak ? 5'000'000 : 150'000, Attempt::noise, 150);
  threads.clear();
  const Look after = look(site);
  Client all;
  for (const Client& client : clients) {
    all.locks += client.locks;
    all.failed += client.failed;
    all.longest = std::max(all.longest, client.longest);
  }
  std::printf(
      "%d datagrams, %.0f a second, %llu read by the daemons; %llu locks, longest wait %lld "
      "ms\n",
      attack.sent, attack.sent / attack.seconds,
      static_cast<unsigned long long>(after.refused() - before.refused()),
      static_cast<unsigned long long>(all.locks), static_cast<long long>(all.longest / 1ms));
  EXPECT_EQ(all.failed, 0U) << logs(site);
  EXPECT_GT(all.locks, 10U);
  EXPECT_EQ(after.master, before.master) << logs(site);
  EXPECT_EQ(after.workers, before.workers) << logs(site);
}

// Quit, Masterup, Settime, Adjtime, the crash hint and a time shift: without a seal, under another
// key, and with a wrong seal.
TEST_F(Intruder, ForgeriesInTheMastersNameChangeNothing) {
  Site site(with_key(true));
  populate(site, kHosts);
  ASSERT_TRUE(site.wait(20s, [&] { return site.master() >= 0 && all_synchronized(site); }))
      << logs(site);
  const Host& intruder = site.add({});
  const Look before = look(site);
  constexpr int kEach = 50;  // to each host, of each kind, with each seal
  constexpr int kCount = kEach * Forger::kWhats * Forger::kSeals * static_cast<int>(kHosts);
  const Attack attack = intruder.attack(targets(site), kCount, Attempt::forged);
  ASSERT_EQ(attack.captured, 1) << "no datagram of the master was captured";
  ASSERT_EQ(attack.sent, kCount);
  const auto refused = [&](const Look& seen, const std::string& why) {
    return seen.counters.at("refused_" + why) - before.counters.at("refused_" + why);
  };
  site.wait(10s, [&] { return look(site).refused() - before.refused() == kCount; });
  const Look after = look(site);
  expect_nothing_has_changed(site, before, after);
  if (after.dropped != before.dropped || after.lost != before.lost)
    GTEST_SKIP() << "this machine is too busy: some datagrams were lost";
  for (const char* why : {"not_sealed", "unknown_key", "forged"})
    EXPECT_EQ(refused(after, why), static_cast<std::uint64_t>(kCount / Forger::kSeals)) << why;
  EXPECT_EQ(after.refused() - before.refused(), static_cast<std::uint64_t>(kCount));
}

// Without a key the same datagrams are accepted: the seal is what keeps them out.
TEST_F(Intruder, TheSameForgeriesAreAcceptedWithoutAKey) {
  Site site(with_key(false));
  populate(site, kHosts);
  ASSERT_TRUE(site.wait(20s, [&] { return site.master() >= 0 && all_synchronized(site); }))
      << logs(site);
  const Host& intruder = site.add({});
  const Look before = look(site);
  const Attack attack = intruder.attack(targets(site), Forger::kWhats * static_cast<int>(kHosts),
                                        Attempt::forged_unsealed);
  ASSERT_EQ(attack.captured, 1) << "no datagram of the master was captured";
  ASSERT_TRUE(site.wait(20s, [&] {
    const Look after = look(site);
    // Not of every host: a host whose name was taken by the forger is ignored by the others.
    bool moved = false;
    for (std::size_t i = 0; i < kHosts; ++i)
      moved |= std::chrono::abs(after.clocks.at(i) - before.clocks.at(i)) > 59min;
    return after.master >= 0 && after.rounds != before.rounds && moved;
  })) << logs(site);
}

// A recording set the clock of a newcomer by 57 s: the datagrams of its master to its earlier
// incarnation, sent again from the master's address after the master had died.
TEST_F(Intruder, ARecordingOfADeadMasterChangesNothing) {
  Site site(with_key(true));
  Host& master = site.add({.offset = 57s});
  Host& newcomer = site.add({});
  master.start();
  ASSERT_TRUE(site.wait(20s, [&] { return site.master_of_first(1) == 0; })) << logs(site);
  Recorder recorder(master.space(), "eth0");
  newcomer.start();
  ASSERT_TRUE(site.wait(20s, [&] {
    recorder.record();
    return newcomer.log().find("clock-stepped") != std::string::npos && recorder.sent() > 20;
  })) << logs(site);
  master.kill_all();
  newcomer.stop();
  recorder.record();
  const std::size_t before = newcomer.log().size();
  newcomer.start();
  EXPECT_GT(recorder.replay(10s), 0U);
  ASSERT_TRUE(site.wait(20s, [&] {
    const auto status = newcomer.status();
    return status && !status->networks.empty() && status->networks[0].state == "master" &&
           (status->status == "alone" || status->status == "unsynchronized");
  })) << logs(site);
  for (const char* event : {"master-changed", "clock-stepped"})
    EXPECT_EQ(newcomer.log().find(event, before), std::string::npos) << logs(site);
  EXPECT_GT(newcomer.status()->counters.at("refused_not_live"), 0U);
}

// Everything that three daemons sent, with restarts, is replayed at later starts of each of them:
// among the others, while a client holds a lock, and alone. Ten minutes of recording and a hundred
// starts under make soak.
TEST_F(Intruder, ARecordingAtEveryStartMovesNothing) {
  const bool soak = std::getenv("TEMPO_SOAK") != nullptr;
  Site::Options options = with_key(true);
  options.arguments = {"--set", "locks.expect=3", "--set", "locks.lease-ms=4000"};
  Site site(options);
  populate(site, kHosts);
  const auto settled = [&] { return site.master() >= 0 && all_synchronized(site); };
  ASSERT_TRUE(site.wait(20s, settled)) << logs(site);
  std::vector<std::unique_ptr<Recorder>> recorders;
  std::vector<Recorder*> all;
  for (std::size_t i = 0; i < kHosts; ++i) {
    recorders.push_back(std::make_unique<Recorder>(site.host(i).space(), "eth0"));
    all.push_back(recorders.back().get());
  }
  const auto record = [&] { std::ranges::for_each(all, &Recorder::record); };
  const auto end = std::chrono::steady_clock::now() + (soak ? 600s : 12s);
  for (std::size_t i = 0; std::chrono::steady_clock::now() < end; i = (i + 1) % kHosts) {
    site.host(i).stop();
    site.host(i).start();
    ASSERT_TRUE(site.wait(20s, [&] {
      record();
      return settled();
    })) << logs(site);
  }
  for (int start = 0; start < (soak ? 100 : 4); ++start) {
    const bool alone = start % 2 == 1;
    const std::size_t target = static_cast<std::size_t>(start / 2) % kHosts;
    Host& host = site.host(target);
    for (std::size_t i = 0; i < kHosts; ++i)
      if (alone || i == target) site.host(i).stop();
    ASSERT_TRUE(alone || site.wait(20s, settled)) << logs(site);
    const int master = alone ? -1 : site.master();
    auto locks = Locks::connect(site.host((target + 1) % kHosts).socket(), 10s);
    std::optional<Lock> lock;
    if (!alone) {
      ASSERT_TRUE(locks) << locks.error().message;
      auto acquired = locks->acquire("door", {.wait = 30s});
      ASSERT_TRUE(acquired) << acquired.error().message << logs(site);
      lock.emplace(std::move(*acquired));
    }
    std::vector<std::size_t> before;
    for (std::size_t i = 0; i < kHosts; ++i) before.push_back(site.host(i).log().size());
    host.start();
    const auto order = static_cast<Recorder::Order>(start % Recorder::kOrders);
    EXPECT_GT(Recorder::replay_all(all, order, 4s), 100U);
    ASSERT_TRUE(site.wait(20s,
                          [&] {
                            const auto status = host.status();
                            if (!status || status->networks.empty()) return false;
                            // A member of a view with others knows no network time without them.
                            if (alone)
                              return status->networks[0].state == "master" &&
                                     status->status == "unsynchronized";
                            return status->status == "synchronized";
                          }))
        << start << logs(site);
    for (std::size_t i = 0; i < kHosts; ++i)
      for (const char* event :
           {"became-master", "master-changed", "lost-master", "clock-stepped"}) {
        // The host that starts finds its master, which sets its clock, or becomes master itself.
        const std::string_view what = event;
        if (i == target && what == (alone ? "became-master" : "master-changed")) continue;
        if (i == target && !alone && what == "clock-stepped") continue;
        EXPECT_EQ(site.host(i).log().find(event, before[i]), std::string::npos)
            << start << " " << event << logs(site);
      }
    if (alone) {
      EXPECT_GT(host.status()->counters.at("refused_not_live"), 0U);
    } else {
      EXPECT_EQ(site.master(), master) << start << logs(site);
      EXPECT_GT(lock->remaining(), 0s) << "the lock was lost in start " << start << logs(site);
      const auto spread = site.spread();
      EXPECT_TRUE(spread && *spread < 5ms) << start;
    }
    lock.reset();
    for (std::size_t i = 0; i < kHosts; ++i)
      if (!site.host(i).running()) site.host(i).start();
    ASSERT_TRUE(site.wait(20s, settled)) << start << logs(site);
  }
}

}  // namespace
}  // namespace tempo::testbed
