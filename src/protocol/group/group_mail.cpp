#include "protocol/group/group_mail.h"

#include <algorithm>

namespace tempo::groups {

using Kind = wire::GroupBody::Kind;
using election::CapacityC;

namespace {

struct ToBody {
  const wire::Directory& hosts;
  wire::GroupBody body{};

  wire::GroupBid bid(const Bid& bid) const { return {bid.capacity, hosts.host_of(bid.node)}; }

  void operator()(const Begin& begin) {
    body.kind = Kind::begin;
    body.stamp_ns = begin.at.count();
  }
  void operator()(const OverA::Message& message) {
    body.kind = Kind::a;
    carry(message);
  }
  void operator()(const OverB1::Message& message) {
    body.kind = Kind::b1;
    carry(message);
    body.phase = static_cast<std::uint8_t>(message.content.kind);
  }
  void operator()(const CapacityC::Message& message) {
    body.kind = Kind::c;
    body.phase = static_cast<std::uint8_t>(message.kind);
    body.number = message.number;
    body.first = bid(message.first);
    body.second = bid(message.second);
  }
  void operator()(const RingMessage& envelope) {
    body.kind = envelope.algorithm == Algorithm::ring ? Kind::ring : Kind::anonymous;
    body.phase = static_cast<std::uint8_t>(envelope.message.kind);
    body.incarnation = std::to_underlying(envelope.message.life);
    body.number = envelope.message.number;
    body.sender = hosts.host_of(envelope.message.id);
    body.ring = {.ring = envelope.ring,
                 .election = envelope.election,
                 .sequence = std::to_underlying(envelope.message.sequence),
                 .after = std::to_underlying(envelope.message.after),
                 .answers = std::to_underlying(envelope.message.answers),
                 .priority = envelope.message.priority};
  }
  template <class Message>
  void carry(const Message& message) {
    body.step = static_cast<std::uint8_t>(message.kind);
    body.hops = message.hops;
    body.sender = hosts.host_of(message.sender);
    body.serial = message.number;
    body.incarnation = std::to_underlying(message.life);
    body.stamp_ns = message.stamp.count();
    body.delay = message.delay;
    body.number = message.content.number;
    body.capacity = message.content.capacity;
  }
};

// Maps hosts to numbers and remembers whether all of them had one.
struct FromBody {
  wire::Directory& hosts;
  bool known = true;

