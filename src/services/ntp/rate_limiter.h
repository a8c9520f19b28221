// Limits how often one client is answered, in a table of fixed size.
//
// Each client has a bucket of kBurst requests, which fills by one per kInterval. A client without
// an entry has a full bucket; when the table is full, the entry that is closest to full is
// replaced. The position in the table depends on a secret, so that nobody can choose addresses that
// displace others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"

namespace tempo::ntp {

// An IPv6 address, of which clients of one /64 share the first half, or an IPv4 address mapped to
// IPv6.
using Client = std::array<std::byte, 16>;
using Secret = std::array<std::byte, 16>;

std::uint64_t keyed_hash(const Secret& secret, std::span<const std::byte> bytes);

class RateLimiter {
 public:
  static constexpr Nanos kInterval = 500ms;  // of the requests of a client, on average
  static constexpr int kBurst = 16;          // requests at once
  static constexpr Nanos kWarning = 1s;      // interval of kisses of death to one client
  static constexpr std::size_t kWays = 8;
  static constexpr std::size_t kSets = 4096;

  enum class Verdict : std::uint8_t { answer, warn, drop };

  explicit RateLimiter(const Secret& secret) : secret_(secret), entries_(kSets * kWays) {}
  Verdict ask(const Client& client, Instant now);

 private:
  struct Entry {
    Client client{};
    Instant full_at{};  // the bucket is full from then on; the past: an unused entry
    Instant warned{};   // last kiss of death
  };
  Entry& entry_of(const Client& client);

  Secret secret_;
  std::vector<Entry> entries_;
};

}  // namespace tempo::ntp
