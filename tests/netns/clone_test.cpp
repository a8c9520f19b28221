// Machines with the same identity, and networks with two voting sets: real daemons whose accidents
// once gave one lock to two holders.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "netns.h"
#include "tempo/lock.h"

namespace tempo::testbed {
namespace {

namespace fs = std::filesystem;

Site::Options voters(const char* count) {
  return {
      .tempod = TEMPO_TEMPOD,
      .profile = "fast",
      .key = true,
      .arguments = {"--set", std::string("locks.expect=") + count, "--set", "locks.lease-ms=1000"}};
}

std::string guarantee(const Host& host) {
  const auto status = host.status();
  return status ? status->locks : "";
}
bool says(const Host& host, std::string_view text) { return guarantee(host).contains(text); }
bool warns(const Host& host, std::string_view text) {
  const auto status = host.status();
  if (!status) return false;
  return std::ranges::any_of(status->warnings,
                             [&](const std::string& warning) { return warning.contains(text); });
}

// The token of a lock that is released at once; 0: it was not granted in this time.
std::uint64_t token_from(const Host& host, Nanos wait) {
  auto locks = Locks::connect(host.socket(), 10s);
  if (!locks) return 0;
  auto lock = locks->acquire("door", {.wait = wait});
  if (!lock) return 0;
  const std::uint64_t token = lock->token();
  lock->release();
  return token;
}

// `tempo doctor` names the problem, with its cause and its cure.
void expect_problem(const Host& host, const std::string& code, const std::string& evidence) {
  const auto reply = host.ask({.verb = ipc::Verb::doctor, .by_ns = {}, .to_ns = {}}, 5s);
  ASSERT_TRUE(reply) << host.name();
  const auto findings = ipc::findings_of(*reply);
  ASSERT_TRUE(findings) << host.name();
  const auto found = std::ranges::find(*findings, code, &ipc::Finding::code);
  ASSERT_NE(found, findings->end()) << host.name() << " does not report " << code;
  EXPECT_EQ(found->level, "problem");
  EXPECT_TRUE(found->evidence.contains(evidence)) << found->evidence;
  EXPECT_FALSE(found->cure.empty());
}

class LiveClone : public Netns {};
class LiveSets : public Netns {};
class LiveAgain : public Netns {};

// Voters {1, 3} and {2, the clone of 3}, cut apart before the clone starts: for each side a
// majority answers. Two clients once held the lock for 3.7 s, with one token.
TEST_F(LiveClone, TwoPartsWithACloneNeverHaveTwoHolders) {
  Site site(voters("3"));
  site.add({.machine_id = "first"});
  site.add({.far = true, .machine_id = "second"});
  site.add({.machine_id = "third"});
  const std::string copy = site.directory() + "/copy";
  site.add({.far = true, .machine_id = "third", .state = copy});
  for (const std::size_t i : {0U, 1U, 2U}) site.host(i).start();
  ASSERT_TRUE(site.wait(30s, [&] {
    return says(site.host(0), "3 voters;") && says(site.host(1), "3 voters;") &&
           says(site.host(2), "3 voters;");
  })) << logs(site);
  ASSERT_NE(token_from(site.host(1), 10s), 0U) << logs(site);

  site.set_trunk(false);
  fs::create_directory(copy);
  for (const char* name : {"locks", "locks.old", "state"}) {
    const fs::path file = fs::path(site.host(2).directory()) / name;
    if (fs::exists(file)) fs::copy_file(file, fs::path(copy) / name);
  }
  site.host(3).start();
  auto locks = Locks::connect(site.host(0).socket(), 10s);
  ASSERT_TRUE(locks);
  auto held = locks->acquire("door", {.wait = 20s});
  ASSERT_TRUE(held) << held.error().message << logs(site);
  for (const std::size_t beyond : {1U, 3U})
    EXPECT_EQ(token_from(site.host(beyond), 2s), 0U) << "two holders\n" << logs(site);
  EXPECT_GT(held->remaining(), 0ns);
  EXPECT_TRUE(says(site.host(3), "no locks")) << guarantee(site.host(3));

  // When they hear each other, both stop voting and leading and say so.
  site.set_trunk(true);
  for (const std::size_t i : {2U, 3U})
    EXPECT_TRUE(site.wait(30s, [&] {
      return warns(site.host(i), "another machine has the same id") &&
             says(site.host(i), "votes on no lock");
    })) << logs(site);
  for (const std::size_t i : {2U, 3U})
    expect_problem(site.host(i), "T027", "another process with id");
}

// The parent of tempod writes no record that takes a count or an incarnation back; a copied
// directory is noticed; a majority of lost records needs an operator, and tokens go on above those
// of the record that is left.
TEST_F(LiveAgain, VotersBeginAgainAboveEveryTokenOnDisk) {
  Site site(voters("3"));
  for (int i = 0; i < 3; ++i) site.add();
  site.start_all();
  const auto all_vote = [&] {
    for (std::size_t i = 0; i < 3; ++i)
      if (!says(site.host(i), "3 voters;")) return false;
    return true;
  };
  ASSERT_TRUE(site.wait(30s, all_vote)) << logs(site);
  const std::uint64_t before = token_from(site.host(0), 10s);
  ASSERT_NE(before, 0U);
  for (std::size_t i = 0; i < 3; ++i) site.host(i).stop();
  for (const std::size_t i : {0U, 1U})
    for (const char* name : {"locks", "locks.old"})
      std::ofstream(fs::path(site.host(i).directory()) / name) << "damaged";
  site.start_all();
  ASSERT_TRUE(site.wait(20s, [&] { return says(site.host(0), "is lost"); })) << logs(site);
  EXPECT_EQ(token_from(site.host(2), 2s), 0U) << "a minority";
  ipc::Request again{.verb = ipc::Verb::bootstrap_again, .by_ns = {}, .to_ns = {}};
  again.above = before + (std::uint64_t{1000} << 24);
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(site.wait(20s, [&] { return site.host(i).ask(again, 5s).has_value(); }))
        << logs(site);
  }
  std::uint64_t after = 0;
  ASSERT_TRUE(site.wait(40s, [&] { return (after = token_from(site.host(1), 2s)) != 0; }))
      << logs(site);
  EXPECT_GT(after, again.above);
}

// Sixteen machines, eight of which vote, in two halves. They start in some order, and the halves
// meet before, while or after they agree on voters. Under make soak there are twenty such stories.
constexpr int kSiteSize = 16;

std::set<std::string> voters_of(const Host& host) {
  std::set<std::string> names;
  const auto reply = host.ask({.verb = ipc::Verb::locks, .by_ns = {}, .to_ns = {}}, 2s);
  if (!reply) return names;
  const auto view = ipc::locks_view_of(*reply);
  if (view)
    for (const ipc::VoterView& voter : view->voters) names.insert(voter.host);
  return names;
}

// One story; returns the number of voting sets that agreed.
std::size_t meet(Site& site, std::uint64_t seed, std::map<std::uint64_t, std::string>& tokens) {
  Stream chance(seed, 0, 0);
  std::vector<std::size_t> order(kSiteSize);
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[chance.below(i)]);
  const auto spread = static_cast<std::int64_t>(chance.below(8000));
  const Nanos meeting{static_cast<std::int64_t>(chance.below(16'000)) * 1'000'000};
  const auto start = std::chrono::steady_clock::now();
  const auto wait_until = [&](Nanos at) { std::this_thread::sleep_until(start + at); };
  bool met = false;
  site.set_trunk(false);
  for (int i = 0; i < kSiteSize; ++i) {
    const Nanos at{spread * i / kSiteSize * 1'000'000};
    if (!met && at >= meeting) {
      wait_until(meeting);
      site.set_trunk(true);
      met = true;
    }
    wait_until(at);
    site.host(order[static_cast<std::size_t>(i)]).start();
  }
  // Clients on both sides take locks while the halves do not hear each other, and later.
  const auto lock_on = [&](std::size_t i, Nanos wait) {
    const std::uint64_t token = token_from(site.host(i), wait);
    if (token == 0) return;
    const auto [at, fresh] = tokens.emplace(token, site.host(i).name());
    EXPECT_TRUE(fresh) << "seed " << seed << ": token " << token << " on " << at->second << " and "
                       << site.host(i).name() << '\n';
  };
  while (!met && std::chrono::steady_clock::now() < start + meeting)
    for (const std::size_t i : {0U, 1U}) lock_on(i, 500ms);
  site.set_trunk(true);
  std::map<std::set<std::string>, int> sets;
  const auto told = [&] {
    sets.clear();
    int warned = 0;
    for (std::size_t i = 0; i < site.size(); ++i) {
      if (const auto voters = voters_of(site.host(i)); !voters.empty()) ++sets[voters];
      if (warns(site.host(i), "two voting sets") && says(site.host(i), "locks are not safe"))
        ++warned;
    }
    return sets.size() <= 1 || warned == kSiteSize;
  };
  EXPECT_TRUE(site.wait(60s, [&] { return site.master() >= 0 && told(); }))
      << "seed " << seed << ": " << sets.size() << " sets";
  for (std::size_t i = 0; i < site.size(); ++i) lock_on(i, 300ms);
  EXPECT_TRUE(told()) << "seed " << seed << ": a set agreed after the halves met";
  return sets.size();
}

TEST_F(LiveSets, TwoHalvesThatMeetInAnyOrderAreReportedOrAgree) {
  if (std::getenv("TEMPO_SOAK") == nullptr) GTEST_SKIP() << "runs in make soak";
  std::map<std::size_t, int> outcomes;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Site site(voters("8"));
    for (int i = 0; i < kSiteSize; ++i) site.add({.far = i % 2 == 1});
    std::map<std::uint64_t, std::string> tokens;
    const std::size_t sets = meet(site, seed, tokens);
    ++outcomes[sets];
    std::printf("seed %2d: %zu voting sets, %zu locks\n", static_cast<int>(seed), sets,
                tokens.size());
    ASSERT_FALSE(HasFailure()) << logs(site);
  }
  EXPECT_GT(outcomes[2], 0) << "no two sets met";
}

TEST_F(LiveSets, TwoHalvesThatMeetReportEachOther) {
  Site site(voters("8"));
  for (int i = 0; i < kSiteSize; ++i) site.add({.far = i % 2 == 1});
  site.set_trunk(false);
  site.start_all();
  const auto all = [&](auto has) {
    for (std::size_t i = 0; i < site.size(); ++i)
      if (!has(site.host(i))) return false;
    return true;
  };
  ASSERT_TRUE(site.wait(60s, [&] {
    return all([](const Host& host) { return says(host, "8 voters;"); });
  })) << logs(site);
  const std::uint64_t near = token_from(site.host(0), 10s);
  const std::uint64_t far = token_from(site.host(1), 10s);
  EXPECT_NE(near, 0U) << logs(site);
  EXPECT_NE(far, 0U) << logs(site);
  EXPECT_NE(near, far);
  site.set_trunk(true);
  EXPECT_TRUE(site.wait(40s, [&] {
    return all([](const Host& host) { return warns(host, "two voting sets"); });
  })) << logs(site);
  EXPECT_TRUE(says(site.host(0), "locks are not safe: two voting sets")) << guarantee(site.host(0));
  for (const std::size_t i : {0U, 1U}) expect_problem(site.host(i), "T025", "two voting sets");
}

// Twice as many machines as voters could agree on two sets: none agrees until the voters are named.
TEST_F(LiveSets, TooManyMachinesNeedNamedVoters) {
  Site site(voters("2"));
  for (int i = 0; i < 4; ++i) site.add();
  site.start_all();
  EXPECT_TRUE(site.wait(30s, [&] { return says(site.host(0), "set 'voters = [...]'"); }))
      << logs(site);
  EXPECT_EQ(token_from(site.host(0), 2s), 0U);
  Site named(Site::Options{.tempod = TEMPO_TEMPOD,
                           .profile = "fast",
                           .key = true,
                           .arguments = {"--set", "locks.voters=host1,host3"}});
  for (int i = 0; i < 4; ++i) named.add();
  named.start_all();
  EXPECT_TRUE(named.wait(30s, [&] {
    return says(named.host(0), "2 voters;") && says(named.host(3), "2 voters;");
  })) << logs(named);
  EXPECT_NE(token_from(named.host(3), 10s), 0U) << "a machine without a vote can lock";
}

}  // namespace
}  // namespace tempo::testbed
