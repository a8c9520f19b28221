// Hosts with quiet locks, a network with delays, losses, partitions and deaths, and clients; two
// inside at once fail every test.
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
  for (const std::uint32_t each : hosts) all.chairs.push_back({.host = host(each), .votes = 1});
  return all;
}

class House {
 public:
  using Word = std::variant<wire::MutexBody, wire::BeatBody>;
  using Carries = std::function<bool(std::uint32_t from, std::uint32_t to, const Word& word)>;

  explicit House(std::uint32_t hosts) {
    for (std::uint32_t i = 0; i < hosts; ++i) {
      rooms_.push_back(std::make_unique<Room>(*this, i));
      all_.push_back(i);
    }
    for (std::uint32_t i = 0; i < hosts; ++i) be_born(i);
    pass(3s);  // nobody rests any more
  }

  void be_born(std::uint32_t i) {
    Room& room = *rooms_[i];
    room.dead = false;
    ++room.life;
    room.bounded_delay.emplace(
        BoundedDelayLocks::Start{
            .self = host(i),
            .life = Incarnation{room.life},
            .bounds = {.interval = 20ms, .delay_max = 10ms, .clean = 20},
            .name_of = [](HostId id) { return fmt::format("h{}", std::to_underlying(id) - 100); }},
        now_, draw_, room);
    room.bounded_delay->follow(now_, view_.number == 0 ? voters(1, all_) : view_);
  }
  // Its clients run on, until their deadlines.
  void kill(std::uint32_t i) { rooms_[i]->dead = true; }
  void follow(const wire::LockVoters& view) {
    view_ = view;
    for (const auto& room : rooms_)
      if (!room->dead) room->bounded_delay->follow(now_, view);
  }
  void set_carrier(Carries carries) { carries_ = std::move(carries); }
  void set_delay(Nanos delay) { delay_ = delay; }

  void acquire(std::uint32_t at, std::uint32_t client, Mode mode = Mode::exclusive,
               bool silent = true, std::string_view name = "door") {
    const auto wanted = rooms_[at]->bounded_delay->acquire(
        now_, {.client = ClientId{client}, .name = name, .mode = mode, .silent = silent});
    ASSERT_TRUE(wanted) << wanted.error();
    modes_[{at, client}] = mode;
  }
  void release(std::uint32_t at, std::uint32_t client) {
    rooms_[at]->inside.erase(client);
    rooms_[at]->bounded_delay->release(now_, ClientId{client});
  }
  bool inside(std::uint32_t at, std::uint32_t client) const {
    const auto found = rooms_[at]->inside.find(client);
    return found != rooms_[at]->inside.end() && found->second > now_;
  }
  bool lost(std::uint32_t at, std::uint32_t client) const {
    return rooms_[at]->lost.contains(client);
  }
  BoundedDelayLocks& bounded_delay(std::uint32_t at) { return *rooms_[at]->bounded_delay; }
  int words() const { return words_; }
  Instant now() const { return now_; }
  Stream& chance() { return chance_; }

  void pass(Nanos span) {
    const Instant end = now_ + span;
    for (;;) {
      Instant next = end;
      if (!letters_.empty()) next = std::min(next, letters_.begin()->first);
      for (const auto& room : rooms_)
        if (!room->dead) next = std::min(next, std::max(room->bounded_delay->due(), now_));
      now_ = next;
      if (now_ >= end) break;
      while (!letters_.empty() && letters_.begin()->first <= now_) {
        const Letter letter = letters_.begin()->second;
        letters_.erase(letters_.begin());
        Room& room = *rooms_[letter.to];
        if (room.dead) continue;
        std::visit(
            [&](const auto& body) {
              room.bounded_delay->receive(now_, host(letter.from), Incarnation{letter.life}, body);
            },
            letter.word);
      }
      for (const auto& room : rooms_)
        if (!room->dead && room->bounded_delay->due() <= now_) room->bounded_delay->on_timer(now_);
      judge();
    }
    now_ = end;
    judge();
  }
  bool comes(Nanos limit, const std::function<bool()>& done) {
    for (Nanos gone{0}; gone < limit; gone += 10ms) {
      if (done()) return true;
      pass(10ms);
    }
    return done();
  }
  // Everybody trusts silence.
  bool settled() {
    return comes(5s, [&] {
      return std::ranges::all_of(
          rooms_, [](const auto& room) { return room->dead || room->bounded_delay->trusts(); });
    });
  }

