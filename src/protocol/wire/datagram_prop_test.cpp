#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "protocol/wire/datagram_test_samples.h"

namespace tempo::wire {
namespace {

template <class T>
T any() {
  // Numbers of every length: rapidcheck's own stay small for small cases.
  return static_cast<T>(*rc::gen::resize(1000, rc::gen::arbitrary<std::uint64_t>()) >>
                        *rc::gen::inRange(0U, 64U));
}
std::int64_t any_nanos() {
  return any<std::int64_t>() / 2;  // within kMaxNanos
}
Nanos any_span() { return Nanos{any_nanos() & (kMaxNanos - 1)}; }

GroupBody any_group() {
  GroupBody group =
      GroupBody{.kind = GroupBody::Kind{*rc::gen::inRange<std::uint8_t>(0, GroupBody::kKinds)},
                .name = GroupName('g' + *rc::gen::arbitrary<std::string>()),
                .leads = *rc::gen::arbitrary<bool>(),
                .criterion = any<std::uint8_t>(),
                .term = any<std::uint64_t>(),
                .heir = any<HostId>(),
                .ago = any_span(),
                .capacity = any<std::int64_t>(),
                .step = *rc::gen::inRange<std::uint8_t>(0, GroupBody::kSteps),
                .phase = *rc::gen::inRange<std::uint8_t>(0, GroupBody::kPhases),
                .sender = any<HostId>(),
                .stamp_ns = any_span().count(),
                .delay = any_span(),
                .number = any<std::uint32_t>(),
                .first = {any<std::int64_t>(), any<HostId>()},
                .ring = {.ring = any<std::uint64_t>(),
                         .election = any<std::uint32_t>(),
                         .sequence = any<std::uint32_t>(),
                         .after = any<std::uint32_t>(),
                         .answers = any<std::uint32_t>(),
                         .priority = any<std::uint32_t>()}};
  // Bids, rings and proofs share the same bytes.
  const bool on_ring =
      group.kind == GroupBody::Kind::ring || group.kind == GroupBody::Kind::anonymous;
  if (!on_ring) group.ring = {};
  if (on_ring || group.kind == GroupBody::Kind::b2) group.first = {};
  if (group.kind == GroupBody::Kind::b2) {
    group.proof = {.list = any<std::uint64_t>(),
                   .election = any<std::uint64_t>(),
                   .sender = any<std::uint32_t>(),
                   .size = any<std::uint32_t>()};
    group.signatures.push_back({.member = any<std::uint8_t>()});
  }
  return group;
}

AnnouncementBody any_announcement() {
  return {.stops = *rc::gen::arbitrary<bool>(),
          .leads = *rc::gen::arbitrary<bool>(),
          .interval_ms = any<std::uint32_t>(),
          .uptime_s = any<std::uint32_t>(),
          .up_members = any<std::uint32_t>(),
          .profile = Word(*rc::gen::arbitrary<std::string>()),
          .timers = any<std::uint32_t>(),
          .expect = any<std::uint8_t>(),
          .lease_ms = any<std::uint32_t>(),
          .longest_lease_ms = any<std::uint32_t>(),
          .status = Word(*rc::gen::arbitrary<std::string>()),
          .offset_ns = any_nanos(),
          .bound_ns = bound_of(short_bound(static_cast<std::uint64_t>(any_span().count()))),
          .version = Text<kMaxVersionText>(*rc::gen::arbitrary<std::string>()),
          .mentioned = {.host = any<HostId>(),
                        .name = Name(*rc::gen::arbitrary<std::string>()),
                        .silent_s = any<std::uint32_t>(),
                        .stopped = *rc::gen::arbitrary<bool>()}};
}

Datagram any_datagram() {
  Datagram datagram;
  datagram.header = {.cluster = any<ClusterId>(),
                     .sender = HostId{any<std::uint64_t>() | 1},
                     .incarnation = any<Incarnation>(),
                     .key = *rc::gen::arbitrary<bool>() ? kNoKey : any<KeyId>(),
                     .number = any<std::uint64_t>(),
                     .nonce = Nonce{any<std::uint64_t>()},
                     .challenge = any<std::uint64_t>(),
                     .response = any<std::uint64_t>(),
                     .other_key = any<ShortKey>()};
  datagram.name = Name(*rc::gen::arbitrary<std::string>());
  if (*rc::gen::arbitrary<bool>()) datagram.view = any<std::uint64_t>();
  if (*rc::gen::arbitrary<bool>())
    datagram.time = TimeBody{.bound = any_span(),
                             .timescale_generation = any<std::uint32_t>(),
                             .root = any<HostId>(),
                             .hops = any<std::uint8_t>(),
                             .synchronized = *rc::gen::arbitrary<bool>()};
  if (*rc::gen::inRange(0, 8) == 0)
    datagram.body = DiagnosticBody{.kind = DiagnosticBody::Kind::reelect,
                                   .level = *rc::gen::inRange<std::uint8_t>(0, 3),
                                   .part = any<std::uint8_t>(),
                                   .parts = any<std::uint8_t>(),
                                   .question = any<std::uint32_t>(),
                                   .target = any<HostId>(),
                                   .round = any<std::uint64_t>()};
  else if (*rc::gen::inRange(0, 4) == 0)
    datagram.body = DiagnosticBody{
        .kind = *rc::gen::element(DiagnosticBody::Kind::ask, DiagnosticBody::Kind::answer,
                                  DiagnosticBody::Kind::reelect_answer, DiagnosticBody::Kind::query,
                                  DiagnosticBody::Kind::query_answer),
        .level = *rc::gen::inRange<std::uint8_t>(0, 3),
        .part = any<std::uint8_t>(),
        .parts = any<std::uint8_t>(),
        .question = any<std::uint32_t>(),
        .text = Text<DiagnosticBody::kMaxText>(*rc::gen::arbitrary<std::string>())};
  else if (*rc::gen::inRange(0, 4) == 0)
    datagram.body = any_group();
  else if (*rc::gen::inRange(0, 4) == 0)
    datagram.body = any_announcement();
  else if (*rc::gen::arbitrary<bool>())
    datagram.body = ElectionBody{.kind = *rc::gen::inRange<std::uint8_t>(0, ElectionBody::kKinds),
                                 .not_set = *rc::gen::arbitrary<bool>(),
                                 .was_master = *rc::gen::arbitrary<bool>(),
                                 .reluctance = any<std::uint8_t>(),
                                 .sequence = any<std::uint64_t>(),
                                 .answers = any<std::uint64_t>(),
                                 .round = any<std::uint64_t>(),
                                 .epoch_host = any<HostId>(),
                                 .epoch_incarnation = any<Incarnation>(),
                                 .subject = any<HostId>(),
                                 .subject_incarnation = any<Incarnation>(),
                                 .age = any_span()};
  else
    datagram.body =
        SyncBody{.kind = SyncBody::Kind{*rc::gen::inRange<std::uint8_t>(0, SyncBody::kKinds)},
                 .kernel_stamp = *rc::gen::arbitrary<bool>(),
                 .will_follow = *rc::gen::arbitrary<bool>(),
                 .objects = *rc::gen::arbitrary<bool>(),
                 .exchange = any<std::uint32_t>(),
                 .timescale_generation = any<std::uint32_t>(),
                 .received_ns = any_nanos(),
                 .sent_ns = any_nanos(),
                 .offset_ns = any_nanos(),
                 .rate_ppt = any_nanos() % kMaxRate,
                 .sigma_ns = static_cast<std::uint64_t>(any_span().count()),
                 .bound_ns = static_cast<std::uint64_t>(any_span().count())};
  return datagram;
}

// Every datagram is parsed as it was written.
RC_GTEST_PROP(DatagramProperty, IsParsedAsWritten, ()) {
  const Datagram datagram = any_datagram();
  const auto read = parse(bytes_of(datagram));
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == datagram);
}

// A datagram with changed bytes is refused, or can be written and parsed again.
RC_GTEST_PROP(DatagramProperty, SurvivesChangedBytes, ()) {
  std::vector<std::byte> bytes = bytes_of(any_datagram());
  const int changes = *rc::gen::inRange(1, 4);
  for (int i = 0; i < changes; ++i)
    bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = std::byte{any<std::uint8_t>()};
  const auto read = parse(bytes);
  RC_CLASSIFY(read.has_value());
  if (!read.has_value()) {
    RC_ASSERT(read.error() < Error::count);
    return;
  }
  RC_ASSERT(parse(bytes_of(*read)).value() == *read);
}

}  // namespace
}  // namespace tempo::wire
