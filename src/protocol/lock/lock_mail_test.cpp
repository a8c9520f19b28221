#include "protocol/lock/lock_mail.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "protocol/wire/layout.h"

namespace tempo::locks {
namespace {

using lock::LockId;
using lock::Mode;
using lock::lease::Boot;
using lock::lease::Message;

HostId host(std::uint64_t number) { return HostId{number << 44 | 1}; }

// Hosts with the numbers 0, 4, 8, 12 and 13. No number is left for kRefused.
constexpr HostId kRefused{std::uint64_t{12} << 44 | 2};

wire::Directory& members() {
  static wire::Directory hosts;
  for (const std::uint64_t number : {0U, 4U, 8U, 12U, 13U}) hosts.admit(host(number));
  return hosts;
}

// A free slot stays free, and the other voters keep theirs.
TEST(MemberMap, VotersKeepTheirSlots) {
  lock::lease::View view{.number = 7};
  view.slots[0] = NodeId{8};
  view.votes[0] = 2;
  view.slots[2] = NodeId{4};
  view.votes[2] = 1;
  const wire::LockVoters voters = voters_of(view, members());
  EXPECT_EQ(voters.number, 7U);
  ASSERT_EQ(voters.slots.size(), 3U);
  EXPECT_EQ(voters.slots[0], (wire::LockVoter{host(8), 2}));
  EXPECT_EQ(voters.slots[1], wire::LockVoter{});
  EXPECT_EQ(voters.slots[2], (wire::LockVoter{host(4), 1}));
  EXPECT_EQ(view_of(voters, members()), view);
  EXPECT_FALSE(view_of(first_voters({kRefused}), members()));
}

// A message with a value in every field.
Message pass() {
  Message message{.kind = lock::lease::Kind::pass,
                  .lock = LockId{7},
                  .view = 2,
                  .boot = Boot{3},
                  .k = 4,
                  .ballot = {.count = 5, .origin = NodeId{4}},
                  .mode = Mode::shared,
                  .held = true,
                  .length = 6ms,
                  .named = 5,
                  .to_boot = Boot{8},
                  .to_k = 9,
                  .top = 10,
                  .why = lock::lease::Why::busy,
                  .target = NodeId{12},
                  .sub = 11,
                  .left = 12ms,
                  .ticket = 13,
                  .nonce = 14,
                  .reserve = 15};
  message.waiting.push_back({.ticket = 16, .mode = Mode::shared});
  message.waiting.push_back({.ticket = 17, .mode = Mode::exclusive});
  message.ends.push_back({.count = 18, .origin = NodeId{8}});
  message.standings.push_back(
      {.member = NodeId{0}, .boot = Boot{19}, .k = 20, .waiting = message.waiting});
  return message;
}

TEST(LockMail, KeepsTheClientsInside) {
  Message message{.kind = lock::lease::Kind::resume,
                  .lock = LockId{7},
                  .view = 2,
                  .ballot = {.count = 5, .origin = NodeId{4}},
                  .held = true,
                  .resumed = true,
                  .confirmed = true,
                  .no_wait = true,
                  .sub = 6};
  message.inside.push_back({.sub = 6, .session = {.number = 7, .process = 8}});
  const auto read = message_of(body_of(message, members(), "door"), members(), LockId{7});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->sub, 6U);
  EXPECT_TRUE(read->resumed && read->confirmed && read->no_wait);
  EXPECT_EQ(read->inside, message.inside);
}

std::string encoded(const wire::LockBody& body) {
  std::array<std::byte, 1024> bytes{};
  wire::Writer out(bytes);
  wire::write_body(out, body);
  wire::write_body(out, body.pass);
  for (const auto& standing : body.pass.standings) wire::write_body(out, standing);
  std::string text;
  for (std::size_t i = 0; i < out.written(); ++i) text += static_cast<char>(bytes[i]);
  return text;
}

TEST(LockMail, NamesHostsAndLocks) {
  const wire::LockBody body = body_of(pass(), members(), "door");
  EXPECT_EQ(body.name.text(), "door");
  EXPECT_EQ(body.ballot, (wire::LockBallot{5, host(4)}));
  EXPECT_EQ(body.pass.target, host(12));
  EXPECT_EQ(body.pass.standings[0].member, host(0));
  EXPECT_EQ(body.ends[0].origin, host(8));
}

TEST(LockMail, DecodesWhatItEncodes) {
  const wire::LockBody body = body_of(pass(), members(), "door");
  const auto read = message_of(body, members(), LockId{99});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->lock, LockId{99});
  EXPECT_EQ(read->target, NodeId{12});
  EXPECT_EQ(read->standings[0].member, NodeId{0});
  // All other fields: encoding the decoded message gives the same body.
  EXPECT_EQ(encoded(body_of(*read, members(), "door")), encoded(body));
}

TEST(LockMail, CarriesTheVotersAndTheProposal) {
  Message record{.kind = lock::lease::Kind::record, .view = 3, .boot = Boot{1}};
  record.set = view_of(first_voters({host(0), host(4)}), members()).value();
  record.next = {9, *lock::lease::changed(record.set, NodeId{8}, 1)};
  const wire::LockBody body = body_of(record, members(), "");
  EXPECT_EQ(body.set, first_voters({host(0), host(4)}));
  EXPECT_EQ(body.next.count, 9U);
  EXPECT_EQ(body.next.slots[2].host, host(8));
  const auto read = message_of(body, members(), LockId{0});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->set, record.set);
  EXPECT_EQ(read->next, record.next);

  wire::LockBody silent = body;
  silent.set = {};
  EXPECT_FALSE(message_of(silent, members(), LockId{0})) << "a record needs a voter set";
  Message propose = record;
  propose.kind = lock::lease::Kind::propose;
  EXPECT_EQ(body_of(propose, members(), "").set.number, 0U);
}

TEST(LockMail, RefusesAHostWithoutAMemberNumber) {
  wire::LockBody body = body_of(pass(), members(), "door");
  body.pass.target = kRefused;
  EXPECT_FALSE(message_of(body, members(), LockId{0}));
  body = body_of(pass(), members(), "door");
  body.ballot.origin = kRefused;
  EXPECT_FALSE(message_of(body, members(), LockId{0}));
}

// No honest member sends a value that leaves no room to count on.
TEST(LockMail, RefusesExcessiveCounts) {
  const auto refused = [](auto change) {
    wire::LockBody body = body_of(pass(), members(), "door");
    change(body, 0);
    EXPECT_TRUE(message_of(body, members(), LockId{0})) << "the largest accepted value";
    change(body, 1);
    return !message_of(body, members(), LockId{0});
  };
  using Body = wire::LockBody;
  EXPECT_TRUE(refused([](Body& body, unsigned more) { body.ballot.count = kMaxCount + more; }));
  EXPECT_TRUE(refused([](Body& body, unsigned more) { body.ends[0].count = kMaxCount + more; }));
  EXPECT_TRUE(refused([](Body& body, unsigned more) { body.top = kMaxCount + more; }));
  EXPECT_TRUE(refused([](Body& body, unsigned more) { body.reserve = kMaxCount + more; }));
  EXPECT_TRUE(refused([](Body& body, unsigned more) { body.pass.sub = kMaxSub + more; }));
  EXPECT_TRUE(refused([](Body& body, unsigned more) { body.pass.ticket = kMaxTicket + more; }));
  EXPECT_TRUE(refused([](Body& body, unsigned more) {
    body.waiting = {};
    body.waiting.push_back({.ticket = kMaxTicket + more});
  }));
}

}  // namespace
}  // namespace tempo::locks
