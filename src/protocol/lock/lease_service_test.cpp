// Hosts with lock services and clients, on a network that delivers at once.
#include "protocol/lock/lock_service.h"

#include <deque>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::locks {
namespace {

using ::testing::HasSubstr;

HostId host(std::uint32_t number) { return HostId{100 + number}; }

class ServiceCluster {
 public:
  // The first `voters` hosts vote.
  explicit ServiceCluster(std::uint32_t hosts, std::uint32_t voters = 3,
                          lock::lease::Rules rules = {}, bool available = false)
      : rules_(rules), available_(available) {
    for (std::uint32_t i = 0; i < voters; ++i) voters_.push_back(host(i));
    for (std::uint32_t i = 0; i < hosts; ++i) {
      sites_.push_back(std::make_unique<Site>(*this, i));
      create_service(i);
    }
    for (const auto& site : sites_) site->service->start(now_);
    settle();
    pass(5s);  // abstention is over
    datagrams_ = 0;
  }

  // Restarts the service of this host from its disk.
  void restart(std::uint32_t at) {
    create_service(at);
    sites_[at]->dead = false;
    sites_[at]->service->start(now_);
    settle();
  }
  Result<void> change(std::uint32_t at, std::uint32_t who, std::uint8_t votes) {
    const auto begun = sites_[at]->service->change(now_, host(who), votes);
    settle();
    return begun;
  }
  int changes(std::uint32_t at) const { return sites_[at]->changes; }
  const std::optional<Saved>& disk(std::uint32_t at) const { return sites_[at]->disk; }

  void acquire(std::uint32_t at, std::uint32_t client, std::string_view name,
               Mode mode = Mode::exclusive, Nanos lease = Nanos{0}) {
    ASSERT_TRUE(sites_[at]->service->acquire(now_, {.client = ClientId{client},
                                                    .name = name,
                                                    .mode = mode,
                                                    .network_us = ++ticket_,
                                                    .lease = lease}));
    settle();
  }
  void release(std::uint32_t at, std::uint32_t client) {
    sites_[at]->service->release(now_, ClientId{client});
    settle();
  }
  void pass(Nanos time) {
    const Instant end = now_ + time;
    for (;;) {
      Instant next = end;
      for (const auto& site : sites_)
        if (!site->dead) next = std::min(next, std::max(site->service->due(), now_));
      now_ = next;
      if (now_ >= end) return;
      for (const auto& site : sites_)
        if (!site->dead && site->service->due() <= now_) site->service->on_timer(now_);
      settle();
    }
  }
  void kill(std::uint32_t at) { sites_[at]->dead = true; }

  // The last update that this client received; unset: none.
  std::optional<LockUpdate> last_update(std::uint32_t at, std::uint32_t client) const {
    const auto found = sites_[at]->updates.find(ClientId{client});
    return found == sites_[at]->updates.end() ? std::nullopt : std::optional(found->second);
  }
  bool inside(std::uint32_t at, std::uint32_t client) const {
    const auto update = last_update(at, client);
    return update && (update->kind == LockUpdate::Kind::granted ||
                      update->kind == LockUpdate::Kind::extended);
  }
  Token token(std::uint32_t at, std::uint32_t client) const {
    return sites_[at]->tokens.at(ClientId{client});
  }
  Service& service(std::uint32_t at) { return *sites_[at]->service; }
  int datagrams() const { return datagrams_; }
  Instant now() const { return now_; }

 private:
  void create_service(std::uint32_t i) {
    sites_[i]->service.emplace(
        Service::Start{.self = host(i),
                       .voters = voters_,
                       .hosts = {[](HostId id) {
                                   return NodeId{
                                       static_cast<std::uint32_t>(std::to_underlying(id)) - 100};
                                 },
                                 [](NodeId id) { return host(index(id)); }},
                       .rules = rules_,
                       .saved = sites_[i]->disk,
                       .available = available_},
        draw_, *sites_[i]);
  }

