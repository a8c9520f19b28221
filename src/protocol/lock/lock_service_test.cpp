// Hosts with all their locks, from the bootstrap of the voters on, on a network that delivers at
// once.
#include "protocol/lock/lock_service.h"

#include <algorithm>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "protocol/lock/lock_test_network.h"

namespace tempo::locks {
namespace {

using lock::lease::TwoNode;
using Stage = LockRecord::Stage;

struct Options {
  std::uint32_t hosts = 3;
  std::uint8_t expected = 3;
  TwoNode policy = TwoNode::strict;
  std::uint32_t policy_host = 0;
};

class HostNetwork : public LockNetwork<LockService> {
 public:
  explicit HostNetwork(const Options& options)
      : LockNetwork(options.hosts), options_(options), notices_(options.hosts) {
    for (std::uint32_t i = 0; i < options.hosts; ++i)
      hosts_.admit(host(i))->name = wire::Name(name(i));
  }
  // All hosts run and serve.
  static std::unique_ptr<HostNetwork> serving(const Options& options = {}) {
    auto network = std::make_unique<HostNetwork>(options);
    network->start_all();
    network->pass(10s);
    return network;
  }

  static std::string name(std::uint32_t at) { return "h" + std::to_string(at); }
  void acquire(std::uint32_t at, std::uint32_t client, LockKind kind = LockKind::lease,
               const std::string& lock = "door", Nanos lease = Nanos{0}) {
    command(at, Acquire{.client = ClientId{client},
                        .name = lock,
                        .kind = kind,
                        .network_us = ++ticket_,
                        .lease = lease});
  }
  void release(std::uint32_t at, std::uint32_t client) { command(at, Release{ClientId{client}}); }
  // The number of the change.
  std::uint64_t change(std::uint32_t at, std::uint32_t member, bool votes) {
    command(at, LockService::ChangeVoters{++changes_, host(member), votes});
    return changes_;
  }

  struct Notices {
    std::map<ClientId, LockUpdate> updates{};  // the last one of each client
    std::vector<std::size_t> agreed{};
    int changed = 0;
    int splits = 0;
    std::map<std::uint64_t, ChangeOutcome> ended{};
  };
  const Notices& notices(std::uint32_t at) const { return notices_[at]; }
  std::optional<LockUpdate> update(std::uint32_t at, std::uint32_t client) const {
    const auto found = notices_[at].updates.find(ClientId{client});
    return found == notices_[at].updates.end() ? std::nullopt : std::optional(found->second);
  }
  bool inside(std::uint32_t at, std::uint32_t client) const {
    const auto last = update(at, client);
    return last &&
           (last->kind == LockUpdate::Kind::granted || last->kind == LockUpdate::Kind::extended);
  }
  std::optional<Refusal> refusal(std::uint32_t at, std::uint32_t client) const {
    const auto last = update(at, client);
    if (!last || last->kind != LockUpdate::Kind::refused) return std::nullopt;
    return last->refusal;
  }
  std::optional<ChangeOutcome> outcome(std::uint32_t at, std::uint64_t change) const {
    const auto found = notices_[at].ended.find(change);
    return found == notices_[at].ended.end() ? std::nullopt : std::optional(found->second);
  }
  // Whether the host has sent a proposal of this stage.
  bool said(std::uint32_t at, Stage stage) const {
    return std::ranges::any_of(sent(), [&](const Sent& one) {
      const auto* body = std::get_if<wire::VoterSetBody>(&one.message);
      return one.from == at && body != nullptr && static_cast<Stage>(body->stage) == stage;
    });
  }

 private:
  LockService make(std::uint32_t at, Incarnation life,
                   const std::optional<LockRecord>& disk) override {
    return LockService({.self = host(at),
                        .life = life,
                        .hosts = &hosts_,
                        .expected = options_.expected,
                        .bounds = {.clean = 20},
                        .policy = options_.policy,
                        .policy_host = name(options_.policy_host),
                        .is_policy_host = at == options_.policy_host,
                        .kernel = "kernel",
                        .record = disk});
  }
  void noticed(std::uint32_t at, const LockService::Notice& notice) override {
    Notices& notices = notices_[at];
    if (const auto* update = std::get_if<LockUpdate>(&notice))
      notices.updates[update->client] = *update;
    if (const auto* agreed = std::get_if<LockService::VotersAgreed>(&notice))
      notices.agreed.push_back(agreed->voters);
    if (std::holds_alternative<LockService::VotersChanged>(notice)) ++notices.changed;
    if (std::holds_alternative<LockService::Split>(notice)) ++notices.splits;
    if (const auto* change = std::get_if<LockService::ChangeEnded>(&notice)) {
      EXPECT_FALSE(notices.ended.contains(change->number)) << "a change ends once";
      notices.ended[change->number] = change->outcome;
    }
  }

