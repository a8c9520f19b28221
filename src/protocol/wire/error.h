// Reasons why bytes are not a valid datagram.
#pragma once

#include <cstdint>
#include <string_view>

namespace tempo::wire {

// Largest absolute value of a timestamp, span or bound on the wire, so that the sum or difference
// of two never overflows. Writers clamp to it; parsers refuse larger values.
inline constexpr std::int64_t kMaxNanos = std::int64_t{1} << 62;

enum class Error : std::uint8_t {
  too_short,
  too_long,
  wrong_version,   // not tempo's version 2
  wrong_revision,  // not ours or a neighbouring one
  wrong_length,    // the stated length is wrong
  no_sender,       // host 0
  bad_section,     // truncated, or shorter than its fields
  two_bodies,      // two sections of one kind, or two that exclude each other
  no_body,         // no section with a message
  bad_kind,        // an unknown kind of message
  bad_name,        // too long, or not printable ASCII
  bad_value,       // a field outside its range
  count
};
std::string_view name_of(Error error);

}  // namespace tempo::wire
