#include "support/forger.h"

#include <array>

#include "base/units.h"
#include "protocol/election/master_types.h"

namespace tempo::testbed {
namespace {

constexpr std::uint64_t kAhead = 1 << 20;  // distance from the last number of the master
constexpr std::uint64_t kParentsNumbers = std::uint64_t{1} << 62;
constexpr Nanos kOffset = 1h;

election::Kind kind_of(Forger::What what) {
  switch (what) {
    case Forger::What::quit:
      return election::Kind::quit;
    case Forger::What::masterup:
      return election::Kind::masterup;
    case Forger::What::settime:
      return election::Kind::settime;
    case Forger::What::adjtime:
      return election::Kind::adjtime;
    default:
      return election::Kind::masterdown;
  }
}

}  // namespace

std::optional<Forger> Forger::after(std::span<const std::byte> captured) {
  const auto header = wire::parse_header(captured);
  if (!header) return std::nullopt;
  if (header->key != wire::kNoKey) captured = captured.first(captured.size() - auth::kTagBytes);
  const auto datagram = wire::parse(captured);
  if (!datagram) return std::nullopt;
  const auto* election = std::get_if<wire::ElectionBody>(&datagram->body);
  if (election == nullptr || election->kind != static_cast<std::uint8_t>(election::Kind::loop))
    return std::nullopt;
  return Forger(*datagram);
}

Forger::Forger(const wire::Datagram& captured) : captured_(captured) {}

Bytes Forger::forge(What what, Seal seal) {
  ++made_;
  wire::Datagram datagram{.header = captured_.header, .name = captured_.name};
  datagram.header.number += kAhead + made_;
  if (what == What::set_offset) {
    datagram.body = wire::SyncBody{.kind = wire::SyncBody::Kind::set_time,
                                   .exchange = static_cast<std::uint32_t>(made_),
                                   .offset_ns = kOffset.count()};
  } else {
    auto election = std::get<wire::ElectionBody>(captured_.body);
    election.kind = static_cast<std::uint8_t>(kind_of(what));
    election.sequence += kAhead + made_;
    election.round += 1;
    election.subject = captured_.header.sender;
    election.subject_incarnation = captured_.header.incarnation;
    datagram.body = election;
    datagram.time = captured_.time;
    if (what == What::masterdown) datagram.header.number += kParentsNumbers;
  }
  if (seal == Seal::none) datagram.header.key = wire::kNoKey;
  if (seal == Seal::foreign) datagram.header.key = wire::KeyId{foreign_.sealing_id()};
  std::array<std::byte, wire::kMaxBytes> buffer{};
  std::size_t size = wire::write(datagram, buffer);
  if (seal == Seal::foreign) size = foreign_.seal(buffer, size);
  if (seal == Seal::wrong) size += auth::kTagBytes;  // all zero
  return {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(size)};
}

}  // namespace tempo::testbed
