// Hosts with bounded-delay locks and clients, on a network with delays, losses, partitions and
// crashes. Every test fails if two clients are inside at once.
#include "protocol/lock/bounded_delay_locks.h"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace tempo::locks {
namespace {

using ::testing::HasSubstr;

HostId host(std::uint32_t number) { return HostId{100 + number}; }

wire::LockVoters voters(std::uint32_t number, const std::vector<std::uint32_t>& hosts) {
  wire::LockVoters all{.number = number};
  for (const std::uint32_t each : hosts) all.slots.push_back({.host = host(each), .votes = 1});
  return all;
}

class BoundedDelayCluster {
 public:
  using Body = std::variant<wire::MutexBody, wire::BeatBody>;
  using Delivers = std::function<bool(std::uint32_t from, std::uint32_t to, const Body& body)>;

  explicit BoundedDelayCluster(std::uint32_t hosts) {
    for (std::uint32_t i = 0; i < hosts; ++i) {
      sites_.push_back(std::make_unique<Site>(*this, i));
      all_.push_back(i);
    }
    for (std::uint32_t i = 0; i < hosts; ++i) start(i);
    pass(3s);  // the initial silence of all hosts is over
  }

  void start(std::uint32_t i) {
    Site& site = *sites_[i];
    site.dead = false;
    ++site.life;
    site.bounded_delay.emplace(
        BoundedDelayLocks::Start{
            .self = host(i),
            .life = Incarnation{site.life},
            .bounds = {.interval = 20ms, .delay_max = 10ms, .clean = 20},
            .name_of = [](HostId id) { return fmt::format("h{}", std::to_underlying(id) - 100); }},
        now_, draw_, site);
    site.bounded_delay->follow(now_, view_.number == 0 ? voters(1, all_) : view_);
  }
  // Its clients keep running until their deadlines.
  void kill(std::uint32_t i) { sites_[i]->dead = true; }
  void follow(const wire::LockVoters& view) {
    view_ = view;
    for (const auto& site : sites_)
      if (!site->dead) site->bounded_delay->follow(now_, view);
  }
  void set_delivery(Delivers delivers) { delivers_ = std::move(delivers); }
  void set_delay(Nanos delay) { delay_ = delay; }

  void acquire(std::uint32_t at, std::uint32_t client, Mode mode = Mode::exclusive,
               bool silent = true, std::string_view name = "door") {
    const auto wanted = sites_[at]->bounded_delay->acquire(
        now_, {.client = ClientId{client}, .name = name, .mode = mode, .silent = silent});
    ASSERT_TRUE(wanted) << wanted.error();
    modes_[{at, client}] = mode;
  }
  void release(std::uint32_t at, std::uint32_t client) {
    sites_[at]->inside.erase(client);
    sites_[at]->bounded_delay->release(now_, ClientId{client});
  }
  bool inside(std::uint32_t at, std::uint32_t client) const {
    const auto found = sites_[at]->inside.find(client);
    return found != sites_[at]->inside.end() && found->second > now_;
  }
  bool lost(std::uint32_t at, std::uint32_t client) const {
    return sites_[at]->lost.contains(client);
  }
  BoundedDelayLocks& bounded_delay(std::uint32_t at) { return *sites_[at]->bounded_delay; }
  int messages() const { return messages_; }
  Instant now() const { return now_; }
  Stream& chance() { return chance_; }

  void pass(Nanos span) {
    const Instant end = now_ + span;
    for (;;) {
      Instant next = end;
      if (!datagrams_.empty()) next = std::min(next, datagrams_.begin()->first);
      for (const auto& site : sites_)
        if (!site->dead) next = std::min(next, std::max(site->bounded_delay->due(), now_));
      now_ = next;
      if (now_ >= end) break;
      while (!datagrams_.empty() && datagrams_.begin()->first <= now_) {
        const Datagram datagram = datagrams_.begin()->second;
        datagrams_.erase(datagrams_.begin());
        Site& site = *sites_[datagram.to];
        if (site.dead) continue;
        std::visit(
            [&](const auto& body) {
              site.bounded_delay->receive(now_, host(datagram.from), Incarnation{datagram.life},
                                          body);
            },
            datagram.body);
      }
      for (const auto& site : sites_)
        if (!site->dead && site->bounded_delay->due() <= now_) site->bounded_delay->on_timer(now_);
      check_exclusion();
    }
    now_ = end;
    check_exclusion();
  }
  bool comes(Nanos limit, const std::function<bool()>& done) {
    for (Nanos gone{0}; gone < limit; gone += 10ms) {
      if (done()) return true;
      pass(10ms);
    }
    return done();
  }
  // Waits until all live hosts trust silence.
  bool all_trust() {
    return comes(5s, [&] {
      return std::ranges::all_of(
          sites_, [](const auto& site) { return site->dead || site->bounded_delay->trusts(); });
    });
  }

