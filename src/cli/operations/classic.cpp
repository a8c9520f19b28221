#include "cli/operations/classic.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <fmt/core.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"
#include "base/span_text.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "platform/address.h"
#include "platform/clocks/clock.h"
#include "platform/clocks/oscillator.h"
#include "platform/clocks/timestamp_socket.h"
#include "platform/descriptor.h"
#include "platform/host.h"
#include "protocol/classic/average.h"
#include "protocol/classic/icmp_timestamp.h"
#include "protocol/wire/tsp.h"

namespace tempo::cli {
namespace {

using wire::tsp::Datagram;
using wire::tsp::Type;

constexpr int kSends = 3;                // a datagram may be lost
constexpr int kMeasurements = 16;        // of ICMP timestamps with a host
constexpr Nanos kMeasuringPause = 20ms;  // between them
constexpr std::uint16_t kFirstReserved = 600;
constexpr std::uint16_t kFirstFree = 1024;

Result<sys::Address> address_of(const std::string& host, std::uint16_t port) {
  if (const auto address = sys::Address::parse(host, port); address && address->family() == AF_INET)
    return address->with_port(port);
  addrinfo wanted{};
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &wanted, &found); error != 0)
    return std::unexpected(fmt::format("{}: {}", host, gai_strerror(error)));
  const sys::Address address(found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return address.with_port(port);
}

// Some daemons answer only reserved ports, which need a privilege.
Result<sys::Descriptor> control_socket() {
  TRY(socket, sys::plain_socket(AF_INET, SOCK_DGRAM, 0));
  for (std::uint16_t port = kFirstReserved; port < kFirstFree; ++port) {
    const auto any = sys::Address::parse("0.0.0.0", port);
    if (any && ::bind(socket.number(), any->raw(), any->size()) == 0) return socket;
    if (errno == EACCES || errno == EPERM) break;
  }
  return socket;
}

bool wait_for(int descriptor, Instant until, sys::Oscillator& clock) {
  const Nanos left = until - clock.now();
  if (left <= Nanos{0}) return false;
  pollfd waiting{.fd = descriptor, .events = POLLIN, .revents = 0};
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return ::poll(&waiting, 1, static_cast<int>(ms)) > 0;
}

class Session {
 public:
  static Result<Session> open(const ClassicArguments& arguments) {
    TRY(timeout, parse_span(arguments.timeout));
    TRY(socket, control_socket());
    return Session(arguments.port, timeout, std::move(socket));
  }

  // The acknowledgement of this host; unset: none has come.
  std::optional<Datagram> ask(const sys::Address& host, Type type) {
    const Instant until = clock_->now() + timeout_;
    for (int i = 1; i <= kSends; ++i) {
      send(host, type);
      const Instant turn = i == kSends ? until : clock_->now() + timeout_ / kSends;
      while (wait_for(socket_.number(), turn, *clock_))
        if (const auto answer = receive(host)) return answer;
    }
    return std::nullopt;
  }

  void send(const sys::Address& host, Type type) {
    std::array<std::byte, wire::tsp::kBytes> bytes;
    wire::tsp::write({.type = type, .sequence = 1, .name = name_}, bytes);
    (void)sendto(socket_.number(), bytes.data(), bytes.size(), 0, host.raw(), host.size());
  }

  Nanos timeout() const { return timeout_; }
  sys::Oscillator& clock() { return *clock_; }

 private:
  Session(std::uint16_t port, Nanos timeout, sys::Descriptor socket)
      : port_(port), timeout_(timeout), socket_(std::move(socket)) {}

  // The daemons of 4.3BSD acknowledge Msite with a number of their own: only the address
  // identifies the sender.
  std::optional<Datagram> receive(const sys::Address& host) {
    std::array<std::byte, 512> bytes;
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    const ssize_t got = recvfrom(socket_.number(), bytes.data(), bytes.size(), 0,
                                 reinterpret_cast<sockaddr*>(&from), &size);
    if (got < 0) return std::nullopt;
    const sys::Address sender{reinterpret_cast<const sockaddr*>(&from), size};
    if (sender.with_port(port_) != host) return std::nullopt;
    const auto datagram = wire::tsp::parse(std::span(bytes).first(static_cast<std::size_t>(got)));
    if (!datagram || datagram->type != Type::ack) return std::nullopt;
    return *datagram;
  }

