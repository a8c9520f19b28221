// Hosts with lease services and clients, on a network that delivers at once.
#include "protocol/lock/lease_service.h"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/lock/lock_test_network.h"

namespace tempo::locks {
namespace {

using ::testing::HasSubstr;

class LeaseNetwork : public LockNetwork<LeaseService> {
 public:
  // The first `voters` hosts vote.
  explicit LeaseNetwork(std::uint32_t hosts, std::uint32_t voters = 3,
                        lock::lease::Rules rules = {}, bool available = false)
      : LockNetwork(hosts), rules_(rules), available_(available), notices_(hosts) {
    for (std::uint32_t i = 0; i < voters; ++i) voters_.push_back(host(i));
    start_all();
    pass(5s);  // abstention is over
    clear_sent();
  }

  // False: refused.
  bool change(std::uint32_t at, std::uint32_t member, std::uint8_t votes) {
    notices_[at].change_refused = false;
    command(at, LeaseService::ChangeVotes{host(member), votes});
    return !notices_[at].change_refused;
  }
  int changes(std::uint32_t at) const { return notices_[at].changes; }
  HostId takes_part(std::uint32_t at) const { return notices_[at].takes_part; }

  void acquire(std::uint32_t at, std::uint32_t client, std::string_view name,
               Mode mode = Mode::exclusive, Nanos lease = Nanos{0}) {
    command(at, Acquire{.client = ClientId{client},
                        .name = std::string(name),
                        .mode = mode,
                        .network_us = ++ticket_,
                        .lease = lease});
  }
  void release(std::uint32_t at, std::uint32_t client) { command(at, Release{ClientId{client}}); }
  // Why a request is refused, as users see it; empty: it is not.
  std::string refusal(std::uint32_t at, const Acquire& request) {
    notices_[at].updates.erase(request.client);
    command(at, request);
    const auto update = last_update(at, std::to_underlying(request.client));
    if (!update || update->kind != LockUpdate::Kind::refused) return "";
    return refusal_text(update->refusal, update->lock, rules_.longest);
  }

  // The last update that this client received; unset: none.
  std::optional<LockUpdate> last_update(std::uint32_t at, std::uint32_t client) const {
    const auto found = notices_[at].updates.find(ClientId{client});
    return found == notices_[at].updates.end() ? std::nullopt : std::optional(found->second);
  }
  bool inside(std::uint32_t at, std::uint32_t client) const {
    const auto update = last_update(at, client);
    return update && (update->kind == LockUpdate::Kind::granted ||
                      update->kind == LockUpdate::Kind::extended);
  }
  Token token(std::uint32_t at, std::uint32_t client) const {
    return notices_[at].tokens.at(ClientId{client});
  }

 private:
  struct Notices {
    int changes = 0;
    bool change_refused = false;
    HostId takes_part = kNoHost;
    std::map<ClientId, LockUpdate> updates{};
    std::map<ClientId, Token> tokens{};
  };

  LeaseService make(std::uint32_t at, Incarnation /*life*/,
                    const std::optional<Saved>& disk) override {
    return LeaseService({.self = host(at),
                         .voters = voters_,
                         .hosts = &hosts_,
                         .rules = rules_,
                         .saved = disk,
                         .available = available_});
  }
  void noticed(std::uint32_t at, const LeaseService::Notice& notice) override {
    Notices& notices = notices_[at];
    if (std::holds_alternative<LeaseService::VotersChanged>(notice)) ++notices.changes;
    if (std::holds_alternative<LeaseService::ChangeRefused>(notice)) notices.change_refused = true;
    if (const auto* part = std::get_if<LeaseService::TakesPart>(&notice))
      notices.takes_part = part->host;
    if (const auto* update = std::get_if<LockUpdate>(&notice)) {
      notices.updates[update->client] = *update;
      if (update->kind == LockUpdate::Kind::granted) notices.tokens[update->client] = update->token;
    }
  }

