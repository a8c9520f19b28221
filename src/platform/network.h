// Sends and receives datagrams of one network, with a timestamp of each.
//
// A Network is one broadcast domain as seen by this host: an interface with its IPv4 subnet
// (directed broadcast), or with its IPv6 link-local address (multicast), or a list of peers reached
// one by one. Arrivals carry the receive timestamp of the kernel. For sent datagrams a transmit
// timestamp is reported on request. Both come from the network card where it has a clock
// (card_clock.h). Timestamps are raw instants (oscillator.h); if the kernel gives none, the time of
// the call is used.
//
// No call blocks. Own broadcasts are filtered where the kernel supports it (IPv4); elsewhere the
// caller recognises them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "platform/address.h"
#include "platform/clocks/oscillator.h"

namespace tempo::sys {

struct Arrival {
  std::span<const std::byte> bytes;  // valid until the next call
  Address from;
  Instant at{};
  bool kernel_stamp = false;  // timestamp of kernel or card; false: time of the call
};

// Transmit timestamp of the datagram to which `send` gave this number.
struct Departure {
  std::uint32_t transmission = 0;
  Instant at{};
  bool kernel_stamp = false;
};

// Lost datagrams since the network was opened.
struct Losses {
  std::map<int, std::uint64_t> unsent{};  // by errno
  std::uint64_t too_long = 0;             // received datagrams dropped because of their length
};

struct NetworkOptions {
  std::string label{};  // "eth0", "peers"
  // Addresses to receive on, one socket each: the address of this host, and the broadcast address
  // or the group, so that datagrams of other interfaces are not received. The first address of a
  // family also sends. Port 0 means `port`; if that is 0 too, the kernel chooses one port for all.
  std::vector<Address> bind{};
  std::vector<Address>
      everyone{};  // destinations of a broadcast: a broadcast address, a group, or peers
  std::uint16_t port = 0;
  bool multicast = false;    // `everyone` is a group to join on `interface`
  std::string interface{};   // empty: any
  bool card_stamps = false;  // use the timestamps of the network card if it has a clock
};

class Network {
 public:
  static Result<std::unique_ptr<Network>> open(const NetworkOptions& options,
                                               Oscillator& oscillator);
  virtual ~Network() = default;

  virtual const std::string& label() const = 0;
  virtual std::vector<int> descriptors() const = 0;  // to poll for POLLIN, POLLERR and POLLPRI

  // The next received datagram; nothing: none. The caller reads at most `kMaxAtOnce` between two
  // calls of poll(), so that a flood cannot delay the timers.
  virtual std::optional<Arrival> receive() = 0;
  static constexpr int kMaxAtOnce = 256;

  // The next transmit timestamp; nothing: none. Call it when a descriptor has POLLERR or POLLPRI,
  // before `receive`, and periodically: if the kernel gives no timestamp within `kStampTimeout`,
  // the time of the call of `send` is returned, and no descriptor signals that.
  static constexpr Nanos kStampTimeout = 50ms;
  virtual std::optional<Departure> departure() = 0;

  // Sends immediately. A datagram that cannot be sent is lost and counted by errno. With `stamp`
  // the result is the number of the transmission.
  virtual std::optional<std::uint32_t> send(const Address& to, std::span<const std::byte> bytes,
                                            bool stamp) = 0;
  virtual void broadcast(std::span<const std::byte> bytes) = 0;
  virtual bool kernel_stamps() const = 0;             // a receive timestamp of the kernel was seen
  virtual bool card_stamps() const { return false; }  // a timestamp of the card was used

  // Bound addresses with the ports chosen by the kernel, in the order of NetworkOptions::bind.
  virtual std::vector<Address> bound() const { return {}; }
  virtual const Losses& losses() const = 0;
  static constexpr std::size_t kMaxBytes = 2048;  // longest datagram received, in bytes
};

// tempo's multicast group on an IPv6 link: transient, link-local; the last five bytes spell its
// name.
inline constexpr const char* kGroup = "ff12::74:656d:706f";

// Networks of this host, from its interfaces that are up and not loopback: one for each IPv4 subnet
// with a broadcast address. With `ipv6`, an interface that has a link-local address uses that one
// instead. `only` restricts the interfaces; empty: all.
Result<std::vector<NetworkOptions>> find_networks(std::span<const std::string> only,
                                                  std::uint16_t port, bool ipv6);

}  // namespace tempo::sys