  struct Datagram {
    HostId from, to;  // to kNoHost: broadcast
    wire::LockBody body;
  };
  struct Site final : Driver {
    Site(ServiceCluster& parent, std::uint32_t index) : cluster(&parent), number(index) {}
    void broadcast(const wire::LockBody& body) override {
      ++cluster->datagrams_;
      cluster->in_transit_.push_back({host(number), kNoHost, body});
    }
    void send(HostId to, const wire::LockBody& body) override {
      ++cluster->datagrams_;
      cluster->in_transit_.push_back({host(number), to, body});
    }
    void write(const Saved& saved) override { writing.push_back(saved); }
    void voters_changed() override { ++changes; }
    void notify(ClientId client, const LockUpdate& update) override {
      updates[client] = update;
      if (update.kind == LockUpdate::Kind::granted) tokens[client] = update.token;
    }

    ServiceCluster* cluster;
    std::uint32_t number;
    std::optional<Service> service;
    std::vector<Saved> writing;
    int changes = 0;
    std::map<ClientId, LockUpdate> updates;
    std::map<ClientId, Token> tokens;
    bool dead = false;
    std::optional<Saved> disk;
  };

  void settle() {
    for (int i = 0; i < 10'000; ++i) {
      bool wrote = false;
      for (const auto& site : sites_)
        for (const Saved& saved : std::exchange(site->writing, {})) {
          site->service->written(now_, saved);
          site->disk = saved;
          wrote = true;
        }
      if (in_transit_.empty()) {
        if (!wrote) return;
        continue;
      }
      const Datagram datagram = in_transit_.front();
      in_transit_.pop_front();
      for (const auto& site : sites_) {
        const HostId to = host(site->number);
        if (!site->dead && to != datagram.from && (datagram.to == kNoHost || datagram.to == to))
          site->service->receive(now_, datagram.from, datagram.body);
      }
    }
    FAIL() << "the hosts do not stop sending";
  }