  NodeId node(HostId host) {
    if (host == kNoHost) return kNobody;
    const NodeId number = hosts.number_of(host);
    known &= number != kNobody;
    return number;
  }
  Bid bid(const wire::GroupBid& bid) {
    return {std::max(bid.capacity, kNotCandidate), node(bid.host)};
  }
  template <class Message>
  Message carried(const wire::GroupBody& body) {
    Message message;
    message.kind = static_cast<typename Message::Kind>(body.step);
    message.hops = body.hops;
    message.sender = node(body.sender);
    known &= message.sender != kNobody;
    message.number = body.serial;
    message.life = Incarnation{body.incarnation};
    message.stamp = Nanos{body.stamp_ns};
    message.delay = body.delay;
    message.content.number = body.number;
    message.content.capacity = std::max(body.capacity, kNotCandidate);
    return message;
  }
};

std::optional<RingMessage> ring_message_of(const wire::GroupBody& body, FromBody& from) {
  const bool anonymous = body.kind == Kind::anonymous;
  if (body.phase >= election::ring::kKinds || (anonymous && body.sender != kNoHost))
    return std::nullopt;
  return RingMessage{.algorithm = anonymous ? Algorithm::ring_anonymous : Algorithm::ring,
                     .election = body.ring.election,
                     .ring = body.ring.ring,
                     .message = {.kind = static_cast<election::ring::Kind>(body.phase),
                                 .life = Incarnation{body.incarnation},
                                 .sequence = Sequence{body.ring.sequence},
                                 .after = Sequence{body.ring.after},
                                 .answers = Sequence{body.ring.answers},
                                 .number = body.number,
                                 .id = from.node(body.sender),
                                 .priority = body.ring.priority}};
}

std::optional<SignedMessage> signed_message_of(const wire::GroupBody& body) {
  if (body.phase > 1 || body.signatures.empty()) return std::nullopt;
  SignedMessage envelope{.list = body.proof.list, .election = body.proof.election};
  envelope.message.kind = static_cast<OverB2::Message::Kind>(body.step);
  envelope.message.sender = NodeId{body.proof.sender};
  envelope.message.number = body.serial;
  envelope.message.life = Incarnation{body.incarnation};
  envelope.message.stamp = Nanos{body.stamp_ns};
  envelope.message.delay = body.delay;
  envelope.message.content = {.kind = static_cast<election::capacity_b2::Kind>(body.phase),
                              .number = body.number,
                              .capacity = body.capacity,
                              .size = body.proof.size};
  for (const wire::GroupSignature& one : body.signatures)
    envelope.signatures.push_back({.member = one.member, .signature = one.bytes});
  return envelope;
}

std::optional<ReceivedHeartbeat> heartbeat_of(const wire::GroupBody& body, FromBody& from) {
  if (body.criterion >= std::to_underlying(Criterion::count) ||
      body.algorithm >= std::to_underlying(Algorithm::count))
    return std::nullopt;
  if (body.leads && body.term == 0) return std::nullopt;
  return ReceivedHeartbeat{
      .heartbeat = {.capacity = std::max(body.capacity, kNotCandidate),
                    .leads = body.leads,
                    .asks = body.asks,
                    .term = Token{body.term},
                    .heir = from.node(body.heir),
                    .over = body.over ? body.ago : kNotOver},
      .terms = {static_cast<Criterion>(body.criterion), static_cast<Algorithm>(body.algorithm)},
      .last_on_ring = body.number};
}

std::optional<ElectionMessage> election_message_of(const wire::GroupBody& body, FromBody& from) {
  switch (body.kind) {
    case Kind::begin:
      return Begin{Nanos{body.stamp_ns}};
    case Kind::a:
      return from.carried<OverA::Message>(body);
    case Kind::b1: {
      if (body.phase > 1) return std::nullopt;
      auto message = from.carried<OverB1::Message>(body);
      message.content.kind = static_cast<election::capacity_b1::Kind>(body.phase);
      return message;
    }
    case Kind::c: {
      if (body.phase > 2) return std::nullopt;
      CapacityC::Message message;
      message.kind = static_cast<election::capacity_c::Kind>(body.phase);
      message.number = body.number;
      message.first = from.bid(body.first);
      message.second = from.bid(body.second);
      if (message.first.node == kNobody) return std::nullopt;
      return message;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

wire::GroupBody body_of(std::string_view name, const ReceivedHeartbeat& received,
                        const wire::Directory& hosts) {
  const auto& [heartbeat, terms, last_on_ring] = received;
  wire::GroupBody body{.kind = Kind::heartbeat, .name = wire::GroupName(name)};
  body.leads = heartbeat.leads;
  body.asks = heartbeat.asks;
  body.over = heartbeat.over > kNotOver;
  body.criterion = std::to_underlying(terms.criterion);
  body.algorithm = std::to_underlying(terms.algorithm);
  body.term = std::to_underlying(heartbeat.term);
  body.heir = hosts.host_of(heartbeat.heir);
  body.ago = std::max(heartbeat.over, Nanos{0});
  body.capacity = heartbeat.capacity;
  body.number = last_on_ring;
  return body;
}

wire::GroupBody body_of(std::string_view name, const ElectionMessage& message,
                        const wire::Directory& hosts) {
  ToBody to{hosts};
  std::visit(to, message);
  to.body.name = wire::GroupName(name);
  return to.body;
}

wire::GroupBody body_of(std::string_view name, const RingMessage& envelope,
                        const wire::Directory& hosts) {
  ToBody to{hosts};
  to(envelope);
  to.body.name = wire::GroupName(name);
  return to.body;
}

wire::GroupBody body_of(std::string_view name, const SignedMessage& envelope,
                        const wire::Directory& /*hosts*/) {
  const OverB2::Message& message = envelope.message;
  wire::GroupBody body{.kind = Kind::b2, .name = wire::GroupName(name)};
  body.step = static_cast<std::uint8_t>(message.kind);
  body.phase = static_cast<std::uint8_t>(message.content.kind);
  body.serial = message.number;
  body.incarnation = std::to_underlying(message.life);
  body.stamp_ns = message.stamp.count();
  body.delay = message.delay;
  body.number = message.content.number;
  body.capacity = message.content.capacity;
  body.proof = {.list = envelope.list,
                .election = envelope.election,
                .sender = index(message.sender),
                .size = message.content.size};
  for (const Countersign& one : envelope.signatures)
    body.signatures.push_back({.member = one.member, .bytes = one.signature});
  return body;
}

std::optional<GroupMessage> message_of(const wire::GroupBody& body, wire::Directory& hosts) {
  FromBody from{hosts};
  if (body.kind == Kind::heartbeat) {
    const auto heartbeat = heartbeat_of(body, from);
    return heartbeat && from.known ? std::optional<GroupMessage>(*heartbeat) : std::nullopt;
  }
  if (body.kind == Kind::b2) {
    const auto envelope = signed_message_of(body);
    return envelope ? std::optional<GroupMessage>(*envelope) : std::nullopt;
  }
  if (body.kind == Kind::ring || body.kind == Kind::anonymous) {
    const auto envelope = ring_message_of(body, from);
    return envelope && from.known ? std::optional<GroupMessage>(*envelope) : std::nullopt;
  }
  const auto message = election_message_of(body, from);
  return message && from.known ? std::optional<GroupMessage>(*message) : std::nullopt;
}

}  // namespace tempo::groups
