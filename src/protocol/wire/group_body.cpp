#include "protocol/wire/group_body.h"

#include <algorithm>
#include <utility>

namespace tempo::wire {
namespace {

constexpr std::uint8_t kLeads = 1;
constexpr std::uint8_t kAsks = 2;
constexpr std::uint8_t kOver = 4;

void put_bid(Writer& out, const GroupBid& bid) {
  out.put(bid.capacity);
  out.put(std::to_underlying(bid.host));
}

GroupBid take_bid(Reader& in) {
  GroupBid bid;
  bid.capacity = in.take<std::int64_t>();
  bid.host = HostId{in.take<std::uint64_t>()};
  return bid;
}

void put_ring(Writer& out, const GroupRing& ring) {
  out.put(ring.ring);
  out.put(ring.election);
  out.put(ring.sequence);
  out.put(ring.after);
  out.put(ring.answers);
  out.put(ring.priority);
  out.put(std::uint32_t{0});
}

GroupRing take_ring(Reader& in) {
  GroupRing ring;
  ring.ring = in.take<std::uint64_t>();
  ring.election = in.take<std::uint32_t>();
  ring.sequence = in.take<std::uint32_t>();
  ring.after = in.take<std::uint32_t>();
  ring.answers = in.take<std::uint32_t>();
  ring.priority = in.take<std::uint32_t>();
  in.take<std::uint32_t>();  // reserved
  return ring;
}

void put_signed(Writer& out, const GroupSigned& proof) {
  out.put(proof.list);
  out.put(proof.election);
  out.put(proof.sender);
  out.put(proof.size);
  out.put(std::uint64_t{0});
}

GroupSigned take_signed(Reader& in) {
  GroupSigned proof;
  proof.list = in.take<std::uint64_t>();
  proof.election = in.take<std::uint64_t>();
  proof.sender = in.take<std::uint32_t>();
  proof.size = in.take<std::uint32_t>();
  in.take<std::uint64_t>();  // reserved
  return proof;
}

bool is_on_ring(GroupBody::Kind kind) {
  return kind == GroupBody::Kind::ring || kind == GroupBody::Kind::anonymous;
}

bool fits(Nanos span) { return span >= Nanos{0} && span.count() <= kMaxNanos; }

}  // namespace

Result<GroupBody, Error> take_group(Reader in) {
  if (in.left() < kGroupFixedBytes) return std::unexpected(Error::bad_section);
  GroupBody body;
  const auto kind = in.take<std::uint8_t>();
  const auto name = in.take<std::uint8_t>();
  const auto flags = in.take<std::uint8_t>();
  body.leads = (flags & kLeads) != 0;
  body.asks = (flags & kAsks) != 0;
  body.over = (flags & kOver) != 0;
  body.criterion = in.take<std::uint8_t>();
  body.algorithm = in.take<std::uint8_t>();
  body.step = in.take<std::uint8_t>();
  body.phase = in.take<std::uint8_t>();
  body.hops = in.take<std::uint8_t>();
  body.serial = in.take<std::uint32_t>();
  body.incarnation = in.take<std::uint32_t>();
  body.number = in.take<std::uint32_t>();
  body.term = in.take<std::uint64_t>();
  body.heir = HostId{in.take<std::uint64_t>()};
  body.ago = Nanos{in.take<std::int64_t>()};
  body.capacity = in.take<std::int64_t>();
  body.sender = HostId{in.take<std::uint64_t>()};
  body.stamp_ns = in.take<std::int64_t>();
  body.delay = Nanos{in.take<std::int64_t>()};
  if (kind >= GroupBody::kKinds) return std::unexpected(Error::bad_kind);
  body.kind = static_cast<GroupBody::Kind>(kind);
  if (is_on_ring(body.kind)) {
    body.ring = take_ring(in);
  } else if (body.kind == GroupBody::Kind::b2) {
    body.proof = take_signed(in);
  } else {
    body.first = take_bid(in);
    body.second = take_bid(in);
  }
  if (body.step >= GroupBody::kSteps || body.phase >= GroupBody::kPhases || !fits(body.ago) ||
      !fits(body.delay) || body.stamp_ns < 0 || body.stamp_ns > kMaxNanos)
    return std::unexpected(Error::bad_value);
  if (name == 0 || in.left() < name) return std::unexpected(Error::bad_section);
  const auto text = GroupName::read(in.take_bytes(name));
  if (!text) return std::unexpected(Error::bad_name);
  body.name = *text;
  return body;
}

void put_group(Writer& out, const GroupBody& body) {
  CHECK(!body.name.text().empty() && body.ago >= Nanos{0} && body.delay >= Nanos{0});
  out.put(std::to_underlying(body.kind));
  out.put(static_cast<std::uint8_t>(body.name.text().size()));
  out.put(static_cast<std::uint8_t>((body.leads ? kLeads : 0) | (body.asks ? kAsks : 0) |
                                    (body.over ? kOver : 0)));
  out.put(body.criterion);
  out.put(body.algorithm);
  out.put(body.step);
  out.put(body.phase);
  out.put(body.hops);
  out.put(body.serial);
  out.put(body.incarnation);
  out.put(body.number);
  out.put(body.term);
  out.put(std::to_underlying(body.heir));
  out.put(std::min(body.ago.count(), kMaxNanos));
  out.put(body.capacity);
  out.put(std::to_underlying(body.sender));
  out.put(std::clamp<std::int64_t>(body.stamp_ns, 0, kMaxNanos));
  out.put(std::min(body.delay.count(), kMaxNanos));
  if (is_on_ring(body.kind)) {
    put_ring(out, body.ring);
  } else if (body.kind == GroupBody::Kind::b2) {
    put_signed(out, body.proof);
  } else {
    put_bid(out, body.first);
    put_bid(out, body.second);
  }
  out.put_bytes(std::as_bytes(std::span(body.name.text())));
}

Result<GroupSignatures, Error> take_signatures(Reader in) {
  if (in.left() < 1) return std::unexpected(Error::bad_section);
  const auto count = in.take<std::uint8_t>();
  if (count == 0 || count > kMaxGroupSignatures) return std::unexpected(Error::bad_value);
  if (in.left() < count * (1 + GroupSignature::kBytes)) return std::unexpected(Error::bad_section);
  GroupSignatures signatures;
  for (std::uint8_t i = 0; i < count; ++i) {
    GroupSignature signature{.member = in.take<std::uint8_t>()};
    std::ranges::copy(in.take_bytes(GroupSignature::kBytes), signature.bytes.begin());
    signatures.push_back(signature);
  }
  return signatures;
}

void put_signatures(Writer& out, const GroupSignatures& signatures) {
  out.put(static_cast<std::uint8_t>(signatures.size()));
  for (const GroupSignature& signature : signatures) {
    out.put(signature.member);
    out.put_bytes(signature.bytes);
  }
}

}  // namespace tempo::wire
