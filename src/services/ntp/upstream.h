// The NTP client as a machine: asks up to four servers for UTC and says what most of them agree on.
// No I/O, no clock.
//
// Each request has a random transmit timestamp, and only an answer that repeats it counts, once. An
// answer bounds UTC by half of its delay and the root distance of the server. UtcSources combines
// the servers: most must agree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "protocol/clock/utc_sources.h"
#include "services/ntp/packet.h"

namespace tempo::ntp {

class Upstream {
 public:
  static constexpr Nanos kInterval = 16s;      // between two requests to a server
  static constexpr Nanos kFirstInterval = 2s;  // until kFirst answers have come
  static constexpr int kFirst = 8;
  static constexpr Nanos kLongestInterval =
      1024s;  // of a server that says that it is asked too often
  static constexpr Nanos kMaxDelay = 1s;
  static constexpr Nanos kMaxDistance = 1s;

  // `reference_id`: of this host's own server; an upstream server that follows it is a loop.
  Upstream(std::size_t servers, std::uint32_t reference_id, Instant now);

  struct Request {
    std::size_t server = 0;
    PacketBytes bytes{};
  };
  // The next request that is due; call it until it returns nothing, and send each at once.
  std::optional<Request> ask(Instant now, Draw& draw);
  Instant next() const;  // when a request is due

  enum class Verdict : std::uint8_t { used, unexpected, unsynchronized, loop, too_far, kiss };
  // An answer that arrived at `at`; `about`: the time of the kernel, for the era of its timestamps.
  Verdict receive(std::size_t server, std::span<const std::byte> bytes, Instant at, Nanos about);

  std::optional<clock::UtcSources::Reading> read(Instant now) { return sources_.read(now); }
  clock::UtcSources::State state(std::size_t server) const { return sources_.state(server); }

 private:
  struct Server {
    Instant next{};          // of its next request
    Instant asked{};         // time of the last request
    Timestamp transmit = 0;  // of the last request; 0: it was answered
    int answers = 0;         // up to kFirst
    Nanos interval = kInterval;
  };

  std::uint32_t reference_id_;
  std::vector<Server> servers_;
  clock::UtcSources sources_;
};

}  // namespace tempo::ntp
