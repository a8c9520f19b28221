// Locks and a group under random faults: five real daemons, eight programs that take locks through
// libtempo, five candidates for the group, one at each daemon, and a schedule of faults per seed.
//
// One seed is one test: --gtest_filter='*/LockFaults.*/SEED' repeats it (seeds above 20 need
// TEMPO_SOAK in the environment). The faults and the clients' draws are then the same; the
// kernel's scheduling is not.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "cluster.h"
#include "history.h"
#include "platform/clocks/boot_clock.h"
#include "schedule.h"
#include "support/site.h"
#include "workload.h"

namespace tempo::faults {
namespace {

constexpr std::uint32_t kClients = 8;
constexpr std::uint32_t kCandidates = 5;
constexpr Shape kShape{.clients = kClients + kCandidates, .lease = 300ms};
constexpr int kShortSchedules = 20;
constexpr int kSoakSchedules = 200;

int schedules() { return std::getenv("TEMPO_SOAK") != nullptr ? kSoakSchedules : kShortSchedules; }

std::string obstacle() {
  const std::string obstacle = testbed::Site::obstacle();
  if (obstacle.empty() && testbed::run({"nft", "--version"}) != 0) return "needs nft";
  return obstacle;
}

class LockFaults : public testing::TestWithParam<int> {
 protected:
  static void SetUpTestSuite() {
    skip_reason = obstacle();
    if (!skip_reason.empty()) return;
    site = std::make_unique<testbed::Site>(testbed::Site::Options{
        .tempod = TEMPO_TEMPOD,
        .profile = "fast",
        .arguments = {"--set", fmt::format("locks.expect={}", kShape.hosts), "--set",
                      fmt::format("locks.lease-ms={}", kShape.lease / 1ms)}});
    for (std::uint32_t i = 0; i < kShape.hosts; ++i) site->add();
    site->start_all();
  }
  static void TearDownTestSuite() { site.reset(); }
  void SetUp() override {
    if (!skip_reason.empty()) GTEST_SKIP() << skip_reason;
    ASSERT_TRUE(site->wait(20s, all_ready)) << logs();
  }

  static bool all_ready() {
    for (std::uint32_t i = 0; i < kShape.hosts; ++i) {
      const auto status = site->host(i).status();
      if (!status || !status->locks.contains("; locks ")) return false;
    }
    return true;
  }
  static std::string logs() {
    std::string all = site->describe();
    for (std::uint32_t i = 0; i < kShape.hosts; ++i)
      all += site->host(i).name() + ":\n" + site->host(i).log();
    return all;
  }

  static std::unique_ptr<testbed::Site> site;
  static std::string skip_reason;
};
std::unique_ptr<testbed::Site> LockFaults::site;
std::string LockFaults::skip_reason;

TEST_P(LockFaults, KeepExclusionAndTokenOrder) {
  const auto seed = static_cast<std::uint64_t>(GetParam());
  const Schedule schedule = schedule_of(seed, kShape);
  SCOPED_TRACE(fmt::format("seed {}:\n{}", seed, text_of(schedule)));
  Workload::Options options{.seed = seed,
                            .sockets = {},
                            .clients = kClients,
                            .candidates = kCandidates,
                            .lease = kShape.lease};
  for (std::uint32_t i = 0; i < kShape.hosts; ++i)
    options.sockets.push_back(site->host(i).socket());
  Workload workload(options);
  // Faults begin when every client has held a lock and the group has a leader.
  ASSERT_TRUE(site->wait(10s, [&] { return workload.without_lock_since(BootTime{}).empty(); }))
      << logs();
  ASSERT_TRUE(site->wait(10s, [&] { return workload.led_since(BootTime{}); })) << logs();

  Cluster(*site, workload).run(schedule);
  const BootTime healed = sys::boot_clock();
  std::optional<Nanos> served, led;  // time from the end of the faults; nullopt: not yet
  site->wait(10s, [&] {
    const Nanos since = sys::boot_clock() - healed;
    if (!served && workload.without_lock_since(healed).empty()) served = since;
    if (!led && workload.led_since(healed)) led = since;
    return served && led;
  });
  EXPECT_TRUE(served) << "clients without a lock: "
                      << testing::PrintToString(workload.without_lock_since(healed)) << '\n'
                      << logs();
  EXPECT_TRUE(led) << "the group has no leader\n" << logs();
  workload.end();

  const std::vector<Hold> history = workload.history();
  for (const Violation& violation : find_violations(history)) ADD_FAILURE() << text_of(violation);
  RecordProperty("holds", static_cast<int>(history.size()));
  RecordProperty("terms",
                 static_cast<int>(std::ranges::count(history, options.locks, &Hold::lock)));
  RecordProperty("lost", static_cast<int>(workload.lost()));
  RecordProperty("broken", static_cast<int>(workload.broken()));
  RecordProperty("served_again_ms", static_cast<int>(served.value_or(Nanos{0}) / 1ms));
  RecordProperty("led_again_ms", static_cast<int>(led.value_or(Nanos{0}) / 1ms));
}

INSTANTIATE_TEST_SUITE_P(Seeds, LockFaults, testing::Range(1, schedules() + 1),
                         [](const auto& seed) { return std::to_string(seed.param); });

}  // namespace
}  // namespace tempo::faults
