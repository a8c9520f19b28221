// How one group service handles invalid requests and messages. The scripts in src/protocol/host
// show groups of whole hosts; the tests in src/lab/studies/group run them under every fault.
#include "protocol/group/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/machine_harness.h"

namespace tempo::groups {
namespace {

using ::testing::HasSubstr;

HostId id_of(std::uint32_t number) { return HostId{std::uint64_t{number} << 44 | 1}; }
// The numbers beside it are taken, so that it gets none.
const HostId kRefusedHost{std::uint64_t{7} << 44 | 2};

constexpr std::uint32_t kHosts = 100;

wire::Directory hosts_with_ids() {
  wire::Directory hosts;
  for (std::uint32_t i = 0; i < kHosts; ++i) hosts.admit(id_of(i));
  return hosts;
}

class ServiceHarness : public MachineHarness<GroupService> {
 public:
  ServiceHarness() : MachineHarness(BootTime{1000s}) { make_service(NodeId{5}); }

  // Returns why the service refuses the command; empty: it does not.
  std::string command(const GroupService::Command& command) {
    refusal.clear();
    set_clock();
    MachineHarness::command(command);
    answer_acquire();
    return refusal;
  }
  void receive(std::uint32_t from, const wire::GroupBody& body) {
    set_clock();
    MachineHarness::receive(NodeId{from}, body);
    answer_acquire();
  }
  void on_timer() {
    set_clock();
    MachineHarness::on_timer(machine().timers().first_name());
    answer_acquire();
  }
  // Runs all timers of this span.
  void pass(Nanos span) {
    for (const BootTime end = now() + span; now() < end;) {
      sleep(1ms);
      on_timer();
    }
  }
  void move_service() {
    GroupService moved = take();
    make_service(NodeId{6});
    put(std::move(moved));
  }

  NetworkClock clock{.offset = 1000s, .trusted = true};
  bool locks_here = true;
  std::vector<wire::GroupBody> broadcasts;
  std::vector<std::pair<NodeId, wire::GroupBody>> sent;
  std::vector<LeadershipUpdate::Kind> updates;
  LeadershipUpdate last{};
  std::optional<GroupService::Resume> resumed{};
  std::string refusal;
  std::string lock_name;

 private:
  void make_service(NodeId self) {
    make(GroupService::Start{.self = self, .life = Incarnation{1}, .hosts = &hosts_});
  }
  void set_clock() { MachineHarness::command(clock); }
  // Without locks each request for a lease is refused.
  void answer_acquire() {
    if (const auto client = std::exchange(refused_client_, std::nullopt))
      command(GroupService::LeaseRefused{*client});
  }
  std::string text_of(const Output<GroupService>& output) override {
    if (output.kind == OutputKind::broadcast) broadcasts.push_back(output.message);
    if (output.kind == OutputKind::send) sent.emplace_back(output.to, output.message);
    if (output.kind == OutputKind::notice)
      std::visit([&](const auto& notice) { on_notice(notice); }, output.notice);
    return "";
  }
  void on_notice(const LeadershipUpdate& update) {
    updates.push_back(update.kind);
    last = update;
  }
  void on_notice(const GroupService::Acquire& acquire) {
    if (!locks_here) {
      refused_client_ = acquire.client;
      return;
    }
    lock_name = acquire.lock;
  }
  void on_notice(const GroupService::Resume& resume) { resumed = resume; }
  static void on_notice(const GroupService::Release& /*release*/) {}
  static void on_notice(const GroupService::LeaderChanged& /*changed*/) {}
  static void on_notice(const AlgorithmReplaced& /*replaced*/) {}
  void on_notice(const Refused& refused) { refusal = sentence_of(refused); }

