// Hosts with lock and group services under every fault are in src/lab/sim/groups; here is what one
// service makes of bad wishes and bad words.
#include "protocol/groups/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::groups {
namespace {

using ::testing::HasSubstr;

constexpr Moment kNow{.now = Instant{1000s}, .network = Instant{2000s}, .trusted = true};

class Desk final : public Driver {
 public:
  void broadcast(const wire::GroupBody& body) override { said.push_back(body); }
  Result<void> want(locks::ClientId client, const std::string& name) override {
    if (!locks_here) return std::unexpected("no locks");
    wanted = name;
    asking = client;
    return {};
  }
  void done(locks::ClientId client) override {
    if (asking == client) asking.reset();
  }
  void tell(UserId /*user*/, const News& news) override { told.push_back(news.kind); }
  void changed(const std::string& group) override { changes.push_back(group); }
  void not_as_wanted(const std::string& /*group*/, const std::string& sentence) override {
    complaints.push_back(sentence);
  }

  // Until nothing is due before `end`.
  void pass(Moment from, Nanos span) {
    const Nanos step = 1ms;
    for (Nanos gone{0}; gone <= span; gone += step)
      service.wake({from.now + gone, from.network + gone, from.trusted});
  }

  bool locks_here = true;
  std::vector<wire::GroupBody> said;
  std::vector<News::Kind> told;
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

Service::Wish wish(std::uint32_t user, std::string_view group) {
  return {.user = UserId{user}, .group = group, .capacity = 10, .min_stay = 20s};
}

wire::GroupBody word(std::string_view group, std::int64_t capacity) {
  return {.name = wire::GroupName(group), .capacity = capacity};
}

TEST(GroupService, AsksForTheGroupsLockAndTellsTheUserWhenItHasIt) {
  Desk desk;
  ASSERT_TRUE(desk.service.stand(kNow, wish(1, "web")));
  desk.pass(kNow, 3s);
  EXPECT_EQ(desk.wanted, "@group/web");
  ASSERT_TRUE(desk.asking);
  EXPECT_TRUE(locks::is_group(*desk.asking));
  EXPECT_TRUE(desk.told.empty());
  const Moment later{.now = kNow.now + 3s, .network = kNow.network + 3s, .trusted = true};
  desk.service.hear_lock(
      later, *desk.asking,
      {.kind = locks::News::Kind::granted, .token = Token{7}, .deadline = later.now + 2s});
  EXPECT_EQ(desk.told, std::vector{News::Kind::leads});
  const auto known = desk.service.known("web");
  ASSERT_TRUE(known);
  EXPECT_TRUE(known->here);
  EXPECT_EQ(known->term, Token{7});
  desk.service.withdraw(later, UserId{1});
  EXPECT_FALSE(desk.asking) << "the lease is let go";
}

TEST(GroupService, SaysThatTimeIsNotKnownWellEnough) {
  Desk desk;
  ASSERT_TRUE(desk.service.stand(kNow, wish(1, "web")));
  Moment blind = kNow;
  blind.trusted = false;
  desk.pass(blind, 4s);
  ASSERT_EQ(desk.complaints.size(), 1);
  EXPECT_THAT(desk.complaints[0], HasSubstr("elections are held by c"));
  EXPECT_EQ(desk.wanted, "@group/web");
}

TEST(GroupService, WithoutLocksHasNoMajority) {
  Desk desk;
  desk.locks_here = false;
  ASSERT_TRUE(desk.service.stand(kNow, wish(1, "web")));
  desk.pass(kNow, 6s);
  EXPECT_THAT(desk.told, ::testing::Contains(News::Kind::no_majority));
}

TEST(GroupService, HasOneCandidateAHost) {
  Desk desk;
  ASSERT_TRUE(desk.service.stand(kNow, wish(1, "web")));
  EXPECT_THAT(desk.service.stand(kNow, wish(2, "web")).error(), HasSubstr("one candidate a host"));
  ASSERT_TRUE(desk.service.stand(kNow, wish(2, "mail")));
  desk.service.withdraw(kNow, UserId{1});
  EXPECT_TRUE(desk.service.stand(kNow, wish(3, "web")));
}

TEST(GroupService, ComparesOnlyWhatCanBeCompared) {
  Desk desk;
  wire::GroupBody other = word("web", 100);
  other.criterion = std::to_underlying(Criterion::uptime);
  desk.service.hear(kNow, HostId{7}, other);
  EXPECT_THAT(desk.service.stand(kNow, wish(1, "web")).error(), HasSubstr("'--criterion uptime'"));
  Service::Wish same = wish(1, "web");
  same.terms.criterion = Criterion::uptime;
  EXPECT_TRUE(desk.service.stand(kNow, same));
}

TEST(GroupService, RefusesBadNames) {
  Desk desk;
  for (const std::string_view name : {"", "two words", "@web", "\x07"})
    EXPECT_FALSE(desk.service.stand(kNow, wish(1, name))) << name;
  EXPECT_FALSE(desk.service.stand(kNow, wish(1, std::string(58, 'x'))));
  EXPECT_TRUE(desk.service.stand(kNow, wish(1, std::string(57, 'x'))));
}

TEST(GroupService, DropsWhatItCannotUnderstand) {
  Desk desk;
  const auto drops = [&](HostId from, const wire::GroupBody& body) {
    const std::uint64_t before = desk.service.dropped();
    desk.service.hear(kNow, from, body);
    return desk.service.dropped() == before + 1;
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

TEST(GroupService, KnowsSoManyGroupsAndForgetsThem) {
  Desk desk;
  for (int i = 0; i < 300; ++i) desk.service.hear(kNow, HostId{7}, word(fmt::format("g{}", i), 1));
  EXPECT_EQ(desk.service.known().size(), 256);
  EXPECT_EQ(desk.service.dropped(), 44);
  Moment later = kNow;
  later.now += 20s;
  desk.service.wake(later);
  EXPECT_TRUE(desk.service.known().empty());
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
  const Word word{
      .capacity = 1, .leads = true, .asks = true, .term = Token{2}, .heir = NodeId{3}, .over = 4s};
  const auto heard = heard_of(body_of("web", word, {Criterion::id, Algorithm::c}, hosts), hosts);
  ASSERT_TRUE(heard);
  EXPECT_EQ(std::get<HeardWord>(*heard).word, word);
  EXPECT_EQ(std::get<HeardWord>(*heard).terms, (Terms{Criterion::id, Algorithm::c}));
}

}  // namespace
}  // namespace tempo::groups