 private:
  struct Letter {
    std::uint32_t from, to, life;
    Word word;
  };
  struct Room final : BoundedDelayDriver {
    Room(House& whose, std::uint32_t what) : house(&whose), number(what) {}
    void broadcast(const wire::MutexBody& body) override {
      for (std::uint32_t to = 0; to < house->rooms_.size(); ++to) house->carry(*this, to, body);
    }
    void broadcast(const wire::BeatBody& body) override {
      for (std::uint32_t to = 0; to < house->rooms_.size(); ++to) house->carry(*this, to, body);
    }
    void send(HostId to, const wire::MutexBody& body) override {
      house->carry(*this, static_cast<std::uint32_t>(std::to_underlying(to)) - 100, body);
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

    House* house;
    std::uint32_t number;
    std::uint32_t life = 0;
    bool dead = false;
    std::optional<BoundedDelayLocks> bounded_delay;
    std::map<std::uint32_t, Instant> inside;  // until when
    std::set<std::uint32_t> lost;
  };

  void carry(const Room& from, std::uint32_t to, const Word& word) {
    if (to == from.number) return;
    words_ += std::holds_alternative<wire::MutexBody>(word) ? 1 : 0;
    if (carries_ && !carries_(from.number, to, word)) return;
    letters_.emplace(now_ + delay_, Letter{from.number, to, from.life, word});
  }
  // No two are inside in conflict; clients stop at their deadlines, as the guard makes them.
  void judge() {
    int readers = 0;
    int writers = 0;
    for (std::uint32_t at = 0; at < rooms_.size(); ++at)
      for (const auto& [client, until] : rooms_[at]->inside)
        if (until > now_) ++(modes_.at({at, client}) == Mode::shared ? readers : writers);
    ASSERT_FALSE(writers > 1 || (writers == 1 && readers > 0)) << "two inside";
  }