  lock::lease::Rules rules_;
  bool available_;
  std::vector<HostId> voters_;
  Stream chance_{1, 0, 0};
  StreamDraw draw_{chance_};
  std::vector<std::unique_ptr<Site>> sites_;
  std::deque<Datagram> in_transit_;
  Instant now_{Nanos{1'000'000'000'000}};
  std::uint64_t ticket_ = 0;
  int datagrams_ = 0;
};

TEST(LockService, GrantsToOneClientAtATimeInOrder) {
  ServiceCluster cluster(3);
  cluster.acquire(0, 1, "door");
  EXPECT_TRUE(cluster.inside(0, 1));
  cluster.acquire(1, 2, "door");
  cluster.acquire(2, 3, "door");
  EXPECT_FALSE(cluster.inside(1, 2) || cluster.inside(2, 3));
  cluster.release(0, 1);
  EXPECT_TRUE(cluster.inside(1, 2));
  EXPECT_FALSE(cluster.inside(2, 3));
  cluster.release(1, 2);
  EXPECT_TRUE(cluster.inside(2, 3));
  EXPECT_LT(cluster.token(0, 1), cluster.token(1, 2));
  EXPECT_LT(cluster.token(1, 2), cluster.token(2, 3));
}

// When the holder releases the lock, the waiter gets it at once: also right after an extension,
// when more than a lease is left since the waiter's last message.
TEST(LockService, HandsOverAtOnceAtAnyTime) {
  for (Nanos held = 0ms; held < 2s; held += 20ms) {
    ServiceCluster cluster(3);
    cluster.acquire(0, 1, "door");
    cluster.acquire(1, 2, "door");
    cluster.pass(held);
    cluster.release(0, 1);
    EXPECT_TRUE(cluster.inside(1, 2)) << "held for " << held / 1ms << " ms";
  }
}

TEST(LockService, LocksOfDifferentNamesAreIndependent) {
  ServiceCluster cluster(3);
  cluster.acquire(0, 1, "door");
  cluster.acquire(1, 2, "window");
  EXPECT_TRUE(cluster.inside(0, 1) && cluster.inside(1, 2));
}

TEST(LockService, ReadersShareTheLockWritersDoNot) {
  ServiceCluster cluster(3);
  cluster.acquire(0, 1, "plan", Mode::shared);
  cluster.acquire(1, 2, "plan", Mode::shared);
  EXPECT_TRUE(cluster.inside(0, 1) && cluster.inside(1, 2));
  cluster.acquire(2, 3, "plan");
  EXPECT_FALSE(cluster.inside(2, 3));
  cluster.release(0, 1);
  cluster.release(1, 2);
  cluster.pass(5s);
  EXPECT_TRUE(cluster.inside(2, 3));
}

// Limits of the live lock: acquiring a new lock costs at most three datagrams; acquiring one that
// was locked on this host before costs none.
TEST(LockService, CostsAlmostNoDatagrams) {
  ServiceCluster cluster(3);
  cluster.acquire(0, 1, "fresh");
  EXPECT_LE(cluster.datagrams(), 3);
  cluster.release(0, 1);
  const int before = cluster.datagrams();
  cluster.acquire(0, 2, "fresh");
  EXPECT_TRUE(cluster.inside(0, 2));
  EXPECT_EQ(cluster.datagrams(), before);
}

TEST(LockService, AHostWithoutAVoteCanLock) {
  ServiceCluster cluster(5);
  cluster.acquire(4, 1, "door");
  EXPECT_TRUE(cluster.inside(4, 1));
  cluster.acquire(3, 2, "door");
  cluster.acquire(0, 3, "door");
  cluster.release(4, 1);
  EXPECT_TRUE(cluster.inside(3, 2));
  cluster.release(3, 2);
  EXPECT_TRUE(cluster.inside(0, 3));
}

TEST(LockService, TheLeaseOfADeadHostEnds) {
  ServiceCluster cluster(3);
  cluster.acquire(0, 1, "door");
  cluster.kill(0);
  cluster.acquire(1, 2, "door");
  EXPECT_FALSE(cluster.inside(1, 2));
  cluster.pass(4s);
  EXPECT_TRUE(cluster.inside(1, 2));
  EXPECT_LT(cluster.token(0, 1), cluster.token(1, 2));
}

TEST(LockService, WithoutAMajorityLocksAreLostAndNotGranted) {
  ServiceCluster cluster(3);
  cluster.acquire(0, 1, "door");
  cluster.kill(1);
  cluster.kill(2);
  cluster.pass(5s);
  EXPECT_EQ(cluster.last_update(0, 1)->kind, LockUpdate::Kind::lost);
  cluster.acquire(0, 2, "door");
  cluster.pass(5s);
  EXPECT_FALSE(cluster.inside(0, 2));
}

// A machine is gone for good: it loses its vote, and two of two voters are enough. Then another
// machine gets a vote, and any one of three may fail.
TEST(LockService, RemovesAndAddsAVote) {
  ServiceCluster cluster(4);
  cluster.kill(2);
  ASSERT_TRUE(cluster.change(0, 2, 0));
  EXPECT_EQ(cluster.changes(0), 1);
  EXPECT_EQ(cluster.changes(3), 1) << "a host without a vote learns it too";
  EXPECT_FALSE(cluster.service(1).view().votes_for(NodeId{2}));
  cluster.acquire(3, 1, "door");
  EXPECT_TRUE(cluster.inside(3, 1));
  cluster.release(3, 1);
  ASSERT_TRUE(cluster.change(1, 3, 1));
  cluster.pass(5s);
  EXPECT_TRUE(cluster.service(0).view().votes_for(NodeId{3}));
  cluster.kill(1);
  cluster.acquire(0, 2, "door");
  cluster.pass(5s);
  EXPECT_TRUE(cluster.inside(0, 2)) << "0 and 3 are two of three";
  EXPECT_LT(cluster.token(3, 1), cluster.token(0, 2));
}

TEST(LockService, AReturningHostLearnsTheViewFromDisk) {
  ServiceCluster cluster(3);
  cluster.kill(2);
  ASSERT_TRUE(cluster.change(0, 2, 0));
  ASSERT_TRUE(cluster.disk(1));
  EXPECT_EQ(cluster.disk(1)->view.number, 2U);
  EXPECT_EQ(cluster.disk(1)->view.slots.size(), 2U);
  cluster.kill(0);
  cluster.kill(1);
  cluster.restart(0);
  cluster.restart(1);
  EXPECT_EQ(cluster.service(0).view().number, 2U);
  cluster.restart(2);
  cluster.pass(5s);
  EXPECT_EQ(cluster.service(2).view().number, 1U);
  cluster.acquire(2, 1, "door");
  cluster.pass(5s);
  EXPECT_EQ(cluster.service(2).view().number, 2U);
  EXPECT_TRUE(cluster.inside(2, 1)) << "a host without a vote can still lock";
}

TEST(LockService, NeedsAMajorityToRemoveAVote) {
  ServiceCluster cluster(3);
  cluster.kill(1);
  cluster.kill(2);
  ASSERT_TRUE(cluster.change(0, 2, 0));
  cluster.pass(20s);
  EXPECT_EQ(cluster.service(0).view().number, 1U);
  cluster.service(0).give_up_change(cluster.now());
  ASSERT_FALSE(cluster.change(0, 2, 2) && cluster.change(0, 1, 2)) << "only one vote at a time";
}

TEST(LockService, RefusesImpossibleChanges) {
  ServiceCluster cluster(2, 1);
  EXPECT_FALSE(cluster.change(0, 0, 0)) << "no voter would remain";
  EXPECT_FALSE(cluster.change(0, 1, 2)) << "two votes at once";
  EXPECT_TRUE(cluster.change(0, 1, 1));
  cluster.pass(5s);
  EXPECT_EQ(cluster.service(1).view().number, 2U);
}

// With this policy each host continues alone, so both clients are inside; their tokens differ.
TEST(LockService, AvailableMeansUnsafe) {
  ServiceCluster cluster(2, 2, {}, true);
  cluster.acquire(0, 1, "door");
  EXPECT_TRUE(cluster.inside(0, 1));
  cluster.release(0, 1);
  cluster.kill(0);
  cluster.acquire(1, 2, "door");
  cluster.pass(5s);
  EXPECT_TRUE(cluster.inside(1, 2));
  EXPECT_FALSE(cluster.change(1, 0, 0));
  ServiceCluster strict(2, 2);
  strict.kill(0);
  strict.acquire(1, 2, "door");
  strict.pass(5s);
  EXPECT_FALSE(strict.inside(1, 2));
}

TEST(LockService, DoesNotPromiseALeaseLongerThanItsLongest) {
  ServiceCluster cluster(3);
  wire::LockBody body{.kind = 0, .name = wire::LockName("door"), .view = 1, .boot = 9};
  body.ballot = {1'000'000, host(1)};
  body.length = 3s;
  const std::uint64_t before = cluster.service(0).dropped();
  cluster.service(0).receive(cluster.now(), host(1), body);
  EXPECT_EQ(cluster.service(0).dropped(), before + 1);
  EXPECT_TRUE(cluster.service(0).known(cluster.now()).empty());
}

TEST(LockService, RefusesBadNamesWithAReason) {
  ServiceCluster cluster(1, 1);
  const auto why = [&](std::string_view name) {
    const auto wanted =
        cluster.service(0).acquire(cluster.now(), {.client = ClientId{1}, .name = name});
    return wanted ? std::string("nothing") : wanted.error();
  };
  EXPECT_THAT(why(""), HasSubstr("1 to 64"));
  EXPECT_THAT(why(std::string(65, 'x')), HasSubstr("longer than 64"));
  EXPECT_THAT(why("two words"), HasSubstr("has a space"));
  EXPECT_THAT(why("caf\xc3\xa9"), HasSubstr("ASCII"));
  EXPECT_EQ(why(std::string(64, 'x')), "nothing");
}

// A client gets the lease length that it asks for; an invalid length is refused with the cure.
TEST(LockService, GrantsTheRequestedLeaseLength) {
  ServiceCluster cluster(3, 3, {.longest = 10s});
  cluster.pass(10s);
  cluster.acquire(0, 1, "long", Mode::exclusive, 10s);
  ASSERT_TRUE(cluster.inside(0, 1));
  EXPECT_GT(cluster.last_update(0, 1)->deadline, cluster.now() + 9s);
  cluster.acquire(0, 2, "short", Mode::exclusive, 40ms);
  ASSERT_TRUE(cluster.inside(0, 2));
  EXPECT_LT(cluster.last_update(0, 2)->deadline, cluster.now() + 40ms);
  for (const Nanos wrong : {Nanos{10s + 1ns}, Nanos{40ms - 1ns}, Nanos{-1}}) {
    const auto wanted = cluster.service(0).acquire(
        cluster.now(), {.client = ClientId{3}, .name = "wrong", .lease = wrong});
    ASSERT_FALSE(wanted);
    EXPECT_THAT(wanted.error(),
                HasSubstr("40ms to 10s long on this machine; for longer leases raise "));
  }
}

TEST(LockService, ManyNamesComeAndGo) {
  ServiceCluster cluster(3);
  for (std::uint32_t i = 0; i < 3 * lock::lease::kMaxLocks; ++i) {
    const auto wanted = cluster.service(0).acquire(
        cluster.now(), {.client = ClientId{i}, .name = "name" + std::to_string(i)});
    ASSERT_TRUE(wanted) << i << ": " << wanted.error();
    cluster.release(0, i);
    cluster.pass(1ms);
  }
}

TEST(LockService, RefusesTooManyClients) {
  constexpr std::uint32_t kClients = 4096;
  constexpr auto kOfOneLock = static_cast<std::uint32_t>(lock::lease::kMaxClients);
  ServiceCluster cluster(3);
  for (std::uint32_t i = 0; i < kClients; ++i)
    cluster.acquire(0, i, "door" + std::to_string(i / kOfOneLock));
  const Service::LockRequest one_more{.client = ClientId{kClients}, .name = "more"};
  const auto refused = cluster.service(0).acquire(cluster.now(), one_more);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("too many clients"));
  cluster.release(0, kClients - 1);
  const auto wanted = cluster.service(0).acquire(cluster.now(), one_more);
  EXPECT_TRUE(wanted) << wanted.error();
}

