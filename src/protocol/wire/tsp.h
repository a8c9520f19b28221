// Time Synchronization Protocol, version 1: parses and writes the datagrams of historical time
// daemons byte for byte. doc/reference/wire.md has the layout.
//
// Those daemons leave some bytes uninitialised; the parser ignores these bytes and the writer
// clears them. Nothing allocates, and `parse` returns a Datagram or an Error for any bytes. Callers
// decide which messages to trust.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "protocol/wire/name.h"

namespace tempo::wire::tsp {

inline constexpr std::uint8_t kVersion = 1;
inline constexpr std::uint16_t kPort = 525;
inline constexpr std::size_t kBytes = 268;       // size we write; some daemons drop shorter ones
inline constexpr std::size_t kFewestBytes = 13;  // smallest datagram we parse; there is no largest
inline constexpr std::uint8_t kHops = 10;        // initial hop count of a Loop

enum class Type : std::uint8_t {
  adjtime = 1,
  ack,
  masterreq,
  masterack,
  settime,
  masterup,
  slaveup,
  election,
  accept,
  refuse,
  conflict,
  resolve,
  quit,
  date,     // obsolete: no daemon sends it
  datereq,  // obsolete
  dateack,
  traceon,
  traceoff,
  msite,
  msitereq,
  test,
  setdate,
  setdatereq,
  loop
};
inline constexpr std::uint8_t kLastType = 24;
std::string_view name_of(Type type);

// Adjtime carries a span; Settime, Setdate and Setdatereq carry the time since 1970.
constexpr bool carries_time(Type type) {
  using enum Type;
  return type == adjtime || type == settime || type == setdate || type == setdatereq;
}

enum class Error : std::uint8_t {
  too_short,
  wrong_version,
  bad_type,    // 0, or above kLastType
  bad_micros,  // a million or more
  no_end,      // no NUL after the name
  long_name,
  bad_name,  // not printable ASCII
  count
};
std::string_view name_of(Error error);

struct Datagram {
  Type type = Type::ack;
  std::uint16_t sequence = 0;
  // If the type carries a time: seconds and microseconds as one number. The wire has 32 signed bits
  // for the seconds: 2038-01-19 03:14:08 UT is read as a time in 1901.
  std::int64_t micros = 0;
  std::uint8_t hops = 0;  // loop: hop count
  Name name{};            // of the sender's host

  bool operator==(const Datagram&) const = default;
};

Result<Datagram, Error> parse(std::span<const std::byte> bytes);

// Writes the lower 32 bits of the seconds, and only fields that the type carries.
void write(const Datagram& datagram, std::span<std::byte, kBytes> out);

}  // namespace tempo::wire::tsp
