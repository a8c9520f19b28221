// Changes of the voters while real daemons run, and the policies for two machines.
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lock_daemons.h"
#include "program.h"

namespace tempo {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr auto kLong = 60s;

Ended request(const Daemons& daemons, std::size_t at, const std::string& words) {
  return Child(words_of(words + " --socket " + daemons.socket(at))).wait();
}

testing::AssertionResult come_to(const Daemons& daemons, const std::string& state) {
  if (wait_for(kLong, [&] { return daemons.all_report(state); }))
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "state of the first machine: " << daemons.lock_state(0);
}

int lock(const Daemons& daemons, std::size_t at, const std::string& wait) {
  return Child(daemons.lock(at, "--wait " + wait + " door", "true")).wait().status;
}

// One of three voters is dead: the other two form a majority. It is removed, and a new machine
// takes its place; then locks survive the loss of any one machine again.
TEST(LiveVoters, ADeadMachineIsReplaced) {
  Daemons daemons(3, "", 1);
  ASSERT_TRUE(come_to(daemons, "3 voters; locks survive the loss of 1"));
  EXPECT_THAT(request(daemons, 0, "forget host7").err,
              HasSubstr("no voter is named 'host7'; the voters are"));
  EXPECT_THAT(request(daemons, 0, "admit host7").err, HasSubstr("'tempo members'"));
  EXPECT_THAT(request(daemons, 0, "admit host1").err, HasSubstr("host1 is already a voter"));

  daemons.kill_all(2);
  const Ended forgotten = request(daemons, 0, "forget host2");
  EXPECT_EQ(forgotten.status, 0) << forgotten.err;
  ASSERT_TRUE(come_to(daemons, "2 voters; locks need both"));
  EXPECT_EQ(lock(daemons, 1, "20s"), 0);

  // The voters survive a restart of both.
  for (const std::size_t i : {0UL, 1UL}) daemons.kill_all(i);
  for (const std::size_t i : {0UL, 1UL}) daemons.start(i);
  ASSERT_TRUE(come_to(daemons, "2 voters; locks need both"));

  daemons.start(3);
  ASSERT_TRUE(come_to(daemons, "2 voters; locks need both")) << "it learns it";
  const Ended admitted = request(daemons, 1, "admit host3");
  EXPECT_EQ(admitted.status, 0) << admitted.err;
  ASSERT_TRUE(come_to(daemons, "3 voters; locks survive the loss of 1"));
  daemons.kill_all(0);
  EXPECT_EQ(lock(daemons, 3, "30s"), 0) << "host1 and host3 are two of three";

  // A removed machine returns and learns that it is no voter.
  daemons.start(2);
  ASSERT_TRUE(wait_for(
      kLong, [&] { return daemons.lock_state(2).starts_with("3 voters; locks survive"); }));
  EXPECT_EQ(lock(daemons, 2, "30s"), 0);
  ASSERT_TRUE(come_to(daemons, "3 voters; locks survive the loss of 1"));
  EXPECT_THAT(request(daemons, 2, "forget host2").err, HasSubstr("the voters are"));

  // It takes the place of the machine that died last.
  EXPECT_THAT(request(daemons, 1, "replace host0 host7").err, HasSubstr("nothing was changed"));
  const Ended replaced = request(daemons, 1, "replace host0 host2");
  EXPECT_EQ(replaced.status, 0) << replaced.err;
  ASSERT_TRUE(come_to(daemons, "3 voters; locks survive the loss of 1"));
  EXPECT_THAT(request(daemons, 1, "admit host2").err, HasSubstr("already a voter"));
  EXPECT_THAT(request(daemons, 1, "forget host0").err, HasSubstr("the voters are"));
}

TEST(LiveVoters, ChangesNeedAMajority) {
  Daemons daemons(2);
  ASSERT_TRUE(come_to(daemons, "2 voters; locks need both"));
  daemons.kill_all(1);
  const Ended refused = request(daemons, 0, "forget host1");
  EXPECT_EQ(refused.status, 4);
  EXPECT_THAT(refused.err, HasSubstr("no majority of the voters answers"));
  // Strict: nothing is granted.
  Ended waited;
  ASSERT_TRUE(wait_for(kLong, [&] {
    waited = Child(daemons.lock(0, "--wait 1s door", "true")).wait();
    return waited.status == 105;
  })) << waited.err;
  EXPECT_THAT(waited.err, HasSubstr("lock 'door' was not granted: no locks: 1 of 2 voters "
                                    "reachable, 2 needed; host1 silent for "));
  EXPECT_THAT(waited.err, HasSubstr("; see 'tempo locks --voters'"));
  const std::string voters = request(daemons, 0, "locks --voters").out;
  EXPECT_THAT(voters, HasSubstr("this machine"));
  EXPECT_THAT(voters, HasSubstr("2 of 2 votes are needed, 1 is reachable; no locks are granted"));
  daemons.start(1);
  ASSERT_TRUE(come_to(daemons, "2 voters; locks need both"));
  EXPECT_EQ(lock(daemons, 0, "20s"), 0);
  // A busy machine may answer too late for the first request.
  ASSERT_TRUE(wait_for(kLong, [&] {
    return request(daemons, 0, "forget host1").status == 0 ||
           daemons.lock_state(0) == "1 voter; locks need host0";
  }));
  ASSERT_TRUE(
      wait_for(kLong, [&] { return daemons.lock_state(0) == "1 voter; locks need host0"; }));
  EXPECT_THAT(request(daemons, 0, "forget host0").err, HasSubstr("the only voter"));
}

// tempod carried out an order whose client had ended, as soon as the other voter was back.
TEST(LiveVoters, AnOrderEndsWithItsClient) {
  Daemons daemons(2);
  ASSERT_TRUE(come_to(daemons, "2 voters; locks need both"));
  daemons.kill_all(1);
  Child order(words_of("forget host1 --socket " + daemons.socket(0)));
  ASSERT_TRUE(wait_for(kLong, [&] {
    return request(daemons, 0, "admit host0").err.find("in progress") != std::string::npos;
  }));
  kill(order.id(), SIGINT);
  const Ended ended = order.wait();
  EXPECT_EQ(ended.status, 130);
  EXPECT_THAT(ended.err, HasSubstr("tempod withdraws the order unless it has already taken effect: "
                                   "'tempo locks' shows whether it has"));
  ASSERT_TRUE(wait_for(kLong, [&] {
    return request(daemons, 0, "admit host0").err.find("already a voter") != std::string::npos;
  })) << "no change is in progress";
  daemons.start(1);
  ASSERT_TRUE(wait_for(kLong, [&] { return lock(daemons, 0, "5s") == 0; }));
  EXPECT_EQ(daemons.lock_state(0), "2 voters; locks need both");
}

// A daemon that was stopped carried out the orders of clients that had given up meanwhile.
TEST(LiveVoters, AStoppedDaemonDropsTheOrdersOfClientsThatAreGone) {
  Daemons daemons(1);
  const auto now_s = [&] {
    const json now = data_of(request(daemons, 0, "now --json").out);
    return now.is_object() ? std::stoll(now["time_ns"].get<std::string>()) / 1'000'000'000 : 0;
  };
  ASSERT_TRUE(wait_for(kLong, [&] { return now_s() != 0; }));
  ASSERT_TRUE(
      wait_for(kLong, [&] { return request(daemons, 0, "set-time --by 1ms").status == 0; }));
  const std::int64_t before = now_s();
  daemons.pause(0, true);
  const Ended given_up = request(daemons, 0, "set-time --by 1000h --timeout 50ms");
  daemons.pause(0, false);
  EXPECT_EQ(given_up.status, 3);
  EXPECT_THAT(given_up.err, HasSubstr("did not answer within 50ms; tempod withdraws the order"));
  EXPECT_LT(now_s() - before, 3600);
}

// tempod said "waiting for voters", and only the log said why. It writes the record when it can.
TEST(LiveVoters, ARecordThatCannotBeWrittenIsTheReason) {
  Daemons daemons(1);
  ASSERT_TRUE(come_to(daemons, "1 voter; locks need host0"));
  daemons.stop(0);
  const auto obstacle =
      std::filesystem::path(daemons.socket(0)).parent_path() / "locks.new";  // is written first
  std::filesystem::remove_all(obstacle);
  std::filesystem::create_directory(obstacle);
  daemons.start(0);
  Ended refused;
  EXPECT_TRUE(wait_for(kLong,
                       [&] {
                         refused = Child(daemons.lock(0, "--wait 1s door", "true")).wait();
                         return refused.status == 108;
                       }))
      << refused.status << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("lock 'door' was not granted: no locks: cannot save the lock "
                                     "record: "));
  std::filesystem::remove_all(obstacle);
  EXPECT_TRUE(come_to(daemons, "1 voter; locks need host0"));
  EXPECT_EQ(lock(daemons, 0, "20s"), 0);
}

