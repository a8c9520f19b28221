// Groups between real daemons: three of them on addresses of the loopback interface, and `tempo
// elect` as users run it. Each command writes when it runs, under its term: of two terms the
// earlier must have ended before the later begins.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "base/number_text.h"
#include "live/client/election.h"
#include "lock_daemons.h"
#include "program.h"

namespace tempo {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

constexpr std::size_t kHosts = 3;
constexpr auto kLong = 60s;  // the machine may be busy with something else

bool wait_for(const std::function<bool()>& done, steady_clock::duration limit = kLong) {
  return tempo::wait_for(limit, done);
}

class Site : public Daemons {
 public:
  explicit Site(const std::string& arguments = "") : Daemons(kHosts, arguments) {}

  Ended ask(std::size_t i, const std::string& verb, const std::string& more = "") const {
    return Child(words_of(verb + " --socket " + socket(i) + ' ' + more)).wait();
  }
  bool ready() const {  // all of them, also one that a test has killed
    for (std::size_t i = 0; i < kHosts; ++i)
      if (promise(i) != "locks are safe while 2 of 3 members answer") return false;
    return true;
  }
  // Well enough for atomic broadcast: to a 128th of the lease.
  bool time_is_known() const {
    for (std::size_t i = 0; i < kHosts; ++i)
      if (error_ns(i) > std::chrono::nanoseconds{1s}.count() / 128) return false;
    return true;
  }
  std::int64_t error_ns(std::size_t i) const {
    const json now = json::parse(ask(i, "status --json").out);
    if (now["status"] != "synchronized" && now["status"] != "leads") return 1'000'000'000;
    return now["latest_ns"].get<std::int64_t>() - now["time_ns"].get<std::int64_t>();
  }
};

class LiveGroup : public testing::Test {
 protected:
  static void SetUpTestSuite() { site = std::make_unique<Site>(); }
  static void TearDownTestSuite() { site.reset(); }
  void SetUp() override {
    ASSERT_TRUE(wait_for([] { return site->ready(); }));
  }
  void TearDown() override { end_all(); }

  // The guard stops the command and then lets go, whatever the wrapper was doing.
  static void end(Child& child) {
    kill(child.id(), SIGKILL);
    child.wait();
  }
  void end_all() {
    for (auto& candidate : candidates_)
      if (candidate) end(*std::exchange(candidate, nullptr));
    expect_one_at_a_time();
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
  // A command that says when it runs, again and again, in a file of its group, term and host.
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
  // Those of this test, by term.
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
  // Those whose command has said something; a name may be there before the first word is.
  static std::vector<Run> begun() {
    auto all = runs();
    std::erase_if(all, [](const Run& run) { return run.stamps.empty(); });
    return all;
  }
  // How long those led who then made room for a better one. They hand their lease over, and the
  // next term goes on with its ballot (doc/lease.md); whoever loses it, which a busy machine may
  // do, is followed by one with another ballot.
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
  // The group as a host knows it.
  static json known(std::size_t host) {
    return json::parse(site->ask(host, "leader --json", group()).out)["group"];
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
  static std::unique_ptr<Site> site;
};
std::unique_ptr<Site> LiveGroup::site;

TEST_F(LiveGroup, IsLedByTheHeaviest) {
  stand(0, "--criterion weight=10");
  stand(1, "--criterion weight=50");
  stand(2, "--criterion weight=30");
  ASSERT_TRUE(runs_on(1));
  ASSERT_TRUE(wait_for([] { return site->ask(2, "leader", group()).out == "host1\n"; }));
  const Ended list = site->ask(0, "groups");
  EXPECT_THAT(list.out, HasSubstr(group()));
  EXPECT_THAT(list.out, HasSubstr("weight"));
  const json told = json::parse(site->ask(0, "leader --json", group()).out);
  EXPECT_EQ(told["group"]["leader"], "host1");
  EXPECT_EQ(told["group"]["term"], std::to_string(runs().back().term));
  EXPECT_EQ(told["group"]["candidates"].size(), 3);
}

TEST_F(LiveGroup, IsInTheStatus) {
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
    const json status = json::parse(site->ask(host, "status --json").out);
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

// The elections by capacity, each decided by the algorithm that was wanted. On a busy machine a
// candidate may come too late for the first election; not three times in a row.
TEST_F(LiveGroup, IsLedByTheHeaviestByEveryAlgorithm) {
  ASSERT_TRUE(wait_for([] { return site->time_is_known(); }));
  for (const std::string algorithm : {"a", "b1", "c"}) {
    bool as_wanted = false;
    for (int i = 0; i < 3 && !as_wanted; ++i) {
      const std::size_t before = runs().size();
      for (std::size_t host = 0; host < kHosts; ++host)
        stand(host, fmt::format("--algorithm {} --criterion weight={}", algorithm,
                                host == 2 ? 20 : host));
      ASSERT_TRUE(wait_for([&] { return runs().size() > before; })) << algorithm;
      as_wanted = last_host() == 2U && known(2)["held"] == algorithm;
      end_all();
    }
    EXPECT_TRUE(as_wanted) << algorithm;
  }
}

// All on the ring learn who was elected, and that one leads; when its machine dies it is passed
// over and another is elected.
TEST_F(LiveGroup, IsLedByWhomARingElects) {
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

// Without names an election may take longer than anybody waits for it; not five times in a row.
TEST_F(LiveGroup, IsLedByOneOfARingWithoutNames) {
  std::string held;
  for (int i = 0; i < 5 && held != "ring-anonymous"; ++i) {
    const std::size_t before = runs().size();
    for (std::size_t host = 0; host < kHosts; ++host) stand(host, "--algorithm ring-anonymous");
    ASSERT_TRUE(wait_for([&] { return runs().size() > before; }));
    held = known(*last_host())["held"];
    end_all();
  }
  EXPECT_EQ(held, "ring-anonymous");
}

TEST_F(LiveGroup, IsLedByWhomACommandSays) {
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
  // By id: all have the same length. A name comes later than an id, which stands for it until then.
  std::map<std::string, std::string> names;
  ASSERT_TRUE(wait_for([&] {
    for (const json& member : json::parse(site->ask(0, "members --json").out))
      names[member["id"]] = member["name"];
    return names.size() == kHosts &&
           std::ranges::all_of(names, [](const auto& one) { return one.first != one.second; });
  }));
  EXPECT_EQ(fmt::format("host{}", *last_host()), names.rbegin()->second);
}

// What the kernel tells of each machine is made up, so that a certain one is the best.
TEST_F(LiveGroup, IsLedByTheBestOfWhatIsMeasured) {
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
    end_all();
  }
}

// Here nobody knows beforehand who is the best; everybody knows afterwards who was.
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
        best = std::max<std::int64_t>(best, one["capacity"]);
        if (one["host"] == group["leader"]) leads = one["capacity"];
      }
      // A clock that is better by less than the margin unseats nobody.
      return group["candidates"].size() == kHosts && best > 0 && best <= leads + leads / 10;
    };
    EXPECT_TRUE(wait_for(best_leads)) << criterion << known(0);
    end_all();
  }
}

