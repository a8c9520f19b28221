#include "services/ntp/rate_limiter.h"

#include <algorithm>

#include <sodium.h>

namespace tempo::ntp {

std::uint64_t keyed_hash(const Secret& secret, std::span<const std::byte> bytes) {
  static_assert(std::tuple_size_v<Secret> == crypto_shorthash_KEYBYTES);
  std::uint64_t hash = 0;
  static_assert(sizeof hash == crypto_shorthash_BYTES);
  crypto_shorthash(reinterpret_cast<unsigned char*>(&hash),
                   reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                   reinterpret_cast<const unsigned char*>(secret.data()));
  return hash;
}

RateLimiter::Entry& RateLimiter::entry_of(const Client& client) {
  const std::size_t set = keyed_hash(secret_, client) % kSets;
  const std::span<Entry> ways{entries_.data() + set * kWays, kWays};
  if (const auto known = std::ranges::find(ways, client, &Entry::client); known != ways.end())
    return *known;
  Entry& entry = *std::ranges::min_element(ways, {}, &Entry::full_at);
  entry = {.client = client};
  return entry;
}

RateLimiter::Verdict RateLimiter::ask(const Client& client, Instant now) {
  Entry& entry = entry_of(client);
  const Instant full_at = std::max(entry.full_at, now) + kInterval;
  if (full_at <= now + kBurst * kInterval) {
    entry.full_at = full_at;
    return Verdict::answer;
  }
  if (entry.warned != Instant{} && now - entry.warned < kWarning) return Verdict::drop;
  entry.warned = now;
  return Verdict::warn;
}

}  // namespace tempo::ntp
