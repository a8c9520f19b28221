// Hosts with lock and group services under every fault are in src/lab/sim/groups; here is what one
// service makes of bad wishes and bad words.
#include "protocol/group/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::groups {
namespace {

using ::testing::HasSubstr;

constexpr Moment kNow{.now = Instant{1000s}, .network = Instant{2000s}, .trusted = true};

class ServiceHarness final : public Driver {
 public:
  void broadcast(const wire::GroupBody& body) override { said.push_back(body); }
  void send(HostId to, const wire::GroupBody& body) override { sent.emplace_back(to, body); }
  Result<void> acquire(locks::ClientId client, const std::string& name) override {
    if (!locks_here) return std::unexpected("no locks");
    wanted = name;
    asking = client;
    return {};
  }
  void release(locks::ClientId client) override {
    if (asking == client) asking.reset();
  }
  void notify(UserId /*user*/, const LeadershipUpdate& news) override { told.push_back(news.kind); }
  void changed(const std::string& group) override { changes.push_back(group); }
  void not_as_wanted(const std::string& /*group*/, const std::string& sentence) override {
    complaints.push_back(sentence);
  }

  // Until nothing is due before `end`.
  void pass(Moment from, Nanos span) {
    const Nanos step = 1ms;
    for (Nanos gone{0}; gone <= span; gone += step)
      service.on_timer({from.now + gone, from.network + gone, from.trusted});
  }

