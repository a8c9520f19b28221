#include "protocol/wire/mutex_body.h"

namespace tempo::wire {
namespace {

constexpr std::uint8_t kShared = 1;
constexpr std::uint8_t kReply = 2;
constexpr std::uint8_t kBusy = 1;

}  // namespace

Result<MutexBody, Error> take_mutex(Reader in) {
  if (in.left() < kMutexFixedBytes) return std::unexpected(Error::bad_section);
  MutexBody body;
  body.kind = in.take<std::uint8_t>();
  const auto flags = in.take<std::uint8_t>();
  body.shared = (flags & kShared) != 0;
  body.reply = (flags & kReply) != 0;
  const auto name = in.take<std::uint8_t>();
  body.view = in.take<std::uint32_t>();
  body.number = in.take<std::uint64_t>();
  body.ahead = in.take<std::uint64_t>();
  body.incarnation = in.take<std::uint32_t>();
  if (body.kind >= MutexBody::kKinds) return std::unexpected(Error::bad_kind);
  if (name == 0 || in.left() < name) return std::unexpected(Error::bad_section);
  const auto text = LockName::read(in.take_bytes(name));
  if (!text) return std::unexpected(Error::bad_name);
  body.name = *text;
  return body;
}

void put_mutex(Writer& out, const MutexBody& body) {
  CHECK(body.kind < MutexBody::kKinds && !body.name.text().empty());
  out.put(body.kind);
  out.put(static_cast<std::uint8_t>((body.shared ? kShared : 0) | (body.reply ? kReply : 0)));
  out.put(static_cast<std::uint8_t>(body.name.text().size()));
  out.put(body.view);
  out.put(body.number);
  out.put(body.ahead);
  out.put(body.incarnation);
  out.put_bytes(std::as_bytes(std::span(body.name.text())));
}

Result<BeatBody, Error> take_beat(Reader in) {
  if (in.left() < kBeatFixedBytes) return std::unexpected(Error::bad_section);
  BeatBody body;
  body.view = in.take<std::uint32_t>();
  body.number = in.take<std::uint32_t>();
  body.busy = (in.take<std::uint8_t>() & kBusy) != 0;
  const auto count = in.take<std::uint8_t>();
  if (body.number == 0) return std::unexpected(Error::bad_value);
  if (count > BeatBody::kMax || in.left() < count * kBeatEntryBytes)
    return std::unexpected(Error::bad_section);
  for (std::uint8_t i = 0; i < count; ++i) {
    BeatBody::Entry entry;
    entry.incarnation = in.take<std::uint32_t>();
    entry.heard = in.take<std::uint32_t>();
    entry.age_us = in.take<std::uint32_t>();
    entry.received = in.take<std::uint32_t>();
    entry.sent = in.take<std::uint32_t>();
    body.members.push_back(entry);
  }
  return body;
}

void put_beat(Writer& out, const BeatBody& body) {
  CHECK(body.number != 0);
  out.put(body.view);
  out.put(body.number);
  out.put(static_cast<std::uint8_t>(body.busy ? kBusy : 0));
  out.put(static_cast<std::uint8_t>(body.members.size()));
  for (const BeatBody::Entry& entry : body.members) {
    out.put(entry.incarnation);
    out.put(entry.heard);
    out.put(entry.age_us);
    out.put(entry.received);
    out.put(entry.sent);
  }
}

}  // namespace tempo::wire
