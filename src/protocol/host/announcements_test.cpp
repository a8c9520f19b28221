// Announcements of one host, and of three hosts on a network that can fail in one direction.
#include "protocol/host/announcements.h"

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "machine/machine_harness.h"

namespace tempo::announce {
namespace {

HostId host(std::uint64_t number) { return HostId{number}; }

Announcements::Message from_host(std::uint64_t number, std::uint32_t incarnation = 1) {
  return {.sender = host(number),
          .name = wire::Name(fmt::format("host{}", number)),
          .incarnation = Incarnation{incarnation},
          .body = {.interval_ms = 2000, .uptime_s = 5}};
}

class Single : public MachineHarness<Announcements> {
 public:
  Single() : MachineHarness(Instant{1000s}) {
    draw().set_share(0);
    make(host(1));
  }
  Lines hear(const Announcements::Message& message) { return receive(NodeId{7}, message); }
  std::string text_of(const Output<Announcements>& output) override {
    if (output.kind != OutputKind::broadcast) return "";
    const wire::AnnouncementBody& body = output.message.body;
    std::string text = fmt::format("every {} ms, {} up", body.interval_ms, body.up_members);
    if (body.stops) text += ", stops";
    if (body.mentioned.host != kNoHost)
      text += fmt::format(", {} {} s ago{}", body.mentioned.name.text(), body.mentioned.silent_s,
                          body.mentioned.stopped ? " stopped" : "");
    return text;
  }
  State state(std::uint64_t number) const {
    const auto* member = machine().find(host(number));
    return Announcements::state_of(now(), member, member == nullptr ? Instant{} : member->heard);
  }
};

TEST(Announcements, AreSentEveryTwoSecondsAndOnceAtTheEnd) {
  Single one;
  one.start();
  // The shortest interval that may be drawn is nine tenths of the stated one.
  EXPECT_EQ(one.pass(4s),
            (Lines{"every 2000 ms, 0 up", "every 2000 ms, 0 up", "every 2000 ms, 0 up"}));
  EXPECT_EQ(one.command(Announcements::Stop{}), Lines{"every 2000 ms, 0 up, stops"});
  EXPECT_EQ(one.command(Announcements::Stop{}), Lines{});
  EXPECT_EQ(one.pass(1min), Lines{});
}

TEST(Announcements, SayWhatTheHostSaysNow) {
  Single one;
  one.start();
  wire::AnnouncementBody own{.profile = wire::Word("fast"), .expect = 3};
  one.command(Announcements::Describe{own});
  one.wake();
  ASSERT_EQ(one.outputs().size(), 1U);
  EXPECT_EQ(one.outputs().begin()->message.body.profile.text(), "fast");
  EXPECT_EQ(one.outputs().begin()->message.body.expect, 3);
}

TEST(Announcements, AreRareInLargeNetworks) {
  Single one;
  one.start();
  for (std::uint64_t i = 2; i < 202; ++i) one.hear(from_host(i));
  // 200 members, 20 ms each.
  EXPECT_EQ(one.wake().front().substr(0, 13), "every 4000 ms");
}

// A new process is answered after at most half a second, but floods cost at most two per second.
TEST(Announcements, AreSentSoonAfterANewProcess) {
  Single one;
  one.start();
  one.wake();
  one.sleep(1s);
  one.hear(from_host(2));
  EXPECT_LE(one.machine().timers().first() - one.now(), Announcements::kSoon);
  one.wake();
  const Instant sent = one.now();
  for (std::uint32_t life = 2; life < 100; ++life) one.hear(from_host(2, life));
  EXPECT_EQ(one.machine().timers().first() - sent, Announcements::kSoon);
}

TEST(Announcements, AMemberIsSilentAfterThreeMissedOnesAndGoneAfterAnHour) {
  Single one;
  one.start();
  one.hear(from_host(2));
  one.sleep(6s);
  EXPECT_EQ(one.state(2), State::up);
  one.sleep(1s);
  EXPECT_EQ(one.state(2), State::silent);
  one.sleep(kGoneAfter);
  EXPECT_EQ(one.state(2), State::gone);
  one.hear(from_host(2));
  EXPECT_EQ(one.state(2), State::up);
  // Other messages are signs of life too.
  one.sleep(1min);
  EXPECT_EQ(Announcements::state_of(one.now(), one.machine().find(host(2)), one.now() - 1s),
            State::up);
}

TEST(Announcements, AMemberThatStopsSaysSo) {
  Single one;
  one.start();
  Announcements::Message last = from_host(2);
  last.body.stops = true;
  one.hear(last);
  EXPECT_EQ(one.state(2), State::stopped);
  // It has started again.
  one.hear(from_host(2, 2));
  EXPECT_EQ(one.state(2), State::up);
}

TEST(Announcements, MentionEveryMemberAndSilentOnesMoreOften) {
  Single one;
  one.start();
  one.hear(from_host(2));
  one.sleep(1min);
  std::vector<std::string> mentions;
  for (int i = 0; i < 8; ++i) {
    for (std::uint64_t number = 3; number < 6; ++number) one.hear(from_host(number));
    const Lines lines = one.wake();
    ASSERT_EQ(lines.size(), 1U);
    mentions.push_back(lines.front().substr(lines.front().rfind("host"), 5));
  }
  EXPECT_EQ(mentions, (std::vector<std::string>{"host2", "host2", "host2", "host3", "host2",
                                                "host4", "host2", "host5"}));
}

TEST(Announcements, AHostKnowsTheNamesOfMembersThatItNeverHeard) {
  Single one;
  one.start();
  Announcements::Message message = from_host(2);
  message.body.mentioned = {.host = host(3), .name = wire::Name("bow"), .silent_s = 60};
  one.hear(message);
  ASSERT_EQ(one.machine().mentioned().size(), 1U);
  const auto& bow = one.machine().mentioned().begin()->second;
  EXPECT_EQ(bow.name.text(), "bow");
  EXPECT_EQ(one.now() - bow.heard, 60s);
  // The later of two observations counts.
  message.body.mentioned.silent_s = 90;
  one.hear(message);
  EXPECT_EQ(one.now() - bow.heard, 60s);
  // Nobody repeats what it was told, so an age cannot grow younger by being passed around.
  EXPECT_EQ(one.wake().front().find("bow"), std::string::npos);
  // A member that is heard is no longer hearsay, and an old mention is forgotten.
  one.hear(from_host(3));
  EXPECT_TRUE(one.machine().mentioned().empty());
  message.body.mentioned = {.host = host(4), .name = wire::Name("stern"), .silent_s = 3590};
  one.hear(message);
  EXPECT_EQ(one.machine().mentioned().size(), 1U);
  one.pass(20s);
  EXPECT_TRUE(one.machine().mentioned().empty());
}

TEST(Announcements, AMemberWithoutANameOrGoneIsNotRemembered) {
  Single one;
  one.start();
  Announcements::Message message = from_host(2);
  message.body.mentioned = {.host = host(3), .silent_s = 60};
  one.hear(message);
  message.body.mentioned = {.host = host(3), .name = wire::Name("bow"), .silent_s = 4000};
  one.hear(message);
  EXPECT_TRUE(one.machine().mentioned().empty());
}

TEST(Announcements, InventedHostsStayBounded) {
  Single one;
  one.start();
  Announcements::Message message = from_host(2);
  for (std::uint64_t i = 0; i < 2 * Announcements::kMaxMembers; ++i) {
    message.body.mentioned = {.host = host(100'000 + i), .name = wire::Name("x")};
    one.hear(message);
    one.hear(from_host(10 + i));
    one.sleep(1us);
  }
  EXPECT_EQ(one.machine().members().size(), Announcements::kMaxMembers);
  EXPECT_EQ(one.machine().mentioned().size(), Announcements::kMaxMentioned);
  // The members heard last have stayed.
  EXPECT_NE(one.machine().find(host(9 + 2 * Announcements::kMaxMembers)), nullptr);
}

// Three hosts and their links; each link has a direction.
class Network {
 public:
  Network() {
    for (std::uint64_t i = 1; i <= 3; ++i) sites_.push_back(std::make_unique<Host>(host(i)));
    for (auto& site : sites_) site->start();
  }
  void cut(std::uint64_t from, std::uint64_t to) { cut_.insert({from, to}); }
  void pass(Nanos span) {
    for (Nanos done{0}; done < span; done += 100ms) {
      for (auto& site : sites_) {
        site->sleep(100ms);
        if (site->machine().timers().first() <= site->now()) {
          site->wake();
          deliver(*site);
        }
      }
    }
  }
  const Announcements& at(std::uint64_t number) const { return sites_[number - 1]->machine(); }
  Instant now() const { return sites_[0]->now(); }

 private:
  struct Host : MachineHarness<Announcements> {
    explicit Host(HostId self) : MachineHarness(Instant{1000s}), id(self) { make(self); }
    HostId id;
  };
  void deliver(const Host& from) {
    std::vector<Announcements::Message> messages;
    for (const auto& output : from.outputs()) messages.push_back(output.message);
    const auto number = std::to_underlying(from.id);
    for (auto& to : sites_) {
      if (to->id == from.id || cut_.contains({number, std::to_underlying(to->id)})) continue;
      for (Announcements::Message message : messages) {
        message.sender = from.id;
        message.name = wire::Name(fmt::format("host{}", number));
        to->receive(NodeId{0}, message);
      }
    }
  }

  std::vector<std::unique_ptr<Host>> sites_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> cut_;
};

TEST(Announcements, AHostLearnsWhoDoesNotHearIt) {
  Network network;
  network.pass(10s);
  const auto misses = [&](std::uint64_t at, std::uint64_t member) {
    return Announcements::misses_us(network.now(), *network.at(at).find(host(member)));
  };
  for (std::uint64_t at = 1; at <= 3; ++at)
    for (std::uint64_t member = at % 3 + 1; member != at; member = member % 3 + 1)
      EXPECT_FALSE(misses(at, member)) << at << member;
  const Instant cut = network.now();
  network.cut(1, 2);
  network.pass(15s);
  ASSERT_TRUE(misses(1, 2));
  EXPECT_LE(std::chrono::abs(*misses(1, 2) - cut), 3s);
  EXPECT_FALSE(misses(1, 3));
  EXPECT_FALSE(misses(2, 1));
}

}  // namespace
}  // namespace tempo::announce