  Options options_;
  std::vector<Notices> notices_;
  std::uint64_t ticket_ = 0;
  std::uint64_t changes_ = 0;
};

TEST(LockService, FindsTheVotersAndServes) {
  const auto network = HostNetwork::serving({.hosts = 4});
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(network->notices(i).agreed, std::vector<std::size_t>{3});
    EXPECT_TRUE(network->machine(i).serves(network->now())) << i;
    EXPECT_EQ(network->disk(i)->stage, Stage::committed);
    EXPECT_EQ(network->disk(i)->voters, (std::vector{host(0), host(1), host(2)}));
    EXPECT_TRUE(network->disk(i)->lease) << i;
  }
  EXPECT_EQ(network->machine(0).votes_of(host(2)), 1);
  EXPECT_EQ(network->machine(0).votes_of(host(3)), 0);
  network->acquire(3, 1);
  EXPECT_TRUE(network->inside(3, 1));
  network->acquire(0, 2, LockKind::silent, "bus");
  EXPECT_TRUE(network->comes(5s, [&] { return network->inside(0, 2); }));
  EXPECT_EQ(network->machine(0).known(network->now()).size(), 2U);
}

// The ordering rule: a host says that it is ready only when that is on its disk, and then
// continues from there.
TEST(LockService, SaysThatItIsReadyWhenTheRecordIsDurable) {
  HostNetwork network({});
  network.hold_writes(true);
  network.start_all();
  network.pass(10s);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(network.writes(i).empty());
    EXPECT_EQ(network.writes(i).oldest().record.stage, Stage::ready);
    EXPECT_FALSE(network.said(i, Stage::ready)) << i;
    EXPECT_FALSE(network.disk(i));
  }
  network.kill(2);
  network.start(2);  // its write did not reach the disk
  network.pass(3s);
  EXPECT_FALSE(network.said(2, Stage::ready));
  network.hold_writes(false);
  network.pass(5s);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(network.said(i, Stage::ready)) << i;
    EXPECT_EQ(network.notices(i).agreed.size(), 1U);
    EXPECT_EQ(network.disk(i)->stage, Stage::committed);
  }
}

// One file holds the bootstrap and the leases; a restarted host reads both.
TEST(LockService, ARestartedHostContinuesFromItsRecord) {
  const auto network = HostNetwork::serving();
  network->acquire(0, 1);
  const Saved before = *network->disk(0)->lease;
  network->kill(0);
  network->start(0);
  EXPECT_EQ(network->notices(0).agreed.size(), 2U);
  EXPECT_TRUE(network->machine(0).running());
  EXPECT_FALSE(network->machine(0).serves(network->now())) << "leases may still be valid";
  EXPECT_EQ(std::to_underlying(network->disk(0)->lease->boot), std::to_underlying(before.boot) + 1);
  EXPECT_EQ(network->disk(0)->stage, Stage::committed);
  network->pass(5s);
  network->acquire(0, 2);
  EXPECT_TRUE(network->inside(0, 2));
}

TEST(LockService, ReportsOtherVotersOnce) {
  const auto network = HostNetwork::serving();
  wire::VoterSetBody other{.stage = wire::VoterSetBody::Stage::committed};
  other.voters.push_back(host(2));
  for (int i = 0; i < 3; ++i) network->receive(0, 2, other);
  EXPECT_EQ(network->notices(0).splits, 1);
  EXPECT_TRUE(network->machine(0).split());
}

TEST(LockService, RefusesANameThatIsInUseAsAnotherKind) {
  const auto network = HostNetwork::serving();
  network->acquire(0, 1, LockKind::lease, "a");
  network->acquire(1, 2, LockKind::silent, "a");
  EXPECT_EQ(network->refusal(1, 2), Refusal::used_as_lease);
  EXPECT_EQ(network->update(1, 2)->lock, "a");
  network->acquire(0, 3, LockKind::explicit_replies, "b");
  network->acquire(0, 4, LockKind::lease, "b");
  EXPECT_EQ(network->refusal(0, 4), Refusal::used_as_silent);
  network->acquire(0, 5, LockKind::silent, "c", 1s);
  EXPECT_EQ(network->refusal(0, 5), Refusal::lease_of_other_kind);
}

TEST(LockService, AWitnessVotesButDoesNotLock) {
  const auto network = HostNetwork::serving({.policy = TwoNode::witness, .policy_host = 2});
  network->acquire(2, 1);
  EXPECT_EQ(network->refusal(2, 1), Refusal::witness);
  network->kill(1);
  network->acquire(0, 2);
  EXPECT_TRUE(network->inside(0, 2)) << "with the witness's vote";
}