  std::vector<std::unique_ptr<Room>> rooms_;
  std::vector<std::uint32_t> all_;
  std::multimap<Instant, Letter> letters_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Mode> modes_;
  wire::LockVoters view_{};
  Carries carries_;
  Nanos delay_ = 1ms;
  Stream chance_{1, 0, 0};
  StreamDraw draw_{chance_};
  int words_ = 0;
  Instant now_{Nanos{1'000'000'000'000}};
};

TEST(BoundedDelayLocks, AsksForRepliesUntilSilenceCanBeTrusted) {
  House house(3);
  EXPECT_EQ(house.bounded_delay(0).mode(), "");
  house.acquire(0, 1);
  EXPECT_EQ(house.bounded_delay(0).mode(),
            "silent locks wait for explicit replies, because h1 has not been heard yet");
  ASSERT_TRUE(house.comes(1s, [&] { return house.inside(0, 1); }));
  ASSERT_TRUE(house.settled());
  EXPECT_EQ(house.bounded_delay(0).mode(), "silent locks take silence for consent");
  house.release(0, 1);
  house.pass(100ms);

  // Silence costs a request to each and nothing more.
  const int before = house.words();
  house.acquire(0, 2);
  ASSERT_TRUE(house.comes(1s, [&] { return house.inside(0, 2); }));
  EXPECT_EQ(house.words() - before, 2);
  house.release(0, 2);
  house.acquire(0, 3, Mode::exclusive, false);
  const int explicitly = house.words();
  house.pass(500ms);
  EXPECT_TRUE(house.inside(0, 3));
  EXPECT_EQ(house.words() - explicitly, 4) << "where it is asked for, also a reply from each";
}

TEST(BoundedDelayLocks, OneAtATimeAcrossHostsAndOnOne) {
  House house(3);
  for (std::uint32_t i = 0; i < 6; ++i) house.acquire(i % 3, 10 + i);
  std::uint32_t served = 0;
  for (int i = 0; i < 3000 && served < 6; ++i) {
    house.pass(10ms);
    for (std::uint32_t client = 0; client < 6; ++client)
      if (house.inside(client % 3, 10 + client)) {
        house.release(client % 3, 10 + client);
        ++served;
      }
  }
  EXPECT_EQ(served, 6U);
}

// Here as long as a client has it or waits; elsewhere for as long as a lease after a word.
TEST(BoundedDelayLocks, KnowsWhichNamesAreInUse) {
  House house(3);
  EXPECT_FALSE(house.bounded_delay(0).uses(house.now(), "door"));
  house.acquire(0, 1);
  house.pass(500ms);
  ASSERT_TRUE(house.inside(0, 1));
  for (const std::uint32_t at : {0U, 1U, 2U})
    EXPECT_TRUE(house.bounded_delay(at).uses(house.now(), "door")) << at;
  house.pass(5s);
  EXPECT_TRUE(house.bounded_delay(0).uses(house.now(), "door"));
  EXPECT_FALSE(house.bounded_delay(1).uses(house.now(), "door")) << "who is inside alone is silent";
  house.acquire(1, 2);
  house.pass(500ms);
  EXPECT_TRUE(house.bounded_delay(2).uses(house.now(), "door")) << "who waits is not";
  house.release(0, 1);
  house.pass(500ms);
  house.release(1, 2);
  house.pass(5s);
  for (const std::uint32_t at : {0U, 1U, 2U})
    EXPECT_FALSE(house.bounded_delay(at).uses(house.now(), "door")) << at;
}

TEST(BoundedDelayLocks, ReadersShareAWriterDoesNot) {
  House house(3);
  house.acquire(0, 1, Mode::shared);
  house.acquire(0, 2, Mode::shared);
  house.acquire(1, 3, Mode::shared);
  EXPECT_TRUE(house.comes(
      2s, [&] { return house.inside(0, 1) && house.inside(0, 2) && house.inside(1, 3); }));
  house.acquire(2, 4);
  house.pass(1s);
  EXPECT_FALSE(house.inside(2, 4));
  house.release(0, 1);
  house.release(0, 2);
  house.release(1, 3);
  EXPECT_TRUE(house.comes(2s, [&] { return house.inside(2, 4); }));
}

TEST(BoundedDelayLocks, ALossMakesItFallBackAndItRecovers) {
  House house(3);
  house.acquire(0, 1);
  ASSERT_TRUE(house.settled());
  house.release(0, 1);
  int lose = 1;
  house.set_carrier([&](std::uint32_t, std::uint32_t to, const House::Word& word) {
    return !(to == 1 && std::holds_alternative<wire::MutexBody>(word) && lose-- > 0);
  });
  // 1 is inside, and does not hear of 0's request: only that it is not confirmed keeps 0 out.
  house.acquire(1, 2);
  ASSERT_TRUE(house.comes(1s, [&] { return house.inside(1, 2); }));
  lose = 1;
  house.acquire(0, 3);
  house.pass(200ms);
  EXPECT_FALSE(house.inside(0, 3));
  EXPECT_EQ(house.bounded_delay(0).mode(),
            "silent locks wait for explicit replies, because a datagram to h1 was lost");
  house.release(1, 2);
  EXPECT_TRUE(house.comes(1s, [&] { return house.inside(0, 3); }));
  EXPECT_TRUE(house.settled());
}

TEST(BoundedDelayLocks, LongDelaysMakeItFallBack) {
  House house(3);
  house.acquire(0, 1);
  ASSERT_TRUE(house.settled());
  house.set_delay(15ms);
  house.pass(200ms);
  EXPECT_THAT(house.bounded_delay(2).mode(), HasSubstr("because a round trip to"));
  house.set_delay(1ms);
  EXPECT_TRUE(house.settled());
}

// A daemon dies; its client runs on until its deadline. Nobody else gets in, neither before that,
// nor while it is gone; a new life rests first.
TEST(BoundedDelayLocks, ADeadDaemonBlocksUntilItIsBack) {
  House house(3);
  house.acquire(0, 1);
  ASSERT_TRUE(house.settled());
  house.kill(0);
  house.acquire(1, 2);
  house.pass(10s);
  EXPECT_FALSE(house.inside(1, 2));
  EXPECT_THAT(house.bounded_delay(1).mode(), HasSubstr("h0 has not been heard for"));
  house.be_born(0);
  house.pass(1s);
  EXPECT_FALSE(house.inside(1, 2)) << "it rests";
  EXPECT_TRUE(house.comes(5s, [&] { return house.inside(1, 2); }));
}

TEST(BoundedDelayLocks, AQuickRestartWhileTheClientRunsOn) {
  House house(3);
  house.acquire(0, 1);
  ASSERT_TRUE(house.settled());
  house.pass(100ms);
  house.kill(0);
  house.be_born(0);
  house.acquire(1, 2);
  house.acquire(0, 3);
  EXPECT_TRUE(house.comes(10s, [&] { return house.inside(1, 2) || house.inside(0, 3); }));
}

// Cut off from the others the holder loses the lock; forgotten by them, it is nobody they wait for.
TEST(BoundedDelayLocks, WhoIsForgottenIsNotWaitedFor) {
  House house(3);
  house.acquire(0, 1);
  ASSERT_TRUE(house.settled());
  house.set_carrier([](std::uint32_t from, std::uint32_t to, const House::Word&) {
    return from != 0 && to != 0;
  });
  house.acquire(1, 2);
  for (std::uint32_t i : {1U, 2U}) house.bounded_delay(i).follow(house.now(), voters(2, {1, 2}));
  EXPECT_TRUE(house.comes(10s, [&] { return house.inside(1, 2); }));
  EXPECT_TRUE(house.lost(0, 1));
  house.set_carrier({});
  house.bounded_delay(0).follow(house.now(), voters(2, {1, 2}));
  EXPECT_THAT(
      house.bounded_delay(0).acquire(house.now(), {.client = ClientId{9}, .name = "door"}).error(),
      HasSubstr("this one does not"));
}

TEST(BoundedDelayLocks, OneHostAloneHasItsLocks) {
  House house(1);
  house.acquire(0, 1, Mode::exclusive, false);
  house.pass(10ms);
  EXPECT_TRUE(house.inside(0, 1));
  house.acquire(0, 2);
  house.pass(3s);
  EXPECT_TRUE(house.inside(0, 1));
  EXPECT_FALSE(house.inside(0, 2));
  house.release(0, 1);
  EXPECT_TRUE(house.comes(1s, [&] { return house.inside(0, 2); }));
}

TEST(BoundedDelayLocks, WhoFindsNoRoomIsTold) {
  constexpr std::uint32_t kClients = 4096;
  House house(1);
  for (std::uint32_t i = 0; i < kClients; ++i) house.acquire(0, i);
  const BoundedDelayLocks::LockRequest one_more{.client = ClientId{kClients}, .name = "door"};
  const auto refused = house.bounded_delay(0).acquire(house.now(), one_more);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("too many clients"));
  house.release(0, kClients - 1);
  EXPECT_TRUE(house.bounded_delay(0).acquire(house.now(), one_more));
}