  std::uint16_t port_;
  Nanos timeout_;
  sys::Descriptor socket_;
  wire::Name name_{sys::host_name()};
  std::unique_ptr<sys::Oscillator> clock_ = sys::real_oscillator();
};

// Calls `one` with each host: what it prints and adds to the JSON; false: no answer.
template <class One>
int for_each_host(const ClassicArguments& arguments, One one) {
  auto session = Session::open(arguments);
  if (!session) {
    print_error("{}\n", session.error());
    return kBadUsage;
  }
  std::vector<sys::Address> addresses;
  for (const std::string& host : arguments.hosts) {
    const auto address = address_of(host, arguments.port);
    if (!address) {
      print_error("{}; give a name or an IPv4 address\n", address.error());
      return kBadUsage;
    }
    addresses.push_back(*address);
  }
  Json list = Json::array();
  bool all = true;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    Json shown = Json::object().add("host", arguments.hosts[i]);
    const bool answered = one(*session, arguments.hosts[i], addresses[i], shown);
    shown.add("answered", answered);
    list.push(shown);
    if (answered) continue;
    all = false;
    print_error("{}: no answer within {}; check that it runs a TSP daemon on UDP port {}\n",
                arguments.hosts[i], arguments.timeout, arguments.port);
  }
  if (arguments.json) print_json(list);
  return all ? kDone : kViolation;
}

int trace(const ClassicArguments& arguments, Type type) {
  return for_each_host(arguments, [&](Session& session, const std::string& host,
                                      const sys::Address& address, Json& /*shown*/) {
    if (!session.ask(address, type)) return false;
    if (!arguments.json) print("{}: the trace is {}\n", host, type == Type::traceon ? "on" : "off");
    return true;
  });
}

}  // namespace

int classic_msite(const ClassicArguments& arguments) {
  return for_each_host(arguments, [&](Session& session, const std::string& host,
                                      const sys::Address& address, Json& shown) {
    const auto answer = session.ask(address, Type::msite);
    if (!answer) return false;
    shown.add("master", answer->name.text());
    if (!arguments.json) print("master of {} is {}\n", host, answer->name.text());
    return true;
  });
}

int classic_election(const ClassicArguments& arguments) {
  return for_each_host(arguments, [&](Session& session, const std::string& host,
                                      const sys::Address& address, Json& /*shown*/) {
    session.send(address, Type::test);
    if (!arguments.json) print("{}: asked for an election\n", host);
    return true;
  });
}

int classic_trace_on(const ClassicArguments& arguments) { return trace(arguments, Type::traceon); }
int classic_trace_off(const ClassicArguments& arguments) {
  return trace(arguments, Type::traceoff);
}

int classic_clockdiff(const ClassicArguments& arguments) {
  auto timestamps = sys::TimestampSocket::open();
  if (!timestamps) {
    print_error("{}\n", timestamps.error());
    return kBadUsage;
  }
  const auto clock = sys::no_clock(Nanos{0});
  const auto id = static_cast<std::uint16_t>(::getpid());
  return for_each_host(arguments, [&](Session& session, const std::string& host,
                                      const sys::Address& address, Json& shown) {
    classic::OffsetProbe probe;
    const Instant until = session.clock().now() + session.timeout();
    for (int i = 0; i < kMeasurements && session.clock().now() < until; ++i) {
      timestamps->send(address,
                       classic::write_icmp(
                           {.stamps = {.id = id,
                                       .sequence = static_cast<std::uint16_t>(i),
                                       .originate = classic::milliseconds_of_day(clock->read())}}));
      const Instant turn = std::min(until, session.clock().now() + kMeasuringPause);
      while (wait_for(timestamps->descriptor(), turn, session.clock())) {
        const auto received = timestamps->receive();
        const std::uint32_t at = classic::milliseconds_of_day(clock->read());
        if (!received || received->from != address.with_port(0)) continue;
        const auto reply = classic::parse_icmp(received->packet);
        if (!reply || !reply->reply || reply->stamps.id != id ||
            reply->stamps.receive >= classic::kDayMs || reply->stamps.transmit >= classic::kDayMs)
          continue;
        probe.add(classic::day_difference(reply->stamps.receive, reply->stamps.originate),
                  classic::day_difference(at, reply->stamps.transmit));
      }
    }
    const auto offset = probe.offset();
    if (!offset) return false;
    const double ms = static_cast<double>(offset->count()) * 1e-6;
    shown.add("offset_ms", ms);
    if (!arguments.json)
      print("{}: {:.1f} ms {} this clock\n", host, std::abs(ms), ms < 0 ? "behind" : "ahead of");
    return true;
  });
}

}  // namespace tempo::cli