TEST(LockService, APreferredMachineTakesASecondVote) {
  const auto network = HostNetwork::serving(
      {.hosts = 2, .expected = 2, .policy = TwoNode::preferred, .policy_host = 1});
  EXPECT_EQ(network->machine(0).votes_of(host(1)), 2);
  EXPECT_EQ(network->notices(0).changed, 1);
  EXPECT_EQ(network->outcome(0, network->change(0, 1, false)), ChangeOutcome::preferred);
  network->kill(0);
  network->acquire(1, 1);
  EXPECT_TRUE(network->comes(5s, [&] { return network->inside(1, 1); }));
}

// --- changes of the voters ---

TEST(LockService, GivesAndTakesVotes) {
  const auto network = HostNetwork::serving({.hosts = 4});
  const std::uint64_t admit = network->change(0, 3, true);
  network->pass(5s);
  EXPECT_EQ(network->outcome(0, admit), ChangeOutcome::done);
  EXPECT_EQ(network->machine(1).votes_of(host(3)), 1);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(network->notices(i).changed, 1) << i;
  network->kill(2);
  const std::uint64_t forget = network->change(0, 2, false);
  network->pass(5s);
  EXPECT_EQ(network->outcome(0, forget), ChangeOutcome::done);
  EXPECT_EQ(network->machine(3).votes_of(host(2)), 0);
  EXPECT_FALSE(network->machine(0).changing());
}

TEST(LockService, RefusesImpossibleChanges) {
  const auto network = HostNetwork::serving({.hosts = 2, .expected = 1});
  EXPECT_EQ(network->outcome(0, network->change(0, 0, true)), ChangeOutcome::already);
  EXPECT_EQ(network->outcome(0, network->change(0, 0, false)), ChangeOutcome::last);
  EXPECT_EQ(network->outcome(0, network->change(0, 1, false)), ChangeOutcome::done)
      << "it has no vote";
  const auto available =
      HostNetwork::serving({.hosts = 2, .expected = 2, .policy = TwoNode::available});
  EXPECT_EQ(available->outcome(0, available->change(0, 1, false)), ChangeOutcome::available);
}

TEST(LockService, AChangeEndsWithoutAnAnswer) {
  const auto network = HostNetwork::serving({.hosts = 4});
  network->kill(3);
  const std::uint64_t admit = network->change(0, 3, true);
  EXPECT_EQ(network->outcome(0, network->change(0, 1, false)), ChangeOutcome::busy);
  EXPECT_TRUE(network->machine(0).changing());
  network->pass(10s);
  EXPECT_FALSE(network->outcome(0, admit));
  network->pass(2s);
  EXPECT_EQ(network->outcome(0, admit), ChangeOutcome::no_answer);
  network->kill(1);
  network->kill(2);
  const std::uint64_t forget = network->change(0, 2, false);
  network->pass(12s);
  EXPECT_EQ(network->outcome(0, forget), ChangeOutcome::no_majority);
  EXPECT_EQ(network->machine(0).votes_of(host(2)), 1);
}

// --- commands in wrong states ---

TEST(LockService, RefusesRequestsBeforeTheVotersAreKnown) {
  HostNetwork network({});
  network.start(0);
  network.pass(5s);
  network.acquire(0, 1);
  network.acquire(0, 2, LockKind::silent);
  EXPECT_EQ(network.refusal(0, 1), Refusal::no_voters);
  EXPECT_EQ(network.refusal(0, 2), Refusal::no_voters);
  EXPECT_EQ(network.outcome(0, network.change(0, 1, false)), ChangeOutcome::not_running);
  network.release(0, 1);
  network.command(0, LockService::persisted({.host = host(0), .lease = Saved{}}));
  EXPECT_FALSE(network.machine(0).committed());
  EXPECT_EQ(network.machine(0).heard(), 0U);
  EXPECT_TRUE(network.machine(0).known(network.now()).empty());
}

TEST(LockService, IgnoresCommandsThatItDoesNotExpect) {
  const auto network = HostNetwork::serving();
  network->release(0, 9);
  network->acquire(0, 1);
  network->acquire(0, 1, LockKind::lease, "window");
  EXPECT_EQ(network->machine(0).known(network->now()).size(), 1U) << "the client has a lock";
  LockRecord old = *network->disk(0);
  old.lease->boot = lock::lease::Boot{};
  network->command(0, LockService::persisted(old));
  network->command(0, LockService::persisted({.host = host(0)}));
  network->release(0, 1);
  network->acquire(1, 2);
  EXPECT_TRUE(network->inside(1, 2));
}

// An early timer does no harm.
TEST(LockService, WakesOnlyWhatIsDue) {
  const auto network = HostNetwork::serving();
  network->acquire(0, 1, LockKind::silent);
  EXPECT_NE(network->machine(0).timers().first(), kNever);
  network->release(0, 1);
  network->pass(60s);
  for (std::uint32_t i = 0; i < 3; ++i)
    EXPECT_EQ(network->machine(i).timers().first(), kNever) << i;
}

}  // namespace
}  // namespace tempo::locks