  bool locks_here = true;
  std::vector<wire::GroupBody> said;
  std::vector<std::pair<HostId, wire::GroupBody>> sent;
  std::vector<LeadershipUpdate::Kind> told;
  std::vector<std::string> changes;
  std::vector<std::string> complaints;
  std::string wanted;
  std::optional<locks::ClientId> asking;
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

wire::GroupBody word(std::string_view group, std::int64_t capacity) {
  return {.name = wire::GroupName(group), .capacity = capacity};
}

TEST(GroupService, AsksForTheGroupsLockAndTellsTheUserWhenItHasIt) {
  ServiceHarness harness;
  ASSERT_TRUE(harness.service.stand(kNow, request(1, "web")));
  harness.pass(kNow, 3s);
  EXPECT_EQ(harness.wanted, "@group/web");
  ASSERT_TRUE(harness.asking);
  EXPECT_TRUE(locks::is_group(*harness.asking));
  EXPECT_TRUE(harness.told.empty());
  const Moment later{.now = kNow.now + 3s, .network = kNow.network + 3s, .trusted = true};
  harness.service.receive_lock(
      later, *harness.asking,
      {.kind = locks::LockUpdate::Kind::granted, .token = Token{7}, .deadline = later.now + 2s});
  EXPECT_EQ(harness.told, std::vector{LeadershipUpdate::Kind::leads});
  const auto known = harness.service.known("web");
  ASSERT_TRUE(known);
  EXPECT_TRUE(known->here);
  EXPECT_EQ(known->term, Token{7});
  harness.service.withdraw(later, UserId{1});
  EXPECT_FALSE(harness.asking) << "the lease is let go";
}

TEST(GroupService, SaysThatTimeIsNotKnownWellEnough) {
  ServiceHarness harness;
  ASSERT_TRUE(harness.service.stand(kNow, request(1, "web")));
  Moment blind = kNow;
  blind.trusted = false;
  harness.pass(blind, 4s);
  ASSERT_EQ(harness.complaints.size(), 1);
  EXPECT_THAT(harness.complaints[0], HasSubstr("elections are held by c"));
  EXPECT_EQ(harness.wanted, "@group/web");
}

TEST(GroupService, WithoutLocksHasNoMajority) {
  ServiceHarness harness;
  harness.locks_here = false;
  ASSERT_TRUE(harness.service.stand(kNow, request(1, "web")));
  harness.pass(kNow, 6s);
  EXPECT_THAT(harness.told, ::testing::Contains(LeadershipUpdate::Kind::no_majority));
}

TEST(GroupService, HasOneCandidateAHost) {
  ServiceHarness harness;
  ASSERT_TRUE(harness.service.stand(kNow, request(1, "web")));
  EXPECT_THAT(harness.service.stand(kNow, request(2, "web")).error(),
              HasSubstr("one candidate a host"));
  ASSERT_TRUE(harness.service.stand(kNow, request(2, "mail")));
  harness.service.withdraw(kNow, UserId{1});
  EXPECT_TRUE(harness.service.stand(kNow, request(3, "web")));
}

TEST(GroupService, ComparesOnlyWhatCanBeCompared) {
  ServiceHarness harness;
  wire::GroupBody other = word("web", 100);
  other.criterion = std::to_underlying(Criterion::uptime);
  harness.service.receive(kNow, HostId{7}, other);
  EXPECT_THAT(harness.service.stand(kNow, request(1, "web")).error(),
              HasSubstr("'--criterion uptime'"));
  Service::Candidacy same = request(1, "web");
  same.terms.criterion = Criterion::uptime;
  EXPECT_TRUE(harness.service.stand(kNow, same));
}

TEST(GroupService, OnARingComparesNothing) {
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

// The next host on the ring is the one with the next larger id, and only it is asked.
TEST(GroupService, OnARingSendsToTheNextHost) {
  ServiceHarness harness;
  Service::Candidacy here = request(1, "web");
  here.terms = {Criterion::random, Algorithm::ring};
  wire::GroupBody other = word("web", 100);
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

TEST(GroupService, HearsOfEarlierElectionsOnARing) {
  ServiceHarness harness;
  Service::Candidacy here = request(1, "web");
  here.terms = {Criterion::random, Algorithm::ring};
  wire::GroupBody other = word("web", 100);
  other.criterion = std::to_underlying(Criterion::random);
  other.number = 41;
  harness.service.receive(kNow, HostId{7}, other);
  ASSERT_TRUE(harness.service.stand(kNow, here));
  EXPECT_EQ(harness.said.back().number, 41) << "and says so";
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

TEST(GroupService, DropsWhatItCannotUnderstand) {
  ServiceHarness harness;
  const auto drops = [&](HostId from, const wire::GroupBody& body) {
    const std::uint64_t before = harness.service.dropped();
    harness.service.receive(kNow, from, body);
    return harness.service.dropped() == before + 1;
  };
  EXPECT_TRUE(drops(HostId{100}, word("web", 1))) << "no number for the sender";
  EXPECT_TRUE(drops(HostId{7}, word("two words", 1)));
  wire::GroupBody body = word("web", 1);
  body.heir = HostId{100};
  EXPECT_TRUE(drops(HostId{7}, body)) << "no number for the heir";
  body = word("web", 1);
  body.leads = true;
  EXPECT_TRUE(drops(HostId{7}, body)) << "no term";
  body = word("web", 1);
  body.criterion = 200;
  EXPECT_TRUE(drops(HostId{7}, body)) << "of a later revision";
  body = word("web", 1);
  body.kind = wire::GroupBody::Kind::b1;
  EXPECT_TRUE(drops(HostId{7}, body)) << "no first sender";
  body.sender = HostId{7};
  body.delay = 3600s;
  EXPECT_TRUE(drops(HostId{7}, body)) << "it would have us wait for an hour";
  body.delay = 60ms;
  EXPECT_FALSE(drops(HostId{7}, body));
  body.phase = 2;
  EXPECT_TRUE(drops(HostId{7}, body)) << "no such message of B.1";
  body.kind = wire::GroupBody::Kind::c;
  EXPECT_TRUE(drops(HostId{7}, body)) << "nobody's bid";
}

// A machine that died says nothing any more: who only watches forgets its candidate too, and is not
// bound by its terms.
TEST(GroupService, TheSilentBindNobody) {
  ServiceHarness harness;
  harness.service.receive(kNow, HostId{7}, word("web", 1));
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
  bystander.service.receive(kNow, HostId{7}, word("web", 1));
  Moment between = kNow;
  between.now += 1s;
  bystander.service.receive(between, HostId{8}, word("web", 2));
  bystander.service.on_timer(later);
  ASSERT_EQ(bystander.service.known("web")->candidates.size(), 1U);
  EXPECT_EQ(bystander.service.due_in(later), std::optional<Nanos>(1s));
  later.now += 1s;
  bystander.service.on_timer(later);
  EXPECT_FALSE(bystander.service.known("web"));
  EXPECT_FALSE(bystander.service.due_in(later)) << "there is nothing to wait for";
  EXPECT_TRUE(harness.service.stand(later, other));
}

TEST(GroupService, KnowsSoManyGroupsAndForgetsThem) {
  ServiceHarness harness;
  for (int i = 0; i < 300; ++i)
    harness.service.receive(kNow, HostId{7}, word(fmt::format("g{}", i), 1));
  EXPECT_EQ(harness.service.known().size(), 256);
  EXPECT_EQ(harness.service.dropped(), 44);
  Moment later = kNow;
  later.now += 20s;
  harness.service.on_timer(later);
  EXPECT_TRUE(harness.service.known().empty());
}

// Whatever is said in an election comes to another host as it was said.
TEST(GroupMail, CarriesEverything) {
  const Numbering hosts{
      [](HostId host) { return NodeId{static_cast<std::uint32_t>(std::to_underlying(host))}; },
      [](NodeId node) { return HostId{index(node)}; }};
  const auto same = [&](const Said& said) {
    const auto heard = heard_of(body_of("web", said, hosts), hosts);
    return heard && body_of("web", std::get<Said>(*heard), hosts) == body_of("web", said, hosts);
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
  const Heartbeat word{
      .capacity = 1, .leads = true, .asks = true, .term = Token{2}, .heir = NodeId{3}, .over = 4s};
  const Terms terms{Criterion::id, Algorithm::c};
  const auto heard = heard_of(body_of("web", ReceivedHeartbeat{word, terms, 17}, hosts), hosts);
  ASSERT_TRUE(heard);
  EXPECT_EQ(std::get<ReceivedHeartbeat>(*heard).word, word);
  EXPECT_EQ(std::get<ReceivedHeartbeat>(*heard).terms, terms);
  EXPECT_EQ(std::get<ReceivedHeartbeat>(*heard).last_on_ring, 17);
}

TEST(GroupMail, CarriesWhatIsSaidOnARing) {
  const Numbering hosts{
      [](HostId host) { return NodeId{static_cast<std::uint32_t>(std::to_underlying(host))}; },
      [](NodeId node) { return HostId{index(node)}; }};
  const OnRing said{.algorithm = Algorithm::ring,
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
  wire::GroupBody body = body_of("web", said, hosts);
  const auto heard = heard_of(body, hosts);
  ASSERT_TRUE(heard);
  const OnRing& same = std::get<OnRing>(*heard);
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
  EXPECT_FALSE(heard_of(body, hosts)) << "a name where there are none";
}

TEST(GroupMail, CarriesWhatIsSigned) {
  const Numbering nobody{[](HostId) { return kNobody; }, [](NodeId) { return kNoHost; }};
  Signed said{.list = 1, .election = 2};
  said.message = {
      .kind = OverB2::Message::Kind::filler,
      .sender = NodeId{3},
      .number = 4,
      .life = Incarnation{5},
      .stamp = 6s,
      .delay = 7ms,
      .content = {
          .kind = election::capacity_b2::Kind::vect, .number = 8, .capacity = 9, .size = 10}};
  said.signatures.push_back({.member = 11, .signature = {std::byte{12}}});
  said.signatures.push_back({.member = 13, .signature = {std::byte{14}}});
  wire::GroupBody body = body_of("web", said);
  const auto heard = heard_of(body, nobody);
  ASSERT_TRUE(heard) << "members are named by their places in the list, not as hosts";
  const Signed& same = std::get<Signed>(*heard);
  EXPECT_EQ(same.list, 1);
  EXPECT_EQ(same.election, 2);
  EXPECT_EQ(same.message.kind, OverB2::Message::Kind::filler);
  EXPECT_EQ(same.message.sender, NodeId{3});
  EXPECT_EQ(same.message.number, 4);
  EXPECT_EQ(same.message.life, Incarnation{5});
  EXPECT_EQ(same.message.stamp, Nanos{6s});
  EXPECT_EQ(same.message.delay, Nanos{7ms});
  EXPECT_EQ(same.message.content, said.message.content);
  ASSERT_EQ(same.signatures.size(), 2U);
  EXPECT_EQ(same.signatures[0].member, 11);
  EXPECT_EQ(same.signatures[1].signature[0], std::byte{14});
  body.phase = 2;
  EXPECT_FALSE(heard_of(body, nobody)) << "neither a bid nor a report";
  body.phase = 1;
  body.signatures.clear();
  EXPECT_FALSE(heard_of(body, nobody)) << "nobody has signed it";
}

}  // namespace
}  // namespace tempo::groups
