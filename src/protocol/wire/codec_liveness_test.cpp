// Which datagrams of which process a codec believes: recordings of earlier processes, reordered,
// reflected and redirected datagrams, silence, and machines that lost their state.
#include <gtest/gtest.h>

#include "base/random.h"
#include "protocol/wire/codec.h"
#include "protocol/wire/codec_test_hosts.h"

namespace tempo::wire {
namespace {

node::Node::Message echo_of(std::uint32_t exchange) {
  node::Node::Message message;
  message.body = node::Echo{.exchange = exchange, .offset = 57s};
  return message;
}

void meet(Codec& one, Codec& other, Instant now = kNow) {
  ASSERT_TRUE(heard(one, other, encoded(other, loop_of(other)), now));
  ASSERT_TRUE(heard(other, one, encoded(one, loop_of(one)), now));
}

// A newcomer set its clock by 57 s: exchanges are numbered from 0 in every incarnation, and its
// replay window was empty. The master was stopped; its datagrams to the newcomer's earlier
// incarnation were replayed.
TEST(CodecLiveness, ARecordingDoesNothingToANewProcess) {
  Codec master = codec_of({.id = 2});
  Codec before = codec_of({.id = 1, .nonce = 1});
  const Bytes broadcast = encoded(master, loop_of(master));
  meet(before, master);
  const Bytes echo = encoded_to(before, master, echo_of(0));
  EXPECT_TRUE(before.decode(kNow, 0, kNow, echo));
  Codec after = codec_of({.id = 1, .nonce = 2});
  EXPECT_EQ(drop_reason(after.decode(kNow, 0, kNow, broadcast)), DropReason::not_live);
  EXPECT_EQ(drop_reason(after.decode(kNow, 0, kNow, echo)), DropReason::not_live);
  EXPECT_EQ(after.directory().size(), 1U) << "no host was admitted";
  EXPECT_EQ(after.refused(DropReason::not_live), 2U);
  // If the master is alive, the broadcast counts as late, and the echo to another process does not.
  meet(after, master, kNow + 1s);
  EXPECT_EQ(drop_reason(after.decode(kNow, 0, kNow, echo)), DropReason::not_live);
}

// One round trip, and no datagram is lost: the order of arrival stays.
TEST(CodecLiveness, FirstContactTakesOneRoundTrip) {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  const Bytes first = encoded(sender, loop_of(sender, 3));
  const Bytes second = encoded(sender, loop_of(sender, 4));
  EXPECT_FALSE(receiver.decode(kNow, 0, kNow, first));
  const Bytes question = reply_of(receiver);
  EXPECT_FALSE(receiver.decode(kNow + 1ms, 0, kNow, second));
  EXPECT_TRUE(reply_of(receiver).empty()) << "one question is enough";
  ASSERT_TRUE(sender.decode(kNow + 1ms, 0, kNow, question));
  const auto answer = receiver.decode(kNow + 2ms, 0, kNow, reply_of(sender));
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->proved);
  EXPECT_TRUE(std::holds_alternative<HelloBody>(answer->content));
  for (const std::uint32_t round : {3U, 4U}) {
    const auto released = receiver.take_released();
    ASSERT_TRUE(released);
    EXPECT_EQ(std::get<node::Node::Message>(released->content).election()->epoch.round, round);
  }
  EXPECT_FALSE(receiver.take_released());
  // The sender knows a challenge of the receiver; what it sends to it is believed at once.
  Codec third = codec_of({.id = 3});
  meet(third, receiver);
  const auto reply =
      sender.decode(kNow, 0, kNow, written([&](auto& buffer) {
                      return receiver.encode(kNow, answer->from, loop_of(receiver), buffer);
                    }));
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->proved);
}

// A datagram to one host, redirected to another or reflected to its sender.
TEST(CodecLiveness, ADatagramToAnotherHostIsDropped) {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  Codec third = codec_of({.id = 3});
  meet(sender, receiver);
  meet(sender, third);
  meet(receiver, third);
  const Bytes echo = encoded_to(receiver, sender, echo_of(1));
  EXPECT_EQ(drop_reason(third.decode(kNow, 0, kNow, echo)), DropReason::not_live);
  EXPECT_EQ(drop_reason(sender.decode(kNow, 0, kNow, echo)), DropReason::own);
  EXPECT_TRUE(receiver.decode(kNow, 0, kNow, echo));
}