// A lock that nobody has or wants makes room for another.
TEST(BoundedDelayLocks, WhoNamesOneLockTooManyIsTold) {
  constexpr std::uint32_t kLocks = 1024;
  House house(2);
  for (std::uint32_t i = 0; i < kLocks; ++i)
    house.acquire(0, i, Mode::shared, true, "lock" + std::to_string(i));
  const BoundedDelayLocks::LockRequest one_more{
      .client = ClientId{kLocks}, .name = "more", .mode = Mode::shared};
  const auto refused = house.bounded_delay(0).acquire(house.now(), one_more);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("too many locks"));
  ASSERT_TRUE(house.comes(5s, [&] { return house.inside(0, 7); }));
  house.release(0, 7);
  EXPECT_TRUE(house.bounded_delay(0).acquire(house.now(), one_more));
  EXPECT_FALSE(house.bounded_delay(0).uses(house.now(), "lock7"));
}

TEST(BoundedDelayLocks, SaysWhatItKnows) {
  House house(2);
  EXPECT_THAT(house.bounded_delay(0).known(), ::testing::IsEmpty());
  house.acquire(0, 1);
  ASSERT_TRUE(house.comes(5s, [&] { return house.inside(0, 1); }));
  house.acquire(0, 2);
  const std::vector<Known> known = house.bounded_delay(0).known();
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known[0].name, "door");
  EXPECT_EQ(known[0].mode, Mode::exclusive);
  EXPECT_EQ(known[0].holder, host(0));
  EXPECT_TRUE(known[0].held_here);
  EXPECT_GT(known[0].until, house.now());
  ASSERT_EQ(known[0].clients.size(), 2U);
  EXPECT_TRUE(known[0].clients[0].inside);
  EXPECT_FALSE(known[0].clients[1].inside);
  EXPECT_EQ(known[0].token, lock::kNoToken) << "such locks have none";
}

