#include "services/ntp/upstream_client.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/core.h>
#include <sys/socket.h>

#include "api/sock_sample.h"
#include "base/span_text.h"
#include "platform/unix_address.h"

namespace tempo::ntp {
namespace {

constexpr int kMaxAtOnce = 16;  // datagrams of one server in one round
constexpr Nanos kFeedInterval = 1s;

}  // namespace

Result<UpstreamClient> UpstreamClient::open(const Options& options) {
  std::vector<Socket> sockets;
  for (const sys::Address& server : options.servers) {
    const auto any = sys::Address::parse(server.family() == AF_INET ? "0.0.0.0" : "::", 0);
    TRY(socket, Socket::open(*any, false));
    sockets.push_back(std::move(socket));
  }
  UpstreamClient client(options, std::move(sockets));
  TRY(feed, sys::plain_socket(AF_UNIX, SOCK_DGRAM, 0));
  client.feed_ = std::move(feed);
  return client;
}

UpstreamClient::UpstreamClient(const Options& options, std::vector<Socket> sockets)
    : options_(options),
      sockets_(std::move(sockets)),
      upstream_(options.servers.size(), options.reference_id, sys::raw_now()) {}

std::vector<int> UpstreamClient::descriptors() const {
  std::vector<int> all;
  for (const Socket& socket : sockets_) all.push_back(socket.descriptor());
  return all;
}

void UpstreamClient::work(sys::Oscillator& oscillator) {
  receive(oscillator);
  while (const auto request = upstream_.ask(sys::raw_now(), draw_))
    sockets_[request->server].send(options_.servers[request->server], request->bytes);
  if (const Instant now = sys::raw_now(); now >= next_feed_) {
    next_feed_ = now + kFeedInterval;
    feed();
  }
}

void UpstreamClient::receive(sys::Oscillator& oscillator) {
  for (std::size_t i = 0; i < sockets_.size(); ++i)
    for (int n = 0; n < kMaxAtOnce; ++n) {
      const auto arrival = sockets_[i].receive();
      if (!arrival) break;
      if (!(arrival->from == options_.servers[i])) continue;
      const Instant now = sys::raw_now();
      const auto at = arrival->stamp ? oscillator.from_realtime(*arrival->stamp) : std::nullopt;
      upstream_.receive(i, arrival->bytes, at.value_or(now), sys::read_bracket().real);
    }
}

void UpstreamClient::feed() {
  const sys::Bracket kernel = sys::read_bracket();
  const auto utc = upstream_.read(kernel.raw());
  if (!utc) return report("no majority of the upstream servers agrees on UTC");
  if (utc->bound + kernel.width() > options_.feed_error)
    return report(
        fmt::format("UTC is known within {} only, and error-us of {} allows {}; raise it, or use "
                    "closer servers",
                    span_text(utc->bound), options_.feed, span_text(options_.feed_error)));
  const auto sample =
      doors::encode({.at = kernel.real, .offset = in_seconds(utc->utc - kernel.real)});
  const auto to = sys::unix_address(options_.feed);
  if (!to) return report(to.error());
  if (::sendto(feed_.number(), sample.data(), sample.size(), 0, to->generic(), to->size) < 0)
    return report(
        fmt::format("cannot feed {} ({}); start tempod with a [[utc.source]] of this path",
                    options_.feed, std::strerror(errno)));
  report(fmt::format("feeding UTC to {}", options_.feed));
}

void UpstreamClient::report(const std::string& state) {
  // The figures of a sentence change all the time; its first words do not.
  constexpr std::size_t kCompared = 24;
  if (state.substr(0, kCompared) == reported_.substr(0, kCompared)) return;
  fmt::print(stderr, "tempo-ntp: {}\n", state);
  reported_ = state;
}

}  // namespace tempo::ntp