TEST(CodecLiveness, ReorderedDatagramsAreAccepted) {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  meet(sender, receiver);
  const Bytes first = encoded_to(receiver, sender, echo_of(1));
  const Bytes second = encoded(sender, loop_of(sender));
  const Bytes third = encoded_to(receiver, sender, echo_of(2), kNow + 31s);
  for (const Bytes& bytes : {third, second, first}) {
    EXPECT_TRUE(receiver.decode(kNow + 32s, 0, kNow, bytes));
    EXPECT_EQ(drop_reason(receiver.decode(kNow + 32s, 0, kNow, bytes)), DropReason::replayed);
  }
}

// The sender is dead; an attacker kept its last datagrams back.
TEST(CodecLiveness, AfterAPeriodOfSilenceASenderIsAskedAgain) {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  meet(sender, receiver);
  const Bytes loop = encoded(sender, loop_of(sender));
  const Bytes echo = encoded_to(receiver, sender, echo_of(1));
  EXPECT_EQ(drop_reason(receiver.decode(kNow + 61s, 0, kNow, loop)), DropReason::not_live);
  EXPECT_EQ(drop_reason(receiver.decode(kNow + 61s, 0, kNow, echo)), DropReason::not_live);
  // It is not dead but was silent: it answers, and both arrive.
  const Bytes question = reply_of(receiver, kNow + 61s);
  EXPECT_TRUE(question.empty()) << "it was asked by the first one";
  EXPECT_FALSE(receiver.decode(kNow + 62s, 0, kNow, loop));
  ASSERT_TRUE(sender.decode(kNow + 62s, 0, kNow, reply_of(receiver, kNow + 62s)));
  ASSERT_TRUE(receiver.decode(kNow + 62s, 0, kNow, reply_of(sender, kNow + 62s)));
  EXPECT_TRUE(receiver.take_released());
  EXPECT_TRUE(receiver.take_released());
  EXPECT_FALSE(receiver.take_released()) << "the copy of the first one";
}

// A sender of broadcasts only is asked before its time is over, so that none of them has to wait.
TEST(CodecLiveness, ASenderOfBroadcastsStaysLive) {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  meet(sender, receiver);
  int questions = 0;
  for (Instant now = kNow; now < kNow + 10min; now += 1s) {
    ASSERT_TRUE(receiver.decode(now, 0, now, encoded(sender, loop_of(sender))));
    const Bytes question = reply_of(receiver, now);
    if (question.empty()) continue;
    ++questions;
    ASSERT_TRUE(sender.decode(now, 0, now, question));
    ASSERT_TRUE(receiver.decode(now, 0, now, reply_of(sender, now)));
  }
  EXPECT_EQ(questions, 19) << "one in half a period";
}

// After 61 s of silence one datagram of an older incarnation emptied the window of the present one,
// and all its recordings were new again.
TEST(CodecLiveness, ThePresentIncarnationCannotBeReplayed) {
  Codec before = codec_of({.id = 2, .incarnation = 10, .nonce = 1});
  Codec after = codec_of({.id = 2, .incarnation = 11, .nonce = 2});
  Codec receiver = codec_of({.id = 1});
  const Bytes old = encoded(before, loop_of(before));
  const Bytes present = encoded(after, loop_of(after));
  ASSERT_TRUE(heard(receiver, after, present));
  for (const Nanos later : {0s, 59s, 61s}) {
    EXPECT_EQ(drop_reason(receiver.decode(kNow + later, 0, kNow, old)), DropReason::not_live);
    EXPECT_EQ(drop_reason(receiver.decode(kNow + later, 0, kNow, present)), DropReason::replayed);
  }
}

// A machine that lost its state and its clock has a lower incarnation, or the same one. Its former
// process is gone, with everything that was recorded of it.
TEST(CodecLiveness, ALowerOrEqualIncarnationIsAcceptedOnceItHasAnswered) {
  for (const std::uint32_t incarnation : {1U, 10U}) {
    Codec before = codec_of({.id = 2, .incarnation = 10, .nonce = 1});
    Codec after = codec_of({.id = 2, .incarnation = incarnation, .nonce = 2});
    Codec receiver = codec_of({.id = 1});
    meet(receiver, before);
    const Bytes kept_back = encoded_to(receiver, before, echo_of(1));
    const auto received = heard(receiver, after, encoded(after, loop_of(after)));
    ASSERT_TRUE(received) << name_of(received.error());
    EXPECT_EQ(receiver.directory().find(received->from)->incarnation, Incarnation{incarnation});
    EXPECT_EQ(drop_reason(receiver.decode(kNow, 0, kNow, kept_back)), DropReason::not_live);
    EXPECT_TRUE(receiver.decode(kNow, 0, kNow, encoded(after, loop_of(after))));
  }
}

