// UTC from local programs: gpsd, tempo-ntp, everything that feeds chronyd's SOCK reference clock.
//
// Each source of the configuration (`[[utc.source]]`) has a unix socket that only its owner and
// root may write. The samples go to UtcSources, which decides; each second the agreed UTC goes to
// the node. Samples that are older than 100 ms, from before a step of the system clock, or that
// mark only the begin of a second, are counted and dropped.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/settings.h"
#include "api/sock_sample.h"
#include "daemon/drivers/event_log.h"
#include "daemon/drivers/unix_datagram.h"
#include "platform/clocks/oscillator.h"
#include "platform/loop.h"
#include "protocol/clock/utc_sources.h"

namespace tempo::daemon {

class UtcDoor {
 public:
  static constexpr int kMaxAtOnce = 32;  // datagrams of one source in one round

  // Opens the sockets; `owner`: user of the worker; unset: the current one.
  static Result<UtcDoor> open(const std::vector<config::UtcSourceSettings>& sources,
                              std::optional<uid_t> owner);

  // Receives samples in this loop, from now on.
  void listen(sys::Loop& loop, sys::Oscillator& oscillator);
  // UTC now. Reports sources that are heard, silent or outvoted.
  std::optional<clock::UtcSources::Reading> read(Instant now, EventLog& events);

  // One sentence for each source that is outvoted.
  std::vector<std::string> warnings() const;
  std::uint64_t dropped() const { return dropped_; }

 private:
  struct Source {
    config::UtcSourceSettings settings;
    UnixDatagramSocket socket;
    clock::UtcSources::State reported = clock::UtcSources::State::silent;
  };
  explicit UtcDoor(std::vector<clock::UtcSources::Source> rules) : agreement_(rules) {}
  void receive(std::size_t index, sys::Oscillator& oscillator);
  bool add(std::size_t index, std::span<const std::byte> bytes, sys::Oscillator& oscillator);
  std::string outvoted_text(std::size_t index) const;

  std::vector<Source> sources_;
  clock::UtcSources agreement_;
  std::uint64_t dropped_ = 0;
};

}  // namespace tempo::daemon
