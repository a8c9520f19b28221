// The NTP server as a machine: a request in, an answer out. No I/O and no clock.
//
// It answers requests of clients (mode 3) of NTPv3 and NTPv4, and so of SNTP, with 48 bytes, never
// more than it was asked with. Everything else has no answer: control messages (mode 6 and 7),
// symmetric peers, broadcasts.
//
// Interleaved mode (RFC 9769): a transmit timestamp that was taken when the datagram left is better
// than the one inside that datagram. A client that shows the receive timestamp of the last answer
// as its origin gets the precise transmit timestamp of that answer with the next one. The table of
// these timestamps has a fixed size; a client whose entry was replaced is answered in the basic
// mode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "api/door_status.h"
#include "base/units.h"
#include "services/ntp/packet.h"
#include "services/ntp/rate_limiter.h"

namespace tempo::ntp {

// The time that is served.
struct ServedTime {
  Instant raw{};    // raw time of this reading
  WallTime time{};  // network time then
  Nanos bound{0};   // its error bound
  doors::DoorStatus status{};
  WallTime updated{};  // last time that a master was known
};

struct Request {
  std::span<const std::byte> bytes;
  Client from{};
  Instant at{};  // raw time of its arrival
};

struct Answer {
  PacketBytes bytes{};
  Timestamp receive = 0;         // names the answer in `on_departure`
  bool wants_departure = false;  // the client may use the interleaved mode
};

class Server {
 public:
  static constexpr std::size_t kExchanges = 16384;
  static constexpr std::int8_t kPrecision = -23;  // about 100 ns
  static constexpr std::int8_t kPoll = 6;         // of a kiss of death: 64 s

  struct Counters {
    std::uint64_t answered = 0;
    std::uint64_t interleaved = 0;  // of them
    std::uint64_t limited = 0;      // not answered, or by a kiss of death
    std::uint64_t refused = 0;      // no request of a client
  };

  // `reference_id`: equal on all servers of one network, so that a client knows that their times
  // are the same.
  Server(std::uint32_t reference_id, const Secret& secret);

  std::optional<Answer> answer(const Request& request, const ServedTime& served);
  // The answer with this receive timestamp left at `at`.
  void on_departure(Timestamp receive, WallTime at);

  const Counters& counters() const { return counters_; }

 private:
  struct Exchange {
    Timestamp receive = 0;  // of our last answer; 0: unused
    Timestamp transmit = 0;
  };
  Exchange& slot(Timestamp receive);
  Timestamp unused(Timestamp receive);
  Answer kiss_of_death(const Packet& request) const;

  std::uint32_t reference_id_;
  Secret secret_;
  RateLimiter limiter_;
  std::vector<Exchange> exchanges_;
  Counters counters_;
};

}  // namespace tempo::ntp
