// The messages of a host as contents of datagrams, and back: the same for every driver that has a
// codec, the daemon and the simulator.
#pragma once

#include <optional>

#include "protocol/host/host.h"
#include "protocol/wire/codec.h"

namespace tempo::host {

wire::Codec::Content content_of(const Host::Message& message);

// The message in a datagram that the codec has accepted. Unset: it is for the driver: a diagnostic,
// a hello, an
// announcement, or about the main part.
std::optional<Host::Message> message_of(const wire::Codec& codec,
                                        const wire::Codec::Received& received);

}  // namespace tempo::host
