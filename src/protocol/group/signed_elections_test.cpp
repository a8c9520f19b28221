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

SignedElections elections_of(const auth::NodeKeys& keys, std::string_view group = "web") {
  return {{.self = NodeId{keys.self()},
           .group = group,
           .incarnation = Incarnation{1},
           .lease = kSignedLease},
          keys};
}

class SignedCluster {
 public:
  SignedCluster() {
    for (std::uint32_t i = 0; i < kMembers; ++i) {
      keys_.push_back(std::make_unique<auth::NodeKeys>(keys_of(i)));
      hosts_.push_back(elections_of(*keys_.back()));
    }
  }

  const auth::NodeKeys& keys(std::uint32_t number) { return *keys_[number]; }
  void offer(std::uint32_t number, election::capacity::Capacity capacity) {
    command(number, OfferCapacity{capacity});
  }
  void hold(std::uint32_t number) { command(number, SignedElections::Hold{}); }
  void send(std::uint32_t from, const SignedMessage& envelope) {
    in_transit_.emplace_back(from, envelope);
  }
  void pass(Nanos span) {
    for (const BootTime end = now + span; now < end; now += 1ms) {
      std::deque<std::pair<std::uint32_t, SignedMessage>> arriving;
      std::swap(arriving, in_transit_);
      for (const auto& [from, envelope] : arriving) {
        if (spy) spy(from, envelope);
        for (std::uint32_t to = 0; to < kMembers; ++to)
          if (to != from && !dead.contains(to))
            step(to, [&](SignedElections& machine, auto& turn) {
              machine.receive(turn, NodeId{from}, envelope);
            });
      }
      for (std::uint32_t i = 0; i < kMembers; ++i)
        if (const auto due = first_due(hosts_[i].timers(), now); due && !dead.contains(i))
          step(i, [&](SignedElections& machine, auto& turn) { machine.on_timer(turn, *due); });
    }
  }
  std::vector<std::uint32_t> elected() const {
    std::vector<std::uint32_t> who;
    for (const auto& [number, result] : results)
      if (std::holds_alternative<Elected>(result)) who.push_back(number);
    return who;
  }

  BootTime now{1000s};
  std::map<std::uint32_t, bool> dead;
  std::map<std::uint32_t, ElectionNotice> results;  // the last result of each host
  std::function<void(std::uint32_t from, const SignedMessage& envelope)> spy;

 private:
  void command(std::uint32_t number, const SignedElections::Command& command) {
    step(number, [&](SignedElections& machine, auto& turn) { machine.command(turn, command); });
  }
  template <class Do>
  void step(std::uint32_t number, Do todo) {
    Outbox<SignedElections> out;
    Turn<SignedElections> turn{now, draw_, out};
    hosts_[number].command(turn, NetworkClock{.trusted = true});
    todo(hosts_[number], turn);
    for (const auto& output : out) {
      if (output.kind == OutputKind::notice)
        results[number] = output.notice;
      else
        in_transit_.emplace_back(number, output.message);
    }
  }

  std::vector<std::unique_ptr<auth::NodeKeys>> keys_;
  std::vector<SignedElections> hosts_;
  std::deque<std::pair<std::uint32_t, SignedMessage>> in_transit_;
  Stream chance_{1, 0, 0};
  StreamDraw draw_{chance_};
};

TEST(SignedElections, ElectTheBest) {
  SignedCluster cluster;
  for (std::uint32_t i = 0; i < 3; ++i) cluster.offer(i, 10 + 10 * (i % 2));
  cluster.hold(0);
  cluster.pass(kSignedLease);
  EXPECT_EQ(cluster.elected(), std::vector{1U});
  EXPECT_EQ(cluster.results.size(), kMembers) << "a member that is no candidate takes part";
}

TEST(SignedElections, TolerateADeadMember) {
  SignedCluster cluster;
  for (std::uint32_t i = 0; i < kMembers; ++i) cluster.offer(i, 10 + i);
  cluster.dead[3] = true;
  cluster.hold(0);
  cluster.pass(kSignedLease);
  EXPECT_EQ(cluster.elected(), std::vector{2U});
}

// Host 3 has the cluster's key and its own, and forges a bid of another host.
TEST(SignedElections, RejectForgedMessages) {
  SignedCluster cluster;
  for (std::uint32_t i = 0; i < 3; ++i) cluster.offer(i, 10 + i);
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
  cluster.offer(0, 5);
  cluster.spy = [&](std::uint32_t, const SignedMessage& envelope) { first = envelope; };
  cluster.hold(0);
  cluster.pass(2ms);
  ASSERT_FALSE(first.signatures.empty());
  Stream chance{1, 0, 0};
  StreamDraw draw{chance};
  const auto accepts = [&](std::string_view group, const auth::NodeKeys& keys) {
    SignedElections other = elections_of(keys, group);
    Outbox<SignedElections> out;
    Turn<SignedElections> turn{cluster.now, draw, out};
    other.receive(turn, NodeId{0}, first);
    return other.timers().first() != kNever;
  };
  EXPECT_TRUE(accepts("web", keys_of(1)));
  EXPECT_FALSE(accepts("mail", keys_of(1)));
  EXPECT_FALSE(accepts("web", keys_of(1, 5)));
}

// A machine that has just started takes part in the next election; an old one cannot be replayed.
TEST(SignedElections, AreNamedByNetworkTime) {
  SignedCluster cluster;
  for (std::uint32_t i = 0; i < kMembers; ++i) cluster.offer(i, 10 + i);
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
  cluster.offer(3, 1);
  cluster.hold(1);
  cluster.pass(kSignedLease);
  EXPECT_EQ(cluster.elected(), std::vector{2U});
}

}  // namespace
}  // namespace tempo::groups