TEST(LockService, RefusesTooManyClientsOfOneLock) {
  constexpr auto kOfOneLock = static_cast<std::uint32_t>(lock::lease::kMaxClients);
  ServiceCluster cluster(3);
  for (std::uint32_t i = 0; i <= kOfOneLock; ++i) cluster.acquire(0, i, "door");
  EXPECT_TRUE(cluster.inside(0, 0));
  EXPECT_FALSE(cluster.last_update(0, kOfOneLock - 1)) << "the last one that fits waits";
  ASSERT_TRUE(cluster.last_update(0, kOfOneLock));
  EXPECT_EQ(cluster.last_update(0, kOfOneLock)->kind, LockUpdate::Kind::refused);
  cluster.acquire(0, kOfOneLock, "window");
  EXPECT_TRUE(cluster.inside(0, kOfOneLock)) << "it may acquire another lock";
}

// On every voter, from the first message to the end of the promises.
TEST(LockService, KnowsWhichNamesAreInUse) {
  ServiceCluster cluster(3);
  EXPECT_FALSE(cluster.service(1).uses(cluster.now(), "door"));
  cluster.acquire(0, 1, "door");
  for (const std::uint32_t at : {0U, 1U, 2U})
    EXPECT_TRUE(cluster.service(at).uses(cluster.now(), "door")) << at;
  EXPECT_FALSE(cluster.service(1).uses(cluster.now(), "window"));
  cluster.pass(10s);
  EXPECT_TRUE(cluster.service(2).uses(cluster.now(), "door")) << "the lease is extended";
  cluster.release(0, 1);
  cluster.pass(3s);
  for (const std::uint32_t at : {0U, 1U, 2U})
    EXPECT_FALSE(cluster.service(at).uses(cluster.now(), "door")) << at;
}