 private:
  struct Datagram {
    std::uint32_t from, to, life;
    Body body;
  };
  struct Site final : BoundedDelayDriver {
    Site(BoundedDelayCluster& parent, std::uint32_t index) : cluster(&parent), number(index) {}
    void broadcast(const wire::MutexBody& body) override {
      for (std::uint32_t to = 0; to < cluster->sites_.size(); ++to)
        cluster->transmit(*this, to, body);
    }
    void broadcast(const wire::BeatBody& body) override {
      for (std::uint32_t to = 0; to < cluster->sites_.size(); ++to)
        cluster->transmit(*this, to, body);
    }
    void send(HostId to, const wire::MutexBody& body) override {
      cluster->transmit(*this, static_cast<std::uint32_t>(std::to_underlying(to)) - 100, body);
    }
    void notify(ClientId client, const LockUpdate& update) override {
      const auto id = static_cast<std::uint32_t>(client);
      if (update.kind == LockUpdate::Kind::granted || update.kind == LockUpdate::Kind::extended)
        inside[id] = update.deadline;
      EXPECT_EQ(update.token, lock::kNoToken);
      if (update.kind == LockUpdate::Kind::lost) {
        inside.erase(id);
        lost.insert(id);
      }
    }

    BoundedDelayCluster* cluster;
    std::uint32_t number;
    std::uint32_t life = 0;
    bool dead = false;
    std::optional<BoundedDelayLocks> bounded_delay;
    std::map<std::uint32_t, Instant> inside;  // deadline of each client inside
    std::set<std::uint32_t> lost;
  };

  void transmit(const Site& from, std::uint32_t to, const Body& body) {
    if (to == from.number) return;
    messages_ += std::holds_alternative<wire::MutexBody>(body) ? 1 : 0;
    if (delivers_ && !delivers_(from.number, to, body)) return;
    datagrams_.emplace(now_ + delay_, Datagram{from.number, to, from.life, body});
  }
  // No two clients are inside in conflict. Clients stop at their deadlines, as the guard makes
  // them.
  void check_exclusion() {
    int readers = 0;
    int writers = 0;
    for (std::uint32_t at = 0; at < sites_.size(); ++at)
      for (const auto& [client, until] : sites_[at]->inside)
        if (until > now_) ++(modes_.at({at, client}) == Mode::shared ? readers : writers);
    ASSERT_FALSE(writers > 1 || (writers == 1 && readers > 0)) << "two clients are inside";
  }

