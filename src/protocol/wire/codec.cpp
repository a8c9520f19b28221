#include "protocol/wire/codec.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "machine/overloaded.h"
#include "protocol/wire/wire_mutation.h"

namespace tempo::wire {
namespace {

Process process_of(const Header& header) {
  return {.host = header.sender, .incarnation = header.incarnation, .nonce = header.nonce};
}
void note_header(Directory::Host& host, const Header& header) {
  host.key = header.key;
  host.other_key = header.other_key;
  host.revision = header.revision;
}
Process process_of(const Directory::Host& host) {
  return {.host = host.id, .incarnation = host.incarnation, .nonce = host.nonce};
}
constexpr std::uint8_t bit_of(std::uint8_t network) {
  return static_cast<std::uint8_t>(1U << network);
}
static_assert(node::kMaxNetworks <= 8);

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
      "malformed", "other_cluster", "not_sealed",        "unknown_key",    "forged",    "replayed",
      "not_live",  "own",           "duplicate_host_id", "too_many_hosts", "not_for_us"};
  return kNames.at(static_cast<std::size_t>(reason));
}

Codec::Codec(Options options)
    : options_(std::move(options)), liveness_(options_.secret, options_.exchange_interval) {
  if (mutated(Mutation::no_nonce)) options_.nonce = {};
  set_keys(std::move(options_.keys));
  Directory::Host* self = directory_.admit(options_.self);
  CHECK(self != nullptr);
  self->pinned = true;
  self->name = options_.name;
  self->incarnation = options_.incarnation;
  self->nonce = options_.nonce;
  self->revision = options_.revision;
  self_ = self->node;
}

Result<Codec::Received, DropReason> Codec::decode(Instant now, std::uint8_t network,
                                                  Instant arrived,
                                                  std::span<const std::byte> bytes) {
  CHECK(network < node::kMaxNetworks);
  incompatible_revision_.reset();
  reply_.reset();
  released_.clear();
  Result<Received, DropReason> received = examine(now, network, arrived, bytes);
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
                                                   std::span<const std::byte> bytes) {
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
  Liveness::Held held{.since = now, .arrived = arrived, .network = network};
  const Datagram& datagram = held.datagram;
  if (const auto error = parse_into(held.datagram, *header, *opened))
    return refuse_malformed(*error);
  const auto* const hello = std::get_if<HelloBody>(&datagram.body);
  if (hello != nullptr && hello->to != options_.nonce && !mutated(Mutation::question_to_other))
    return std::unexpected(DropReason::not_for_us);
  if (header->sender == options_.self) return receive_own_id(now, network, datagram);
  if (hello != nullptr) return receive_hello(now, network, datagram);
  return receive(now, held);
}

// Our own broadcast, a recording of an earlier process of this host, or another machine with our
// id. Only the last one repeats a challenge.
Result<Codec::Received, DropReason> Codec::receive_own_id(Instant now, std::uint8_t network,
                                                          const Datagram& datagram) {
  const Header& header = datagram.header;
  const Process from = process_of(header);
  if (from == process_of(*directory_.find(options_.self))) return std::unexpected(DropReason::own);
  const bool proved =
      liveness_.judge(now, from, 0, header.response) == Liveness::Response::current &&
      liveness_.take_answer(now, from, network);
  const auto* hello = std::get_if<HelloBody>(&datagram.body);
  if (!proved && !id_taken_) ask(now, network, from);
  // The answer is a question too: the other machine has to know.
  if (hello != nullptr && hello->kind == HelloBody::Kind::ask && liveness_.answer(now))
    reply_ = Reply{.kind = reply_ ? HelloBody::Kind::ask : HelloBody::Kind::answer,
                   .to = from,
                   .response = header.challenge};
  if (!proved) return std::unexpected(DropReason::not_live);
  id_taken_ = true;
  return std::unexpected(DropReason::duplicate_host_id);
}