// The address of a host is learnt where it has answered, on each network.
TEST(CodecLiveness, AHostAnswersOnEachNetwork) {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  ASSERT_TRUE(heard(receiver, sender, encoded(sender, loop_of(sender)), kNow, 0));
  const Bytes loop = encoded(sender, loop_of(sender));
  EXPECT_EQ(drop_reason(receiver.decode(kNow, 1, kNow, loop)), DropReason::not_live);
  ASSERT_TRUE(sender.decode(kNow, 1, kNow, reply_of(receiver)));
  const auto answer = receiver.decode(kNow, 1, kNow, reply_of(sender));
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->proved);
  EXPECT_TRUE(receiver.take_released());
}

// A copy of an answer, from the address of an attacker.
TEST(CodecLiveness, AnAnswerCountsOnce) {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  EXPECT_FALSE(receiver.decode(kNow, 0, kNow, encoded(sender, loop_of(sender))));
  ASSERT_TRUE(sender.decode(kNow, 0, kNow, reply_of(receiver)));
  const Bytes answer = reply_of(sender);
  EXPECT_TRUE(receiver.decode(kNow, 0, kNow, answer));
  EXPECT_EQ(drop_reason(receiver.decode(kNow, 0, kNow, answer)), DropReason::not_live);
}

// A question says nothing about its sender: a recording of one has an answer and no effect.
TEST(CodecLiveness, ARecordedQuestionHasNoEffect) {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  EXPECT_FALSE(sender.decode(kNow, 0, kNow, encoded(receiver, loop_of(receiver))));
  const Bytes question = reply_of(sender);
  for (int i = 0; i < 3; ++i) {
    const auto asked = receiver.decode(kNow, 0, kNow, question);
    ASSERT_TRUE(asked);
    EXPECT_EQ(asked->from, kNobody);
    EXPECT_FALSE(reply_of(receiver).empty());
  }
  EXPECT_EQ(receiver.directory().size(), 1U);
}

// Replayed datagrams of an earlier process made the receiver ask it, at the address of the present
// one, which took the challenge for its own: everything that it sent to the receiver was dropped,
// and a client lost its lock (tempo-lab sim daemon --scenario replay, seed 1).
TEST(CodecLiveness, AQuestionToAnEarlierProcessIsNotForThePresentOne) {
  Codec before = codec_of({.id = 2, .nonce = 1});
  Codec after = codec_of({.id = 2, .nonce = 2});
  Codec receiver = codec_of({.id = 1});
  const Bytes recorded = encoded(before, loop_of(before));
  meet(receiver, after);
  EXPECT_EQ(drop_reason(receiver.decode(kNow, 0, kNow, recorded)), DropReason::not_live);
  EXPECT_EQ(drop_reason(after.decode(kNow, 0, kNow, reply_of(receiver))), DropReason::not_for_us);
  EXPECT_TRUE(reply_of(after).empty());
  EXPECT_TRUE(receiver.decode(kNow, 0, kNow, encoded_to(receiver, after, echo_of(1))));
}

// Broadcasts of the present incarnation from long before the receiver started.
TEST(CodecLiveness, BroadcastsFromBeforeTheFirstContactAreTooOld) {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  const Bytes early = encoded(sender, loop_of(sender));
  for (std::uint64_t i = 0; i < auth::ReplayWindow::kWidth; ++i) encoded(sender, loop_of(sender));
  EXPECT_EQ(drop_reason(heard(receiver, sender, early)), DropReason::not_live);
  EXPECT_EQ(drop_reason(receiver.decode(kNow, 0, kNow, early)), DropReason::replayed);
  EXPECT_TRUE(receiver.decode(kNow, 0, kNow, encoded(sender, loop_of(sender))));
}

