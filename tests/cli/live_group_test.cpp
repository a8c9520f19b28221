// The leader of a group of real daemons, and the commands that show it.
#include "live_group.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tempo/election.h"

namespace tempo {
namespace {

using ::testing::HasSubstr;

TEST_F(LiveGroup, IsLedByTheHeaviest) {
  stand(0, "--criterion weight=10");
  stand(1, "--criterion weight=50");
  stand(2, "--criterion weight=30");
  ASSERT_TRUE(runs_on(1));
  ASSERT_TRUE(wait_for([] { return site->ask(2, "leader", group()).out == "host1\n"; }));
  const Ended list = site->ask(0, "groups");
  EXPECT_THAT(list.out, HasSubstr(group()));
  EXPECT_THAT(list.out, HasSubstr("weight"));
  // On a busy machine the third candidate can arrive after the election.
  json shown;
  EXPECT_TRUE(wait_for([&] {
    shown = data_of(site->ask(0, "leader --json", group()).out);
    return shown["group"]["candidates"].size() == 3;
  })) << shown.dump();
  EXPECT_EQ(shown["group"]["leader"], "host1");
  EXPECT_EQ(shown["group"]["term"], std::to_string(runs().back().term));
}

TEST_F(LiveGroup, AppearsInTheStatus) {
  stand(1, "--criterion weight=5");
  stand(2, "--criterion weight=50");
  ASSERT_TRUE(runs_on(2));
  const std::string term = std::to_string(runs().back().term);
  ASSERT_TRUE(wait_for([] { return site->ask(0, "leader", group()).out == "host2\n"; }));
  EXPECT_THAT(
      site->ask(0, "status").out,
      HasSubstr(fmt::format("  group     {}: host2 leads, term {}, 2 candidates, by weight, "
                            "algorithm b1",
                            group(), term)));
  const auto seen = [](std::size_t host) {
    const json status = data_of(site->ask(host, "status --json").out);
    for (const json& one : status["groups"])
      if (one["name"] == group()) return one;
    return json{};
  };
  const Words states{"watch", "follow", "lead"};
  for (std::size_t i = 0; i < kHosts; ++i) {
    EXPECT_EQ(seen(i)["leader"], "host2") << i;
    EXPECT_EQ(seen(i)["term"], term) << i;
    EXPECT_EQ(seen(i)["here"], i == 2) << i;
    EXPECT_EQ(seen(i)["candidates"], 2) << i;
    EXPECT_EQ(seen(i)["state"], states.at(i));
  }
}

// Elections by capacity, each decided by the requested algorithm. On a busy machine a candidate may
// be too late for the first election, but not three times in a row.
TEST_F(LiveGroup, IsLedByTheHeaviestByEveryAlgorithm) {
  ASSERT_TRUE(wait_for([] { return site->time_is_known(); }));
  for (const std::string algorithm : {"a", "b1", "c"}) {
    bool as_requested = false;
    for (int i = 0; i < 3 && !as_requested; ++i) {
      const std::size_t before = runs().size();
      for (std::size_t host = 0; host < kHosts; ++host)
        stand(host, fmt::format("--algorithm {} --criterion weight={}", algorithm,
                                host == 2 ? 20 : host));
      ASSERT_TRUE(wait_for([&] { return runs().size() > before; })) << algorithm;
      as_requested = last_host() == 2U && known(2)["held"] == algorithm;
      ASSERT_TRUE(end_everywhere());
    }
    EXPECT_TRUE(as_requested) << algorithm;
  }
}

// All candidates on the ring learn the result; when the leader's machine dies, another one is
// elected.
TEST_F(LiveGroup, IsLedByTheWinnerOfARing) {
  for (std::size_t i = 0; i < kHosts; ++i) stand(i, "--algorithm ring");
  ASSERT_TRUE(wait_for([] { return !runs().empty(); }));
  const std::size_t first = *last_host();
  for (std::size_t i = 0; i < kHosts; ++i) {
    ASSERT_TRUE(wait_for(
        [&] { return site->ask(i, "leader", group()).out == fmt::format("host{}\n", first); }));
    EXPECT_EQ(known(i)["held"], "ring") << i;
    EXPECT_EQ(known(i)["criterion"], "random") << i;
  }
  site->kill_all(first);
  ASSERT_TRUE(wait_for([&] { return last_host() != first; }));
  EXPECT_EQ(known(*last_host())["held"], "ring");
  site->start(first);
  EXPECT_TRUE(wait_for([] { return site->ready(); }));
}

// An anonymous election may take longer than the timeout, but not five times in a row.
TEST_F(LiveGroup, IsLedByTheWinnerOfAnAnonymousRing) {
  std::string held;
  for (int i = 0; i < 5 && held != "ring-anonymous"; ++i) {
    const std::size_t before = runs().size();
    for (std::size_t host = 0; host < kHosts; ++host) stand(host, "--algorithm ring-anonymous");
    ASSERT_TRUE(wait_for([&] { return runs().size() > before; }));
    held = known(*last_host())["held"];
    ASSERT_TRUE(end_everywhere());
  }
  EXPECT_EQ(held, "ring-anonymous");
}

TEST_F(LiveGroup, IsLedByTheLargestNumberOfACommand) {
  for (std::size_t i = 0; i < kHosts; ++i)
    stand_with(i,
               {"elect", "--socket", site->socket(i), group(), "--criterion",
                fmt::format("cmd=echo {}", i == 0 ? 900 : i)},
               stamping(i));
  EXPECT_TRUE(runs_on(0));
}

TEST_F(LiveGroup, IsLedByTheLargestId) {
  for (std::size_t i = 0; i < kHosts; ++i) stand(i, "--criterion id");
  ASSERT_TRUE(wait_for([] { return !runs().empty(); }));
  // Ids have the same length. Until the name of a member is known, its id stands for it.
  std::map<std::string, std::string> names;
  ASSERT_TRUE(wait_for([&] {
    for (const json& member : data_of(site->ask(0, "members --json").out))
      names[member["id"]] = member["name"];
    return names.size() == kHosts &&
           std::ranges::all_of(names, [](const auto& one) { return one.first != one.second; });
  }));
  EXPECT_EQ(fmt::format("host{}", *last_host()), names.rbegin()->second);
}

// The test writes the files of /proc, so that it knows the best candidate.
TEST_F(LiveGroup, IsLedByTheBestMeasurement) {
  struct Measured {
    const char* criterion;
    const char* file;
    const char* good;
    const char* bad;
  };
  const std::array<Measured, 3> all{
      {{"load", "loadavg", "0.10 0 0 1/2 3\n", "64.00 0 0 1/2 3\n"},
       {"free-memory", "meminfo", "MemAvailable: 8000000 kB\n", "MemAvailable: 40000 kB\n"},
       {"uptime", "uptime", "86400.00 1.00\n", "60.00 1.00\n"}}};
  for (std::size_t best = 0; best < all.size(); ++best) {
    for (std::size_t i = 0; i < kHosts; ++i) {
      const std::string proc = site->file(fmt::format("proc{}", i));
      std::filesystem::create_directories(proc);
      std::ofstream(proc + '/' + all[best].file) << (i == best ? all[best].good : all[best].bad);
      setenv("TEMPO_PROC", proc.c_str(), 1);
      stand(i, fmt::format("--min-stay 1s --criterion {}", all[best].criterion));
      unsetenv("TEMPO_PROC");
    }
    EXPECT_TRUE(runs_on(best)) << all[best].criterion;
    ASSERT_TRUE(end_everywhere());
  }
}

// The best candidate is known only afterwards.
TEST_F(LiveGroup, IsLedByTheBestClockAndTheHighestDraw) {
  ASSERT_TRUE(wait_for([] { return site->time_is_known(); }));
  for (const char* criterion : {"clock-quality", "random"}) {
    const std::size_t before = runs().size();
    for (std::size_t i = 0; i < kHosts; ++i)
      stand(i, fmt::format("--min-stay 1s --criterion {}", criterion));
    ASSERT_TRUE(wait_for([&] { return runs().size() > before; })) << criterion;
    const auto best_leads = [] {
      const json group = known(0);
      std::int64_t best = 0;
      std::int64_t leads = -1;
      for (const json& one : group["candidates"]) {
        const std::int64_t capacity = std::stoll(one["capacity"].get<std::string>());
        best = std::max(best, capacity);
        if (one["host"] == group["leader"]) leads = capacity;
      }
      // A clock that is better by less than the margin does not replace the leader.
      return group["candidates"].size() == kHosts && best > 0 && best <= leads + leads / 10;
    };
    EXPECT_TRUE(wait_for(best_leads)) << criterion << known(0);
    ASSERT_TRUE(end_everywhere());
  }
}

TEST_F(LiveGroup, CanBeWatched) {
  Child watch(words_of("watch-group --socket " + site->socket(2) + ' ' + group()));
  stand(0, "--criterion weight=1");
  ASSERT_TRUE(runs_on(0));
  ASSERT_TRUE(wait_for([] { return site->ask(2, "leader", group()).out == "host0\n"; }));
  kill(watch.id(), SIGTERM);
  const Ended seen = watch.wait();
  EXPECT_THAT(seen.out, HasSubstr(group() + " has no leader\n"));
  EXPECT_THAT(seen.out,
              HasSubstr(fmt::format("host0 leads {}, term {}\n", group(), runs().back().term)));
}

TEST_F(LiveGroup, ReturnsTheExitStatusOfTheCommand) {
  stand_with(0, {"elect", "--socket", site->socket(0), group(), "--criterion", "id"}, "exit 9");
  EXPECT_EQ(candidates_[0]->wait().status, 9);
  candidates_[0].reset();
}

TEST_F(LiveGroup, PrintsStatesAsJsonOnStandardError) {
  const Ended ended = Child({"elect", "--socket", site->socket(0), group(), "--criterion",
                             "weight=7", "--json", "--", "echo", "ran"})
                          .wait();
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(ended.out, "ran\n");
  std::vector<json> states;
  for (const std::string& line : lines_of(ended.err)) states.push_back(data_of(line));
  ASSERT_EQ(states.size(), 3U) << ended.err;
  EXPECT_EQ(states[0]["state"], "candidate");
  EXPECT_EQ(states[0]["group"], group());
  EXPECT_EQ(states[0]["criterion"], "weight");
  EXPECT_EQ(states[0]["capacity"], "7");
  EXPECT_EQ(states[1]["state"], "leading");
  EXPECT_TRUE(states[1]["term"].is_string());
  EXPECT_EQ(states[2]["state"], "stopped");
  EXPECT_EQ(states[2]["exit_status"], 0);
}

TEST_F(LiveGroup, ShowsTheLeaderOnTheTerminalOfACandidate) {
  if (!TerminalChild::possible()) GTEST_SKIP() << "no terminal is available";
  stand(0, "--criterion weight=90");
  ASSERT_TRUE(runs_on(0));
  TerminalChild candidate({"elect", "--socket", site->socket(1), group(), "--criterion", "weight=5",
                           "--", "sleep", "60"});
  EXPECT_TRUE(
      candidate.read_until(fmt::format("candidate for group '{}' (5); host0 leads", group())))
      << candidate.out();
  candidate.type("\x03");
  EXPECT_EQ(candidate.wait(), 130);
  EXPECT_THAT(candidate.out(), ::testing::EndsWith("\r\x1b[K"));
}

TEST_F(LiveGroup, RefusesInvalidOptions) {
  const auto refused = [](const std::string& options, const std::string& name = group()) {
    Words words = words_of("elect --socket " + site->socket(0) + ' ' + options);
    words.insert(words.end(), {name, "--", "echo", "ran"});
    const Ended ended = Child(words).wait();
    EXPECT_EQ(ended.out, "") << options;
    return std::pair{ended.status, ended.err};
  };
  EXPECT_EQ(refused("--algorithm b2").first, 103);
  EXPECT_THAT(refused("--algorithm b2").second, HasSubstr("'tempo keygen --node'"));
  EXPECT_EQ(refused("--algorithm ring --criterion uptime").first, 103);
  EXPECT_THAT(refused("--algorithm ring --criterion uptime").second,
              HasSubstr("'--criterion random', or '--algorithm b1' to elect by uptime"));
  EXPECT_THAT(refused("--algorithm z").second,
              HasSubstr("use one of a, b1, c, ring, ring-anonymous, b2"));
  EXPECT_EQ(refused("--criterion beauty").first, 2);
  EXPECT_THAT(refused("--criterion weight=much").second, HasSubstr("'weight=5'"));
  EXPECT_EQ(refused("--criterion cmd=true").first, 2);
  EXPECT_THAT(refused("--criterion cmd=true").second,
              HasSubstr("command 'true' exited with status 0 and printed nothing"));
  EXPECT_EQ(refused("--min-stay soon").first, 2);
  EXPECT_THAT(refused("", "two words").second, HasSubstr("name has a space"));
  EXPECT_EQ(site->ask(0, "leader", group()).status, 1);
  stand(0, "--criterion weight=1");
  ASSERT_TRUE(runs_on(0));
  EXPECT_THAT(refused("--criterion weight=2").second, HasSubstr("one candidate per machine"));
}

TEST_F(LiveGroup, CanBeLedByAProgram) {
  auto election = Election::stand(group(), {.capacity = 5, .min_stay = 1s}, site->socket(0));
  ASSERT_TRUE(election) << election.error().message;
  std::uint64_t term = 0;
  int stops = 0;
  election->on_lead([&](std::uint64_t token) { term = token; });
  election->on_stop([&] { ++stops; });
  ASSERT_TRUE(wait_for([&] { return election->dispatch(10ms) && term != 0; }));
  EXPECT_GT(election->remaining(), 0s);
  EXPECT_LE(election->remaining(), 1s);
  EXPECT_EQ(election->term(), term);
  const auto deadline = election->deadline();
  EXPECT_TRUE(
      wait_for([&] { return election->dispatch(10ms) && election->deadline() > deadline; }));

  auto better = Election::stand(group(), {.capacity = 50, .min_stay = 1s}, site->socket(1));
  ASSERT_TRUE(better);
  ASSERT_TRUE(wait_for(
      [&] { return election->dispatch(10ms) && better->dispatch(10ms) && better->term() != 0; }));
  EXPECT_EQ(stops, 1);
  EXPECT_EQ(election->remaining(), 0s);
  EXPECT_GT(better->term(), term);
  better->withdraw();
  EXPECT_EQ(better->remaining(), 0s);
  EXPECT_TRUE(wait_for([&] { return election->dispatch(10ms) && election->term() != 0; }));
}

// No machine may become master, so that there is no network time: elections fall back to algorithm
// C, and 'tempo groups' shows it.
TEST(GroupWithoutTime, IsLedByTheHeaviest) {
  const GroupSite site("--set may-lead=false");
  ASSERT_TRUE(wait_for(GroupSite::kLong, [&] { return site.ready(); }));
  const auto groups_of = [&](std::size_t host) { return site.ask(host, "groups").out; };
  for (const std::string algorithm : {"a", "b1"}) {
    std::vector<std::unique_ptr<Child>> candidates;
    for (std::size_t i = 0; i < GroupSite::kHosts; ++i)
      candidates.push_back(std::make_unique<Child>(
          words_of(fmt::format("elect --socket {} {} --algorithm {} --min-stay 1s --criterion "
                               "weight={} -- sleep 1000",
                               site.socket(i), algorithm, algorithm, 10 + 40 * i))));
    EXPECT_TRUE(wait_for(GroupSite::kLong, [&] {
      return site.ask(0, "leader", algorithm).out == "host2\n" &&
             groups_of(2).find(algorithm + ", held by c") != std::string::npos;
    })) << groups_of(2);
    for (const auto& candidate : candidates) kill(candidate->id(), SIGKILL);
    for (const auto& candidate : candidates) candidate->wait();
  }
  EXPECT_THAT(site.ask(0, "status").out, HasSubstr("unsynchronized"));
}

TEST(ElectCommand, ReportsThatTempodIsNotRunning) {
  const Ended ended =
      Child(words_of("elect --socket /nonexistent/sock --criterion id x -- true")).wait();
  EXPECT_EQ(ended.status, 102);
  EXPECT_THAT(ended.err, HasSubstr("tempod is not running here"));
}

TEST(ElectCommand, RunsNothingAfterBadUsage) {
  EXPECT_EQ(Child(words_of("elect x")).wait().status, 2);
  EXPECT_EQ(Child(words_of("elect")).wait().status, 2);
  EXPECT_EQ(Child(words_of("leader")).wait().status, 2);
}

}  // namespace
}  // namespace tempo
