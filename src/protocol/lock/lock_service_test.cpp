// Hosts with services, a network that carries at once, and clients.
#include "protocol/lock/lock_service.h"

#include <deque>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::locks {
namespace {

using ::testing::HasSubstr;

HostId host(std::uint32_t number) { return HostId{100 + number}; }

class Office {
 public:
  // The first `voters` hosts vote.
  explicit Office(std::uint32_t hosts, std::uint32_t voters = 3, lock::lease::Rules rules = {},
                  bool available = false)
      : rules_(rules), available_(available) {
    for (std::uint32_t i = 0; i < voters; ++i) voters_.push_back(host(i));
    for (std::uint32_t i = 0; i < hosts; ++i) {
      desks_.push_back(std::make_unique<Harness>(*this, i));
      move_in(i);
    }
    for (const auto& harness : desks_) harness->service->start(now_);
    settle();
    pass(5s);  // abstention is over
    datagrams_ = 0;
  }

  // The service of this host anew, with what is on its disk.
  void restart(std::uint32_t at) {
    move_in(at);
    desks_[at]->dead = false;
    desks_[at]->service->start(now_);
    settle();
  }
  Result<void> change(std::uint32_t at, std::uint32_t who, std::uint8_t votes) {
    const auto begun = desks_[at]->service->change(now_, host(who), votes);
    settle();
    return begun;
  }
  int changes(std::uint32_t at) const { return desks_[at]->changes; }
  const std::optional<Saved>& disk(std::uint32_t at) const { return desks_[at]->disk; }

  void acquire(std::uint32_t at, std::uint32_t client, std::string_view name,
               Mode mode = Mode::exclusive, Nanos lease = Nanos{0}) {
    ASSERT_TRUE(desks_[at]->service->acquire(now_, {.client = ClientId{client},
                                                    .name = name,
                                                    .mode = mode,
                                                    .network_us = ++ticket_,
                                                    .lease = lease}));
    settle();
  }
  void release(std::uint32_t at, std::uint32_t client) {
    desks_[at]->service->release(now_, ClientId{client});
    settle();
  }
  void pass(Nanos time) {
    const Instant end = now_ + time;
    for (;;) {
      Instant next = end;
      for (const auto& harness : desks_)
        if (!harness->dead) next = std::min(next, std::max(harness->service->due(), now_));
      now_ = next;
      if (now_ >= end) return;
      for (const auto& harness : desks_)
        if (!harness->dead && harness->service->due() <= now_) harness->service->on_timer(now_);
      settle();
    }
  }
  void kill(std::uint32_t at) { desks_[at]->dead = true; }

  // The last thing this client was told.
  std::optional<LockUpdate> told(std::uint32_t at, std::uint32_t client) const {
    const auto found = desks_[at]->told.find(ClientId{client});
    return found == desks_[at]->told.end() ? std::nullopt : std::optional(found->second);
  }
  bool inside(std::uint32_t at, std::uint32_t client) const {
    const auto update = told(at, client);
    return update && (update->kind == LockUpdate::Kind::granted ||
                      update->kind == LockUpdate::Kind::extended);
  }
  Token token(std::uint32_t at, std::uint32_t client) const {
    return desks_[at]->tokens.at(ClientId{client});
  }
  Service& service(std::uint32_t at) { return *desks_[at]->service; }
  int datagrams() const { return datagrams_; }
  Instant now() const { return now_; }

 private:
  void move_in(std::uint32_t i) {
    desks_[i]->service.emplace(
        Service::Start{.self = host(i),
                       .voters = voters_,
                       .hosts = {[](HostId id) {
                                   return NodeId{
                                       static_cast<std::uint32_t>(std::to_underlying(id)) - 100};
                                 },
                                 [](NodeId id) { return host(index(id)); }},
                       .rules = rules_,
                       .saved = desks_[i]->disk,
                       .available = available_},
        draw_, *desks_[i]);
  }