  wire::Directory hosts_ = hosts_with_ids();
  std::optional<locks::ClientId> refused_client_;
};

GroupService::Stand request(std::uint32_t user, std::string_view group) {
  return {.user = UserId{user}, .group = std::string(group), .capacity = 10, .min_stay = 20s};
}

wire::GroupBody heartbeat(std::string_view group, std::int64_t capacity) {
  return {.name = wire::GroupName(group), .capacity = capacity};
}

TEST(GroupService, WithoutLocksHasNoMajority) {
  ServiceHarness harness;
  harness.locks_here = false;
  ASSERT_EQ(harness.command(request(1, "web")), "");
  harness.pass(6s);
  EXPECT_THAT(harness.updates, ::testing::Contains(LeadershipUpdate::Kind::no_majority));
}

// A user that led before the daemon restarted.
GroupService::Stand returning(std::uint32_t user, std::string_view group) {
  GroupService::Stand stand = request(user, group);
  stand.session = {.number = 5, .process = 6};
  stand.lead = Lead{.term = Token{77}, .origin = id_of(3), .deadline = BootTime{1002s}};
  return stand;
}

TEST(GroupService, ResumesALead) {
  ServiceHarness harness;
  ASSERT_EQ(harness.command(returning(1, "web")), "");
  ASSERT_TRUE(harness.resumed);
  EXPECT_EQ(harness.resumed->lock, "@group/web");
  EXPECT_EQ(harness.resumed->session.number, 5U);
  EXPECT_EQ(harness.resumed->lead.term, Token{77});
  harness.command(GroupService::LeaseUpdate{
      harness.resumed->client,
      {.token = Token{77}, .origin = id_of(3), .deadline = BootTime{1004s}}});
  EXPECT_EQ(harness.last.kind, LeadershipUpdate::Kind::leads);
  EXPECT_EQ(harness.last.term, Token{77});
  EXPECT_EQ(harness.last.origin, id_of(3));
}

TEST(GroupService, ALeadThatIsNotResumedIsLost) {
  for (const bool refused : {false, true}) {
    ServiceHarness harness;
    ASSERT_EQ(harness.command(returning(1, "web")), "");
    ASSERT_TRUE(harness.resumed);
    const locks::ClientId client = harness.resumed->client;
    if (refused)
      harness.command(GroupService::LeaseRefused{client});
    else
      harness.command(GroupService::LeaseUpdate{client, {.kind = locks::LockUpdate::Kind::lost}});
    EXPECT_EQ(harness.last.kind, LeadershipUpdate::Kind::lost);
    EXPECT_TRUE(harness.machine().known("web")->stands) << "a candidate like the others";
  }
}

// The next host on the ring is the one with the next larger id; the service sends only to it.
TEST(GroupService, OnARingSendsToTheNextHost) {
  ServiceHarness harness;
  GroupService::Stand here = request(1, "web");
  here.terms = {Criterion::random, Algorithm::ring};
  wire::GroupBody other = heartbeat("web", 100);
  other.criterion = std::to_underlying(Criterion::random);
  for (const std::uint32_t host : {3U, 7U, 9U}) harness.receive(host, other);
  ASSERT_EQ(harness.command(here), "");
  harness.pass(2s);
  ASSERT_FALSE(harness.sent.empty());
  EXPECT_EQ(harness.sent[0].first, NodeId{7});
  EXPECT_EQ(harness.sent[0].second.kind, wire::GroupBody::Kind::ring);
  std::uint64_t sum = 0;
  for (const std::uint32_t host : {3U, 5U, 7U, 9U}) sum += std::to_underlying(id_of(host));
  EXPECT_EQ(harness.sent[0].second.ring.ring, sum);
  EXPECT_EQ(harness.sent[0].second.ring.election, 1);
}

TEST(GroupService, LearnsOfEarlierElectionsOnARing) {
  ServiceHarness harness;
  GroupService::Stand here = request(1, "web");
  here.terms = {Criterion::random, Algorithm::ring};
  wire::GroupBody other = heartbeat("web", 100);
  other.criterion = std::to_underlying(Criterion::random);
  other.number = 41;
  harness.receive(7, other);
  ASSERT_EQ(harness.command(here), "");
  EXPECT_EQ(harness.broadcasts.back().number, 41) << "its heartbeat states the number";
  harness.pass(2s);
  ASSERT_FALSE(harness.sent.empty());
  EXPECT_EQ(harness.sent[0].second.ring.election, 42);
}

TEST(GroupService, RefusesBadNames) {
  ServiceHarness harness;
  for (const std::string_view name : {"", "two words", "@web", "\x07"})
    EXPECT_NE(harness.command(request(1, name)), "") << name;
  EXPECT_NE(harness.command(request(1, std::string(58, 'x'))), "");
  EXPECT_EQ(harness.command(request(1, std::string(57, 'x'))), "");
}

TEST(GroupService, DropsInvalidMessages) {
  ServiceHarness harness;
  const auto drops = [&](const wire::GroupBody& body) {
    const std::uint64_t before = harness.machine().dropped();
    harness.receive(7, body);
    return harness.machine().dropped() == before + 1;
  };
  EXPECT_TRUE(drops(heartbeat("two words", 1)));
  wire::GroupBody body = heartbeat("web", 1);
  body.heir = kRefusedHost;
  EXPECT_TRUE(drops(body)) << "no number for the heir";
  body = heartbeat("web", 1);
  body.leads = true;
  EXPECT_TRUE(drops(body)) << "no term";
  body = heartbeat("web", 1);
  body.criterion = 200;
  EXPECT_TRUE(drops(body)) << "of a later revision";
  body = heartbeat("web", 1);
  body.kind = wire::GroupBody::Kind::b1;
  EXPECT_TRUE(drops(body)) << "no first sender";
  body.sender = id_of(7);
  body.delay = 3600s;
  EXPECT_TRUE(drops(body)) << "a delay of an hour";
  body.delay = 60ms;
  EXPECT_FALSE(drops(body));
  body.phase = 2;
  EXPECT_TRUE(drops(body)) << "no such message of B.1";
  body.kind = wire::GroupBody::Kind::c;
  EXPECT_TRUE(drops(body)) << "a bid without a bidder";
}

// A dead machine sends nothing: a passive host forgets its candidate too, and its settings no
// longer bind.
TEST(GroupService, ForgetsSilentCandidates) {
  ServiceHarness harness;
  harness.receive(7, heartbeat("web", 1));
  GroupService::Stand other = request(1, "web");
  other.terms.criterion = Criterion::uptime;
  ASSERT_NE(harness.command(other), "");
  ASSERT_EQ(harness.machine().known("web")->candidates.size(), 1U);
  EXPECT_EQ(harness.machine().timers().first(), harness.now() + Rules{}.fresh());
  harness.sleep(Rules{}.fresh());
  EXPECT_EQ(harness.command(other), "");

  ServiceHarness bystander;
  bystander.receive(7, heartbeat("web", 1));
  bystander.sleep(1s);
  bystander.receive(8, heartbeat("web", 2));
  bystander.sleep(Rules{}.fresh() - 1s);
  bystander.on_timer();
  ASSERT_EQ(bystander.machine().known("web")->candidates.size(), 1U);
  EXPECT_EQ(bystander.machine().timers().first(), bystander.now() + 1s);
  bystander.sleep(1s);
  bystander.on_timer();
  EXPECT_FALSE(bystander.machine().known("web"));
  EXPECT_EQ(bystander.machine().timers().first(), kNever) << "nothing is due";
}

TEST(GroupService, LimitsAndForgetsGroups) {
  ServiceHarness harness;
  for (int i = 0; i < 300; ++i) harness.receive(7, heartbeat(fmt::format("g{}", i), 1));
  EXPECT_EQ(harness.machine().known().size(), 256);
  EXPECT_EQ(harness.machine().dropped(), 44);
  harness.sleep(20s);
  harness.on_timer();
  EXPECT_TRUE(harness.machine().known().empty());
}

// A simulator moves machines into place. The parts keep the addresses of their rules.
TEST(GroupService, CanBeMovedDuringAnElection) {
  for (const Algorithm algorithm : {Algorithm::b1, Algorithm::ring}) {
    ServiceHarness harness;
    GroupService::Stand here = request(1, "web");
    here.terms = {Criterion::random, algorithm};
    wire::GroupBody silent = heartbeat("web", 1);
    silent.criterion = std::to_underlying(Criterion::random);
    harness.receive(7, silent);
    ASSERT_EQ(harness.command(here), "");
    harness.pass(2010ms);
    ASSERT_EQ(harness.machine().known("web")->state, "elect");
    harness.move_service();
    harness.pass(1s);
    EXPECT_EQ(harness.lock_name, "@group/web") << name_of(algorithm);
  }
}

// Decoding an encoded election message gives the same message.
TEST(GroupMail, CarriesElectionMessages) {
  wire::Directory hosts = hosts_with_ids();
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
  wire::Directory hosts = hosts_with_ids();
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
  wire::Directory no_hosts;
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
  wire::GroupBody body = body_of("web", envelope, no_hosts);
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
