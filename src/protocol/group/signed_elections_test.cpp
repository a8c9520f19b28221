// Four machines that sign, on a network that is a list; one of them may be byzantine. The tests in
// src/lab/studies/group cover B.2 itself.
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
    SignedElections::Results step_results;
    host(number).hold(moment(), draw_, step_results);
    take(number, step_results);
  }
  void send(std::uint32_t from, const SignedMessage& envelope) {
    in_transit_.emplace_back(from, envelope);
  }
  void pass(Nanos span) {
    for (const Instant end = now + span; now < end; now += 1ms) {
      std::deque<std::pair<std::uint32_t, SignedMessage>> arriving;
      std::swap(arriving, in_transit_);
      for (const auto& [from, envelope] : arriving) {
        if (spy) spy(from, envelope);
        for (std::uint32_t to = 0; to < kMembers; ++to) {
          if (to == from || dead.contains(to)) continue;
          SignedElections::Results step_results;
          host(to).receive(moment(), draw_, envelope, step_results);
          take(to, step_results);
        }
      }
      for (std::uint32_t i = 0; i < kMembers; ++i) {
        const auto due = host(i).due_in(moment());
        if (dead.contains(i) || !due || *due > Nanos{0}) continue;
        SignedElections::Results step_results;
        host(i).on_timer(moment(), draw_, step_results);
        take(i, step_results);
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
  std::map<std::uint32_t, SignedElections::Results> results;  // the last results of each host
  std::function<void(std::uint32_t from, const SignedMessage& envelope)> spy;

 private:
  Moment moment() const { return {.now = now, .network = now, .trusted = true}; }
  void take(std::uint32_t number, const SignedElections::Results& step_results) {
    for (const SignedMessage& envelope : step_results.messages)
      in_transit_.emplace_back(number, envelope);
    if (step_results.elected || step_results.defeated || step_results.nothing)
      results[number] = step_results;
  }

  std::vector<std::unique_ptr<auth::NodeKeys>> keys_;
  std::vector<std::unique_ptr<SignedElections>> hosts_;
  std::deque<std::pair<std::uint32_t, SignedMessage>> in_transit_;
  Stream chance_{1, 0, 0};
  StreamDraw draw_{chance_};
};

TEST(SignedElections, ElectTheBest) {
  SignedCluster cluster;
  for (std::uint32_t i = 0; i < 3; ++i) cluster.host(i).offer(10 + 10 * (i % 2));
  cluster.hold(0);
  cluster.pass(kSignedLease);
  EXPECT_EQ(cluster.elected(), std::vector{1U});
  EXPECT_EQ(cluster.results.size(), kMembers) << "a member that is no candidate takes part";
}

TEST(SignedElections, TolerateADeadMember) {
  SignedCluster cluster;
  for (std::uint32_t i = 0; i < kMembers; ++i) cluster.host(i).offer(10 + i);
  cluster.dead[3] = true;
  cluster.hold(0);
  cluster.pass(kSignedLease);
  EXPECT_EQ(cluster.elected(), std::vector{2U});
}

// Host 3 has the cluster's key and its own, and forges a bid of another host.
TEST(SignedElections, RejectForgedMessages) {
  SignedCluster cluster;
  for (std::uint32_t i = 0; i < 3; ++i) cluster.host(i).offer(10 + i);
  int forged = 0;
  cluster.spy = [&](std::uint32_t from, const SignedMessage& envelope) {
    if (from != 0 || forged > 0 || index(envelope.message.sender) != cluster.keys(0).self()) return;
    ++forged;
    SignedMessage forgery = envelope;
    forgery.message.number += 7;
    forgery.message.content.capacity = 1'000'000;
    cluster.send(3, forgery);  // with the signature of another message
    forgery.signatures.clear();
    forgery.signatures.push_back({.member = static_cast<std::uint8_t>(cluster.keys(0).self()),
                                  .signature = cluster.keys(3).sign(signed_bytes("web", forgery))});
    cluster.send(3, forgery);  // with its own signature, in the other's name
  };
  cluster.hold(0);
  cluster.pass(kSignedLease);
  EXPECT_EQ(forged, 1);
  EXPECT_EQ(cluster.elected(), std::vector{2U});
}

TEST(SignedElections, AreBoundToOneGroupAndOneList) {
  SignedCluster cluster;
  SignedMessage first;
  cluster.host(0).offer(5);
  cluster.spy = [&](std::uint32_t, const SignedMessage& envelope) { first = envelope; };
  cluster.hold(0);
  cluster.pass(2ms);
  ASSERT_FALSE(first.signatures.empty());
  const Moment moment{.now = cluster.now, .network = cluster.now, .trusted = true};
  Stream chance{1, 0, 0};
  StreamDraw draw{chance};
  const auto accepts = [&](std::string_view group, const auth::NodeKeys& keys) {
    SignedElections other(group, Incarnation{1}, kSignedLease, keys);
    SignedElections::Results step_results;
    other.receive(moment, draw, first, step_results);
    return other.due_in(moment).has_value();
  };
  EXPECT_TRUE(accepts("web", keys_of(1)));
  EXPECT_FALSE(accepts("mail", keys_of(1)));
  EXPECT_FALSE(accepts("web", keys_of(1, 5)));
}

// A machine that has just started takes part in the next election; an old one cannot be replayed.
TEST(SignedElections, AreNamedByNetworkTime) {
  SignedCluster cluster;
  for (std::uint32_t i = 0; i < kMembers; ++i) cluster.host(i).offer(10 + i);
  std::vector<SignedMessage> all;
  cluster.spy = [&](std::uint32_t, const SignedMessage& envelope) { all.push_back(envelope); };
  cluster.hold(0);
  cluster.pass(kSignedLease);
  ASSERT_EQ(cluster.elected(), std::vector{3U});
  cluster.pass(3 * kSignedLease);
  cluster.results.clear();
  const std::vector<SignedMessage> old = all;
  for (const SignedMessage& envelope : old) cluster.send(0, envelope);
  cluster.pass(kSignedLease);
  EXPECT_TRUE(cluster.results.empty());
  cluster.host(3).offer(1);
  cluster.hold(1);
  cluster.pass(kSignedLease);
  EXPECT_EQ(cluster.elected(), std::vector{2U});
}

}  // namespace
}  // namespace tempo::groups
