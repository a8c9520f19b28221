#include "services/ntp/server.h"

#include <algorithm>

namespace tempo::ntp {
namespace {

constexpr std::uint32_t kRate = 0x52415445;       // "RATE"
constexpr Nanos kUnsynchronizedDispersion = 16s;  // NTP's MAXDISP

bool is_request(const Packet& packet) {
  return packet.mode == static_cast<std::uint8_t>(Mode::client) &&
         (packet.version == 3 || packet.version == 4);
}

Timestamp timestamp_of(WallTime time) { return ntp::timestamp_of(time.time_since_epoch()); }

}  // namespace

Server::Server(std::uint32_t reference_id, const Secret& secret)
    : reference_id_(reference_id), secret_(secret), limiter_(secret), exchanges_(kExchanges) {}

Server::Exchange& Server::slot(Timestamp receive) {
  return exchanges_[keyed_hash(secret_, std::as_bytes(std::span{&receive, 1})) % kExchanges];
}

// Receive timestamps name answers, so no two of them are equal.
Timestamp Server::unused(Timestamp receive) {
  constexpr int kTries = 4;
  for (int i = 0; i < kTries && slot(receive).receive == receive; ++i) ++receive;
  return receive;
}

Answer Server::kiss_of_death(const Packet& request) const {
  return {.bytes = encode({.leap = static_cast<std::uint8_t>(doors::Leap::unsynchronized),
                           .version = request.version,
                           .mode = static_cast<std::uint8_t>(Mode::server),
                           .stratum = 0,
                           .poll = std::max(request.poll, kPoll),
                           .precision = kPrecision,
                           .reference_id = kRate,
                           .origin = request.transmit})};
}

std::optional<Answer> Server::answer(const Request& request, const ServedTime& served) {
  const std::optional<Packet> asked = decode(request.bytes);
  if (!asked || !is_request(*asked)) {
    ++counters_.refused;
    return std::nullopt;
  }
  if (const auto verdict = limiter_.ask(request.from, request.at);
      verdict != RateLimiter::Verdict::answer) {
    ++counters_.limited;
    if (verdict == RateLimiter::Verdict::drop) return std::nullopt;
    return kiss_of_death(*asked);
  }
  ++counters_.answered;
  const Timestamp receive = unused(timestamp_of(served.time - (served.raw - request.at)));
  const Timestamp transmit = timestamp_of(served.time);
  const bool knows_us = asked->origin != 0 && asked->receive != asked->transmit;
  const Exchange last = knows_us ? slot(asked->origin) : Exchange{};
  const bool interleaved = knows_us && last.receive == asked->origin;
  if (interleaved) ++counters_.interleaved;
  if (knows_us) slot(receive) = {.receive = receive, .transmit = transmit};
  const bool synchronized = served.status.leap == doors::Leap::none;
  return Answer{.bytes = encode({.leap = static_cast<std::uint8_t>(served.status.leap),
                                 .version = asked->version,
                                 .mode = static_cast<std::uint8_t>(Mode::server),
                                 .stratum = served.status.stratum,
                                 .poll = asked->poll,
                                 .precision = kPrecision,
                                 .root_dispersion = short_of(
                                     synchronized ? served.bound : kUnsynchronizedDispersion),
                                 .reference_id = synchronized ? reference_id_ : 0,
                                 .reference = synchronized ? timestamp_of(served.updated) : 0,
                                 .origin = interleaved ? asked->receive : asked->transmit,
                                 .receive = receive,
                                 .transmit = interleaved ? last.transmit : transmit}),
                .receive = receive,
                .wants_departure = knows_us};
}

void Server::on_departure(Timestamp receive, WallTime at) {
  if (Exchange& exchange = slot(receive); exchange.receive == receive)
    exchange.transmit = timestamp_of(at);
}

}  // namespace tempo::ntp
