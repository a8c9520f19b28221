// Limits of the lease service and what it reports, on a network that delivers at once. The scripts
// in testdata/lease show its behaviour.
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
  explicit LeaseNetwork(std::uint32_t hosts, std::uint32_t voters = 3)
      : LockNetwork(hosts), notices_(hosts) {
    for (std::uint32_t i = 0; i < voters; ++i) voters_.push_back(host(i));
    start_all();
    pass(5s);  // abstention is over
  }

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
    std::map<ClientId, LockUpdate> updates{};
    std::map<ClientId, Token> tokens{};
  };

  LeaseService make(std::uint32_t at, Incarnation /*life*/,
                    const std::optional<Saved>& disk) override {
    return LeaseService(
        {.self = host(at), .voters = voters_, .hosts = &hosts_, .rules = rules_, .saved = disk});
  }
  void noticed(std::uint32_t at, const LeaseService::Notice& notice) override {
    Notices& notices = notices_[at];
    if (const auto* update = std::get_if<LockUpdate>(&notice)) {
      notices.updates[update->client] = *update;
      if (update->kind == LockUpdate::Kind::granted) notices.tokens[update->client] = update->token;
    }
  }

  lock::lease::Rules rules_{};
  std::vector<HostId> voters_;
  std::vector<Notices> notices_;
  std::uint64_t ticket_ = 0;
};

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

TEST(LeaseService, ManyNamesComeAndGo) {
  LeaseNetwork network(3);
  for (std::uint32_t i = 0; i < 3 * lock::lease::kMaxLocks; ++i) {
    ASSERT_EQ(network.refusal(0, {.client = ClientId{i}, .name = "name" + std::to_string(i)}), "")
        << i;
    network.release(0, i);
    network.pass(1ms);
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
