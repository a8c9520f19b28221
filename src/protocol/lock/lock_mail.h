// Converts messages of the lease machine to datagram bodies and back: member numbers to host ids,
// lock numbers to names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "protocol/lock/lease/lease_message.h"
#include "protocol/lock/member_map.h"
#include "protocol/wire/lock_body.h"

namespace tempo::locks {

wire::LockBody body_of(const lock::lease::Message& message, const wire::Directory& hosts,
                       std::string_view name);

wire::RecordId record_of(lock::lease::RecordId id);
lock::lease::RecordId record_of(wire::RecordId id);
wire::LockClaims claims_of(const lock::lease::Claims& claims, const wire::Directory& hosts);

// Largest values accepted from other members. A token has 40 bits for the count; tickets are
// microseconds since 1970.
inline constexpr std::uint64_t kMaxCount = (std::uint64_t{1} << 40) - (std::uint64_t{1} << 20);
inline constexpr std::uint32_t kMaxSub = (std::uint32_t{1} << lock::lease::Held::kSubBits) - 1;
inline constexpr std::uint64_t kMaxTicket = std::uint64_t{1} << 62;

// Unset if the body names a host that cannot be numbered, or exceeds one of these limits.
std::optional<lock::lease::Message> message_of(const wire::LockBody& body, wire::Directory& hosts,
                                               lock::LockId lock);

}  // namespace tempo::locks
