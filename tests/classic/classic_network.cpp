#include "classic_network.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/clocks/oscillator.h"
#include "platform/descriptor.h"
#include "protocol/wire/tsp.h"

namespace tempo::testbed {
namespace {

std::vector<std::string> with_mode(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--set", "mode=classic"});
  return arguments;
}

// A software clock is not that of the kernel, which must not answer in its place.
void silence_kernel(const Host& host) {
  const int status =
      run({"ip", "netns", "exec", host.space(), "nft",
           "table ip timestamps { chain output { type filter hook output priority 0; "
           "icmp type timestamp-reply meta skuid 0 accept; icmp type timestamp-reply drop; }; }"});
  if (status != 0) throw std::runtime_error("nft cannot filter in a namespace");
}

}  // namespace

Printed printed_by(const std::string& command) {
  std::FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  Printed printed;
  std::array<char, 4096> buffer{};
  for (std::size_t got = 1; got > 0;) {
    got = std::fread(buffer.data(), 1, buffer.size(), pipe);
    printed.out.append(buffer.data(), got);
  }
  const int status = ::pclose(pipe);
  printed.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return printed;
}

ClassicNetwork::ClassicNetwork(const std::string& profile, int lans,
                               std::vector<std::string> timers)
    : site_({.lans = lans,
             .tempod = TEMPO_TEMPOD,
             .profile = profile,
             .arguments = with_mode(std::move(timers))}) {}

ClassicNetwork::~ClassicNetwork() = default;

Host& ClassicNetwork::add(HostOptions options) {
  Host& host = site_.add(std::move(options));
  silence_kernel(host);
  return host;
}

Host& ClassicNetwork::tempod(HostOptions options, const std::vector<std::string>& more) {
  options.arguments = more;
  Host& host = add(std::move(options));
  host.start();
  return host;
}

Printed ClassicNetwork::tempo(const Host& host, const std::string& arguments) {
  return printed_by(
      fmt::format("ip netns exec {} {} classic {}", host.space(), TEMPO_BINARY, arguments));
}

void ClassicNetwork::send(const Host& from, const std::string& to, std::uint8_t type,
                          std::uint16_t sequence, std::int64_t micros, const std::string& name,
                          std::uint16_t port) {
  const sys::Descriptor home{::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)};
  const sys::Descriptor there{::open(("/run/netns/" + from.space()).c_str(), O_RDONLY | O_CLOEXEC)};
  ASSERT_EQ(::setns(there.number(), CLONE_NEWNET), 0);
  const sys::Descriptor socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  ASSERT_EQ(::setns(home.number(), CLONE_NEWNET), 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (port != 0) {
    ASSERT_EQ(::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
  }
  std::array<std::byte, wire::tsp::kBytes> bytes;
  wire::tsp::write({.type = wire::tsp::Type{type},
                    .sequence = sequence,
                    .micros = micros,
                    .name = wire::Name(name)},
                   bytes);
  address.sin_port = htons(wire::tsp::kPort);
  ASSERT_EQ(::inet_pton(AF_INET, to.c_str(), &address.sin_addr), 1);
  ASSERT_EQ(::sendto(socket.number(), bytes.data(), bytes.size(), 0,
                     reinterpret_cast<const sockaddr*>(&address), sizeof address),
            static_cast<ssize_t>(bytes.size()));
}

std::string ClassicNetwork::state(const Host& host, std::size_t network) {
  const auto status = host.status();
  return status && status->networks.size() > network ? status->networks[network].state : "";
}

std::string ClassicNetwork::master(const Host& host, std::size_t network) {
  const auto status = host.status();
  return status && status->networks.size() > network ? status->networks[network].master : "";
}

std::uint64_t ClassicNetwork::counter(const Host& host, const std::string& name) {
  const auto status = host.status();
  if (!status) return 0;
  const auto found = status->counters.find(name);
  return found == status->counters.end() ? 0 : found->second;
}

std::optional<double> ClassicNetwork::offset_ms(const Host& host) {
  const auto offset = host.clock_offset();
  if (!offset) return std::nullopt;
  // It is measured against the raw clock.
  const sys::Bracket machine = sys::read_bracket();
  return static_cast<double>((offset->offset - machine.ahead()).count()) * 1e-6;
}

std::string ClassicNetwork::offsets() {
  std::string text;
  for (std::size_t i = 0; i < site_.size(); ++i)
    text += fmt::format("{}: {:+.3f} ms\n", site_.host(i).name(),
                        offset_ms(site_.host(i)).value_or(std::nan("")));
  return text;
}

std::string ClassicNetwork::logs() {
  std::string text;
  for (std::size_t i = 0; i < site_.size(); ++i)
    text += fmt::format("--- {}\n{}", site_.host(i).name(), site_.host(i).log());
  return text;
}

}  // namespace tempo::testbed