TEST(LockService, ReportsKnownLocks) {
  ServiceCluster cluster(3);
  cluster.acquire(0, 1, "door");
  cluster.acquire(0, 2, "door");
  const auto here = cluster.service(0).known(cluster.now());
  ASSERT_EQ(here.size(), 1);
  EXPECT_EQ(here[0].name, "door");
  EXPECT_TRUE(here[0].held_here);
  ASSERT_EQ(here[0].clients.size(), 2);
  EXPECT_TRUE(here[0].clients[0].inside);
  EXPECT_FALSE(here[0].clients[1].inside);
  EXPECT_EQ(here[0].clients[0].token, cluster.token(0, 1));
  cluster.acquire(2, 3, "door", Mode::shared);
  const auto waits = cluster.service(0).known(cluster.now()).at(0).elsewhere;
  ASSERT_EQ(waits.size(), 1);
  EXPECT_EQ(waits[0].host, host(2));
  EXPECT_EQ(waits[0].mode, Mode::shared);
  EXPECT_EQ(waits[0].ticket, 3U) << "it is the third request";
  const auto there = cluster.service(1).known(cluster.now());
  ASSERT_EQ(there.size(), 1);
  EXPECT_FALSE(there[0].held_here);
  EXPECT_EQ(there[0].holder, host(0));
}

}  // namespace
}  // namespace tempo::locks