TEST(LiveVoters, ThePreferredMachineContinuesAlone) {
  Daemons daemons(2, "--set locks.policy=preferred --set locks.policy-host=host0");
  ASSERT_TRUE(come_to(daemons, "2 voters; locks need host0"));
  daemons.kill_all(1);
  EXPECT_EQ(lock(daemons, 0, "20s"), 0);
  EXPECT_THAT(request(daemons, 0, "forget host0").err, HasSubstr("the preferred machine"));
  daemons.start(1);
  ASSERT_TRUE(come_to(daemons, "2 voters; locks need host0"));
  daemons.kill_all(0);
  EXPECT_TRUE(wait_for(kLong, [&] { return lock(daemons, 1, "1s") == 105; }));
}

TEST(LiveVoters, AvailableContinuesAloneAndReportsUnsafe) {
  Daemons daemons(2, "--set locks.policy=available");
  ASSERT_TRUE(come_to(daemons,
                      "2 voters; locks are UNSAFE: each voter grants them alone while the "
                      "other does not answer"));
  EXPECT_THAT(Child(words_of("status --socket " + daemons.socket(0))).wait().out,
              HasSubstr("UNSAFE"));
  EXPECT_EQ(lock(daemons, 0, "20s"), 0);
  daemons.kill_all(0);
  EXPECT_EQ(lock(daemons, 1, "20s"), 0);
}

TEST(LiveVoters, AWitnessVotesButTakesNoLocks) {
  Daemons daemons(3, "--set locks.policy=witness --set locks.policy-host=host2");
  ASSERT_TRUE(come_to(daemons, "3 voters; locks survive the loss of 1"));
  const Ended refused = Child(daemons.lock(2, "door", "true")).wait();
  EXPECT_EQ(refused.status, 103);
  EXPECT_THAT(refused.err, HasSubstr("witness"));
  daemons.kill_all(1);
  EXPECT_EQ(lock(daemons, 0, "20s"), 0);
}

}  // namespace
}  // namespace tempo