TEST_F(LiveGroup, MovesWhenTheLeaderIsKilled) {
  stand(0, "--criterion weight=90");
  stand(1, "--criterion weight=50");
  stand(2, "--criterion weight=10");
  ASSERT_TRUE(runs_on(0));
  kill(candidates_[0]->id(), SIGKILL);
  candidates_[0]->wait();
  candidates_[0].reset();
  EXPECT_TRUE(runs_on(1)) << "the wrapper";
  const auto start = steady_clock::now();
  site->kill_all(1);
  EXPECT_TRUE(runs_on(2)) << "the daemon";
  RecordProperty("ms_after_the_daemon", static_cast<int>((steady_clock::now() - start) / 1ms));
  site->start(1);
  EXPECT_TRUE(wait_for([] { return site->ready(); }));
}

// A leader's silence is noticed after one lease, an election is decided within two, and the lease
// is had within three quarters of one: four leases (doc/groups.md). On a busy machine it may be
// late once, not three times in a row.
TEST_F(LiveGroup, MovesWithinFourLeasesByEveryAlgorithm) {
  constexpr auto kLease = 1s;  // of lock_daemons.h
  for (const std::string algorithm : {"a", "b1", "c", "ring", "ring-anonymous"}) {
    std::chrono::nanoseconds took = 1h;
    for (int trial = 0; trial < 3 && took > 4 * kLease; ++trial) {
      const std::size_t before = runs().size();
      for (std::size_t i = 0; i < kHosts; ++i)
        stand(i, "--criterion random --algorithm " + algorithm);
      ASSERT_TRUE(wait_for([&] { return runs().size() > before; })) << algorithm;
      const std::size_t leader = *last_host();
      ASSERT_TRUE(wait_for([&] { return known((leader + 1) % kHosts)["candidates"].size() == 3; }));
      const std::size_t reigns = runs().size();
      const auto killed = std::chrono::system_clock::now().time_since_epoch();
      site->kill_all(leader);
      ASSERT_TRUE(
          wait_for([&] { return runs().size() > reigns && !runs()[reigns].stamps.empty(); }));
      EXPECT_NE(runs()[reigns].host, leader);
      took = std::chrono::nanoseconds{runs()[reigns].stamps.front()} - killed;
      end_all();
      site->start(leader);
      ASSERT_TRUE(wait_for([] { return site->ready(); }));
    }
    RecordProperty("ms_" + algorithm, static_cast<int>(took / 1ms));
    EXPECT_LE(took, 4 * kLease) << algorithm;
  }
}