  struct Letter {
    HostId from, to;  // to nobody: to all
    wire::LockBody body;
  };
  struct Harness final : Driver {
    Harness(Office& whose, std::uint32_t what) : office(&whose), number(what) {}
    void broadcast(const wire::LockBody& body) override {
      ++office->datagrams_;
      office->letters_.push_back({host(number), kNoHost, body});
    }
    void send(HostId to, const wire::LockBody& body) override {
      ++office->datagrams_;
      office->letters_.push_back({host(number), to, body});
    }
    void write(const Saved& saved) override { writing.push_back(saved); }
    void voters_changed() override { ++changes; }
    void notify(ClientId client, const LockUpdate& update) override {
      told[client] = update;
      if (update.kind == LockUpdate::Kind::granted) tokens[client] = update.token;
    }

    Office* office;
    std::uint32_t number;
    std::optional<Service> service;
    std::vector<Saved> writing;
    int changes = 0;
    std::map<ClientId, LockUpdate> told;
    std::map<ClientId, Token> tokens;
    bool dead = false;
    std::optional<Saved> disk;
  };

  void settle() {
    for (int i = 0; i < 10'000; ++i) {
      bool wrote = false;
      for (const auto& harness : desks_)
        for (const Saved& saved : std::exchange(harness->writing, {})) {
          harness->service->written(now_, saved);
          harness->disk = saved;
          wrote = true;
        }
      if (letters_.empty()) {
        if (!wrote) return;
        continue;
      }
      const Letter letter = letters_.front();
      letters_.pop_front();
      for (const auto& harness : desks_) {
        const HostId to = host(harness->number);
        if (!harness->dead && to != letter.from && (letter.to == kNoHost || letter.to == to))
          harness->service->receive(now_, letter.from, letter.body);
      }
    }
    FAIL() << "they do not stop talking";
  }

