// Between what the lease machine says and what datagrams carry: seats and hosts, numbers and names.
#pragma once

#include <optional>
#include <string_view>

#include "protocol/lock/lease_message.h"
#include "protocol/locks/seats.h"
#include "protocol/wire/lock_body.h"

namespace tempo::locks {

wire::LockBody body_of(const lock::lease::Message& message, const Seats& seats,
                       std::string_view name);

// Nothing, if it names a host that has no seat.
std::optional<lock::lease::Message> message_of(const wire::LockBody& body, const Seats& seats,
                                               lock::LockId lock);

}  // namespace tempo::locks
