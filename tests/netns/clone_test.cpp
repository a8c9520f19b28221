// Machines with the same identity, and networks with two voting sets: real daemons whose accidents
// once gave one lock to two holders.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

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

// Sixteen machines, eight of which vote; two halves that start without hearing each other.
TEST_F(LiveSets, TwoHalvesThatMeetReportEachOther) {
  constexpr int kHosts = 16;
  Site site(voters("8"));
  for (int i = 0; i < kHosts; ++i) site.add({.far = i % 2 == 1});
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