  std::vector<std::unique_ptr<Site>> sites_;
  std::vector<std::uint32_t> all_;
  std::multimap<Instant, Datagram> datagrams_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Mode> modes_;
  wire::LockVoters view_{};
  Delivers delivers_;
  Nanos delay_ = 1ms;
  Stream chance_{1, 0, 0};
  StreamDraw draw_{chance_};
  int messages_ = 0;
  Instant now_{Nanos{1'000'000'000'000}};
};

TEST(BoundedDelayLocks, AsksForRepliesUntilSilenceCanBeTrusted) {
  BoundedDelayCluster cluster(3);
  EXPECT_EQ(cluster.bounded_delay(0).mode(), "");
  cluster.acquire(0, 1);
  EXPECT_EQ(cluster.bounded_delay(0).mode(),
            "silent locks wait for explicit replies, because no heartbeat from h1 yet");
  ASSERT_TRUE(cluster.comes(1s, [&] { return cluster.inside(0, 1); }));
  ASSERT_TRUE(cluster.all_trust());
  EXPECT_EQ(cluster.bounded_delay(0).mode(), "silent locks treat silence as consent");
  cluster.release(0, 1);
  cluster.pass(100ms);

  // With silence an entry costs a request to each host and nothing more.
  const int before = cluster.messages();
  cluster.acquire(0, 2);
  ASSERT_TRUE(cluster.comes(1s, [&] { return cluster.inside(0, 2); }));
  EXPECT_EQ(cluster.messages() - before, 2);
  cluster.release(0, 2);
  cluster.acquire(0, 3, Mode::exclusive, false);
  const int before_explicit = cluster.messages();
  cluster.pass(500ms);
  EXPECT_TRUE(cluster.inside(0, 3));
  EXPECT_EQ(cluster.messages() - before_explicit, 4)
      << "an explicit lock also costs a reply from each host";
}

TEST(BoundedDelayLocks, GrantsToOneClientAtATime) {
  BoundedDelayCluster cluster(3);
  for (std::uint32_t i = 0; i < 6; ++i) cluster.acquire(i % 3, 10 + i);
  std::uint32_t served = 0;
  for (int i = 0; i < 3000 && served < 6; ++i) {
    cluster.pass(10ms);
    for (std::uint32_t client = 0; client < 6; ++client)
      if (cluster.inside(client % 3, 10 + client)) {
        cluster.release(client % 3, 10 + client);
        ++served;
      }
  }
  EXPECT_EQ(served, 6U);
}

// A name is in use here while a client holds it or waits; elsewhere for a lease after a message.
TEST(BoundedDelayLocks, KnowsWhichNamesAreInUse) {
  BoundedDelayCluster cluster(3);
  EXPECT_FALSE(cluster.bounded_delay(0).uses(cluster.now(), "door"));
  cluster.acquire(0, 1);
  cluster.pass(500ms);
  ASSERT_TRUE(cluster.inside(0, 1));
  for (const std::uint32_t at : {0U, 1U, 2U})
    EXPECT_TRUE(cluster.bounded_delay(at).uses(cluster.now(), "door")) << at;
  cluster.pass(5s);
  EXPECT_TRUE(cluster.bounded_delay(0).uses(cluster.now(), "door"));
  EXPECT_FALSE(cluster.bounded_delay(1).uses(cluster.now(), "door"))
      << "a host inside without a rival sends nothing";
  cluster.acquire(1, 2);
  cluster.pass(500ms);
  EXPECT_TRUE(cluster.bounded_delay(2).uses(cluster.now(), "door"))
      << "a waiting host sends messages";
  cluster.release(0, 1);
  cluster.pass(500ms);
  cluster.release(1, 2);
  cluster.pass(5s);
  for (const std::uint32_t at : {0U, 1U, 2U})
    EXPECT_FALSE(cluster.bounded_delay(at).uses(cluster.now(), "door")) << at;
}

TEST(BoundedDelayLocks, ReadersShareTheLockWritersDoNot) {
  BoundedDelayCluster cluster(3);
  cluster.acquire(0, 1, Mode::shared);
  cluster.acquire(0, 2, Mode::shared);
  cluster.acquire(1, 3, Mode::shared);
  EXPECT_TRUE(cluster.comes(
      2s, [&] { return cluster.inside(0, 1) && cluster.inside(0, 2) && cluster.inside(1, 3); }));
  cluster.acquire(2, 4);
  cluster.pass(1s);
  EXPECT_FALSE(cluster.inside(2, 4));
  cluster.release(0, 1);
  cluster.release(0, 2);
  cluster.release(1, 3);
  EXPECT_TRUE(cluster.comes(2s, [&] { return cluster.inside(2, 4); }));
}

TEST(BoundedDelayLocks, FallsBackAfterALossAndRecovers) {
  BoundedDelayCluster cluster(3);
  cluster.acquire(0, 1);
  ASSERT_TRUE(cluster.all_trust());
  cluster.release(0, 1);
  int lose = 1;
  cluster.set_delivery([&](std::uint32_t, std::uint32_t to, const BoundedDelayCluster::Body& body) {
    return !(to == 1 && std::holds_alternative<wire::MutexBody>(body) && lose-- > 0);
  });
  // 1 is inside and does not receive the request of 0: only the missing confirmation keeps 0 out.
  cluster.acquire(1, 2);
  ASSERT_TRUE(cluster.comes(1s, [&] { return cluster.inside(1, 2); }));
  lose = 1;
  cluster.acquire(0, 3);
  cluster.pass(200ms);
  EXPECT_FALSE(cluster.inside(0, 3));
  EXPECT_EQ(cluster.bounded_delay(0).mode(),
            "silent locks wait for explicit replies, because a datagram to h1 was lost");
  cluster.release(1, 2);
  EXPECT_TRUE(cluster.comes(1s, [&] { return cluster.inside(0, 3); }));
  EXPECT_TRUE(cluster.all_trust());
}

TEST(BoundedDelayLocks, FallsBackOnLongDelays) {
  BoundedDelayCluster cluster(3);
  cluster.acquire(0, 1);
  ASSERT_TRUE(cluster.all_trust());
  cluster.set_delay(15ms);
  cluster.pass(200ms);
  EXPECT_THAT(cluster.bounded_delay(2).mode(), HasSubstr("because a round trip to"));
  cluster.set_delay(1ms);
  EXPECT_TRUE(cluster.all_trust());
}

// A daemon dies; its client keeps running until its deadline. No other client enters before that,
// nor while the daemon is down; the new incarnation stays silent first.
TEST(BoundedDelayLocks, ADeadDaemonBlocksUntilItIsBack) {
  BoundedDelayCluster cluster(3);
  cluster.acquire(0, 1);
  ASSERT_TRUE(cluster.all_trust());
  cluster.kill(0);
  cluster.acquire(1, 2);
  cluster.pass(10s);
  EXPECT_FALSE(cluster.inside(1, 2));
  EXPECT_THAT(cluster.bounded_delay(1).mode(), HasSubstr("h0 has been silent for"));
  cluster.start(0);
  cluster.pass(1s);
  EXPECT_FALSE(cluster.inside(1, 2)) << "host 0 stays silent";
  EXPECT_TRUE(cluster.comes(5s, [&] { return cluster.inside(1, 2); }));
}

TEST(BoundedDelayLocks, AQuickRestartWhileTheClientKeepsRunning) {
  BoundedDelayCluster cluster(3);
  cluster.acquire(0, 1);
  ASSERT_TRUE(cluster.all_trust());
  cluster.pass(100ms);
  cluster.kill(0);
  cluster.start(0);
  cluster.acquire(1, 2);
  cluster.acquire(0, 3);
  EXPECT_TRUE(cluster.comes(10s, [&] { return cluster.inside(1, 2) || cluster.inside(0, 3); }));
}

// A holder that is cut off loses the lock; the others do not wait for it once they have forgotten
// it.
TEST(BoundedDelayLocks, DoesNotWaitForAForgottenHost) {
  BoundedDelayCluster cluster(3);
  cluster.acquire(0, 1);
  ASSERT_TRUE(cluster.all_trust());
  cluster.set_delivery([](std::uint32_t from, std::uint32_t to, const BoundedDelayCluster::Body&) {
    return from != 0 && to != 0;
  });
  cluster.acquire(1, 2);
  for (std::uint32_t i : {1U, 2U})
    cluster.bounded_delay(i).follow(cluster.now(), voters(2, {1, 2}));
  EXPECT_TRUE(cluster.comes(10s, [&] { return cluster.inside(1, 2); }));
  EXPECT_TRUE(cluster.lost(0, 1));
  cluster.set_delivery({});
  cluster.bounded_delay(0).follow(cluster.now(), voters(2, {1, 2}));
  EXPECT_THAT(cluster.bounded_delay(0)
                  .acquire(cluster.now(), {.client = ClientId{9}, .name = "door"})
                  .error(),
              HasSubstr("this machine has no vote on locks"));
}

TEST(BoundedDelayLocks, ASingleHostGetsItsLocks) {
  BoundedDelayCluster cluster(1);
  cluster.acquire(0, 1, Mode::exclusive, false);
  cluster.pass(10ms);
  EXPECT_TRUE(cluster.inside(0, 1));
  cluster.acquire(0, 2);
  cluster.pass(3s);
  EXPECT_TRUE(cluster.inside(0, 1));
  EXPECT_FALSE(cluster.inside(0, 2));
  cluster.release(0, 1);
  EXPECT_TRUE(cluster.comes(1s, [&] { return cluster.inside(0, 2); }));
}

TEST(BoundedDelayLocks, RefusesTooManyClients) {
  constexpr std::uint32_t kClients = 4096;
  BoundedDelayCluster cluster(1);
  for (std::uint32_t i = 0; i < kClients; ++i) cluster.acquire(0, i);
  const BoundedDelayLocks::LockRequest one_more{.client = ClientId{kClients}, .name = "door"};
  const auto refused = cluster.bounded_delay(0).acquire(cluster.now(), one_more);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("too many clients"));
  cluster.release(0, kClients - 1);
  EXPECT_TRUE(cluster.bounded_delay(0).acquire(cluster.now(), one_more));
}

