// How one group service handles invalid requests and messages. The tests in src/lab/studies/group
// cover hosts with lock and group services under every fault.
#include "protocol/group/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::groups {
namespace {

using ::testing::HasSubstr;

constexpr Moment kNow{.now = Instant{1000s}, .network = Instant{2000s}, .trusted = true};

class ServiceHarness final : public Driver {
 public:
  void broadcast(const wire::GroupBody& body) override { broadcasts.push_back(body); }
  void send(HostId to, const wire::GroupBody& body) override { sent.emplace_back(to, body); }
  Result<void> acquire(locks::ClientId client, const std::string& name) override {
    if (!locks_here) return std::unexpected("no locks");
    lock_name = name;
    lock_client = client;
    return {};
  }
  void release(locks::ClientId client) override {
    if (lock_client == client) lock_client.reset();
  }
  void notify(UserId /*user*/, const LeadershipUpdate& update) override {
    updates.push_back(update.kind);
  }
  void changed(const std::string& group) override { changes.push_back(group); }
  void not_as_wanted(const std::string& /*group*/, const std::string& sentence) override {
    warnings.push_back(sentence);
  }

  // Runs all timers of this span.
  void pass(Moment from, Nanos span) {
    const Nanos step = 1ms;
    for (Nanos gone{0}; gone <= span; gone += step)
      service.on_timer({from.now + gone, from.network + gone, from.trusted});
  }

  bool locks_here = true;
  std::vector<wire::GroupBody> broadcasts;
  std::vector<std::pair<HostId, wire::GroupBody>> sent;
  std::vector<LeadershipUpdate::Kind> updates;
  std::vector<std::string> changes;
  std::vector<std::string> warnings;
  std::string lock_name;
  std::optional<locks::ClientId> lock_client;
  Stream chance{1, 0, 0};
  StreamDraw draw{chance};
  Service service{{.self = NodeId{5},
                   .life = Incarnation{1},
                   .hosts = {[](HostId host) {
                               const auto id = std::to_underlying(host);
                               return id < 100 ? NodeId{static_cast<std::uint32_t>(id)} : kNobody;
                             },
                             [](NodeId node) { return HostId{index(node)}; }}},
                  draw,
                  *this};
};

Service::Candidacy request(std::uint32_t user, std::string_view group) {
  return {.user = UserId{user}, .group = group, .capacity = 10, .min_stay = 20s};
}

wire::GroupBody heartbeat(std::string_view group, std::int64_t capacity) {
  return {.name = wire::GroupName(group), .capacity = capacity};
}

TEST(GroupService, AcquiresTheLockAndNotifiesTheUser) {
  ServiceHarness harness;
  ASSERT_TRUE(harness.service.stand(kNow, request(1, "web")));
  harness.pass(kNow, 3s);
  EXPECT_EQ(harness.lock_name, "@group/web");
  ASSERT_TRUE(harness.lock_client);
  EXPECT_TRUE(locks::is_group(*harness.lock_client));
  EXPECT_TRUE(harness.updates.empty());
  const Moment later{.now = kNow.now + 3s, .network = kNow.network + 3s, .trusted = true};
  harness.service.receive_lock(
      later, *harness.lock_client,
      {.kind = locks::LockUpdate::Kind::granted, .token = Token{7}, .deadline = later.now + 2s});
  EXPECT_EQ(harness.updates, std::vector{LeadershipUpdate::Kind::leads});
  const auto known = harness.service.known("web");
  ASSERT_TRUE(known);
  EXPECT_TRUE(known->here);
  EXPECT_EQ(known->term, Token{7});
  harness.service.withdraw(later, UserId{1});
  EXPECT_FALSE(harness.lock_client) << "the lease is released";
}

TEST(GroupService, WarnsThatNetworkTimeIsInaccurate) {
  ServiceHarness harness;
  ASSERT_TRUE(harness.service.stand(kNow, request(1, "web")));
  Moment blind = kNow;
  blind.trusted = false;
  harness.pass(blind, 4s);
  ASSERT_EQ(harness.warnings.size(), 1);
  EXPECT_THAT(harness.warnings[0], HasSubstr("using algorithm c"));
  EXPECT_EQ(harness.lock_name, "@group/web");
}

TEST(GroupService, WithoutLocksHasNoMajority) {
  ServiceHarness harness;
  harness.locks_here = false;
  ASSERT_TRUE(harness.service.stand(kNow, request(1, "web")));
  harness.pass(kNow, 6s);
  EXPECT_THAT(harness.updates, ::testing::Contains(LeadershipUpdate::Kind::no_majority));
}

TEST(GroupService, AllowsOneCandidatePerHost) {
  ServiceHarness harness;
  ASSERT_TRUE(harness.service.stand(kNow, request(1, "web")));
  EXPECT_THAT(harness.service.stand(kNow, request(2, "web")).error(),
              HasSubstr("one candidate per machine"));
  ASSERT_TRUE(harness.service.stand(kNow, request(2, "mail")));
  harness.service.withdraw(kNow, UserId{1});
  EXPECT_TRUE(harness.service.stand(kNow, request(3, "web")));
}

TEST(GroupService, RefusesAnotherCriterion) {
  ServiceHarness harness;
  wire::GroupBody other = heartbeat("web", 100);
  other.criterion = std::to_underlying(Criterion::uptime);
  harness.service.receive(kNow, HostId{7}, other);
  EXPECT_THAT(harness.service.stand(kNow, request(1, "web")).error(),
              HasSubstr("'--criterion uptime'"));
  Service::Candidacy same = request(1, "web");
  same.terms.criterion = Criterion::uptime;
  EXPECT_TRUE(harness.service.stand(kNow, same));
}

TEST(GroupService, OnARingAcceptsOnlyRandom) {
  ServiceHarness harness;
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::ring_anonymous}) {
    Service::Candidacy bad = request(1, "web");
    bad.terms = {Criterion::uptime, algorithm};
    EXPECT_THAT(harness.service.stand(kNow, bad).error(), HasSubstr("'--criterion random'"));
    EXPECT_FALSE(harness.service.known("web"));
  }
  Service::Candidacy good = request(1, "web");
  good.terms = {Criterion::random, Algorithm::ring};
  EXPECT_TRUE(harness.service.stand(kNow, good));
}

