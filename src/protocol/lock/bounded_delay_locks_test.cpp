// Limits of bounded-delay locks, and random worlds with delays, losses and crashes; the scripts in
// testdata/bounded-delay show their behaviour. Every test fails if two clients are inside at once.
#include "protocol/lock/bounded_delay_locks.h"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/lock/lock_test_network.h"

namespace tempo::locks {
namespace {

using ::testing::HasSubstr;

wire::LockVoters voters(std::uint32_t number, const std::vector<std::uint32_t>& hosts) {
  wire::LockVoters all{.number = number};
  for (const std::uint32_t each : hosts) all.slots.push_back({.host = host(each), .votes = 1});
  return all;
}

class BoundedDelayNetwork : public LockNetwork<BoundedDelayLocks> {
 public:
  explicit BoundedDelayNetwork(std::uint32_t hosts) : LockNetwork(hosts), clients_(hosts) {
    set_delay(1ms);
    for (std::uint32_t i = 0; i < hosts; ++i) all_.push_back(i);
    for (std::uint32_t i = 0; i < hosts; ++i) begin(i);
    pass(3s);  // the initial silence of all hosts is over
  }

  // Starts a host; clients of its earlier incarnation keep running until their deadlines.
  void begin(std::uint32_t at) {
    start(at);
    follow(at, voters(1, all_));
  }
  void follow(std::uint32_t at, const wire::LockVoters& view) {
    command(at, BoundedDelayLocks::Follow{view});
  }

  void acquire(std::uint32_t at, std::uint32_t client, Mode mode = Mode::exclusive,
               bool silent = true, std::string_view name = "door") {
    modes_[{at, client}] = mode;
    ASSERT_EQ(refusal(at, client, mode, silent, name), "");
  }
  // Why a request is refused, as users see it; empty: it is not.
  std::string refusal(std::uint32_t at, std::uint32_t client, Mode mode = Mode::exclusive,
                      bool silent = true, std::string_view name = "door") {
    clients_[at].refused.reset();
    command(at, Acquire{.client = ClientId{client},
                        .name = std::string(name),
                        .mode = mode,
                        .kind = silent ? LockKind::silent : LockKind::explicit_replies});
    const auto& refused = clients_[at].refused;
    return refused ? refusal_text(refused->refusal, refused->lock, Nanos{0}) : "";
  }
  void release(std::uint32_t at, std::uint32_t client) {
    clients_[at].inside.erase(client);
    command(at, Release{ClientId{client}});
  }
  bool inside(std::uint32_t at, std::uint32_t client) const {
    const auto found = clients_[at].inside.find(client);
    return found != clients_[at].inside.end() && found->second > now();
  }
  bool lost(std::uint32_t at, std::uint32_t client) const {
    return clients_[at].lost.contains(client);
  }

  // Waits until all live hosts trust silence.
  bool all_trust() {
    return comes(5s, [&] {
      for (std::uint32_t i = 0; i < size(); ++i)
        if (up(i) && !machine(i).trusts()) return false;
      return true;
    });
  }

 private:
  static constexpr BoundsMonitor::Rules kBounds{.interval = 20ms, .delay_max = 10ms, .clean = 20};

  struct Clients {
    std::map<std::uint32_t, BootTime> inside{};  // deadline of each client inside
    std::set<std::uint32_t> lost{};
    std::optional<LockUpdate> refused{};  // the last refusal
  };

  BoundedDelayLocks make(std::uint32_t at, Incarnation life,
                         const std::optional<Nothing>& /*disk*/) override {
    return BoundedDelayLocks({.self = host(at), .life = life, .hosts = &hosts_, .bounds = kBounds});
  }
  void noticed(std::uint32_t at, const LockUpdate& update) override {
    const auto id = static_cast<std::uint32_t>(update.client);
    Clients& clients = clients_[at];
    EXPECT_EQ(update.token, lock::kNoToken);
    if (update.kind == LockUpdate::Kind::granted || update.kind == LockUpdate::Kind::extended)
      clients.inside[id] = update.deadline;
    if (update.kind == LockUpdate::Kind::refused) clients.refused = update;
    if (update.kind == LockUpdate::Kind::lost) {
      clients.inside.erase(id);
      clients.lost.insert(id);
    }
  }
  // No two clients are inside in conflict. Clients stop at their deadlines, as the guard makes
  // them.
  void observe() override {
    int readers = 0;
    int writers = 0;
    for (std::uint32_t at = 0; at < size(); ++at)
      for (const auto& [client, until] : clients_[at].inside)
        if (until > now()) ++(modes_.at({at, client}) == Mode::shared ? readers : writers);
    ASSERT_FALSE(writers > 1 || (writers == 1 && readers > 0)) << "two clients are inside";
  }

