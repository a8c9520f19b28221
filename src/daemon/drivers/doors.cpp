#include "daemon/drivers/doors.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/core.h>
#include <sys/socket.h>

#include "api/door_status.h"
#include "api/sock_sample.h"
#include "platform/unix_address.h"

namespace tempo::daemon {

Result<Doors> Doors::open(const Options& options) {
  Doors doors(options);
  if (!options.clockbound.empty()) {
    TRY(writer, doors::ClockBoundWriter::open(options.clockbound));
    doors.clockbound_.emplace(std::move(writer));
  }
  if (!options.chrony.empty()) {
    TRY(socket, sys::plain_socket(AF_UNIX, SOCK_DGRAM, 0));
    doors.socket_ = std::move(socket);
  }
  return doors;
}

void Doors::publish(const sys::Bracket& kernel, const page::Reading& network, Nanos monotonic) {
  const doors::DoorStatus status =
      doors::door_status(network.status, doors::bound_of(network), options_.limit);
  if (clockbound_) {
    // Unsynchronized time has no interval.
    Nanos bound{0};
    if (status.claims)
      bound = std::max(kernel.real - network.earliest.time_since_epoch(),
                       network.latest.time_since_epoch() - kernel.real) +
              kernel.width() / 2 + 1ns;
    clockbound_->write({.as_of = monotonic,
                        .void_after = monotonic + kVoidAfter,
                        .bound = bound,
                        .max_drift_ppb = options_.steered ? kSteeredDriftPpb : kForeignDriftPpb,
                        .status = status.clockbound});
  }
  if (!socket_.none() && status.claims) send_sample(kernel, network);
}

void Doors::send_sample(const sys::Bracket& kernel, const page::Reading& network) {
  const auto sample = doors::encode(
      {.at = kernel.real, .offset = in_seconds(network.time.time_since_epoch() - kernel.real)});
  const auto to = sys::unix_address(options_.chrony);
  const bool sent = to && ::sendto(socket_.number(), sample.data(), sample.size(), 0, to->generic(),
                                   to->size) == static_cast<ssize_t>(sample.size());
  // A full queue is chronyd's: it reads the newest samples soon.
  if (sent || (to && errno == EAGAIN)) {
    error_.clear();
    return;
  }
  error_ = to ? fmt::format(
                    "cannot send samples to chronyd at {} ({}); start chronyd with 'refclock "
                    "SOCK {}' and let the user of tempod write its socket",
                    options_.chrony, std::strerror(errno), options_.chrony)
              : to.error();
}

}  // namespace tempo::daemon