// The next host on the ring is the one with the next larger id; the service sends only to it.
TEST(GroupService, OnARingSendsToTheNextHost) {
  ServiceHarness harness;
  Service::Candidacy here = request(1, "web");
  here.terms = {Criterion::random, Algorithm::ring};
  wire::GroupBody other = heartbeat("web", 100);
  other.criterion = std::to_underlying(Criterion::random);
  for (const std::uint64_t host : {3U, 7U, 9U}) harness.service.receive(kNow, HostId{host}, other);
  ASSERT_TRUE(harness.service.stand(kNow, here));
  harness.pass(kNow, 2s);
  ASSERT_FALSE(harness.sent.empty());
  EXPECT_EQ(harness.sent[0].first, HostId{7});
  EXPECT_EQ(harness.sent[0].second.kind, wire::GroupBody::Kind::ring);
  EXPECT_EQ(harness.sent[0].second.ring.ring, 3 + 5 + 7 + 9);
  EXPECT_EQ(harness.sent[0].second.ring.election, 1);
}

TEST(GroupService, LearnsOfEarlierElectionsOnARing) {
  ServiceHarness harness;
  Service::Candidacy here = request(1, "web");
  here.terms = {Criterion::random, Algorithm::ring};
  wire::GroupBody other = heartbeat("web", 100);
  other.criterion = std::to_underlying(Criterion::random);
  other.number = 41;
  harness.service.receive(kNow, HostId{7}, other);
  ASSERT_TRUE(harness.service.stand(kNow, here));
  EXPECT_EQ(harness.broadcasts.back().number, 41) << "its heartbeat states the number";
  harness.pass(kNow, 2s);
  ASSERT_FALSE(harness.sent.empty());
  EXPECT_EQ(harness.sent[0].second.ring.election, 42);
}

TEST(GroupService, RefusesBadNames) {
  ServiceHarness harness;
  for (const std::string_view name : {"", "two words", "@web", "\x07"})
    EXPECT_FALSE(harness.service.stand(kNow, request(1, name))) << name;
  EXPECT_FALSE(harness.service.stand(kNow, request(1, std::string(58, 'x'))));
  EXPECT_TRUE(harness.service.stand(kNow, request(1, std::string(57, 'x'))));
}