// A candidate is stopped while it waits and elected meanwhile; its daemon stands still, and another
// leads. When it wakes it does not start its command in a term that is over, and stands again.
TEST_F(LiveGroup, IsNotLedByASleeperWhoseTermIsOver) {
  stand(1, "--criterion weight=90");
  ASSERT_TRUE(runs_on(1));
  stand(0, "--criterion weight=50");
  ASSERT_TRUE(wait_for([] { return known(1)["candidates"].size() == 2; }));
  kill(candidates_[0]->id(), SIGSTOP);
  end(*std::exchange(candidates_[1], nullptr));
  ASSERT_TRUE(wait_for([] { return known(2)["leader"] == "host0"; }));
  site->pause(0, true);
  stand(2, "--criterion weight=10");
  EXPECT_TRUE(runs_on(2));
  kill(candidates_[0]->id(), SIGCONT);
  site->pause(0, false);
  ASSERT_TRUE(wait_for([] { return known(2)["candidates"].size() == 2; }));
  end(*std::exchange(candidates_[2], nullptr));
  ASSERT_TRUE(runs_on(0)) << "it does not stand again";
  std::vector<std::size_t> hosts;
  for (const Run& run : runs()) hosts.push_back(run.host);
  EXPECT_EQ(hosts, (std::vector<std::size_t>{1, 2, 0}));
}

TEST_F(LiveGroup, MovesWhenTheLeaderResigns) {
  stand(0, "--criterion weight=90 --min-stay 10s");
  stand(1, "--criterion weight=50 --min-stay 10s");
  ASSERT_TRUE(runs_on(0));
  EXPECT_EQ(site->ask(1, "resign-group", group()).status, 4) << "it does not lead";
  EXPECT_EQ(site->ask(0, "resign-group", group()).status, 0);
  EXPECT_TRUE(runs_on(1));
}

TEST_F(LiveGroup, MovesToOneThatIsClearlyBetter) {
  stand(0, "--criterion weight=100 --min-stay 1s");
  ASSERT_TRUE(runs_on(0));
  stand(1, "--criterion weight=105 --min-stay 1s");
  stand(2, "--criterion weight=200 --min-stay 1s");
  EXPECT_TRUE(runs_on(2));
  EXPECT_EQ(runs().size(), 2U);
}

// Two candidates that outdo each other again and again: whoever does not lead is by far the better
// one. Commands are asked what they say every five seconds, so that without min-stay the command
// would move about as often.
TEST_F(LiveGroup, DoesNotMoveMoreOftenThanMinStayAllows) {
  const auto weigh = [](std::size_t host, int weight) {
    std::ofstream(site->file("weight" + std::to_string(host))) << weight << '\n';
  };
  for (std::size_t i = 0; i < 2; ++i) {
    weigh(i, 100);
    stand_with(i,
               {"elect", "--socket", site->socket(i), group(), "--min-stay", "9s", "--criterion",
                "cmd=cat " + site->file("weight" + std::to_string(i))},
               stamping(i));
  }
  ASSERT_TRUE(wait_for([] { return !begun().empty(); }));
  EXPECT_TRUE(wait_for([&] {
    const std::size_t leads = *last_host();
    weigh(leads, 10);
    weigh(1 - leads, 1000);
    return stays().size() == 2;
  })) << "it does not move";
  for (const auto stay : stays()) EXPECT_GE(stay, 9s - kLongestStart);
}

// A leader whose machine dies and comes back, again and again, and is by far the best: each time
// the command moves away, because it must, and back no sooner than the other has led for min-stay.
TEST_F(LiveGroup, DoesNotMoveBackMoreOftenThanMinStayAllows) {
  const auto stand_best = [&] { stand(0, "--criterion weight=1000 --min-stay 9s"); };
  stand_best();
  stand(1, "--criterion weight=10 --min-stay 9s");
  ASSERT_TRUE(runs_on(0));
  for (int i = 0; i < 4 && stays().size() < 2; ++i) {
    site->kill_all(0);
    end(*std::exchange(candidates_[0], nullptr));
    ASSERT_TRUE(runs_on(1)) << "it does not move away";
    site->start(0);
    ASSERT_TRUE(wait_for([] { return site->ready(); }));
    stand_best();
    ASSERT_TRUE(wait_for([] { return begun().back().host == 0; })) << "it does not move back";
  }
  EXPECT_GE(stays().size(), 2U);
  for (const auto stay : stays()) EXPECT_GE(stay, 9s - kLongestStart);
}

