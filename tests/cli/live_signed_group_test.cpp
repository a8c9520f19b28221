// A group of machines that sign their messages: four daemons on loopback addresses, each with its
// own key. The last one is not a candidate.
#include <array>
#include <chrono>
#include <cstddef>
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

#include "lock_daemons.h"
#include "program.h"

namespace tempo {
namespace {

using namespace std::chrono_literals;

// The limit is for a busy machine.
bool wait_for(const std::function<bool()>& done) { return tempo::wait_for(60s, done); }

class SignedGroup : public testing::Test {
 protected:
  static constexpr std::size_t kMachines = 4;
  static constexpr std::size_t kCandidates = 3;

  void SetUp() override {
    std::ofstream list(base_.path() + "-list");
    for (std::size_t i = 0; i < kMachines; ++i) {
      const Ended made = tempo(fmt::format("keygen --node {}{}", base_.path(), i));
      ASSERT_EQ(made.status, 0) << made.err;
      list << made.out;
    }
    list.close();
    site_.emplace(kMachines, fmt::format("--set groups.node-key-file=\"{0}@\" --set "
                                         "groups.node-list-file=\"{0}-list\"",
                                         base_.path()));
    ASSERT_TRUE(ready());
  }
  void TearDown() override {
    end_all();
    site_.reset();
    for (std::size_t i = 0; i < kMachines; ++i)
      std::filesystem::remove(fmt::format("{}{}", base_.path(), i));
    std::filesystem::remove(base_.path() + "-list");
  }

  bool ready() const {
    return wait_for([&] { return site_->all_report("4 voters; locks survive the loss of 1"); }) &&
           wait_for([&] { return time_is_known(); });
  }
  json status(std::size_t host) const {
    return data_of(Child(words_of("status --json --socket " + site_->socket(host))).wait().out);
  }
  bool time_is_known() const {
    for (std::size_t host = 0; host < kMachines; ++host) {
      const json now = status(host);
      if (now["status"] != "synchronized" && now["status"] != "leads") return false;
      if (std::stoll(now["latest_ns"].get<std::string>()) -
              std::stoll(now["time_ns"].get<std::string>()) >
          7'000'000)
        return false;
    }
    return true;
  }
  json known(std::size_t host, const std::string& name) const {
    const json now = status(host);
    for (const json& group : now["groups"])
      if (group["name"] == name) return group;
    return json{{"leader", ""}, {"held", ""}};
  }
  void stand_all(const std::string& name) {
    for (std::size_t host = 0; host < kCandidates; ++host) {
      Words words =
          words_of(fmt::format("elect --socket {} {} --algorithm b2 --criterion weight={} -- sh -c",
                               site_->socket(host), name, host == 1 ? 90 : 10));
      words.push_back(fmt::format("date '+%s%N {}' >> {}; exec sleep 1000", host, runs_of(name)));
      candidates_[host] = std::make_unique<Child>(words);
    }
  }
  void end_all() {
    for (const auto& candidate : candidates_)
      if (candidate) kill(candidate->id(), SIGKILL);
    for (auto& candidate : candidates_)
      if (candidate) std::exchange(candidate, nullptr)->wait();
  }
  std::string runs_of(const std::string& name) const { return site_->file("runs-" + name); }

  struct Run {
    std::chrono::nanoseconds at{0};
    std::size_t host = 0;
  };
  // Time and host of each start of the command, in order.
  std::vector<Run> runs(const std::string& name) const {
    std::vector<Run> all;
    std::ifstream in(runs_of(name));
    Run run;
    for (std::int64_t at = 0; in >> at >> run.host;) {
      run.at = std::chrono::nanoseconds{at};
      all.push_back(run);
    }
    return all;
  }

  TemporaryFile base_{"node"};
  std::optional<Daemons> site_;
  std::array<std::unique_ptr<Child>, kCandidates> candidates_;
};

// On a busy machine a candidate may be too late, or lose the network time for a moment, but not
// three times in a row.
TEST_F(SignedGroup, IsLedByTheHeaviest) {
  bool as_requested = false;
  std::string states;
  for (int i = 0; i < 3 && !as_requested; ++i) {
    ASSERT_TRUE(ready());
    const std::string name = fmt::format("signed{}", i);
    stand_all(name);
    // A host that missed the election does not know which algorithm decided it.
    as_requested = tempo::wait_for(20s, [&] {
      return known(3, name)["leader"] == "host1" && known(3, name)["held"] == "b2" &&
             known(1, name)["held"] == "b2";
    });
    states += known(3, name).dump() + known(1, name).dump();
    end_all();
  }
  EXPECT_TRUE(as_requested) << states;
}

// One machine in four is dead; the algorithm tolerates one faulty machine. A new leader takes four
// leases at most, as with the other algorithms; a busy machine may be late, but not three times.
TEST_F(SignedGroup, MovesWhenTheLeaderIsKilled) {
  std::chrono::nanoseconds took = 1h;
  for (int i = 0; i < 3 && took > 4s; ++i) {
    ASSERT_TRUE(ready());
    const std::string name = fmt::format("killed{}", i);
    stand_all(name);
    ASSERT_TRUE(wait_for([&] { return !runs(name).empty(); }));
    const std::size_t leader = runs(name).front().host;
    ASSERT_TRUE(wait_for([&] { return known(3, name)["candidates"] == kCandidates; }));
    const auto killed = std::chrono::system_clock::now().time_since_epoch();
    site_->kill_all(leader);
    ASSERT_TRUE(wait_for([&] { return runs(name).size() == 2; })) << "it does not move";
    EXPECT_NE(runs(name).back().host, leader);
    EXPECT_TRUE(wait_for([&] {
      return known(3, name)["leader"] == fmt::format("host{}", runs(name).back().host);
    })) << known(3, name);
    took = runs(name).back().at - killed;
    end_all();
    site_->start(leader);
  }
  RecordProperty("ms", static_cast<int>(took / 1ms));
  EXPECT_LE(took, 4s);
}

}  // namespace
}  // namespace tempo
