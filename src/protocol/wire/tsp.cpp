#include "protocol/wire/tsp.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "protocol/wire/bytes.h"

namespace tempo::wire::tsp {
namespace {

constexpr std::array<std::string_view, kLastType> kTypeNames{
    "adjtime", "ack",      "masterreq", "masterack", "settime",    "masterup",
    "slaveup", "election", "accept",    "refuse",    "conflict",   "resolve",
    "quit",    "date",     "datereq",   "dateack",   "traceon",    "traceoff",
    "msite",   "msitereq", "test",      "setdate",   "setdatereq", "loop"};

constexpr std::array<std::string_view, static_cast<std::size_t>(Error::count)> kErrorNames{
    "too_short", "wrong_version", "bad_type", "bad_micros", "no_end", "long_name", "bad_name"};

constexpr std::int64_t kMicrosPerSecond = 1'000'000;
constexpr std::size_t kTimeBytes = 8;
static_assert(4 + kTimeBytes + kMaxName + 1 <= kBytes);

// Microseconds are never negative on the wire: -35 ms is -1 s and 965000 us.
void put_time(Writer& out, std::int64_t micros) {
  std::int64_t seconds = micros / kMicrosPerSecond;
  std::int64_t rest = micros % kMicrosPerSecond;
  if (rest < 0) {
    rest += kMicrosPerSecond;
    --seconds;
  }
  out.put(static_cast<std::int32_t>(seconds));
  out.put(static_cast<std::uint32_t>(rest));
}

Result<std::int64_t, Error> take_time(Reader in) {
  const auto seconds = in.take<std::int32_t>();
  const auto micros = in.take<std::uint32_t>();
  if (micros >= kMicrosPerSecond) return std::unexpected(Error::bad_micros);
  return seconds * kMicrosPerSecond + micros;
}

Result<Name, Error> take_name(Reader in) {
  const auto rest = in.take_bytes(in.left());
  const auto end = std::ranges::find(rest, std::byte{0});
  if (end == rest.end()) return std::unexpected(Error::no_end);
  const auto text = rest.first(static_cast<std::size_t>(end - rest.begin()));
  if (text.size() > kMaxName) return std::unexpected(Error::long_name);
  const auto name = Name::read(text);
  if (!name) return std::unexpected(Error::bad_name);
  return *name;
}

}  // namespace

std::string_view name_of(Type type) {
  const auto number = std::to_underlying(type);
  CHECK(number >= 1 && number <= kLastType);
  return kTypeNames[number - 1U];
}

std::string_view name_of(Error error) {
  CHECK(error < Error::count);
  return kErrorNames[std::to_underlying(error)];
}

Result<Datagram, Error> parse(std::span<const std::byte> bytes) {
  if (bytes.size() < kFewestBytes) return std::unexpected(Error::too_short);
  Reader in(bytes);
  const auto type = in.take<std::uint8_t>();
  if (in.take<std::uint8_t>() != kVersion) return std::unexpected(Error::wrong_version);
  if (type < 1 || type > kLastType) return std::unexpected(Error::bad_type);
  Datagram datagram{.type = Type{type}, .sequence = in.take<std::uint16_t>()};
  const auto middle = in.take_bytes(kTimeBytes);
  if (carries_time(datagram.type)) {
    TRY(micros, take_time(Reader(middle)));
    datagram.micros = micros;
  }
  if (datagram.type == Type::loop) datagram.hops = Reader(middle).take<std::uint8_t>();
  TRY(name, take_name(in));
  datagram.name = name;
  return datagram;
}

void write(const Datagram& datagram, std::span<std::byte, kBytes> out) {
  const auto type = std::to_underlying(datagram.type);
  CHECK(type >= 1 && type <= kLastType);
  std::ranges::fill(out, std::byte{0});
  Writer front(out);
  front.put(type);
  front.put(kVersion);
  front.put(datagram.sequence);
  Writer middle(out.subspan(front.written(), kTimeBytes));
  if (carries_time(datagram.type)) put_time(middle, datagram.micros);
  if (datagram.type == Type::loop) middle.put(datagram.hops);
  Writer(out.subspan(front.written() + kTimeBytes))
      .put_bytes(std::as_bytes(std::span(datagram.name.text())));
}

}  // namespace tempo::wire::tsp