TEST(BoundedDelayLocks, BeatsOnlyWhileItIsUsed) {
  House house(3);
  house.acquire(0, 1);
  house.pass(1s);
  EXPECT_NE(house.bounded_delay(2).due(), kNever) << "others beat, too";
  house.release(0, 1);
  house.pass(10s);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(house.bounded_delay(i).due(), kNever) << i;
}

// Whatever is lost, delayed, killed and restarted: `judge` looks after every step, and in the end
// everybody is served.
TEST(BoundedDelayLocks, NoTwoInsideWhateverHappens) {
  int entries = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    House house(3);
    Stream dice{seed, 1, 0};
    const auto below = [&](std::uint64_t most) { return StreamDraw{dice}.below(most); };
    std::uint32_t next = 0;
    std::array<std::optional<std::uint32_t>, 3> clients{};
    std::array<bool, 3> dead{};
    std::uint64_t loss = 0;
    house.set_carrier([&](std::uint32_t, std::uint32_t, const House::Word&) {
      return loss == 0 || below(100) >= loss;
    });
    for (int i = 0; i < 400; ++i) {
      const auto at = static_cast<std::uint32_t>(below(3));
      const std::uint64_t what = below(40);
      if (what == 0) loss = below(2) * below(40);
      if (what == 1) house.set_delay(below(2) == 0 ? 1ms : 30ms);
      if (what == 2 && !dead[at]) {
        house.kill(at);
        dead[at] = true;
        clients[at].reset();
      } else if (what >= 3 && what <= 8 && dead[at]) {
        house.be_born(at);
        dead[at] = false;
      } else if (!dead[at] && !clients[at]) {
        clients[at] = ++next;
        house.acquire(at, next, below(3) == 0 ? Mode::shared : Mode::exclusive, below(4) != 0);
      } else if (!dead[at] && (house.inside(at, *clients[at]) || house.lost(at, *clients[at]))) {
        entries += house.inside(at, *clients[at]) ? 1 : 0;
        house.release(at, *clients[at]);
        clients[at].reset();
      }
      house.pass(Nanos{static_cast<std::int64_t>(below(60'000'000))});
      if (HasFatalFailure()) FAIL() << "seed " << seed;
    }
    loss = 0;
    house.set_delay(1ms);
    for (std::uint32_t at = 0; at < 3; ++at) {
      if (dead[at]) house.be_born(at);
      if (!dead[at] && clients[at]) house.release(at, *clients[at]);
    }
    for (std::uint32_t at = 0; at < 3; ++at) {
      house.acquire(at, ++next);
      ASSERT_TRUE(house.comes(20s, [&] { return house.inside(at, next); })) << seed << ' ' << at;
      house.release(at, next);
    }
  }
  EXPECT_GT(entries, 1000) << "runs in which nobody gets in prove nothing";
}

}  // namespace
}  // namespace tempo::locks
