#include "services/ntp/service.h"

#include <array>
#include <cstring>
#include <utility>

#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>

#include "base/fnv.h"
#include "base/span_text.h"
#include "platform/clocks/oscillator.h"
#include "platform/host.h"
#include "services/ntp/page_clock.h"
#include "services/ntp/socket.h"

namespace tempo::ntp {
namespace {

// Limits the delay of a signal that arrives just before the wait.
constexpr int kLongestWaitMs = 250;

Secret secret_of_kernel() {
  Secret secret{};
  const std::array<std::uint64_t, 2> words{sys::kernel_random(), sys::kernel_random()};
  static_assert(sizeof words == sizeof secret);
  std::memcpy(secret.data(), words.data(), sizeof secret);
  return secret;
}

// Clients of one IPv6 network of 64 bits share an entry: each has as many addresses as it wants.
Client client_of(const sys::Address& address) {
  Client client{};
  if (address.family() == AF_INET6) {
    sockaddr_in6 raw{};
    std::memcpy(&raw, address.raw(), sizeof raw);
    std::memcpy(client.data(), &raw.sin6_addr, client.size() / 2);
  } else {
    sockaddr_in raw{};
    std::memcpy(&raw, address.raw(), sizeof raw);
    client[10] = client[11] = std::byte{0xff};
    std::memcpy(client.data() + 12, &raw.sin_addr, sizeof raw.sin_addr);
  }
  return client;
}

sys::Address any_address(int family, std::uint16_t port) {
  return *sys::Address::parse(family == AF_INET ? "0.0.0.0" : "::", port);
}

std::string why_unsynchronized(const PageClock& clock) {
  if (!clock.error().empty()) return clock.error();
  return clock.status() == page::Status::unsynchronized
             ? "tempod has no network time yet; see 'tempo status'"
             : "the error bound exceeds claims-limit-ms; see 'tempo status'";
}

class ServiceImpl final : public Service {
 public:
  explicit ServiceImpl(const Options& options)
      : clock_(options.page, options.claims_limit),
        server_(options.reference_id, secret_of_kernel()) {}

  Result<void> open_sockets(const Options& options) {
    if (!options.upstream.servers.empty()) {
      TRY(client, UpstreamClient::open(options.upstream));
      upstream_.emplace(std::move(client));
    }
    if (!options.serve) return {};
    for (const sys::Address& address : options.listen) {
      TRY(socket, Socket::open(address, true));
      sockets_.push_back(std::move(socket));
    }
    if (!options.listen.empty()) return {};
    TRY(socket, Socket::open(any_address(AF_INET, options.port), true));
    sockets_.push_back(std::move(socket));
    // A kernel may have no IPv6.
    if (auto second = Socket::open(any_address(AF_INET6, options.port), true))
      sockets_.push_back(*std::move(second));
    else
      fmt::print(stderr, "tempo-ntp: serving IPv4 only: {}\n", second.error());
    return {};
  }

  void run(const volatile int& stop) override {
    while (stop == 0) {
      if (!sockets_.empty()) report(clock_.now());
      wait();
      if (upstream_) upstream_->work(*oscillator_);
      for (Socket& socket : sockets_) {
        note_departures(socket);
        for (int i = 0; i < kMaxAtOnce && answer_one(socket); ++i) {
        }
      }
    }
  }

  const Server::Counters& counters() const override { return server_.counters(); }

 private:
  void wait() {
    std::vector<pollfd> ends;
    for (const Socket& socket : sockets_)
      ends.push_back({.fd = socket.descriptor(), .events = POLLIN, .revents = 0});
    if (upstream_)
      for (const int descriptor : upstream_->descriptors())
        ends.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
    ::poll(ends.data(), ends.size(), kLongestWaitMs);
  }

  bool answer_one(Socket& socket) {
    const auto arrival = socket.receive();
    if (!arrival) return false;
    const Instant now = sys::raw_now();
    const std::optional<Instant> at =
        arrival->stamp ? oscillator_->from_realtime(*arrival->stamp) : std::nullopt;
    const auto answer = server_.answer(
        {.bytes = arrival->bytes, .from = client_of(arrival->from), .at = at.value_or(now)},
        clock_.now());
    if (!answer) return true;
    socket.answer(*arrival, answer->bytes, answer->wants_departure);
    // The kernel often has the timestamp at once, and the next request of this client may be near.
    if (answer->wants_departure) note_departures(socket);
    return true;
  }

  void note_departures(Socket& socket) {
    for (int i = 0; i < kMaxAtOnce; ++i) {
      const auto departure = socket.departure();
      if (!departure) return;
      const auto at = oscillator_->from_realtime(departure->stamp);
      if (!at) continue;
      const ServedTime served = clock_.now();
      server_.on_departure(departure->answer.receive, served.time - (served.raw - *at));
    }
  }

  // Writes a line when clients get another status.
  void report(const ServedTime& served) {
    const std::string why = served.status.claims ? "" : why_unsynchronized(clock_);
    if (reported_ && *reported_ == served.status && why == why_) return;
    if (served.status.claims)
      fmt::print(stderr, "tempo-ntp: serving network time: stratum {}, {}, within {}\n",
                 served.status.stratum, doors::name_of(clock_.status()), span_text(served.bound));
    else
      fmt::print(stderr, "tempo-ntp: serving unsynchronized time: {}\n", why);
    reported_ = served.status;
    why_ = why;
  }

  PageClock clock_;
  Server server_;
  std::vector<Socket> sockets_;
  std::optional<UpstreamClient> upstream_;
  std::unique_ptr<sys::Oscillator> oscillator_ = sys::real_oscillator();
  std::optional<doors::DoorStatus> reported_;
  std::string why_;  // unsynchronized, as last reported
};

}  // namespace

Result<std::unique_ptr<Service>> Service::open(const Options& options) {
  auto service = std::make_unique<ServiceImpl>(options);
  if (auto opened = service->open_sockets(options); !opened) return std::unexpected(opened.error());
  return service;
}

std::uint32_t reference_id_of(const std::string& cluster) {
  return static_cast<std::uint32_t>(fnv1a(std::as_bytes(std::span{cluster})));
}

Preview preview(const Service::Options& options) {
  PageClock clock(options.page, options.claims_limit);
  const ServedTime served = clock.now();
  std::string addresses;
  for (const sys::Address& address : options.listen)
    addresses += (addresses.empty() ? "" : ", ") + address.text_with_port();
  if (addresses.empty()) addresses = fmt::format("port {} of every address", options.port);
  std::string text = fmt::format("listen: {}\n", addresses);
  if (served.status.claims)
    return {.synchronized = true,
            .text = text + fmt::format("time: network time, {}\nstratum: {}\nleap: none\n"
                                       "root dispersion: {}\nreference id: {:08X}\n",
                                       doors::name_of(clock.status()), served.status.stratum,
                                       span_text(served.bound), options.reference_id)};
  return {.text = text + fmt::format("time: unsynchronized: {}\nstratum: {}\n"
                                     "leap: unsynchronized (3)\n",
                                     why_unsynchronized(clock), doors::kStratumUnsynchronized)};
}

}  // namespace tempo::ntp
