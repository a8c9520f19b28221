// Version 1 of the Time Synchronization Protocol: the datagrams of historical time daemons, parsed
// and written byte for byte. doc/reference/wire.md has the layout.
//
// What those daemons leave uninitialised is ignored here and zero in what we write. Nothing
// allocates or trusts: whatever the bytes, `parse` gives a Datagram or the name of what is wrong.
// Who may say what to whom, and whether to believe it, is the business of others.
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
inline constexpr std::size_t kBytes = 268;       // of what we send; some drop anything shorter
inline constexpr std::size_t kFewestBytes = 13;  // of what we read; there is no most
inline constexpr std::uint8_t kHops = 10;        // of a Loop that sets out

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
  date,     // dead: sent by nobody
  datereq,  // dead
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

// Adjtime carries a span; Settime, Setdate and Setdatereq the time since 1970.
constexpr bool carries_time(Type type) {
  using enum Type;
  return type == adjtime || type == settime || type == setdate || type == setdatereq;
}

enum class Error : std::uint8_t {
  too_short,
  wrong_version,
  bad_type,    // 0, or above the last
  bad_micros,  // a million or more
  no_end,      // no NUL behind the name
  long_name,
  bad_name,  // not printable ASCII
  count
};
std::string_view name_of(Error error);

struct Datagram {
  Type type = Type::ack;
  std::uint16_t sequence = 0;
  // Where the type carries a time: seconds and microseconds in one. The wire has 32 bits for the
  // seconds, signed: the time of 2038-01-19 03:14:08 UT is read as that of 1901.
  std::int64_t micros = 0;
  std::uint8_t hops = 0;  // loop
  Name name{};            // of the sender's host

  bool operator==(const Datagram&) const = default;
};

Result<Datagram, Error> parse(std::span<const std::byte> bytes);

// Of the seconds the lower 32 bits. What the type does not carry is not written.
void write(const Datagram& datagram, std::span<std::byte, kBytes> out);

}  // namespace tempo::wire::tsp