TEST_F(LiveGroup, ForOneJobRunsItOnce) {
  for (std::size_t i = 0; i < kHosts; ++i)
    stand_with(i,
               {"elect", "--socket", site->socket(i), group(), "--once", "--criterion",
                fmt::format("weight={}", 10 * i)},
               fmt::format("echo {} >> {}; exit 7", i, site->file("jobs")));
  std::vector<Ended> ended;
  for (auto& candidate : candidates_) {
    ended.push_back(candidate->wait());
    candidate.reset();
  }
  std::ifstream in(site->file("jobs"));
  std::string who;
  ASSERT_TRUE(std::getline(in, who));
  EXPECT_EQ(who, "2");
  EXPECT_FALSE(std::getline(in, who)) << "twice";
  EXPECT_EQ(ended[2].status, 7);
  EXPECT_EQ(ended[0].status, 0);
  EXPECT_THAT(ended[0].err, HasSubstr("was done by host2"));
}

TEST_F(LiveGroup, CanBeWatched) {
  Child watch(words_of("watch-group --socket " + site->socket(2) + ' ' + group()));
  stand(0, "--criterion weight=1");
  ASSERT_TRUE(runs_on(0));
  ASSERT_TRUE(wait_for([] { return site->ask(2, "leader", group()).out == "host0\n"; }));
  kill(watch.id(), SIGTERM);
  const Ended seen = watch.wait();
  EXPECT_THAT(seen.out, HasSubstr("nobody leads " + group()));
  EXPECT_THAT(seen.out,
              HasSubstr(fmt::format("host0 leads {}, term {}\n", group(), runs().back().term)));
}

TEST_F(LiveGroup, PassesOnHowTheCommandEnds) {
  stand_with(0, {"elect", "--socket", site->socket(0), group(), "--criterion", "id"}, "exit 9");
  EXPECT_EQ(candidates_[0]->wait().status, 9);
  candidates_[0].reset();
}

TEST_F(LiveGroup, BadWishesAreRefusedAndChangeNothing) {
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
              HasSubstr("take one of a, b1, c, ring, ring-anonymous, b2"));
  EXPECT_EQ(refused("--criterion beauty").first, 2);
  EXPECT_THAT(refused("--criterion weight=much").second, HasSubstr("'weight=5'"));
  EXPECT_EQ(refused("--criterion cmd=true").first, 2);
  EXPECT_EQ(refused("--min-stay soon").first, 2);
  EXPECT_THAT(refused("", "two words").second, HasSubstr("no spaces"));
  EXPECT_EQ(site->ask(0, "leader", group()).status, 1);
  stand(0, "--criterion weight=1");
  ASSERT_TRUE(runs_on(0));
  EXPECT_THAT(refused("--criterion weight=2").second, HasSubstr("one candidate a host"));
}

TEST_F(LiveGroup, IsForProgramsToo) {
  auto election = Election::stand(group(), {.capacity = 5, .min_stay = 1s}, site->socket(0));
  ASSERT_TRUE(election) << election.error().sentence;
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

// Nobody may lead in time, so that there is no network time: elections are held by C, and it is
// said.
TEST(GroupWithoutTime, IsLedByTheHeaviestAllTheSame) {
  const Site site("--set may-lead=false");
  ASSERT_TRUE(wait_for([&] { return site.ready(); }));
  const auto groups_of = [&](std::size_t host) { return site.ask(host, "groups").out; };
  for (const std::string algorithm : {"a", "b1"}) {
    std::vector<std::unique_ptr<Child>> candidates;
    for (std::size_t i = 0; i < kHosts; ++i)
      candidates.push_back(std::make_unique<Child>(
          words_of(fmt::format("elect --socket {} {} --algorithm {} --min-stay 1s --criterion "
                               "weight={} -- sleep 1000",
                               site.socket(i), algorithm, algorithm, 10 + 40 * i))));
    EXPECT_TRUE(wait_for([&] {
      return site.ask(0, "leader", algorithm).out == "host2\n" &&
             groups_of(2).find(algorithm + ", held by c") != std::string::npos;
    })) << groups_of(2);
    for (const auto& candidate : candidates) kill(candidate->id(), SIGKILL);
    for (const auto& candidate : candidates) candidate->wait();
  }
  EXPECT_THAT(site.ask(0, "status").out, HasSubstr("unsynchronized"));
}

TEST(ElectCommand, WithoutADaemonSaysSo) {
  const Ended ended =
      Child(words_of("elect --socket /nonexistent/sock --criterion id x -- true")).wait();
  EXPECT_EQ(ended.status, 102);
  EXPECT_THAT(ended.err, HasSubstr("tempod is not running here"));
}

TEST(ElectCommand, BadUsageRunsNothing) {
  EXPECT_EQ(Child(words_of("elect x")).wait().status, 2);
  EXPECT_EQ(Child(words_of("elect")).wait().status, 2);
  EXPECT_EQ(Child(words_of("leader")).wait().status, 2);
}

}  // namespace
}  // namespace tempo
