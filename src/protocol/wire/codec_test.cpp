#include "protocol/wire/codec.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "protocol/wire/codec_test_hosts.h"

namespace tempo::wire {
namespace {

TEST(Codec, DecodesAnElectionMessageAsEncoded) {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  const auto bytes = encoded(sender, loop_of(sender));
  const auto received = heard(receiver, sender, bytes, kNow, 3);
  ASSERT_TRUE(received) << name_of(received.error());
  const node::Node::Message& message = message_in(received);
  EXPECT_EQ(message.network, 3);
  EXPECT_EQ(receiver.directory().host_of(received->from), HostId{std::uint64_t{2} << 50});
  EXPECT_EQ(receiver.directory().find(received->from)->name.text(), "host2");
  EXPECT_EQ(message.path, (node::Path{received->from, 2}));
  const election::Message& heard = *message.election();
  EXPECT_EQ(heard.kind, election::Kind::loop);
  EXPECT_EQ(heard.priority, election::Priority{5});
  EXPECT_EQ(heard.incarnation, Incarnation{10});
  EXPECT_EQ(heard.sequence, Sequence{17});
  EXPECT_EQ(heard.epoch, (Epoch{3, received->from, Incarnation{10}}));
  EXPECT_EQ(heard.subject, received->from);
  EXPECT_EQ(receiver.accepted(), 2U) << "the answer and the message";
}

// Machines are upgraded one by one: neighbouring revisions understand each other, both ways.
TEST(Codec, OnlyNeighbouringRevisionsInteroperate) {
  for (const int step : {0, 1, 2, 3}) {
    Codec ours = codec_of({.id = 1});
    Codec theirs = codec_of({.id = 2, .revision = kRevision + step});
    const auto there = heard(theirs, ours, encoded(ours, loop_of(ours)));
    const auto back = heard(ours, theirs, encoded(theirs, loop_of(theirs, 4)));
    if (step < 2) {
      ASSERT_TRUE(there && back) << step;
      EXPECT_EQ(theirs.directory().find(there->from)->name.text(), "host1");
      EXPECT_EQ(message_in(back).election()->epoch.round, 4U);
      EXPECT_EQ(ours.incompatible_revision(), std::nullopt);
      continue;
    }
    EXPECT_EQ(drop_reason(there), DropReason::malformed) << step;
    EXPECT_EQ(drop_reason(back), DropReason::malformed) << step;
    EXPECT_EQ(ours.malformed(Error::wrong_revision), 1U);
    EXPECT_EQ(ours.incompatible_revision(), kRevision + step);
    EXPECT_EQ(theirs.incompatible_revision(), kRevision);
    // It concerns the last datagram only.
    EXPECT_FALSE(ours.decode(kNow, 0, kNow, {}));
    EXPECT_EQ(ours.incompatible_revision(), std::nullopt);
  }
}

// Revision 1 has no challenges, so nothing it says can be believed. Its header is shorter.
TEST(Codec, RefusesRevisionOneByName) {
  Codec ours = codec_of({.id = 1});
  Codec theirs = codec_of({.id = 2});
  const auto bytes = encoded(theirs, loop_of(theirs));
  Bytes older(bytes.begin(), bytes.begin() + kCommonBytes);
  older.resize(kCommonBytes + 24);
  older[2] = std::byte{1};
  older[5] = static_cast<std::byte>(older.size() + kTagBytes);
  older.resize(older.size() + kTagBytes);
  auth::Keyring(key_of(1)).seal(older, older.size() - kTagBytes);
  EXPECT_EQ(drop_reason(ours.decode(kNow, 0, kNow, older)), DropReason::malformed);
  EXPECT_EQ(ours.incompatible_revision(), 1);
}

// A host without our key cannot cause a report of its revision.
TEST(Codec, ReportsNoRevisionWithoutAValidSeal) {
  Codec ours = codec_of({.id = 1});
  for (const std::vector<auth::Key>& keys : {std::vector<auth::Key>{}, {key_of(9)}}) {
    Codec theirs = codec_of({.id = 2, .keys = keys, .revision = kRevision + 2});
    EXPECT_FALSE(ours.decode(kNow, 0, kNow, encoded(theirs, loop_of(theirs))));
    EXPECT_EQ(ours.incompatible_revision(), std::nullopt);
  }
  Codec theirs = codec_of({.id = 2, .revision = kRevision + 2});
  auto forged = encoded(theirs, loop_of(theirs));
  forged.back() ^= std::byte{1};
  EXPECT_FALSE(ours.decode(kNow, 0, kNow, forged));
  EXPECT_EQ(ours.incompatible_revision(), std::nullopt);
  EXPECT_EQ(ours.malformed(Error::wrong_revision), 3U);
}

TEST(Codec, DecodesAnEchoAsEncoded) {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  node::Node::Message message;
  message.body = node::Echo{.exchange = 77,
                            .follow_up_comes = true,
                            .timescale_generation = 2,
                            .received = Nanos{-5},
                            .sent = Nanos{123'456'789'012},
                            .offset = 1'700'000'000s,
                            .rate_ppt = -50'000'000,
                            .bound = Nanos{1500}};
  const auto received = heard(receiver, sender, encoded(sender, message));
  ASSERT_TRUE(received);
  const auto& heard = std::get<node::Echo>(*message_in(received).sync());
  EXPECT_TRUE(heard.follow_up_comes);
  EXPECT_EQ(heard.exchange, 77U);
  EXPECT_EQ(heard.timescale_generation, 2U);
  EXPECT_EQ(heard.received, Nanos{-5});
  EXPECT_EQ(heard.sent, Nanos{123'456'789'012});
  EXPECT_EQ(heard.offset, 1'700'000'000s);
  EXPECT_EQ(heard.rate_ppt, -50'000'000);
  EXPECT_EQ(heard.bound, Nanos{1500});
  EXPECT_EQ(heard.arrived, kNow - 3us);
}

TEST(Codec, DecodesAProbeAsEncoded) {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  node::Node::Message message;
  message.body = node::Probe{.exchange = 77,
                             .wants_follow_up = true,
                             .timescale_generation = 2,
                             .report = {.offset = Nanos{-5},
                                        .rate_ppt = -50'000'000,
                                        .error = Nanos{6},
                                        .sigma = Nanos{40},
                                        .bound = Nanos{1500},
                                        .objects = true,
                                        .utc_gap = Nanos{-7},
                                        .utc_bound = Nanos{1024}}};
  const auto received = heard(receiver, sender, encoded(sender, message));
  ASSERT_TRUE(received);
  const auto& heard = std::get<node::Probe>(*message_in(received).sync());
  EXPECT_EQ(heard.exchange, 77U);
  EXPECT_TRUE(heard.wants_follow_up);
  EXPECT_EQ(heard.timescale_generation, 2U);
  EXPECT_EQ(heard.report.offset, Nanos{-5});
  EXPECT_EQ(heard.report.rate_ppt, -50'000'000);
  EXPECT_EQ(heard.report.error, Nanos{6});
  EXPECT_EQ(heard.report.sigma, Nanos{40});
  EXPECT_EQ(heard.report.bound, Nanos{1500});
  EXPECT_TRUE(heard.report.objects);
  EXPECT_EQ(heard.report.utc_gap, Nanos{-7});
  EXPECT_EQ(heard.report.utc_bound, Nanos{1024});
  EXPECT_EQ(heard.arrived, kNow - 3us);
}

TEST(Codec, DecodesAFollowUpAndASetTimeAsEncoded) {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  node::Node::Message message;
  message.body = node::FollowUp{.exchange = 77, .sent = Nanos{-5}};
  const auto first = heard(receiver, sender, encoded(sender, message));
  ASSERT_TRUE(first);
  const auto& follow_up = std::get<node::FollowUp>(*message_in(first).sync());
  EXPECT_EQ(follow_up.exchange, 77U);
  EXPECT_EQ(follow_up.sent, Nanos{-5});
  message.body = node::SetTime{.number = 78, .timescale_generation = 2, .by = Nanos{-6}};
  const auto second = receiver.decode(kNow, 0, kNow, encoded(sender, message));
  ASSERT_TRUE(second);
  const auto& request = std::get<node::SetTime>(*message_in(second).sync());
  EXPECT_EQ(request.number, 78U);
  EXPECT_EQ(request.timescale_generation, 2U);
  EXPECT_EQ(request.by, Nanos{-6});
}

TEST(Codec, AcceptsADatagramOnce) {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  const auto first = encoded(sender, loop_of(sender));
  const auto second = encoded(sender, loop_of(sender));
  EXPECT_TRUE(heard(receiver, sender, second));
  EXPECT_TRUE(receiver.decode(kNow, 0, kNow, first));  // overtaken, but not seen before
  EXPECT_EQ(drop_reason(receiver.decode(kNow, 0, kNow, first)), DropReason::replayed);
  EXPECT_EQ(drop_reason(receiver.decode(kNow, 0, kNow, second)), DropReason::replayed);
  EXPECT_EQ(receiver.refused(DropReason::replayed), 2U);
}

TEST(Codec, NumbersStartAgainInANewIncarnation) {
  Codec before = codec_of({.id = 2, .incarnation = 10});
  Codec after = codec_of({.id = 2, .incarnation = 11});
  Codec receiver = codec_of({.id = 1});
  EXPECT_TRUE(heard(receiver, before, encoded(before, loop_of(before))));
  EXPECT_TRUE(heard(receiver, after, encoded(after, loop_of(after))));
}

TEST(Codec, RecognizesOwnBroadcasts) {
  Codec self = codec_of({.id = 1});
  EXPECT_EQ(drop_reason(self.decode(kNow, 0, kNow, encoded(self, loop_of(self)))), DropReason::own);
  EXPECT_FALSE(self.id_taken());
}

// Both machines were started in the same second, or from one image: their incarnations are equal.
// One datagram of one machine makes both aware of the other.
TEST(Codec, TwoMachinesWithOneHostIdNoticeEachOther) {
  for (const std::uint32_t incarnation : {9U, 10U, 11U}) {
    Codec self = codec_of({.id = 1, .incarnation = 10});
    Codec duplicate = codec_of({.id = 1, .incarnation = incarnation, .nonce = 101});
    EXPECT_EQ(drop_reason(self.decode(kNow, 0, kNow, encoded(duplicate, loop_of(duplicate)))),
              DropReason::not_live);
    EXPECT_EQ(drop_reason(duplicate.decode(kNow, 0, kNow, reply_of(self))), DropReason::not_live);
    EXPECT_FALSE(self.id_taken() || duplicate.id_taken());
    EXPECT_EQ(drop_reason(self.decode(kNow, 0, kNow, reply_of(duplicate))),
              DropReason::duplicate_host_id);
    EXPECT_TRUE(self.id_taken());
    EXPECT_EQ(drop_reason(duplicate.decode(kNow, 0, kNow, reply_of(self))),
              DropReason::duplicate_host_id);
    EXPECT_TRUE(duplicate.id_taken());
  }
}

// An attacker who replays our datagrams, or those of our earlier incarnations, cannot simulate a
// duplicate. Nor is a crash hint of our parent one.
TEST(Codec, RecordingsAreNoDuplicate) {
  Codec self = codec_of({.id = 1, .incarnation = 11});
  Codec before = codec_of({.id = 1, .incarnation = 10, .nonce = 99});
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(drop_reason(self.decode(kNow, 0, kNow, encoded(self, loop_of(self)))),
              DropReason::own);
    EXPECT_EQ(drop_reason(self.decode(kNow, 0, kNow, encoded(before, loop_of(before)))),
              DropReason::not_live);
    EXPECT_EQ(drop_reason(self.decode(
                  kNow, 0, kNow, written([&](auto& buffer) { return before.crash_hint(buffer); }))),
              DropReason::not_live);
  }
  EXPECT_FALSE(self.id_taken());
}

TEST(Codec, ACrashHintNamesTheIncarnationThatEnded) {
  Codec dead = codec_of({.id = 2, .incarnation = 10});
  Codec receiver = codec_of({.id = 1});
  EXPECT_TRUE(heard(receiver, dead, encoded(dead, loop_of(dead))));
  // The parent does not know the last number that its worker used, nor its secret.
  Codec parents = codec_of({.id = 2, .incarnation = 10});
  const Bytes bytes = written([&](auto& buffer) { return parents.crash_hint(buffer); });
  const auto received = receiver.decode(kNow, 0, kNow, bytes);
  ASSERT_TRUE(received) << name_of(received.error());
  EXPECT_FALSE(received->proved) << "its source is not the address of the host";
  const election::Message& hint = *message_in(received).election();
  EXPECT_EQ(hint.kind, election::Kind::masterdown);
  EXPECT_EQ(hint.subject, received->from);
  EXPECT_EQ(hint.subject_incarnation, Incarnation{10});
  EXPECT_FALSE(receiver.decode(kNow, 0, kNow, bytes));
}

// The hint of one incarnation, recorded, must not end the mastership of the next one, even if it
// has the same number.
TEST(Codec, ARecordedCrashHintDoesNothingToTheNextIncarnation) {
  Codec before = codec_of({.id = 2, .nonce = 1});
  Codec after = codec_of({.id = 2, .nonce = 2});
  Codec receiver = codec_of({.id = 1});
  EXPECT_TRUE(heard(receiver, before, encoded(before, loop_of(before))));
  const Bytes hint = written([&](auto& buffer) { return before.crash_hint(buffer); });
  EXPECT_TRUE(heard(receiver, after, encoded(after, loop_of(after))));
  EXPECT_EQ(drop_reason(heard(receiver, after, hint)), DropReason::not_live);
}

TEST(Codec, DecodesADiagnosticAsEncoded) {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  const DiagnosticBody diagnostic{.kind = DiagnosticBody::Kind::answer,
                                  .level = 2,
                                  .parts = 1,
                                  .question = 9,
                                  .text = Text<DiagnosticBody::kMaxText>("fire")};
  const Bytes bytes = encoded(sender, diagnostic);
  const auto received = heard(receiver, sender, bytes);
  ASSERT_TRUE(received) << name_of(received.error());
  EXPECT_EQ(std::get<DiagnosticBody>(received->content), diagnostic);
  EXPECT_EQ(drop_reason(receiver.decode(kNow, 0, kNow, bytes)), DropReason::replayed);
  const auto other = receiver.decode(kNow, 0, kNow, encoded(sender, loop_of(sender)));
  ASSERT_TRUE(other);
  EXPECT_EQ(message_in(other).election()->kind, election::Kind::loop);
}

TEST(Codec, DropsARequestToAnotherHost) {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  const auto decoded = [&](std::uint64_t target) {
    const DiagnosticBody request{
        .kind = DiagnosticBody::Kind::reelect, .question = 9, .target = HostId{target << 50}};
    return heard(receiver, sender, encoded(sender, request));
  };
  EXPECT_EQ(drop_reason(decoded(3)), DropReason::not_for_us);
  EXPECT_EQ(receiver.refused(DropReason::not_for_us), 1U);
  const auto received = decoded(1);
  ASSERT_TRUE(received) << name_of(received.error());
  EXPECT_EQ(std::get<DiagnosticBody>(received->content).kind, DiagnosticBody::Kind::reelect);
}

// A follower broadcasts nothing else; a receiver that missed its first messages learns its name
// from these.
TEST(Codec, VoterSetsAndGroupHeartbeatsCarryTheName) {
  Codec sender = codec_of({.id = 2});
  const auto name_after = [&](const auto& body) {
    Codec receiver = codec_of({.id = 1});
    const auto received = heard(receiver, sender, encoded(sender, body));
    EXPECT_TRUE(received) << name_of(received.error());
    const Directory::Host* const host = receiver.directory().find(HostId{std::uint64_t{2} << 50});
    return host == nullptr ? "unknown" : std::string(host->name.text());
  };
  VoterSetBody voter_set;
  voter_set.voters.push_back(HostId{std::uint64_t{2} << 50});
  EXPECT_EQ(name_after(voter_set), "host2");
  GroupBody group{.name = GroupName("web")};
  EXPECT_EQ(name_after(group), "host2");
  group.kind = GroupBody::Kind::c;
  EXPECT_EQ(name_after(group), "") << "election messages stay short";
}

TEST(Codec, DropsDatagramsOfOtherClustersAndKeys) {
  Codec receiver = codec_of({.id = 1});
  const auto try_from = [&](const HostOptions& options) {
    Codec sender = codec_of(options);
    return drop_reason(receiver.decode(kNow, 0, kNow, encoded(sender, loop_of(sender))));
  };
  EXPECT_EQ(try_from({.id = 2, .keys = {}}), DropReason::not_sealed);
  EXPECT_EQ(try_from({.id = 2, .keys = {key_of(9)}}), DropReason::unknown_key);
  EXPECT_EQ(try_from({.id = 2, .cluster = "other"}), DropReason::other_cluster);
  Codec without_key = codec_of({.id = 1, .keys = {}});
  Codec sealed = codec_of({.id = 2});
  EXPECT_EQ(drop_reason(without_key.decode(kNow, 0, kNow, encoded(sealed, loop_of(sealed)))),
            DropReason::unknown_key);
  EXPECT_EQ(receiver.directory().size(), 1U);  // no host was admitted
}

// Counters of `tempo status --json` are made of these names.
TEST(DropReason, IsNamedLikeItsEnumerator) {
  EXPECT_EQ(name_of(DropReason::replayed), "replayed");
  EXPECT_EQ(name_of(DropReason::not_live), "not_live");
  EXPECT_EQ(name_of(DropReason::duplicate_host_id), "duplicate_host_id");
  EXPECT_EQ(name_of(DropReason::not_for_us), "not_for_us");
}

TEST(Codec, KeysCanBeChangedHostByHost) {
  Codec old_first = codec_of({.id = 1, .keys = {key_of(1), key_of(2)}});
  Codec new_first = codec_of({.id = 2, .keys = {key_of(2), key_of(1)}});
  EXPECT_TRUE(heard(old_first, new_first, encoded(new_first, loop_of(new_first))));
  EXPECT_TRUE(heard(new_first, old_first, encoded(old_first, loop_of(old_first))));
  const Directory::Host* const seen =
      old_first.directory().find(new_first.directory().host_of(new_first.self()));
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(std::to_underlying(seen->key), auth::key_id(key_of(2)));
  EXPECT_EQ(seen->other_key, short_key(KeyId{auth::key_id(key_of(1))}));
}

// One process is one member in every step of a key change: a reload changes neither its identity
// nor what the others have learnt of it.
TEST(Codec, AFirstKeyIsIntroducedHostByHost) {
  const auth::KeyLine opens{.key = key_of(1), .role = auth::KeyRole::open};
  const std::vector<auth::Keyring> steps{
      auth::Keyring(), auth::Keyring({auth::KeyLine{}, opens}),
      auth::Keyring({auth::KeyLine{.role = auth::KeyRole::open}, {.key = key_of(1)}}),
      auth::Keyring(key_of(1))};
  Codec one = codec_of({.id = 1, .keys = {}});
  Codec other = codec_of({.id = 2, .keys = {}});
  EXPECT_TRUE(heard(one, other, encoded(other, loop_of(other))));
  EXPECT_TRUE(heard(other, one, encoded(one, loop_of(one))));
  for (std::size_t i = 1; i < steps.size(); ++i) {
    for (Codec* const changed : {&one, &other}) {
      changed->set_keys(steps[i]);
      EXPECT_TRUE(one.decode(kNow, 0, kNow, encoded(other, loop_of(other)))) << i;
      EXPECT_TRUE(other.decode(kNow, 0, kNow, encoded(one, loop_of(one)))) << i;
    }
  }
  Codec keyless = codec_of({.id = 3, .keys = {}});
  EXPECT_EQ(drop_reason(one.decode(kNow, 0, kNow, encoded(keyless, loop_of(keyless)))),
            DropReason::not_sealed);
}

TEST(Codec, DropsTimesThatWouldOverflow) {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  node::Node::Message message;
  message.body = node::Echo{.sent = Nanos::max()};
  EXPECT_TRUE(heard(receiver, sender, encoded(sender, loop_of(sender))));
  EXPECT_EQ(drop_reason(receiver.decode(kNow, 0, kNow, encoded(sender, message))),
            DropReason::malformed);
  EXPECT_EQ(receiver.malformed(Error::bad_value), 1U);
}

// Random, damaged and replayed datagrams: the counters add up and no host is admitted.
TEST(Codec, NoiseChangesNothing) {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  const auto good = encoded(sender, loop_of(sender));
  ASSERT_TRUE(heard(receiver, sender, good));
  Stream chance(1, 1, 1);
  constexpr int kTries = 20'000;
  for (int i = 0; i < kTries; ++i) {
    std::vector<std::byte> bytes = good;
    if (chance.chance(0.3)) {
      bytes.assign(chance.below(kMaxBytes + 20), std::byte{0});
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(chance.below(256));
    } else {
      for (std::uint64_t flips = chance.below(4); flips > 0; --flips)
        bytes[chance.below(bytes.size())] ^= static_cast<std::byte>(1U << chance.below(8));
      if (chance.chance(0.1)) bytes.resize(chance.below(bytes.size()));
    }
    EXPECT_FALSE(receiver.decode(kNow, 0, kNow, bytes));
  }
  std::uint64_t refused = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(DropReason::count); ++i)
    refused += receiver.refused(static_cast<DropReason>(i));
  EXPECT_EQ(refused, std::uint64_t{kTries} + 1) << "one was held first";
  EXPECT_EQ(receiver.accepted(), 2U);
  EXPECT_EQ(receiver.directory().size(), 2U);
  EXPECT_GT(receiver.refused(DropReason::forged), 0U);
  EXPECT_GT(receiver.refused(DropReason::replayed), 0U);
  EXPECT_GT(receiver.refused(DropReason::malformed), 0U);
}

}  // namespace
}  // namespace tempo::wire