Result<Codec::Received, DropReason> Codec::receive_hello(Instant now, std::uint8_t network,
                                                         const Datagram& datagram) {
  const Header& header = datagram.header;
  const Process from = process_of(header);
  const auto& hello = std::get<HelloBody>(datagram.body);
  const std::uint32_t changes = directory_.changes_of(from.host);
  if (hello.kind == HelloBody::Kind::ask) {
    Directory::Host* const known = directory_.find(from.host);
    if (known != nullptr && process_of(*known) == from &&
        (header.number >= known->window.highest() || mutated(Mutation::recorded_question)))
      known->challenge = header.challenge;
    if (liveness_.answer(now))
      reply_ = Reply{.kind = HelloBody::Kind::answer,
                     .to = from,
                     .changes = changes,
                     .response = header.challenge};
    return Received{.content = hello};
  }
  if (liveness_.judge(now, from, changes, header.response) != Liveness::Response::current ||
      !liveness_.take_answer(now, from, network))
    return std::unexpected(DropReason::not_live);
  Directory::Host* const host = believe(now, network, header, true);
  if (host == nullptr) return std::unexpected(DropReason::too_many_hosts);
  if (!mutated(Mutation::no_floor)) host->window.advance(header.number);
  host->challenge = header.challenge;
  note_header(*host, header);
  release(now, network, from);
  return Received{.from = host->node, .proved = true, .content = hello};
}

// A datagram that just arrived, or one that was held and whose sender is live now.
Result<Codec::Received, DropReason> Codec::receive(Instant now, const Liveness::Held& held) {
  const Datagram& datagram = held.datagram;
  const Header& header = datagram.header;
  const auto* diagnostic = std::get_if<DiagnosticBody>(&datagram.body);
  if (diagnostic != nullptr && diagnostic->kind == DiagnosticBody::Kind::reelect &&
      diagnostic->target != options_.self)
    return std::unexpected(DropReason::not_for_us);

  using Response = Liveness::Response;
  const Process from = process_of(header);
  const Directory::Host* const known = std::as_const(directory_).find(header.sender);
  const bool same = known != nullptr && known->heard && process_of(*known) == from;
  if (same && !known->window.would_be_fresh(header.number) && !mutated(Mutation::no_window))
    return std::unexpected(DropReason::replayed);
  const Response response =
      liveness_.judge(now, from, directory_.changes_of(header.sender), header.response);
  const bool proved = response == Response::current || mutated(Mutation::any_process_is_live);
  const bool here = same && ((known->networks & bit_of(held.network)) != 0 ||
                             mutated(Mutation::live_on_every_network));
  const bool live = here && liveness_.live(now, known->proved);
  const bool broadcast = header.challenge == 0;
  const bool for_us = broadcast || response == Response::old || mutated(Mutation::foreign_datagram);
  if (!proved && !(live && for_us)) {
    ask(now, held.network, from);
    // A datagram to this host that repeats none of its challenges may be for an earlier process.
    if (for_us || mutated(Mutation::holds_foreign)) liveness_.hold(from, held);
    return std::unexpected(DropReason::not_live);
  }

  if (!directory_.can_hear(header.sender)) return std::unexpected(DropReason::too_many_hosts);
  Result<Content, DropReason> content = content_of(datagram, held.network, held.arrived);
  if (!content) return std::unexpected(content.error());
  const bool newest = !same || header.number > known->window.highest();
  Directory::Host* const host = believe(now, held.network, header, proved);
  CHECK(host != nullptr);
  CHECK(host->window.fresh(header.number) || mutated(Mutation::no_window));
  if (!broadcast && (newest || mutated(Mutation::overtaken_challenge)))
    host->challenge = header.challenge;
  if (newest) note_header(*host, header);
  if (!datagram.name.text().empty()) host->name = datagram.name;
  if (proved)
    release(now, held.network, from);
  else if (liveness_.ageing(now, host->proved))
    ask(now, held.network, from);
  return Received{.from = host->node, .proved = proved, .content = *std::move(content)};
}

// Null: too many hosts.
Directory::Host* Codec::believe(Instant now, std::uint8_t network, const Header& header,
                                bool proved) {
  Directory::Host* const host =
      directory_.hear(now, header.sender, header.incarnation, header.nonce);
  if (host == nullptr || !proved) return host;
  host->proved = now;
  host->networks |= bit_of(network);
  return host;
}

void Codec::release(Instant now, std::uint8_t network, const Process& process) {
  for (const Liveness::Held& held : liveness_.release(now, process, network)) {
    const Result<Received, DropReason> received = receive(now, held);
    if (!received) continue;
    ++accepted_;
    released_.push_back(*received);
  }
}