TEST(GroupService, DropsInvalidMessages) {
  ServiceHarness harness;
  const auto drops = [&](HostId from, const wire::GroupBody& body) {
    const std::uint64_t before = harness.service.dropped();
    harness.service.receive(kNow, from, body);
    return harness.service.dropped() == before + 1;
  };
  EXPECT_TRUE(drops(HostId{100}, heartbeat("web", 1))) << "no number for the sender";
  EXPECT_TRUE(drops(HostId{7}, heartbeat("two words", 1)));
  wire::GroupBody body = heartbeat("web", 1);
  body.heir = HostId{100};
  EXPECT_TRUE(drops(HostId{7}, body)) << "no number for the heir";
  body = heartbeat("web", 1);
  body.leads = true;
  EXPECT_TRUE(drops(HostId{7}, body)) << "no term";
  body = heartbeat("web", 1);
  body.criterion = 200;
  EXPECT_TRUE(drops(HostId{7}, body)) << "of a later revision";
  body = heartbeat("web", 1);
  body.kind = wire::GroupBody::Kind::b1;
  EXPECT_TRUE(drops(HostId{7}, body)) << "no first sender";
  body.sender = HostId{7};
  body.delay = 3600s;
  EXPECT_TRUE(drops(HostId{7}, body)) << "a delay of an hour";
  body.delay = 60ms;
  EXPECT_FALSE(drops(HostId{7}, body));
  body.phase = 2;
  EXPECT_TRUE(drops(HostId{7}, body)) << "no such message of B.1";
  body.kind = wire::GroupBody::Kind::c;
  EXPECT_TRUE(drops(HostId{7}, body)) << "a bid without a bidder";
}

// A dead machine sends nothing: a passive host forgets its candidate too, and its settings no
// longer bind.
TEST(GroupService, ForgetsSilentCandidates) {
  ServiceHarness harness;
  harness.service.receive(kNow, HostId{7}, heartbeat("web", 1));
  Service::Candidacy other = request(1, "web");
  other.terms.criterion = Criterion::uptime;
  ASSERT_FALSE(harness.service.stand(kNow, other));
  ASSERT_EQ(harness.service.known("web")->candidates.size(), 1U);
  const auto due = harness.service.due_in(kNow);
  ASSERT_TRUE(due);
  EXPECT_EQ(*due, Rules{}.fresh());
  Moment later = kNow;
  later.now += *due;
  ServiceHarness bystander;
  bystander.service.receive(kNow, HostId{7}, heartbeat("web", 1));
  Moment between = kNow;
  between.now += 1s;
  bystander.service.receive(between, HostId{8}, heartbeat("web", 2));
  bystander.service.on_timer(later);
  ASSERT_EQ(bystander.service.known("web")->candidates.size(), 1U);
  EXPECT_EQ(bystander.service.due_in(later), std::optional<Nanos>(1s));
  later.now += 1s;
  bystander.service.on_timer(later);
  EXPECT_FALSE(bystander.service.known("web"));
  EXPECT_FALSE(bystander.service.due_in(later)) << "nothing is due";
  EXPECT_TRUE(harness.service.stand(later, other));
}

TEST(GroupService, LimitsAndForgetsGroups) {
  ServiceHarness harness;
  for (int i = 0; i < 300; ++i)
    harness.service.receive(kNow, HostId{7}, heartbeat(fmt::format("g{}", i), 1));
  EXPECT_EQ(harness.service.known().size(), 256);
  EXPECT_EQ(harness.service.dropped(), 44);
  Moment later = kNow;
  later.now += 20s;
  harness.service.on_timer(later);
  EXPECT_TRUE(harness.service.known().empty());
}

// Decoding an encoded election message gives the same message.
TEST(GroupMail, CarriesElectionMessages) {
  const Numbering hosts{
      [](HostId host) { return NodeId{static_cast<std::uint32_t>(std::to_underlying(host))}; },
      [](NodeId node) { return HostId{index(node)}; }};
  const auto same = [&](const ElectionMessage& message) {
    const auto received = message_of(body_of("web", message, hosts), hosts);
    return received && body_of("web", std::get<ElectionMessage>(*received), hosts) ==
                           body_of("web", message, hosts);
  };
  EXPECT_TRUE(same(Begin{5s}));
  EXPECT_TRUE(same(OverA::Message{.hops = 2,
                                  .sender = NodeId{3},
                                  .number = 4,
                                  .life = Incarnation{5},
                                  .stamp = 6s,
                                  .delay = 7ms,
                                  .content = {.number = 8, .capacity = 9}}));
  EXPECT_TRUE(same(OverB1::Message{
      .kind = OverB1::Message::Kind::filler,
      .sender = NodeId{3},
      .content = {.kind = election::capacity_b1::Kind::alive, .number = 8, .capacity = -1}}));
  EXPECT_TRUE(same(election::CapacityC::Message{.kind = election::capacity_c::Kind::dup,
                                                .number = 3,
                                                .first = {4, NodeId{5}},
                                                .second = {6, NodeId{7}}}));
  const Heartbeat sent{
      .capacity = 1, .leads = true, .asks = true, .term = Token{2}, .heir = NodeId{3}, .over = 4s};
  const Terms terms{Criterion::id, Algorithm::c};
  const auto received =
      message_of(body_of("web", ReceivedHeartbeat{sent, terms, 17}, hosts), hosts);
  ASSERT_TRUE(received);
  EXPECT_EQ(std::get<ReceivedHeartbeat>(*received).heartbeat, sent);
  EXPECT_EQ(std::get<ReceivedHeartbeat>(*received).terms, terms);
  EXPECT_EQ(std::get<ReceivedHeartbeat>(*received).last_on_ring, 17);
}

