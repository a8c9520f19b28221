// Groups of three real daemons on loopback addresses, and `tempo elect`. Each command writes the
// time to a file of its term: the command of a term must have ended before the next one begins.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "base/number_text.h"
#include "lock_daemons.h"
#include "program.h"

namespace tempo {

using namespace std::chrono_literals;

class GroupSite : public Daemons {
 public:
  static constexpr std::size_t kHosts = 3;
  static constexpr auto kLong = 60s;  // for a busy machine

  explicit GroupSite(const std::string& arguments = "") : Daemons(kHosts, arguments) {}

  Ended ask(std::size_t i, const std::string& verb, const std::string& more = "") const {
    return Child(words_of(verb + " --socket " + socket(i) + ' ' + more)).wait();
  }
  bool ready() const {  // all hosts, also one that a test has killed
    for (std::size_t i = 0; i < kHosts; ++i)
      if (lock_state(i) != "3 voters; locks survive the loss of 1") return false;
    return true;
  }
  // Well enough for atomic broadcast: within a 128th of the lease.
  bool time_is_known() const {
    for (std::size_t i = 0; i < kHosts; ++i)
      if (error_ns(i) > std::chrono::nanoseconds{1s}.count() / 128) return false;
    return true;
  }
  std::int64_t error_ns(std::size_t i) const {
    const json now = data_of(ask(i, "status --json").out);
    if (now["status"] != "synchronized" && now["status"] != "leads") return 1'000'000'000;
    return std::stoll(now["latest_ns"].get<std::string>()) -
           std::stoll(now["time_ns"].get<std::string>());
  }
};

class LiveGroup : public testing::Test {
 protected:
  static constexpr std::size_t kHosts = GroupSite::kHosts;

  static void SetUpTestSuite() { site = std::make_unique<GroupSite>(); }
  static void TearDownTestSuite() { site.reset(); }
  void SetUp() override {
    ASSERT_TRUE(wait_for([] { return site->ready(); }));
  }
  void TearDown() override { end_all(); }

  static bool wait_for(const std::function<bool()>& done) {
    return tempo::wait_for(GroupSite::kLong, done);
  }

  // The guard stops the command and then releases the lease.
  static void end(Child& child) {
    kill(child.id(), SIGKILL);
    child.wait();
  }
  void end_all() {
    for (auto& candidate : candidates_)
      if (candidate) end(*std::exchange(candidate, nullptr));
    expect_one_at_a_time();
  }
  // The same, and waits until every host knows it: before that, a host refuses candidates with
  // other options.
  bool end_everywhere() {
    end_all();
    return wait_for([] {
      for (std::size_t i = 0; i < kHosts; ++i)
        if (!known(i)["candidates"].empty()) return false;
      return true;
    });
  }
  static std::string group() {
    return testing::UnitTest::GetInstance()->current_test_info()->name();
  }

  void stand(std::size_t host, const std::string& options) {
    Words words = words_of("elect --socket " + site->socket(host) + ' ' + group());
    for (const std::string& word : words_of(options)) words.push_back(word);
    stand_with(host, words, stamping(host));
  }
  void stand_with(std::size_t host, Words words, const std::string& script) {
    words.insert(words.end(), {"--", "sh", "-c", script});
    candidates_[host] = std::make_unique<Child>(words);
  }
  // A command that writes the time to a file of its group, term and host until it is stopped.
  static std::string stamping(std::size_t host) {
    return fmt::format(
        "f={}/run.$TEMPO_GROUP.$TEMPO_LEADER_TOKEN.{}; while :; do date +%s%N >> $f; sleep 0.01; "
        "done",
        site->file(""), host);
  }

  struct Run {
    std::uint64_t term = 0;
    std::size_t host = 0;
    std::vector<std::int64_t> stamps;
    std::chrono::nanoseconds begins() const { return std::chrono::nanoseconds{stamps.front()}; }
    std::uint64_t ballot() const { return term >> 24; }
  };
  // The runs of this test, by term.
  static std::vector<Run> runs() {
    std::vector<Run> all;
    for (const auto& entry : std::filesystem::directory_iterator(site->file(""))) {
      const std::string name = entry.path().filename().string();
      const std::string prefix = "run." + group() + '.';
      if (!name.starts_with(prefix)) continue;
      const std::size_t dot = name.rfind('.');
      Run run{.term = parse_number<std::uint64_t>(name.substr(prefix.size(), dot - prefix.size()))
                          .value_or(0),
              .host = static_cast<std::size_t>(name.back() - '0'),
              .stamps = {}};
      std::ifstream in(entry.path());
      for (std::int64_t stamp = 0; in >> stamp;) run.stamps.push_back(stamp);
      all.push_back(run);
    }
    std::ranges::sort(all, {}, &Run::term);
    return all;
  }
  // The runs whose command has written a time; a file may exist before.
  static std::vector<Run> begun() {
    auto all = runs();
    std::erase_if(all, [](const Run& run) { return run.stamps.empty(); });
    return all;
  }
  // The times that leaders led before a better candidate replaced them. Such a leader hands its
  // lease over, and the next term has the same ballot (doc/internals/lease.md); after a lost lease,
  // which can happen on a busy machine, the ballot differs.
  static std::vector<std::chrono::nanoseconds> stays() {
    std::vector<std::chrono::nanoseconds> stays;
    const auto all = begun();
    for (std::size_t i = 1; i < all.size(); ++i)
      if (all[i].ballot() == all[i - 1].ballot())
        stays.push_back(all[i].begins() - all[i - 1].begins());
    return stays;
  }
  static constexpr auto kLongestStart = 1s;  // of a command, on a busy machine
  static std::optional<std::size_t> last_host() {
    const auto all = runs();
    if (all.empty()) return std::nullopt;
    return all.back().host;
  }
  // The group as one host knows it.
  static json known(std::size_t host) {
    return data_of(site->ask(host, "leader --json", group()).out)["group"];
  }
  static bool runs_on(std::size_t host) {
    return wait_for([&] { return last_host() == host; });
  }
  static void expect_one_at_a_time() {
    const auto all = runs();
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (all[i - 1].stamps.empty() || all[i].stamps.empty()) continue;
      EXPECT_LT(all[i - 1].stamps.back(), all[i].stamps.front())
          << "host " << all[i - 1].host << " beside host " << all[i].host;
    }
  }

  std::array<std::unique_ptr<Child>, kHosts> candidates_;
  static inline std::unique_ptr<GroupSite> site;
};

}  // namespace tempo