  lock::lease::Rules rules_;
  bool available_;
  std::vector<HostId> voters_;
  std::vector<Notices> notices_;
  std::uint64_t ticket_ = 0;
};

TEST(LeaseService, GrantsToOneClientAtATimeInOrder) {
  LeaseNetwork network(3);
  network.acquire(0, 1, "door");
  EXPECT_TRUE(network.inside(0, 1));
  network.acquire(1, 2, "door");
  network.acquire(2, 3, "door");
  EXPECT_FALSE(network.inside(1, 2) || network.inside(2, 3));
  network.release(0, 1);
  EXPECT_TRUE(network.inside(1, 2));
  EXPECT_FALSE(network.inside(2, 3));
  network.release(1, 2);
  EXPECT_TRUE(network.inside(2, 3));
  EXPECT_LT(network.token(0, 1), network.token(1, 2));
  EXPECT_LT(network.token(1, 2), network.token(2, 3));
}

// When the holder releases the lock, the waiter gets it at once: also right after an extension,
// when more than a lease is left since the waiter's last message.
TEST(LeaseService, HandsOverAtOnceAtAnyTime) {
  for (Nanos held = 0ms; held < 2s; held += 20ms) {
    LeaseNetwork network(3);
    network.acquire(0, 1, "door");
    network.acquire(1, 2, "door");
    network.pass(held);
    network.release(0, 1);
    EXPECT_TRUE(network.inside(1, 2)) << "held for " << held / 1ms << " ms";
  }
}

TEST(LeaseService, LocksOfDifferentNamesAreIndependent) {
  LeaseNetwork network(3);
  network.acquire(0, 1, "door");
  network.acquire(1, 2, "window");
  EXPECT_TRUE(network.inside(0, 1) && network.inside(1, 2));
}

TEST(LeaseService, ReadersShareTheLockWritersDoNot) {
  LeaseNetwork network(3);
  network.acquire(0, 1, "plan", Mode::shared);
  network.acquire(1, 2, "plan", Mode::shared);
  EXPECT_TRUE(network.inside(0, 1) && network.inside(1, 2));
  network.acquire(2, 3, "plan");
  EXPECT_FALSE(network.inside(2, 3));
  network.release(0, 1);
  network.release(1, 2);
  network.pass(5s);
  EXPECT_TRUE(network.inside(2, 3));
}

// Limits of the live lock: acquiring a new lock costs at most three datagrams; acquiring one that
// was locked on this host before costs none.
TEST(LeaseService, CostsAlmostNoDatagrams) {
  LeaseNetwork network(3);
  network.acquire(0, 1, "fresh");
  EXPECT_LE(network.sent().size(), 3U);
  network.release(0, 1);
  const std::size_t before = network.sent().size();
  network.acquire(0, 2, "fresh");
  EXPECT_TRUE(network.inside(0, 2));
  EXPECT_EQ(network.sent().size(), before);
}

TEST(LeaseService, AHostWithoutAVoteCanLock) {
  LeaseNetwork network(5);
  network.acquire(4, 1, "door");
  EXPECT_TRUE(network.inside(4, 1));
  network.acquire(3, 2, "door");
  network.acquire(0, 3, "door");
  network.release(4, 1);
  EXPECT_TRUE(network.inside(3, 2));
  network.release(3, 2);
  EXPECT_TRUE(network.inside(0, 3));
}

TEST(LeaseService, TheLeaseOfADeadHostEnds) {
  LeaseNetwork network(3);
  network.acquire(0, 1, "door");
  network.kill(0);
  network.acquire(1, 2, "door");
  EXPECT_FALSE(network.inside(1, 2));
  network.pass(4s);
  EXPECT_TRUE(network.inside(1, 2));
  EXPECT_LT(network.token(0, 1), network.token(1, 2));
}

TEST(LeaseService, WithoutAMajorityLocksAreLostAndNotGranted) {
  LeaseNetwork network(3);
  network.acquire(0, 1, "door");
  network.kill(1);
  network.kill(2);
  network.pass(5s);
  EXPECT_EQ(network.last_update(0, 1)->kind, LockUpdate::Kind::lost);
  network.acquire(0, 2, "door");
  network.pass(5s);
  EXPECT_FALSE(network.inside(0, 2));
}

// A machine is gone for good: it loses its vote, and two of two voters are enough. Then another
// machine gets a vote, and any one of three may fail.
TEST(LeaseService, RemovesAndAddsAVote) {
  LeaseNetwork network(4);
  network.kill(2);
  ASSERT_TRUE(network.change(0, 2, 0));
  EXPECT_EQ(network.changes(0), 1);
  EXPECT_EQ(network.changes(3), 1) << "a host without a vote learns it too";
  EXPECT_FALSE(network.machine(1).view().votes_for(NodeId{2}));
  network.acquire(3, 1, "door");
  EXPECT_TRUE(network.inside(3, 1));
  network.release(3, 1);
  ASSERT_TRUE(network.change(1, 3, 1));
  network.pass(5s);
  EXPECT_TRUE(network.machine(0).view().votes_for(NodeId{3}));
  network.kill(1);
  network.acquire(0, 2, "door");
  network.pass(5s);
  EXPECT_TRUE(network.inside(0, 2)) << "0 and 3 are two of three";
  EXPECT_LT(network.token(3, 1), network.token(0, 2));
}

TEST(LeaseService, AReturningHostLearnsTheViewFromDisk) {
  LeaseNetwork network(3);
  network.kill(2);
  ASSERT_TRUE(network.change(0, 2, 0));
  ASSERT_TRUE(network.disk(1));
  EXPECT_EQ(network.disk(1)->view.number, 2U);
  EXPECT_EQ(network.disk(1)->view.slots.size(), 2U);
  network.kill(0);
  network.kill(1);
  network.start(0);
  network.start(1);
  EXPECT_EQ(network.machine(0).view().number, 2U);
  network.start(2);
  network.pass(5s);
  EXPECT_EQ(network.machine(2).view().number, 1U);
  network.acquire(2, 1, "door");
  network.pass(5s);
  EXPECT_EQ(network.machine(2).view().number, 2U);
  EXPECT_TRUE(network.inside(2, 1)) << "a host without a vote can still lock";
}

TEST(LeaseService, NeedsAMajorityToRemoveAVote) {
  LeaseNetwork network(3);
  network.kill(1);
  network.kill(2);
  ASSERT_TRUE(network.change(0, 2, 0));
  network.pass(20s);
  EXPECT_EQ(network.machine(0).view().number, 1U);
  network.command(0, LeaseService::GiveUpChange{});
  ASSERT_FALSE(network.change(0, 2, 2) && network.change(0, 1, 2)) << "only one vote at a time";
}

TEST(LeaseService, RefusesImpossibleChanges) {
  LeaseNetwork network(2, 1);
  EXPECT_FALSE(network.change(0, 0, 0)) << "no voter would remain";
  EXPECT_FALSE(network.change(0, 1, 2)) << "two votes at once";
  EXPECT_TRUE(network.change(0, 1, 1));
  network.pass(5s);
  EXPECT_EQ(network.machine(1).view().number, 2U);
}

// With this policy each host continues alone, so both clients are inside; their tokens differ.
TEST(LeaseService, AvailableMeansUnsafe) {
  LeaseNetwork network(2, 2, {}, true);
  network.acquire(0, 1, "door");
  EXPECT_TRUE(network.inside(0, 1));
  network.release(0, 1);
  network.kill(0);
  network.acquire(1, 2, "door");
  network.pass(5s);
  EXPECT_TRUE(network.inside(1, 2));
  EXPECT_FALSE(network.change(1, 0, 0));
  LeaseNetwork strict(2, 2);
  strict.kill(0);
  strict.acquire(1, 2, "door");
  strict.pass(5s);
  EXPECT_FALSE(strict.inside(1, 2));
}

TEST(LeaseService, DoesNotPromiseALeaseLongerThanItsLongest) {
  LeaseNetwork network(3);
  wire::LockBody body{.kind = 0, .name = wire::LockName("door"), .view = 1, .boot = 9};
  body.ballot = {1'000'000, host(1)};
  body.length = 3s;
  const std::uint64_t before = network.machine(0).dropped();
  network.receive(0, 1, body);
  EXPECT_EQ(network.machine(0).dropped(), before + 1);
  EXPECT_TRUE(network.machine(0).known(network.now()).empty());
}

TEST(LeaseService, RefusesBadNamesWithAReason) {
  LeaseNetwork network(1, 1);
  const auto why = [&](std::string_view name) {
    return network.refusal(0, {.client = ClientId{1}, .name = std::string(name)});
  };
  EXPECT_THAT(why(""), HasSubstr("1 to 64"));
  EXPECT_THAT(why(std::string(65, 'x')), HasSubstr("longer than 64"));
  EXPECT_THAT(why("two words"), HasSubstr("has a space"));
  EXPECT_THAT(why("caf\xc3\xa9"), HasSubstr("ASCII"));
  EXPECT_EQ(why(std::string(64, 'x')), "");
}

// A client gets the lease length that it asks for; an invalid length is refused with the cure.
TEST(LeaseService, GrantsTheRequestedLeaseLength) {
  LeaseNetwork network(3, 3, {.longest = 10s});
  network.pass(10s);
  network.acquire(0, 1, "long", Mode::exclusive, 10s);
  ASSERT_TRUE(network.inside(0, 1));
  EXPECT_GT(network.last_update(0, 1)->deadline, network.now() + 9s);
  network.acquire(0, 2, "short", Mode::exclusive, 40ms);
  ASSERT_TRUE(network.inside(0, 2));
  EXPECT_LT(network.last_update(0, 2)->deadline, network.now() + 40ms);
  for (const Nanos wrong : {Nanos{10s + 1ns}, Nanos{40ms - 1ns}, Nanos{-1}}) {
    EXPECT_THAT(network.refusal(0, {.client = ClientId{3}, .name = "wrong", .lease = wrong}),
                HasSubstr("40ms to 10s long on this machine; for longer leases raise "));
  }
}

TEST(LeaseService, ManyNamesComeAndGo) {
  LeaseNetwork network(3);
  for (std::uint32_t i = 0; i < 3 * lock::lease::kMaxLocks; ++i) {
    ASSERT_EQ(network.refusal(0, {.client = ClientId{i}, .name = "name" + std::to_string(i)}), "")
        << i;
    network.release(0, i);
    network.pass(1ms);
    network.clear_sent();
  }
}

TEST(LeaseService, RefusesTooManyClients) {
  constexpr std::uint32_t kClients = 4096;
  constexpr auto kOfOneLock = static_cast<std::uint32_t>(lock::lease::kMaxClients);
  LeaseNetwork network(3);
  for (std::uint32_t i = 0; i < kClients; ++i)
    network.acquire(0, i, "door" + std::to_string(i / kOfOneLock));
  const Acquire one_more{.client = ClientId{kClients}, .name = "more"};
  EXPECT_THAT(network.refusal(0, one_more), HasSubstr("too many clients"));
  network.release(0, kClients - 1);
  EXPECT_EQ(network.refusal(0, one_more), "");
}

TEST(LeaseService, RefusesTooManyClientsOfOneLock) {
  constexpr auto kOfOneLock = static_cast<std::uint32_t>(lock::lease::kMaxClients);
  LeaseNetwork network(3);
  for (std::uint32_t i = 0; i <= kOfOneLock; ++i) network.acquire(0, i, "door");
  EXPECT_TRUE(network.inside(0, 0));
  EXPECT_FALSE(network.last_update(0, kOfOneLock - 1)) << "the last one that fits waits";
  ASSERT_TRUE(network.last_update(0, kOfOneLock));
  EXPECT_EQ(network.last_update(0, kOfOneLock)->kind, LockUpdate::Kind::refused);
  EXPECT_EQ(network.last_update(0, kOfOneLock)->refusal, Refusal::queue_full);
  network.acquire(0, kOfOneLock, "window");
  EXPECT_TRUE(network.inside(0, kOfOneLock)) << "it may acquire another lock";
}

// On every voter, from the first message to the end of the promises.
TEST(LeaseService, KnowsWhichNamesAreInUse) {
  LeaseNetwork network(3);
  EXPECT_FALSE(network.machine(1).uses(network.now(), "door"));
  network.acquire(0, 1, "door");
  for (const std::uint32_t at : {0U, 1U, 2U})
    EXPECT_TRUE(network.machine(at).uses(network.now(), "door")) << at;
  EXPECT_FALSE(network.machine(1).uses(network.now(), "window"));
  network.pass(10s);
  EXPECT_TRUE(network.machine(2).uses(network.now(), "door")) << "the lease is extended";
  network.release(0, 1);
  network.pass(3s);
  for (const std::uint32_t at : {0U, 1U, 2U})
    EXPECT_FALSE(network.machine(at).uses(network.now(), "door")) << at;
}

TEST(LeaseService, ReportsKnownLocks) {
  LeaseNetwork network(3);
  network.acquire(0, 1, "door");
  network.acquire(0, 2, "door");
  const auto here = network.machine(0).known(network.now());
  ASSERT_EQ(here.size(), 1);
  EXPECT_EQ(here[0].name, "door");
  EXPECT_TRUE(here[0].held_here);
  ASSERT_EQ(here[0].clients.size(), 2);
  EXPECT_TRUE(here[0].clients[0].inside);
  EXPECT_FALSE(here[0].clients[1].inside);
  EXPECT_EQ(here[0].clients[0].token, network.token(0, 1));
  network.acquire(2, 3, "door", Mode::shared);
  const auto waits = network.machine(0).known(network.now()).at(0).elsewhere;
  ASSERT_EQ(waits.size(), 1);
  EXPECT_EQ(waits[0].host, host(2));
  EXPECT_EQ(waits[0].mode, Mode::shared);
  EXPECT_EQ(waits[0].ticket, 3U) << "it is the third request";
  const auto there = network.machine(1).known(network.now());
  ASSERT_EQ(there.size(), 1);
  EXPECT_FALSE(there[0].held_here);
  EXPECT_EQ(there[0].holder, host(0));
}

// A host that asks without success was shown as the holder, because its own vote was for itself.
TEST(LeaseService, DoesNotReportAnAttemptAsALease) {
  LeaseNetwork network(3);
  network.kill(0);
  network.kill(2);
  network.acquire(1, 1, "door");
  const auto known = network.machine(1).known(network.now());
  ASSERT_EQ(known.size(), 1);
  EXPECT_EQ(known[0].holder, kNoHost);
}

TEST(LeaseService, AnswersWhetherAHostTakesPart) {
  LeaseNetwork network(4);
  network.command(0, LeaseService::AskRecord{host(3)});
  EXPECT_EQ(network.takes_part(0), host(3));
  network.kill(2);
  network.command(0, LeaseService::AskRecord{host(2)});
  EXPECT_EQ(network.takes_part(0), host(3)) << "no answer";
}

TEST(LeaseService, IgnoresCommandsInWrongStates) {
  LeaseNetwork network(3);
  network.release(0, 1);
  network.command(0, LeaseService::GiveUpChange{});
  network.acquire(0, 1, "door");
  network.acquire(0, 1, "window");
  EXPECT_TRUE(network.inside(0, 1));
  EXPECT_EQ(network.machine(0).known(network.now()).size(), 1U) << "it has a lock already";
  Saved old = *network.disk(0);
  old.boot = lock::lease::Boot{};
  network.command(0, LeaseService::persisted(old));  // of an earlier incarnation
  network.release(0, 1);
  network.acquire(0, 2, "door");
  EXPECT_TRUE(network.inside(0, 2));
}

}  // namespace
}  // namespace tempo::locks
