#include "protocol/wire/codec.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/fnv.h"
#include "machine/overloaded.h"

namespace tempo::wire {
namespace {

// A host that was silent for this long may return with a lower incarnation, because it has lost its
// state file and its clock.
constexpr Nanos kIncarnationMemory = 60s;

// The wire carries 9 - priority, and 255 for a node that never leads. A byte from 10 to 254 means
// no priority in this revision; its sender counts as ineligible, so no master names it heir.
constexpr std::uint8_t kIneligibleByte = 255;
std::uint8_t reluctance_of(election::Priority priority) {
  if (priority == election::kIneligible) return kIneligibleByte;
  return static_cast<std::uint8_t>(election::steps_below_max(priority));
}
election::Priority priority_of(std::uint8_t reluctance) {
  constexpr std::uint8_t kMax = std::to_underlying(election::kMaxPriority);
  if (reluctance > kMax) return election::kIneligible;
  return election::Priority{static_cast<std::uint8_t>(kMax - reluctance)};
}

// Sums of larger spans could overflow; no correct daemon sends them.
constexpr std::int64_t kMaxSpan = std::int64_t{1} << 61;
bool in_range(std::int64_t nanos) { return nanos > -kMaxSpan && nanos < kMaxSpan; }

SyncBody body_of(const node::Probe& probe) {
  const node::Report& report = probe.report;
  return {.kind = SyncBody::Kind::probe,
          .will_follow = probe.wants_follow_up,
          .objects = report.objects,
          .exchange = probe.exchange,
          .timescale_generation = probe.timescale_generation,
          .received_ns = report.utc_gap.count(),
          .sent_ns = report.error.count(),
          .offset_ns = report.offset.count(),
          .rate_ppt = report.rate_ppt,
          .sigma_ns = static_cast<std::uint64_t>(report.sigma.count()),
          .bound_ns = static_cast<std::uint64_t>(report.bound.count()),
          .utc_bound_ns = static_cast<std::uint64_t>(report.utc_bound.count())};
}
SyncBody body_of(const node::Echo& echo) {
  return {.kind = SyncBody::Kind::echo,
          .will_follow = echo.follow_up_comes,
          .exchange = echo.exchange,
          .timescale_generation = echo.timescale_generation,
          .received_ns = echo.received.count(),
          .sent_ns = echo.sent.count(),
          .offset_ns = echo.offset.count(),
          .rate_ppt = echo.rate_ppt,
          .bound_ns = static_cast<std::uint64_t>(echo.bound.count())};
}
SyncBody body_of(const node::FollowUp& follow_up) {
  return {.kind = SyncBody::Kind::follow_up,
          .exchange = follow_up.exchange,
          .sent_ns = follow_up.sent.count()};
}
SyncBody body_of(const node::SetTime& request) {
  return {.kind = SyncBody::Kind::set_time,
          .exchange = request.number,
          .timescale_generation = request.timescale_generation,
          .offset_ns = request.by.count()};
}

}  // namespace

std::string_view name_of(DropReason reason) {
  constexpr std::array<std::string_view, static_cast<std::size_t>(DropReason::count)> kNames{
      "malformed", "other_cluster",     "not_sealed", "unknown_key",       "forged",
      "replayed",  "stale_incarnation", "own",        "duplicate_host_id", "too_many_hosts",
      "not_for_us"};
  return kNames.at(static_cast<std::size_t>(reason));
}

Codec::Codec(Options options) : options_(std::move(options)) {
  Directory::Host* self = directory_.admit(options_.self);
  CHECK(self != nullptr);
  self->name = options_.name;
  self->incarnation = options_.incarnation;
  self_ = self->node;
}

Result<Codec::Received, DropReason> Codec::decode(Instant now, std::uint8_t network,
                                                  Instant arrived, std::span<const std::byte> bytes,
                                                  Source source) {
  incompatible_revision_.reset();
  Result<Received, DropReason> received = examine(now, network, arrived, bytes, source);
  if (received)
    ++accepted_;
  else
    ++refused_[static_cast<std::size_t>(received.error())];
  return received;
}

std::unexpected<DropReason> Codec::refuse_malformed(Error error) {
  ++malformed_[static_cast<std::size_t>(error)];
  return std::unexpected(DropReason::malformed);
}

Result<Codec::Received, DropReason> Codec::examine(Instant now, std::uint8_t network,
                                                   Instant arrived,
                                                   std::span<const std::byte> bytes,
                                                   Source source) {
  const Result<Header, Error> header = parse_header(bytes, options_.revision);
  if (!header) {
    if (header.error() == Error::wrong_revision) note_revision(bytes);
    return refuse_malformed(header.error());
  }
  const auto opened = options_.keys.open(bytes, std::to_underlying(header->key));
  if (!opened) {
    switch (opened.error()) {
      case auth::Error::not_sealed:
        return std::unexpected(DropReason::not_sealed);
      case auth::Error::unknown_key:
        return std::unexpected(DropReason::unknown_key);
      default:
        return std::unexpected(DropReason::forged);
    }
  }
  if (header->cluster != cluster(header->key)) return std::unexpected(DropReason::other_cluster);
  const Result<Datagram, Error> datagram = parse(*opened, options_.revision);
  if (!datagram) return refuse_malformed(datagram.error());
  if (header->instance != 0) return std::unexpected(DropReason::not_for_us);
  const auto* diagnostic = std::get_if<DiagnosticBody>(&datagram->body);
  if (diagnostic != nullptr && diagnostic->kind == DiagnosticBody::Kind::reelect &&
      diagnostic->target != options_.self)
    return std::unexpected(DropReason::not_for_us);

  const auto* election = std::get_if<ElectionBody>(&datagram->body);
  const bool hint = election != nullptr &&
                    election->kind == static_cast<std::uint8_t>(election::Kind::masterdown) &&
                    election->subject == header->sender;
  if (header->sender == options_.self) {
    if (header->incarnation == options_.incarnation &&
        (source == Source::anywhere || sent_by_us(header->number, bytes)))
      return std::unexpected(DropReason::own);
    // From our own earlier incarnation: a crash hint of our parent, or a replayed recording.
    if (hint || (sealed() && header->incarnation < options_.incarnation && !answers_us(election)))
      return std::unexpected(DropReason::stale_incarnation);
    duplicate_incarnation_ = std::max(duplicate_incarnation_, header->incarnation);
    duplicates_seen_ = std::min(duplicates_seen_ + 1, kDuplicatesToReport);
    return std::unexpected(DropReason::duplicate_host_id);
  }

  // From here on the sender is trusted to be the host that it names.
  const Directory::Host* known = directory_.find(header->sender);
  const bool remembered =
      known != nullptr && known->heard && now - known->last_heard < kIncarnationMemory;
  if (remembered && header->incarnation < known->incarnation)
    return std::unexpected(DropReason::stale_incarnation);
  auth::ReplayWindow window;
  if (known != nullptr && known->heard && header->incarnation == known->incarnation)
    window = known->window;
  if (!window.fresh(header->number)) return std::unexpected(DropReason::replayed);

  Directory::Host* host = directory_.admit(header->sender);
  if (host == nullptr) return std::unexpected(DropReason::too_many_hosts);
  TRY(content, content_of(*datagram, network, arrived));
  host->heard = true;
  host->last_heard = now;
  host->incarnation = header->incarnation;
  host->window = window;
  if (!datagram->name.text().empty()) host->name = datagram->name;
  return Received{.from = host->node,
                  .sent_by_parent = hint && header->number >= kParentNumbers,
                  .content = content};
}

// Every revision uses the same authenticator, so an attacker without the key cannot cause a report.
void Codec::note_revision(std::span<const std::byte> bytes) {
  const std::optional<Header> stated = stated_header(bytes);
  if (stated && options_.keys.open(bytes, std::to_underlying(stated->key)))
    incompatible_revision_ = stated->revision;
}

Result<Codec::Content, DropReason> Codec::content_of(const Datagram& datagram, std::uint8_t network,
                                                     Instant arrived) {
  using Answer = Result<Content, DropReason>;
  return std::visit(
      Overloaded{
          [&](const ElectionBody& body) { return election_message(datagram, body, network); },
          [&](const SyncBody& body) { return sync_message(body, network, arrived); },
          [](const auto& body) { return Answer(body); }},
      datagram.body);
}

Result<Codec::Content, DropReason> Codec::election_message(const Datagram& datagram,
                                                           const ElectionBody& body,
                                                           std::uint8_t network) {
  // A host that the message only mentions gets a number too; if that fails, the message is dropped.
  const auto number_of = [&](HostId host, NodeId& node) {
    if (host == kNoHost) {
      node = kNobody;
      return true;
    }
    const Directory::Host* entry = directory_.admit(host);
    if (entry == nullptr) return false;
    node = entry->node;
    return true;
  };
  constexpr std::uint64_t kMax32 = 0xffffffff;
  if (body.sequence > kMax32 || body.answers > kMax32 || body.round > kMax32 ||
      !in_range(body.age.count()))
    return refuse_malformed(Error::bad_value);
  election::Message inner{.kind = static_cast<election::Kind>(body.kind),
                          .not_set = body.not_set,
                          .was_master = body.was_master,
                          .priority = priority_of(body.reluctance),
                          .incarnation = datagram.header.incarnation,
                          .sequence = Sequence{static_cast<std::uint32_t>(body.sequence)},
                          .answers = Sequence{static_cast<std::uint32_t>(body.answers)},
                          .epoch = {.round = static_cast<std::uint32_t>(body.round),
                                    .node = kNobody,
                                    .incarnation = body.epoch_incarnation},
                          .subject_incarnation = body.subject_incarnation,
                          .age = body.age};
  if (!number_of(body.epoch_host, inner.epoch.node) || !number_of(body.subject, inner.subject))
    return std::unexpected(DropReason::too_many_hosts);
  node::Node::Message message{.network = network};
  if (datagram.time) {
    if (!number_of(datagram.time->root, message.path.root))
      return std::unexpected(DropReason::too_many_hosts);
    message.path.hops = datagram.time->hops;
  }
  message.body = inner;
  return message;
}

Result<Codec::Content, DropReason> Codec::sync_message(const SyncBody& body, std::uint8_t network,
                                                       Instant arrived) {
  if (!in_range(body.received_ns) || !in_range(body.sent_ns) || !in_range(body.offset_ns) ||
      !in_range(body.rate_ppt) || body.sigma_ns > std::uint64_t{kMaxSpan} ||
      body.bound_ns > std::uint64_t{kMaxSpan} || std::abs(body.rate_ppt) > 1'000'000'000'000)
    return refuse_malformed(Error::bad_value);
  const auto sigma = Nanos{static_cast<std::int64_t>(body.sigma_ns)};
  const auto bound = Nanos{static_cast<std::int64_t>(body.bound_ns)};
  const auto utc_bound = std::min(body.utc_bound_ns, std::uint64_t{kMaxSpan});
  const auto whole = [&](const node::SyncMessage& message) {
    return node::Node::Message{.network = network, .body = message};
  };
  switch (body.kind) {
    case SyncBody::Kind::probe:
      return whole(node::Probe{.exchange = body.exchange,
                               .wants_follow_up = body.will_follow,
                               .timescale_generation = body.timescale_generation,
                               .report = {.offset = Nanos{body.offset_ns},
                                          .rate_ppt = body.rate_ppt,
                                          .error = Nanos{body.sent_ns},
                                          .sigma = sigma,
                                          .bound = bound,
                                          .objects = body.objects,
                                          .utc_gap = Nanos{body.received_ns},
                                          .utc_bound = Nanos{static_cast<std::int64_t>(utc_bound)}},
                               .arrived = arrived});
    case SyncBody::Kind::echo:
      return whole(node::Echo{.exchange = body.exchange,
                              .follow_up_comes = body.will_follow,
                              .timescale_generation = body.timescale_generation,
                              .received = Nanos{body.received_ns},
                              .sent = Nanos{body.sent_ns},
                              .offset = Nanos{body.offset_ns},
                              .rate_ppt = body.rate_ppt,
                              .bound = bound,
                              .arrived = arrived});
    case SyncBody::Kind::follow_up:
      return whole(node::FollowUp{.exchange = body.exchange, .sent = Nanos{body.sent_ns}});
    case SyncBody::Kind::set_time:
      return whole(node::SetTime{.number = body.exchange,
                                 .timescale_generation = body.timescale_generation,
                                 .by = Nanos{body.offset_ns}});
  }
  std::unreachable();
}

// Bodies that every host broadcasts repeatedly carry its name. A long-time follower sends no
// election messages, and hosts that started later would otherwise know only its id. Probes and
// echoes carry no name, so that both directions of an exchange have the same length.
bool Codec::carries_name(const Datagram::Body& body) {
  const auto* group = std::get_if<GroupBody>(&body);
  return std::holds_alternative<ElectionBody>(body) || std::holds_alternative<VoterSetBody>(body) ||
         (group != nullptr && group->kind == GroupBody::Kind::heartbeat);
}

// An Ack for our present incarnation, which no earlier incarnation can have sent.
bool Codec::answers_us(const ElectionBody* election) const {
  return election != nullptr && election->kind == static_cast<std::uint8_t>(election::Kind::ack) &&
         election->subject == options_.self &&
         election->subject_incarnation == options_.incarnation;
}

// Whether we sent this datagram, or may have sent it too long ago to remember. An attacker may
// replay a recording of it from elsewhere.
bool Codec::sent_by_us(std::uint64_t number, std::span<const std::byte> bytes) const {
  if (number > number_) return false;
  if (number + kRemembered <= number_) return true;
  return sent_hashes_[number % kRemembered] == fnv1a(bytes);
}

ClusterId Codec::cluster(KeyId key) const {
  return ClusterId{options_.keys.cluster_id(options_.cluster, std::to_underlying(key))};
}

std::size_t Codec::write(Datagram& datagram, std::span<std::byte, kMaxBytes> out) {
  datagram.header.key = KeyId{options_.keys.sealing_id()};
  datagram.header.cluster = cluster(datagram.header.key);
  datagram.header.sender = options_.self;
  datagram.header.incarnation = options_.incarnation;
  datagram.header.revision = options_.revision;
  if (carries_name(datagram.body)) datagram.name = options_.name;
  const std::size_t size = options_.keys.seal(out, wire::write(datagram, out));
  sent_hashes_[datagram.header.number % kRemembered] = fnv1a(out.first(size));
  return size;
}

std::size_t Codec::encode(const Content& content, std::span<std::byte, kMaxBytes> out) {
  Datagram datagram;
  datagram.header.number = ++number_;
  std::visit(Overloaded{[&](const node::Node::Message& message) { set_body(datagram, message); },
                        [&](const auto& body) { datagram.body = body; }},
             content);
  return write(datagram, out);
}

void Codec::set_body(Datagram& datagram, const node::Node::Message& message) const {
  if (const election::Message* inner = message.election()) {
    datagram.body = ElectionBody{.kind = static_cast<std::uint8_t>(inner->kind),
                                 .not_set = inner->not_set,
                                 .was_master = inner->was_master,
                                 .reluctance = reluctance_of(inner->priority),
                                 .sequence = std::to_underlying(inner->sequence),
                                 .answers = std::to_underlying(inner->answers),
                                 .round = inner->epoch.round,
                                 .epoch_host = directory_.host_of(inner->epoch.node),
                                 .epoch_incarnation = inner->epoch.incarnation,
                                 .subject = directory_.host_of(inner->subject),
                                 .subject_incarnation = inner->subject_incarnation,
                                 .age = std::max(inner->age, Nanos{0})};
    if (message.path.root != kNobody)
      datagram.time =
          TimeBody{.root = directory_.host_of(message.path.root), .hops = message.path.hops};
  } else {
    datagram.body = std::visit([](const auto& one) { return body_of(one); }, *message.sync());
  }
}

std::size_t Codec::notify_duplicate(std::span<std::byte, kMaxBytes> out) {
  if (!id_taken()) return 0;
  Datagram datagram;
  datagram.header.number = ++number_;
  datagram.body = ElectionBody{.kind = static_cast<std::uint8_t>(election::Kind::ack),
                               .subject = options_.self,
                               .subject_incarnation = duplicate_incarnation_};
  return write(datagram, out);
}

std::size_t Codec::crash_hint(std::span<std::byte, kMaxBytes> out) {
  Datagram datagram;
  datagram.header.number = kParentNumbers + ++number_;
  datagram.body = ElectionBody{.kind = static_cast<std::uint8_t>(election::Kind::masterdown),
                               .subject = options_.self,
                               .subject_incarnation = options_.incarnation};
  return write(datagram, out);
}

}  // namespace tempo::wire