TEST(GroupMail, CarriesRingMessages) {
  const Numbering hosts{
      [](HostId host) { return NodeId{static_cast<std::uint32_t>(std::to_underlying(host))}; },
      [](NodeId node) { return HostId{index(node)}; }};
  const RingMessage envelope{.algorithm = Algorithm::ring,
                             .election = 2,
                             .ring = 3,
                             .message = {.kind = election::ring::Kind::announcement,
                                         .life = Incarnation{4},
                                         .sequence = Sequence{5},
                                         .after = Sequence{6},
                                         .answers = Sequence{7},
                                         .number = 8,
                                         .id = NodeId{9},
                                         .priority = 10}};
  wire::GroupBody body = body_of("web", envelope, hosts);
  const auto received = message_of(body, hosts);
  ASSERT_TRUE(received);
  const RingMessage& same = std::get<RingMessage>(*received);
  EXPECT_EQ(same.algorithm, Algorithm::ring);
  EXPECT_EQ(same.election, 2);
  EXPECT_EQ(same.ring, 3);
  EXPECT_EQ(same.message.kind, election::ring::Kind::announcement);
  EXPECT_EQ(same.message.life, Incarnation{4});
  EXPECT_EQ(same.message.sequence, Sequence{5});
  EXPECT_EQ(same.message.after, Sequence{6});
  EXPECT_EQ(same.message.answers, Sequence{7});
  EXPECT_EQ(same.message.number, 8);
  EXPECT_EQ(same.message.id, NodeId{9});
  EXPECT_EQ(same.message.priority, 10);
  body.kind = wire::GroupBody::Kind::anonymous;
  EXPECT_FALSE(message_of(body, hosts)) << "an id on an anonymous ring";
}

TEST(GroupMail, CarriesSignedMessages) {
  const Numbering no_hosts{[](HostId) { return kNobody; }, [](NodeId) { return kNoHost; }};
  SignedMessage envelope{.list = 1, .election = 2};
  envelope.message = {
      .kind = OverB2::Message::Kind::filler,
      .sender = NodeId{3},
      .number = 4,
      .life = Incarnation{5},
      .stamp = 6s,
      .delay = 7ms,
      .content = {
          .kind = election::capacity_b2::Kind::vect, .number = 8, .capacity = 9, .size = 10}};
  envelope.signatures.push_back({.member = 11, .signature = {std::byte{12}}});
  envelope.signatures.push_back({.member = 13, .signature = {std::byte{14}}});
  wire::GroupBody body = body_of("web", envelope);
  const auto received = message_of(body, no_hosts);
  ASSERT_TRUE(received) << "members are numbers in the key list, not hosts";
  const SignedMessage& same = std::get<SignedMessage>(*received);
  EXPECT_EQ(same.list, 1);
  EXPECT_EQ(same.election, 2);
  EXPECT_EQ(same.message.kind, OverB2::Message::Kind::filler);
  EXPECT_EQ(same.message.sender, NodeId{3});
  EXPECT_EQ(same.message.number, 4);
  EXPECT_EQ(same.message.life, Incarnation{5});
  EXPECT_EQ(same.message.stamp, Nanos{6s});
  EXPECT_EQ(same.message.delay, Nanos{7ms});
  EXPECT_EQ(same.message.content, envelope.message.content);
  ASSERT_EQ(same.signatures.size(), 2U);
  EXPECT_EQ(same.signatures[0].member, 11);
  EXPECT_EQ(same.signatures[1].signature[0], std::byte{14});
  body.phase = 2;
  EXPECT_FALSE(message_of(body, no_hosts)) << "neither a bid nor a report";
  body.phase = 1;
  body.signatures.clear();
  EXPECT_FALSE(message_of(body, no_hosts)) << "no signature";
}

}  // namespace
}  // namespace tempo::groups