// A lock that no client holds or wants is replaced by another.
TEST(BoundedDelayLocks, RefusesTooManyNames) {
  constexpr std::uint32_t kLocks = 1024;
  BoundedDelayCluster cluster(2);
  for (std::uint32_t i = 0; i < kLocks; ++i)
    cluster.acquire(0, i, Mode::shared, true, "lock" + std::to_string(i));
  const BoundedDelayLocks::LockRequest one_more{
      .client = ClientId{kLocks}, .name = "more", .mode = Mode::shared};
  const auto refused = cluster.bounded_delay(0).acquire(cluster.now(), one_more);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("too many locks"));
  ASSERT_TRUE(cluster.comes(5s, [&] { return cluster.inside(0, 7); }));
  cluster.release(0, 7);
  EXPECT_TRUE(cluster.bounded_delay(0).acquire(cluster.now(), one_more));
  EXPECT_FALSE(cluster.bounded_delay(0).uses(cluster.now(), "lock7"));
}

TEST(BoundedDelayLocks, ReportsKnownLocks) {
  BoundedDelayCluster cluster(2);
  EXPECT_THAT(cluster.bounded_delay(0).known(), ::testing::IsEmpty());
  cluster.acquire(0, 1);
  ASSERT_TRUE(cluster.comes(5s, [&] { return cluster.inside(0, 1); }));
  cluster.acquire(0, 2);
  const std::vector<Known> known = cluster.bounded_delay(0).known();
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known[0].name, "door");
  EXPECT_EQ(known[0].mode, Mode::exclusive);
  EXPECT_EQ(known[0].holder, host(0));
  EXPECT_TRUE(known[0].held_here);
  EXPECT_GT(known[0].until, cluster.now());
  ASSERT_EQ(known[0].clients.size(), 2U);
  EXPECT_TRUE(known[0].clients[0].inside);
  EXPECT_FALSE(known[0].clients[1].inside);
  EXPECT_EQ(known[0].token, lock::kNoToken) << "such locks have no token";
}