  lock::lease::Rules rules_;
  bool available_;
  std::vector<HostId> voters_;
  Stream chance_{1, 0, 0};
  StreamDraw draw_{chance_};
  std::vector<std::unique_ptr<Harness>> desks_;
  std::deque<Letter> letters_;
  Instant now_{Nanos{1'000'000'000'000}};
  std::uint64_t ticket_ = 0;
  int datagrams_ = 0;
};

TEST(LockService, GrantsToOneAtATimeInTheirOrder) {
  Office office(3);
  office.acquire(0, 1, "door");
  EXPECT_TRUE(office.inside(0, 1));
  office.acquire(1, 2, "door");
  office.acquire(2, 3, "door");
  EXPECT_FALSE(office.inside(1, 2) || office.inside(2, 3));
  office.release(0, 1);
  EXPECT_TRUE(office.inside(1, 2));
  EXPECT_FALSE(office.inside(2, 3));
  office.release(1, 2);
  EXPECT_TRUE(office.inside(2, 3));
  EXPECT_LT(office.token(0, 1), office.token(1, 2));
  EXPECT_LT(office.token(1, 2), office.token(2, 3));
}

// Whenever the holder is done, who waits has the lock at once: also right after an extension, when
// more is left than a lease since the taker was heard.
TEST(LockService, HandsOverAtOnceAtAnyTime) {
  for (Nanos held = 0ms; held < 2s; held += 20ms) {
    Office office(3);
    office.acquire(0, 1, "door");
    office.acquire(1, 2, "door");
    office.pass(held);
    office.release(0, 1);
    EXPECT_TRUE(office.inside(1, 2)) << "held for " << held / 1ms << " ms";
  }
}

TEST(LockService, LocksOfOtherNamesHaveNothingToDoWithIt) {
  Office office(3);
  office.acquire(0, 1, "door");
  office.acquire(1, 2, "window");
  EXPECT_TRUE(office.inside(0, 1) && office.inside(1, 2));
}

TEST(LockService, ReadersShareAWriterDoesNot) {
  Office office(3);
  office.acquire(0, 1, "plan", Mode::shared);
  office.acquire(1, 2, "plan", Mode::shared);
  EXPECT_TRUE(office.inside(0, 1) && office.inside(1, 2));
  office.acquire(2, 3, "plan");
  EXPECT_FALSE(office.inside(2, 3));
  office.release(0, 1);
  office.release(1, 2);
  office.pass(5s);
  EXPECT_TRUE(office.inside(2, 3));
}

// The bars of the live lock: a lock that was never locked costs three datagrams at most, one that
// was locked here before costs none.
TEST(LockService, CostsAlmostNoDatagrams) {
  Office office(3);
  office.acquire(0, 1, "fresh");
  EXPECT_LE(office.datagrams(), 3);
  office.release(0, 1);
  const int before = office.datagrams();
  office.acquire(0, 2, "fresh");
  EXPECT_TRUE(office.inside(0, 2));
  EXPECT_EQ(office.datagrams(), before);
}

TEST(LockService, AHostThatDoesNotVoteLocksAllTheSame) {
  Office office(5);
  office.acquire(4, 1, "door");
  EXPECT_TRUE(office.inside(4, 1));
  office.acquire(3, 2, "door");
  office.acquire(0, 3, "door");
  office.release(4, 1);
  EXPECT_TRUE(office.inside(3, 2));
  office.release(3, 2);
  EXPECT_TRUE(office.inside(0, 3));
}

TEST(LockService, TheLeaseOfADeadHostEnds) {
  Office office(3);
  office.acquire(0, 1, "door");
  office.kill(0);
  office.acquire(1, 2, "door");
  EXPECT_FALSE(office.inside(1, 2));
  office.pass(4s);
  EXPECT_TRUE(office.inside(1, 2));
  EXPECT_LT(office.token(0, 1), office.token(1, 2));
}

TEST(LockService, WithoutAMajorityNothingIsGrantedAndWhatWasIsLost) {
  Office office(3);
  office.acquire(0, 1, "door");
  office.kill(1);
  office.kill(2);
  office.pass(5s);
  EXPECT_EQ(office.told(0, 1)->kind, LockUpdate::Kind::lost);
  office.acquire(0, 2, "door");
  office.pass(5s);
  EXPECT_FALSE(office.inside(0, 2));
}

// A machine is gone for good: its vote is taken away, and two of two are enough. Then another gets
// one, and any one of three may be away.
TEST(LockService, AVoteIsTakenAwayAndGiven) {
  Office office(4);
  office.kill(2);
  ASSERT_TRUE(office.change(0, 2, 0));
  EXPECT_EQ(office.changes(0), 1);
  EXPECT_EQ(office.changes(3), 1) << "who does not vote knows, too";
  EXPECT_FALSE(office.service(1).view().votes_for(NodeId{2}));
  office.acquire(3, 1, "door");
  EXPECT_TRUE(office.inside(3, 1));
  office.release(3, 1);
  ASSERT_TRUE(office.change(1, 3, 1));
  office.pass(5s);
  EXPECT_TRUE(office.service(0).view().votes_for(NodeId{3}));
  office.kill(1);
  office.acquire(0, 2, "door");
  office.pass(5s);
  EXPECT_TRUE(office.inside(0, 2)) << "0 and 3 are two of three";
  EXPECT_LT(office.token(3, 1), office.token(0, 2));
}

TEST(LockService, ViewsAreOnDiskAndWhoWasAwayIsTold) {
  Office office(3);
  office.kill(2);
  ASSERT_TRUE(office.change(0, 2, 0));
  ASSERT_TRUE(office.disk(1));
  EXPECT_EQ(office.disk(1)->view.number, 2U);
  EXPECT_EQ(office.disk(1)->view.chairs.size(), 2U);
  office.kill(0);
  office.kill(1);
  office.restart(0);
  office.restart(1);
  EXPECT_EQ(office.service(0).view().number, 2U);
  office.restart(2);
  office.pass(5s);
  EXPECT_EQ(office.service(2).view().number, 1U);
  office.acquire(2, 1, "door");
  office.pass(5s);
  EXPECT_EQ(office.service(2).view().number, 2U);
  EXPECT_TRUE(office.inside(2, 1)) << "it asks all the same";
}

TEST(LockService, NoVoteIsTakenWithoutAMajority) {
  Office office(3);
  office.kill(1);
  office.kill(2);
  ASSERT_TRUE(office.change(0, 2, 0));
  office.pass(20s);
  EXPECT_EQ(office.service(0).view().number, 1U);
  office.service(0).give_up_change(office.now());
  ASSERT_FALSE(office.change(0, 2, 2) && office.change(0, 1, 2)) << "one at a time";
}

TEST(LockService, ChangesThatCannotBeAreRefused) {
  Office office(2, 1);
  EXPECT_FALSE(office.change(0, 0, 0)) << "it would leave nobody";
  EXPECT_FALSE(office.change(0, 1, 2)) << "two votes at once";
  EXPECT_TRUE(office.change(0, 1, 1));
  office.pass(5s);
  EXPECT_EQ(office.service(1).view().number, 2U);
}

// With this policy each goes on alone, so both are inside; their tokens differ.
TEST(LockService, AvailableMeansUnsafe) {
  Office office(2, 2, {}, true);
  office.acquire(0, 1, "door");
  EXPECT_TRUE(office.inside(0, 1));
  office.release(0, 1);
  office.kill(0);
  office.acquire(1, 2, "door");
  office.pass(5s);
  EXPECT_TRUE(office.inside(1, 2));
  EXPECT_FALSE(office.change(1, 0, 0));
  Office strict(2, 2);
  strict.kill(0);
  strict.acquire(1, 2, "door");
  strict.pass(5s);
  EXPECT_FALSE(strict.inside(1, 2));
}

TEST(LockService, ALeaseLongerThanOursIsNotPromised) {
  Office office(3);
  wire::LockBody body{.kind = 0, .name = wire::LockName("door"), .view = 1, .boot = 9};
  body.ballot = {1'000'000, host(1)};
  body.length = 3s;
  const std::uint64_t before = office.service(0).dropped();
  office.service(0).receive(office.now(), host(1), body);
  EXPECT_EQ(office.service(0).dropped(), before + 1);
  EXPECT_TRUE(office.service(0).known(office.now()).empty());
}

TEST(LockService, BadNamesAreRefusedWithASentence) {
  Office office(1, 1);
  const auto why = [&](std::string_view name) {
    const auto wanted =
        office.service(0).acquire(office.now(), {.client = ClientId{1}, .name = name});
    return wanted ? std::string("nothing") : wanted.error();
  };
  EXPECT_THAT(why(""), HasSubstr("1 to 64"));
  EXPECT_THAT(why(std::string(65, 'x')), HasSubstr("longer than 64"));
  EXPECT_THAT(why("two words"), HasSubstr("no spaces"));
  EXPECT_THAT(why("caf\xc3\xa9"), HasSubstr("ASCII"));
  EXPECT_EQ(why(std::string(64, 'x')), "nothing");
}

// A client has the lease that it asks for; what cannot be is refused with the cure.
TEST(LockService, LeasesAreAsLongAsIsAskedFor) {
  Office office(3, 3, {.longest = 10s});
  office.pass(10s);
  office.acquire(0, 1, "long", Mode::exclusive, 10s);
  ASSERT_TRUE(office.inside(0, 1));
  EXPECT_GT(office.told(0, 1)->deadline, office.now() + 9s);
  office.acquire(0, 2, "short", Mode::exclusive, 40ms);
  ASSERT_TRUE(office.inside(0, 2));
  EXPECT_LT(office.told(0, 2)->deadline, office.now() + 40ms);
  for (const Nanos wrong : {Nanos{10s + 1ns}, Nanos{40ms - 1ns}, Nanos{-1}}) {
    const auto wanted = office.service(0).acquire(
        office.now(), {.client = ClientId{3}, .name = "wrong", .lease = wrong});
    ASSERT_FALSE(wanted);
    EXPECT_THAT(wanted.error(), HasSubstr("40ms to 10s long here; for longer ones set "));
  }
}

TEST(LockService, ManyNamesComeAndGo) {
  Office office(3);
  for (std::uint32_t i = 0; i < 3 * lock::lease::kMaxLocks; ++i) {
    const auto wanted = office.service(0).acquire(
        office.now(), {.client = ClientId{i}, .name = "name" + std::to_string(i)});
    ASSERT_TRUE(wanted) << i << ": " << wanted.error();
    office.release(0, i);
    office.pass(1ms);
  }
}

TEST(LockService, WhoFindsNoRoomIsTold) {
  constexpr std::uint32_t kClients = 4096;
  constexpr auto kOfOneLock = static_cast<std::uint32_t>(lock::lease::kMaxClients);
  Office office(3);
  for (std::uint32_t i = 0; i < kClients; ++i)
    office.acquire(0, i, "door" + std::to_string(i / kOfOneLock));
  const Service::LockRequest one_more{.client = ClientId{kClients}, .name = "more"};
  const auto refused = office.service(0).acquire(office.now(), one_more);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("too many clients"));
  office.release(0, kClients - 1);
  const auto wanted = office.service(0).acquire(office.now(), one_more);
  EXPECT_TRUE(wanted) << wanted.error();
}