// One member with the key invents 20,000 ids, each with a process that answers. After 4096 of them
// nobody new was believed until a restart.
TEST(CodecLiveness, InventedHostsDoNotKeepANewHostOut) {
  Codec receiver = codec_of({.id = 1});
  Codec voter = codec_of({.id = 2});
  Codec member = codec_of({.id = 3});
  const auto id_of = [](const Codec& codec) { return codec.directory().host_of(codec.self()); };
  receiver.directory().set_voters(std::vector{id_of(voter)});
  ASSERT_TRUE(heard(receiver, voter, encoded(voter, loop_of(voter))));
  meet(receiver, member);
  const Instant again = kNow + Directory::kEstablishedAfter;
  ASSERT_TRUE(receiver.decode(again, 0, again, encoded(member, loop_of(member))));
  ASSERT_TRUE(member.decode(again, 0, again, reply_of(receiver, again)));
  ASSERT_TRUE(receiver.decode(again, 0, again, reply_of(member, again)));
  const NodeId number = receiver.number_of(id_of(voter));
  Instant now = kNow + 1min;
  Stream ids(7, 0, 0);
  int accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    now += 1ms;
    Codec invented = codec_of({.host = HostId{ids.next()}});
    accepted += heard(receiver, invented, encoded(invented, loop_of(invented)), now) ? 1 : 0;
  }
  EXPECT_GE(accepted, 19'990) << "a few have no free number between their neighbours";
  EXPECT_GE(receiver.directory().evicted(), 20'000U - Directory::kMaxHosts - 1'000U);
  EXPECT_LE(receiver.directory().size(), Directory::kMaxHosts + Directory::kMaxMentioned);
  Codec honest = codec_of({.id = 4});
  ASSERT_TRUE(heard(receiver, honest, encoded(honest, loop_of(honest)), now));
  EXPECT_EQ(receiver.number_of(id_of(voter)), number);
  ASSERT_NE(receiver.directory().find(id_of(voter)), nullptr);
  EXPECT_EQ(receiver.directory().find(id_of(voter))->name.text(), "host2");
  EXPECT_NE(receiver.directory().find(id_of(member)), nullptr) << "an established member stays";
}

// An evicted host lost its replay window: a recording of it must not count when it is back.
TEST(CodecLiveness, ARecordingOfAnEvictedHostDoesNothing) {
  Codec receiver = codec_of({.id = 1});
  Codec sender = codec_of({.id = 2});
  meet(receiver, sender);
  const Bytes echo = encoded_to(receiver, sender, echo_of(0));
  ASSERT_TRUE(receiver.decode(kNow, 0, kNow, echo));
  const Bytes later = encoded_to(receiver, sender, echo_of(1));
  for (std::uint64_t i = 0; i < Directory::kMaxHosts; ++i)
    receiver.directory().hear(kNow + 1s, HostId{(i << 46) + 1}, Incarnation{1}, Nonce{1});
  ASSERT_EQ(receiver.directory().find(HostId{std::uint64_t{2} << 50}), nullptr);
  EXPECT_EQ(drop_reason(receiver.decode(kNow + 1s, 0, kNow, echo)), DropReason::not_live);
  EXPECT_EQ(drop_reason(receiver.decode(kNow + 1s, 0, kNow, later)), DropReason::not_live);
  ASSERT_TRUE(heard(receiver, sender, encoded(sender, loop_of(sender)), kNow + 2s));
  EXPECT_FALSE(receiver.decode(kNow + 2s, 0, kNow, echo));
  EXPECT_FALSE(receiver.decode(kNow + 2s, 0, kNow, later));
}

// Two machines answer in turn for one host. A process that was replaced has ended: it never answers
// again, unless it is another machine.
TEST(CodecLiveness, NoticesACloneOfAnotherHost) {
  Codec one = codec_of({.id = 2, .nonce = 1});
  Codec clone = codec_of({.id = 2, .nonce = 2});
  Codec receiver = codec_of({.id = 1});
  const auto returns = [&] {
    return receiver.directory().find(HostId{std::uint64_t{2} << 50})->returns;
  };
  ASSERT_TRUE(heard(receiver, one, encoded(one, loop_of(one))));
  ASSERT_TRUE(heard(receiver, clone, encoded(clone, loop_of(clone))));
  EXPECT_EQ(returns(), 0U) << "a restart";
  ASSERT_TRUE(heard(receiver, one, encoded(one, loop_of(one))));
  EXPECT_EQ(returns(), 1U);
  Codec third = codec_of({.id = 2, .nonce = 3});
  ASSERT_TRUE(heard(receiver, third, encoded(third, loop_of(third))));
  EXPECT_EQ(returns(), 1U) << "a restart";
}

}  // namespace
}  // namespace tempo::wire