std::optional<Codec::Received> Codec::take_released() {
  if (released_.empty()) return std::nullopt;
  Received next = std::move(released_.front());
  released_.pop_front();
  return next;
}

// --- questions and answers ---

void Codec::ask(Instant now, std::uint8_t network, const Process& process) {
  if (liveness_.ask(now, process, network))
    reply_ = Reply{.kind = HelloBody::Kind::ask,
                   .to = process,
                   .changes = directory_.changes_of(process.host)};
}

std::size_t Codec::ask(Instant now, std::uint8_t network, NodeId host,
                       std::span<std::byte, kMaxBytes> out) {
  const Directory::Host* const known = directory_.find(host);
  CHECK(known != nullptr && known->heard);
  ask(now, network, process_of(*known));
  return take_reply(now, out);
}

std::size_t Codec::take_reply(Instant now, std::span<std::byte, kMaxBytes> out) {
  if (!reply_) return 0;
  const Reply reply = *std::exchange(reply_, std::nullopt);
  Datagram datagram{.body = HelloBody{.kind = reply.kind, .to = reply.to.nonce}};
  datagram.header.number = number_;
  datagram.header.challenge = liveness_.challenge(now, reply.to, reply.changes);
  datagram.header.response = reply.response;
  return write(datagram, out);
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
    node = directory_.number_of(host);
    return node != kNobody;
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
         std::holds_alternative<AnnouncementBody>(body) ||
         (group != nullptr && group->kind == GroupBody::Kind::heartbeat);
}

void Codec::set_keys(auth::Keyring keys) {
  options_.keys = std::move(keys);
  clusters_.clear();
  for (const auth::KeyLine& line : options_.keys.lines()) {
    const std::uint32_t id = auth::key_id(line.key);
    clusters_.push_back(
        {.key = KeyId{id}, .cluster = ClusterId{options_.keys.cluster_id(options_.cluster, id)}});
  }
}

ClusterId Codec::cluster(KeyId key) const {
  const auto known = std::ranges::find(clusters_, key, &ClusterOfKey::key);
  CHECK(known != clusters_.end());  // the keyring has opened the datagram, or seals it
  return known->cluster;
}

std::size_t Codec::write(Datagram& datagram, std::span<std::byte, kMaxBytes> out) {
  datagram.header.key = KeyId{options_.keys.sealing_id()};
  datagram.header.other_key =
      options_.keys.rotates() ? short_key(KeyId{options_.keys.other_id()}) : kNoOtherKey;
  datagram.header.cluster = cluster(datagram.header.key);
  datagram.header.sender = options_.self;
  datagram.header.incarnation = options_.incarnation;
  datagram.header.nonce = options_.nonce;
  datagram.header.revision = options_.revision;
  if (carries_name(datagram.body)) datagram.name = options_.name;
  return options_.keys.seal(out, wire::write(datagram, out));
}

std::size_t Codec::encode(const Content& content, std::span<std::byte, kMaxBytes> out) {
  Datagram datagram;
  datagram.header.number = ++number_;
  set_content(datagram, content);
  return write(datagram, out);
}

std::size_t Codec::encode(Instant now, NodeId to, const Content& content,
                          std::span<std::byte, kMaxBytes> out) {
  Datagram datagram;
  datagram.header.number = ++number_;
  set_content(datagram, content);
  if (const Directory::Host* const host = directory_.find(to); host != nullptr && host->heard) {
    datagram.header.challenge = liveness_.challenge(now, process_of(*host), host->changes);
    datagram.header.response = host->challenge;
  }
  return write(datagram, out);
}

void Codec::set_content(Datagram& datagram, const Content& content) const {
  std::visit(Overloaded{[&](const node::Node::Message& message) { set_body(datagram, message); },
                        [&](const auto& body) { datagram.body = body; }},
             content);
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

std::size_t Codec::crash_hint(std::span<std::byte, kMaxBytes> out) {
  Datagram datagram;
  datagram.header.number = kParentNumbers + ++number_;
  datagram.body = ElectionBody{.kind = static_cast<std::uint8_t>(election::Kind::masterdown),
                               .subject = options_.self,
                               .subject_incarnation = options_.incarnation};
  return write(datagram, out);
}

}  // namespace tempo::wire
