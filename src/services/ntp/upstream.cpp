#include "services/ntp/upstream.h"

#include <algorithm>

namespace tempo::ntp {
namespace {

using clock::UtcSources;

constexpr std::uint8_t kUnsynchronized = 3;
constexpr std::uint8_t kMaxStratum = 15;

}  // namespace

Upstream::Upstream(std::size_t servers, std::uint32_t reference_id, Instant now)
    : reference_id_(reference_id),
      servers_(servers, Server{.next = now}),
      sources_(std::vector<UtcSources::Source>(servers)) {}

std::optional<Upstream::Request> Upstream::ask(Instant now, Draw& draw) {
  const auto due =
      std::ranges::find_if(servers_, [&](const Server& server) { return server.next <= now; });
  if (due == servers_.end()) return std::nullopt;
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 32;
  // Odd, so that it is not 0.
  due->transmit = draw.below(kHalf) << 32 | draw.below(kHalf) | 1;
  due->asked = now;
  due->next = now + (due->answers < kFirst ? kFirstInterval : due->interval);
  return Request{.server = static_cast<std::size_t>(due - servers_.begin()),
                 .bytes = encode({.version = 4,
                                  .mode = static_cast<std::uint8_t>(Mode::client),
                                  .poll = 4,
                                  .transmit = due->transmit})};
}

Instant Upstream::next() const {
  const auto first = std::ranges::min_element(servers_, {}, &Server::next);
  return first == servers_.end() ? Instant{kNever} : first->next;
}

Upstream::Verdict Upstream::receive(std::size_t server, std::span<const std::byte> bytes,
                                    Instant at, Nanos about) {
  Server& asked = servers_[server];
  const std::optional<Packet> answer = decode(bytes);
  if (!answer || answer->mode != static_cast<std::uint8_t>(Mode::server) || asked.transmit == 0 ||
      answer->origin != asked.transmit || at < asked.asked)
    return Verdict::unexpected;
  asked.transmit = 0;
  if (answer->stratum == 0) {
    asked.answers = kFirst;
    asked.interval = std::min(asked.interval * 2, kLongestInterval);
    asked.next = asked.asked + asked.interval;
    return Verdict::kiss;
  }
  if (answer->leap == kUnsynchronized || answer->stratum > kMaxStratum || answer->transmit == 0)
    return Verdict::unsynchronized;
  if (answer->stratum > 1 && answer->reference_id == reference_id_) return Verdict::loop;
  const Nanos received = time_of(answer->receive, about);
  const Nanos sent = time_of(answer->transmit, about);
  const Nanos delay = (at - asked.asked) - (sent - received);
  const Nanos distance = span_of(answer->root_delay) / 2 + span_of(answer->root_dispersion);
  if (sent < received || delay < 0ns || delay > kMaxDelay || distance > kMaxDistance)
    return Verdict::too_far;
  asked.answers = std::min(asked.answers + 1, kFirst);
  // At the arrival the server's clock showed the time of its answer plus half of the delay.
  sources_.add(server, {.at = at,
                        .utc = sent + delay / 2,
                        .leap = static_cast<UtcSources::Leap>(answer->leap),
                        .error = in_seconds(distance + delay / 2)});
  return Verdict::used;
}

}  // namespace tempo::ntp
