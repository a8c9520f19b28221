// Datagrams to and from the machines of one network, with the instant of each.
//
// A Network is one broadcast domain as this host sees it: an interface with its IPv4 subnet
// (directed broadcast), or with its IPv6 link-local address (multicast), or a list of peers reached
// one by one. Arrivals carry the kernel's receive stamp; sent datagrams whose stamp was asked for
// are reported with the kernel's transmit stamp, or both with the card's where it has a clock
// (card_clock.h). Stamps are given as raw instants (oscillator.h); where the kernel gives none, the
// instant of the call is.
//
// No call blocks. Own broadcasts do not come back where the kernel can be told so (IPv4); others
// are the caller's to recognise.
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
  bool kernel_stamp = false;  // or the card's
};

// A transmit stamp: of the datagram that `send` numbered so.
struct Departure {
  std::uint32_t transmission = 0;
  Instant at{};
  bool kernel_stamp = false;
};

// What came to nothing, since the network was opened.
struct Losses {
  std::map<int, std::uint64_t> unsent{};  // by errno
  std::uint64_t too_long = 0;             // arrivals
};

struct NetworkOptions {
  std::string label{};  // "eth0", "peers"
  // Where datagrams arrive, a socket each: this host's address, and the broadcast address or the
  // group too, so that nothing of other interfaces is heard. The first of a family also sends. No
  // port: `port`, or if that is 0 one of the kernel's choice, the same for all.
  std::vector<Address> bind{};
  std::vector<Address> everyone{};  // where a broadcast goes: a broadcast address, a group, peers
  std::uint16_t port = 0;
  bool multicast = false;    // `everyone` is a group to join on `interface`
  std::string interface{};   // empty: any
  bool card_stamps = false;  // use the clock of the interface's card, if it has one
};

class Network {
 public:
  static Result<std::unique_ptr<Network>> open(const NetworkOptions& options,
                                               Oscillator& oscillator);
  virtual ~Network() = default;

  virtual const std::string& label() const = 0;
  virtual std::vector<int> descriptors() const = 0;  // to poll for POLLIN, POLLERR and POLLPRI

  // The next datagram that has arrived, or nothing. At most `kMaxAtOnce` are read between two
  // calls of `poll`, so that a flood cannot starve the timers; that is the caller's count to keep.
  virtual std::optional<Arrival> receive() = 0;
  static constexpr int kMaxAtOnce = 256;

  // The next transmit stamp, or nothing. Ask when a descriptor has POLLERR or POLLPRI, before
  // `receive`, and now and then otherwise: where the kernel gives no stamp within `kPatience`, the
  // instant of the call of `send` is given, and no descriptor tells.
  static constexpr Nanos kPatience = 50ms;
  virtual std::optional<Departure> departure() = 0;

  // Sends now; what cannot be sent is lost, as on any network, and counted by its errno. With
  // `stamp` the result numbers the transmission.
  virtual std::optional<std::uint32_t> send(const Address& to, std::span<const std::byte> bytes,
                                            bool stamp) = 0;
  virtual void broadcast(std::span<const std::byte> bytes) = 0;
  virtual bool kernel_stamps() const = 0;             // receive stamps have been seen
  virtual bool card_stamps() const { return false; }  // stamps of the card have been used

  // Where it is bound, with the ports that the kernel chose; in the order of NetworkOptions::bind.
  virtual std::vector<Address> bound() const { return {}; }
  virtual const Losses& losses() const = 0;
  static constexpr std::size_t kMaxBytes = 2048;  // of an arrival
};

// The group of tempo on an IPv6 link: transient, link-local; the last five bytes spell its name.
inline constexpr const char* kGroup = "ff12::74:656d:706f";

// The networks this host is on, from its interfaces: up, not loopback. One for each IPv4 subnet
// that has a broadcast address; where `ipv6` is wished and the interface has a link-local address,
// that one in their place. `only` names interfaces to take, empty: all.
std::vector<NetworkOptions> find_networks(std::span<const std::string> only, std::uint16_t port,
                                          bool ipv6);

}  // namespace tempo::sys