  std::vector<std::uint32_t> all_;
  std::vector<Clients> clients_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Mode> modes_;
};

// A name is in use here while a client holds it or waits; elsewhere for a lease after a message.
TEST(BoundedDelayLocks, KnowsWhichNamesAreInUse) {
  BoundedDelayNetwork network(3);
  EXPECT_FALSE(network.machine(0).uses(network.now(), "door"));
  network.acquire(0, 1);
  network.pass(500ms);
  ASSERT_TRUE(network.inside(0, 1));
  for (const std::uint32_t at : {0U, 1U, 2U})
    EXPECT_TRUE(network.machine(at).uses(network.now(), "door")) << at;
  network.pass(5s);
  EXPECT_TRUE(network.machine(0).uses(network.now(), "door"));
  EXPECT_FALSE(network.machine(1).uses(network.now(), "door"))
      << "a host inside without a rival sends nothing";
  network.acquire(1, 2);
  network.pass(500ms);
  EXPECT_TRUE(network.machine(2).uses(network.now(), "door")) << "a waiting host sends messages";
  network.release(0, 1);
  network.pass(500ms);
  network.release(1, 2);
  network.pass(5s);
  for (const std::uint32_t at : {0U, 1U, 2U})
    EXPECT_FALSE(network.machine(at).uses(network.now(), "door")) << at;
}

TEST(BoundedDelayLocks, AQuickRestartWhileTheClientKeepsRunning) {
  BoundedDelayNetwork network(3);
  network.acquire(0, 1);
  ASSERT_TRUE(network.all_trust());
  network.pass(100ms);
  network.kill(0);
  network.begin(0);
  network.acquire(1, 2);
  network.acquire(0, 3);
  EXPECT_TRUE(network.comes(10s, [&] { return network.inside(1, 2) || network.inside(0, 3); }));
}

TEST(BoundedDelayLocks, RefusesTooManyClients) {
  constexpr std::uint32_t kClients = 4096;
  BoundedDelayNetwork network(1);
  for (std::uint32_t i = 0; i < kClients; ++i) network.acquire(0, i);
  EXPECT_THAT(network.refusal(0, kClients), HasSubstr("too many clients"));
  network.release(0, kClients - 1);
  EXPECT_EQ(network.refusal(0, kClients), "");
}

// A lock that no client holds or wants is replaced by another.
TEST(BoundedDelayLocks, RefusesTooManyNames) {
  constexpr std::uint32_t kLocks = 1024;
  BoundedDelayNetwork network(2);
  for (std::uint32_t i = 0; i < kLocks; ++i)
    network.acquire(0, i, Mode::shared, true, "lock" + std::to_string(i));
  EXPECT_THAT(network.refusal(0, kLocks, Mode::shared, true, "more"), HasSubstr("too many locks"));
  ASSERT_TRUE(network.comes(5s, [&] { return network.inside(0, 7); }));
  network.release(0, 7);
  network.acquire(0, kLocks, Mode::shared, true, "more");
  EXPECT_FALSE(network.machine(0).uses(network.now(), "lock7"));
}

TEST(BoundedDelayLocks, ReportsKnownLocks) {
  BoundedDelayNetwork network(2);
  EXPECT_THAT(network.machine(0).known(), ::testing::IsEmpty());
  network.acquire(0, 1);
  ASSERT_TRUE(network.comes(5s, [&] { return network.inside(0, 1); }));
  network.acquire(0, 2);
  const std::vector<Known> known = network.machine(0).known();
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known[0].name, "door");
  EXPECT_EQ(known[0].mode, Mode::exclusive);
  EXPECT_EQ(known[0].holder, host(0));
  EXPECT_TRUE(known[0].held_here);
  EXPECT_GT(known[0].until, network.now());
  ASSERT_EQ(known[0].clients.size(), 2U);
  EXPECT_TRUE(known[0].clients[0].inside);
  EXPECT_FALSE(known[0].clients[1].inside);
  EXPECT_EQ(known[0].token, lock::kNoToken) << "such locks have no token";
}

// Whatever is lost, delayed, killed and restarted: `check_exclusion` runs after every step, and in
// the end all clients get the lock.
TEST(BoundedDelayLocks, NeverLetsTwoClientsIn) {
  int entries = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    BoundedDelayNetwork network(3);
    Stream dice{seed, 1, 0};
    const auto below = [&](std::uint64_t most) { return StreamDraw{dice}.below(most); };
    std::uint32_t next = 0;
    std::array<std::optional<std::uint32_t>, 3> clients{};
    std::array<bool, 3> dead{};
    std::uint64_t loss = 0;
    network.set_delivery(
        [&](std::uint32_t, std::uint32_t, const auto&) { return loss == 0 || below(100) >= loss; });
    for (int i = 0; i < 400; ++i) {
      const auto at = static_cast<std::uint32_t>(below(3));
      const std::uint64_t action = below(40);
      if (action == 0) loss = below(2) * below(40);
      if (action == 1) network.set_delay(below(2) == 0 ? 1ms : 30ms);
      if (action == 2 && !dead[at]) {
        network.kill(at);
        dead[at] = true;
        clients[at].reset();
      } else if (action >= 3 && action <= 8 && dead[at]) {
        network.begin(at);
        dead[at] = false;
      } else if (!dead[at] && !clients[at]) {
        clients[at] = ++next;
        network.acquire(at, next, below(3) == 0 ? Mode::shared : Mode::exclusive, below(4) != 0);
      } else if (!dead[at] &&
                 (network.inside(at, *clients[at]) || network.lost(at, *clients[at]))) {
        entries += network.inside(at, *clients[at]) ? 1 : 0;
        network.release(at, *clients[at]);
        clients[at].reset();
      }
      network.pass(Nanos{static_cast<std::int64_t>(below(60'000'000))});
      if (HasFatalFailure()) FAIL() << "seed " << seed;
    }
    loss = 0;
    network.set_delay(1ms);
    for (std::uint32_t at = 0; at < 3; ++at) {
      if (dead[at]) network.begin(at);
      if (!dead[at] && clients[at]) network.release(at, *clients[at]);
    }
    for (std::uint32_t at = 0; at < 3; ++at) {
      network.acquire(at, ++next);
      ASSERT_TRUE(network.comes(20s, [&] { return network.inside(at, next); }))
          << seed << ' ' << at;
      network.release(at, next);
    }
  }
  EXPECT_GT(entries, 1000) << "too few entries to prove anything";
}

}  // namespace
}  // namespace tempo::locks
