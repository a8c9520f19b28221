#include "protocol/locks/lock_mail.h"

#include <string>

#include <gtest/gtest.h>

namespace tempo::locks {
namespace {

using lock::LockId;
using lock::Mode;
using lock::lease::Boot;
using lock::lease::Message;

Seats seats() {
  return Seats(
      {HostId{10}, HostId{20}, HostId{30}},
      {.number_of = [](HostId host) { return host == HostId{40} ? NodeId{4} : kNobody; },
       .host_of = [](NodeId number) { return number == NodeId{4} ? HostId{40} : kNoHost; }});
}

TEST(Seats, VotersComeFirst) {
  EXPECT_EQ(seats().seat_of(HostId{10}), NodeId{0});
  EXPECT_EQ(seats().seat_of(HostId{30}), NodeId{2});
  EXPECT_EQ(seats().seat_of(HostId{40}), NodeId{12});
  EXPECT_EQ(seats().seat_of(HostId{50}), std::nullopt);
  EXPECT_EQ(seats().host_of(NodeId{1}), HostId{20});
  EXPECT_EQ(seats().host_of(NodeId{12}), HostId{40});
  EXPECT_EQ(seats().host_of(NodeId{5}), kNoHost) << "between voters and others";
  EXPECT_EQ(seats().host_of(kNobody), kNoHost);
}

// Something in every field.
Message pass() {
  Message message{.kind = lock::lease::Kind::pass,
                  .lock = LockId{7},
                  .view = 2,
                  .boot = Boot{3},
                  .k = 4,
                  .ballot = {.count = 5, .origin = NodeId{1}},
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
  message.ends.push_back({.count = 18, .origin = NodeId{2}});
  message.standings.push_back(
      {.member = NodeId{0}, .boot = Boot{19}, .k = 20, .waiting = message.waiting});
  return message;
}

std::string told(const wire::LockBody& body) {
  std::array<std::byte, 1024> bytes{};
  wire::Writer out(bytes);
  wire::put_lock(out, body);
  wire::put_pass(out, body.pass);
  for (const auto& standing : body.pass.standings) wire::put_standing(out, standing);
  std::string text;
  for (std::size_t i = 0; i < out.written(); ++i) text += static_cast<char>(bytes[i]);
  return text;
}

TEST(LockMail, NamesHostsAndLocks) {
  const wire::LockBody body = body_of(pass(), seats(), "door");
  EXPECT_EQ(body.name.text(), "door");
  EXPECT_EQ(body.ballot, (wire::LockBallot{5, HostId{20}}));
  EXPECT_EQ(body.pass.target, HostId{40});
  EXPECT_EQ(body.pass.standings[0].member, HostId{10});
  EXPECT_EQ(body.ends[0].origin, HostId{30});
}

TEST(LockMail, IsReadAsWritten) {
  const wire::LockBody body = body_of(pass(), seats(), "door");
  const auto read = message_of(body, seats(), LockId{99});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->lock, LockId{99});
  EXPECT_EQ(read->target, NodeId{12});
  EXPECT_EQ(read->standings[0].member, NodeId{0});
  // All other fields: what is read says the same again.
  EXPECT_EQ(told(body_of(*read, seats(), "door")), told(body));
}

TEST(LockMail, OfAHostWithoutASeatIsRefused) {
  wire::LockBody body = body_of(pass(), seats(), "door");
  body.pass.target = HostId{50};
  EXPECT_FALSE(message_of(body, seats(), LockId{0}));
  body = body_of(pass(), seats(), "door");
  body.ballot.origin = HostId{50};
  EXPECT_FALSE(message_of(body, seats(), LockId{0}));
}

}  // namespace
}  // namespace tempo::locks