TEST(BoundedDelayLocks, SendsHeartbeatsOnlyWhileInUse) {
  BoundedDelayCluster cluster(3);
  cluster.acquire(0, 1);
  cluster.pass(1s);
  EXPECT_NE(cluster.bounded_delay(2).due(), kNever) << "other hosts send heartbeats as well";
  cluster.release(0, 1);
  cluster.pass(10s);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(cluster.bounded_delay(i).due(), kNever) << i;
}

// Whatever is lost, delayed, killed and restarted: `check_exclusion` runs after every step, and in
// the end all clients get the lock.
TEST(BoundedDelayLocks, NeverLetsTwoClientsIn) {
  int entries = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    BoundedDelayCluster cluster(3);
    Stream dice{seed, 1, 0};
    const auto below = [&](std::uint64_t most) { return StreamDraw{dice}.below(most); };
    std::uint32_t next = 0;
    std::array<std::optional<std::uint32_t>, 3> clients{};
    std::array<bool, 3> dead{};
    std::uint64_t loss = 0;
    cluster.set_delivery([&](std::uint32_t, std::uint32_t, const BoundedDelayCluster::Body&) {
      return loss == 0 || below(100) >= loss;
    });
    for (int i = 0; i < 400; ++i) {
      const auto at = static_cast<std::uint32_t>(below(3));
      const std::uint64_t action = below(40);
      if (action == 0) loss = below(2) * below(40);
      if (action == 1) cluster.set_delay(below(2) == 0 ? 1ms : 30ms);
      if (action == 2 && !dead[at]) {
        cluster.kill(at);
        dead[at] = true;
        clients[at].reset();
      } else if (action >= 3 && action <= 8 && dead[at]) {
        cluster.start(at);
        dead[at] = false;
      } else if (!dead[at] && !clients[at]) {
        clients[at] = ++next;
        cluster.acquire(at, next, below(3) == 0 ? Mode::shared : Mode::exclusive, below(4) != 0);
      } else if (!dead[at] &&
                 (cluster.inside(at, *clients[at]) || cluster.lost(at, *clients[at]))) {
        entries += cluster.inside(at, *clients[at]) ? 1 : 0;
        cluster.release(at, *clients[at]);
        clients[at].reset();
      }
      cluster.pass(Nanos{static_cast<std::int64_t>(below(60'000'000))});
      if (HasFatalFailure()) FAIL() << "seed " << seed;
    }
    loss = 0;
    cluster.set_delay(1ms);
    for (std::uint32_t at = 0; at < 3; ++at) {
      if (dead[at]) cluster.start(at);
      if (!dead[at] && clients[at]) cluster.release(at, *clients[at]);
    }
    for (std::uint32_t at = 0; at < 3; ++at) {
      cluster.acquire(at, ++next);
      ASSERT_TRUE(cluster.comes(20s, [&] { return cluster.inside(at, next); }))
          << seed << ' ' << at;
      cluster.release(at, next);
    }
  }
  EXPECT_GT(entries, 1000) << "too few entries to prove anything";
}

}  // namespace
}  // namespace tempo::locks
