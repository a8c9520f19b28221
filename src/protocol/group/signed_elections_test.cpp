// Four machines that sign, with a network in a list; one of them may lie. B.2 itself is studied in
// src/lab/sim/capacity and src/lab/check/capacity.
#include "protocol/group/signed_elections.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "base/random.h"

namespace tempo::groups {
namespace {

constexpr Nanos kSignedLease = 1s;
constexpr std::uint32_t kMembers = 4;

auth::NodeKeys keys_of(std::uint32_t host, std::uint32_t members = kMembers) {
  const auto seed = [](std::uint32_t number) {
    auth::Key key{};
    key[0] = static_cast<std::byte>(number + 1);
    return key;
  };
  std::vector<auth::PublicKey> list;
  for (std::uint32_t i = 0; i < members; ++i) list.push_back(auth::public_of(seed(i)));
  return auth::NodeKeys::make(seed(host), list).value();
}

class SignedCluster {
 public:
  SignedCluster() {
    for (std::uint32_t i = 0; i < kMembers; ++i) {
      keys_.push_back(std::make_unique<auth::NodeKeys>(keys_of(i)));
      hosts_.push_back(
          std::make_unique<SignedElections>("web", Incarnation{1}, kSignedLease, *keys_.back()));
    }
  }

  SignedElections& host(std::uint32_t number) { return *hosts_[number]; }
  const auth::NodeKeys& keys(std::uint32_t number) { return *keys_[number]; }
  void hold(std::uint32_t number) {
    SignedElections::Results came;
    host(number).hold(moment(), draw_, came);
    take(number, came);
  }
  void say(std::uint32_t from, const Signed& said) { under_way_.emplace_back(from, said); }
  void pass(Nanos span) {
    for (const Instant end = now + span; now < end; now += 1ms) {
      std::deque<std::pair<std::uint32_t, Signed>> arriving;
      std::swap(arriving, under_way_);
      for (const auto& [from, said] : arriving) {
        if (spy) spy(from, said);
        for (std::uint32_t to = 0; to < kMembers; ++to) {
          if (to == from || dead.contains(to)) continue;
          SignedElections::Results came;
          host(to).receive(moment(), draw_, said, came);
          take(to, came);
        }
      }
      for (std::uint32_t i = 0; i < kMembers; ++i) {
        const auto due = host(i).due_in(moment());
        if (dead.contains(i) || !due || *due > Nanos{0}) continue;
        SignedElections::Results came;
        host(i).on_timer(moment(), draw_, came);
        take(i, came);
      }
    }
  }
  std::vector<std::uint32_t> elected() const {
    std::vector<std::uint32_t> who;
    for (const auto& [number, result] : results)
      if (result.elected) who.push_back(number);
    return who;
  }

  Instant now{1000s};
  std::map<std::uint32_t, bool> dead;
  std::map<std::uint32_t, SignedElections::Results> results;  // the last of each
  std::function<void(std::uint32_t from, const Signed& said)> spy;

 private:
  Moment moment() const { return {.now = now, .network = now, .trusted = true}; }
  void take(std::uint32_t number, const SignedElections::Results& came) {
    for (const Signed& said : came.said) under_way_.emplace_back(number, said);
    if (came.elected || came.defeated || came.nothing) results[number] = came;
  }

  std::vector<std::unique_ptr<auth::NodeKeys>> keys_;
  std::vector<std::unique_ptr<SignedElections>> hosts_;
  std::deque<std::pair<std::uint32_t, Signed>> under_way_;
  Stream chance_{1, 0, 0};
  StreamDraw draw_{chance_};
};

TEST(SignedElections, EndWithTheBest) {
  SignedCluster cluster;
  for (std::uint32_t i = 0; i < 3; ++i) cluster.host(i).offer(10 + 10 * (i % 2));
  cluster.hold(0);
  cluster.pass(kSignedLease);
  EXPECT_EQ(cluster.elected(), std::vector{1U});
  EXPECT_EQ(cluster.results.size(), kMembers) << "who is no candidate takes part";
}

TEST(SignedElections, BearOneThatIsDead) {
  SignedCluster cluster;
  for (std::uint32_t i = 0; i < kMembers; ++i) cluster.host(i).offer(10 + i);
  cluster.dead[3] = true;
  cluster.hold(0);
  cluster.pass(kSignedLease);
  EXPECT_EQ(cluster.elected(), std::vector{2U});
}

// Host 3 has the cluster's key and its own, and puts a bid into another's mouth.
TEST(SignedElections, DoNotBelieveAWordInAnothersName) {
  SignedCluster cluster;
  for (std::uint32_t i = 0; i < 3; ++i) cluster.host(i).offer(10 + i);
  int forged = 0;
  cluster.spy = [&](std::uint32_t from, const Signed& said) {
    if (from != 0 || forged > 0 || index(said.message.sender) != cluster.keys(0).self()) return;
    ++forged;
    Signed false_word = said;
    false_word.message.number += 7;
    false_word.message.content.capacity = 1'000'000;
    cluster.say(3, false_word);  // with the signature of another word
    false_word.signatures.clear();
    false_word.signatures.push_back(
        {.member = static_cast<std::uint8_t>(cluster.keys(0).self()),
         .signature = cluster.keys(3).sign(signed_bytes("web", false_word))});
    cluster.say(3, false_word);  // with its own, in the other's name
  };
  cluster.hold(0);
  cluster.pass(kSignedLease);
  EXPECT_EQ(forged, 1);
  EXPECT_EQ(cluster.elected(), std::vector{2U});
}

TEST(SignedElections, AreOfOneGroupAndOneList) {
  SignedCluster cluster;
  Signed first;
  cluster.host(0).offer(5);
  cluster.spy = [&](std::uint32_t, const Signed& said) { first = said; };
  cluster.hold(0);
  cluster.pass(2ms);
  ASSERT_FALSE(first.signatures.empty());
  const Moment moment{.now = cluster.now, .network = cluster.now, .trusted = true};
  Stream chance{1, 0, 0};
  StreamDraw draw{chance};
  const auto heard = [&](std::string_view group, const auth::NodeKeys& keys) {
    SignedElections other(group, Incarnation{1}, kSignedLease, keys);
    SignedElections::Results came;
    other.receive(moment, draw, first, came);
    return other.due_in(moment).has_value();
  };
  EXPECT_TRUE(heard("web", keys_of(1)));
  EXPECT_FALSE(heard("mail", keys_of(1)));
  EXPECT_FALSE(heard("web", keys_of(1, 5)));
}

// A machine that has just started takes part in the next one; an old one is not played again.
TEST(SignedElections, AreNamedByTheTime) {
  SignedCluster cluster;
  for (std::uint32_t i = 0; i < kMembers; ++i) cluster.host(i).offer(10 + i);
  std::vector<Signed> all;
  cluster.spy = [&](std::uint32_t, const Signed& said) { all.push_back(said); };
  cluster.hold(0);
  cluster.pass(kSignedLease);
  ASSERT_EQ(cluster.elected(), std::vector{3U});
  cluster.pass(3 * kSignedLease);
  cluster.results.clear();
  const std::vector<Signed> old = all;
  for (const Signed& said : old) cluster.say(0, said);
  cluster.pass(kSignedLease);
  EXPECT_TRUE(cluster.results.empty());
  cluster.host(3).offer(1);
  cluster.hold(1);
  cluster.pass(kSignedLease);
  EXPECT_EQ(cluster.elected(), std::vector{2U});
}

}  // namespace
}  // namespace tempo::groups
