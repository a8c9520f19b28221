// Between what the lease machine says and what datagrams carry: seats and hosts, numbers and names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "protocol/lock/lease/lease_message.h"
#include "protocol/lock/member_map.h"
#include "protocol/wire/lock_body.h"

namespace tempo::locks {

wire::LockBody body_of(const lock::lease::Message& message, const MemberMap& members,
                       std::string_view name);

// The largest that are taken from others. A token has 40 bits for the count, and tickets are
// microseconds since 1970.
inline constexpr std::uint64_t kMaxCount = (std::uint64_t{1} << 40) - (std::uint64_t{1} << 20);
inline constexpr std::uint32_t kMaxSub = (std::uint32_t{1} << lock::lease::Held::kSubBits) - 1;
inline constexpr std::uint64_t kMaxTicket = std::uint64_t{1} << 62;

// Nothing, if it names a host that has no seat, or counts higher than that.
std::optional<lock::lease::Message> message_of(const wire::LockBody& body, const MemberMap& members,
                                               lock::LockId lock);

}  // namespace tempo::locks