TEST(LockService, WhoFindsNoRoomAtOneLockIsTold) {
  constexpr auto kOfOneLock = static_cast<std::uint32_t>(lock::lease::kMaxClients);
  Office office(3);
  for (std::uint32_t i = 0; i <= kOfOneLock; ++i) office.acquire(0, i, "door");
  EXPECT_TRUE(office.inside(0, 0));
  EXPECT_FALSE(office.told(0, kOfOneLock - 1)) << "it waits";
  ASSERT_TRUE(office.told(0, kOfOneLock));
  EXPECT_EQ(office.told(0, kOfOneLock)->kind, LockUpdate::Kind::refused);
  office.acquire(0, kOfOneLock, "window");
  EXPECT_TRUE(office.inside(0, kOfOneLock)) << "it may want another";
}

// On every host that votes, from the first word to the end of what was promised.
TEST(LockService, KnowsWhichNamesAreInUse) {
  Office office(3);
  EXPECT_FALSE(office.service(1).uses(office.now(), "door"));
  office.acquire(0, 1, "door");
  for (const std::uint32_t at : {0U, 1U, 2U})
    EXPECT_TRUE(office.service(at).uses(office.now(), "door")) << at;
  EXPECT_FALSE(office.service(1).uses(office.now(), "window"));
  office.pass(10s);
  EXPECT_TRUE(office.service(2).uses(office.now(), "door")) << "it is extended";
  office.release(0, 1);
  office.pass(3s);
  for (const std::uint32_t at : {0U, 1U, 2U})
    EXPECT_FALSE(office.service(at).uses(office.now(), "door")) << at;
}

