// Why bytes are no datagram of ours.
#pragma once

#include <cstdint>
#include <string_view>

namespace tempo::wire {

// No stamp, span or bound on the wire is further than this from 0, so that the sum or difference of
// two never overflows. What is written is cut to it, what is read outside it is refused.
inline constexpr std::int64_t kMaxNanos = std::int64_t{1} << 62;

enum class Error : std::uint8_t {
  too_short,
  too_long,
  wrong_version,   // not tempo's version 2
  wrong_revision,  // not a neighbour of ours
  wrong_length,    // the length it states is not its own
  no_sender,       // host 0
  bad_section,     // cut off, or shorter than its tag allows
  two_bodies,      // more than one section of a kind, or two that exclude each other
  no_body,         // none that says anything
  bad_kind,        // a number that names no message
  bad_name,        // too long, or not printable ASCII
  bad_value,       // a field outside its range
  count
};
std::string_view name_of(Error error);

}  // namespace tempo::wire