TEST(LockService, SaysWhatItKnows) {
  Office office(3);
  office.acquire(0, 1, "door");
  office.acquire(0, 2, "door");
  const auto here = office.service(0).known(office.now());
  ASSERT_EQ(here.size(), 1);
  EXPECT_EQ(here[0].name, "door");
  EXPECT_TRUE(here[0].held_here);
  ASSERT_EQ(here[0].clients.size(), 2);
  EXPECT_TRUE(here[0].clients[0].inside);
  EXPECT_FALSE(here[0].clients[1].inside);
  EXPECT_EQ(here[0].clients[0].token, office.token(0, 1));
  office.acquire(2, 3, "door", Mode::shared);
  const auto waits = office.service(0).known(office.now()).at(0).elsewhere;
  ASSERT_EQ(waits.size(), 1);
  EXPECT_EQ(waits[0].host, host(2));
  EXPECT_EQ(waits[0].mode, Mode::shared);
  EXPECT_EQ(waits[0].ticket, 3U) << "as the third that asked";
  const auto there = office.service(1).known(office.now());
  ASSERT_EQ(there.size(), 1);
  EXPECT_FALSE(there[0].held_here);
  EXPECT_EQ(there[0].holder, host(0));
}

}  // namespace
}  // namespace tempo::locks
