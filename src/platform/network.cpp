#include "platform/network.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <utility>

#include <fmt/core.h>
#include <linux/errqueue.h>
#include <linux/filter.h>
#include <linux/net_tstamp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/uio.h>

#include "platform/clocks/card_clock.h"
#include "platform/descriptor.h"

namespace tempo::sys {
namespace {

constexpr std::uint32_t kStampFlags = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE |
                                      SOF_TIMESTAMPING_OPT_CMSG | SOF_TIMESTAMPING_OPT_TSONLY;
constexpr std::uint32_t kNumbered = SOF_TIMESTAMPING_OPT_ID;
constexpr std::uint32_t kByCard = SOF_TIMESTAMPING_RX_HARDWARE | SOF_TIMESTAMPING_RAW_HARDWARE;
constexpr std::uint32_t kStampThis = SOF_TIMESTAMPING_TX_SOFTWARE;
// Where the card takes timestamps, the kernel leaves them to the card.
constexpr std::uint32_t kCardStampThis = kStampThis | SOF_TIMESTAMPING_TX_HARDWARE;

// Space for a timestamp, an extended error with its address, and unrequested data.
using Control = std::array<std::byte, 512>;

template <class T>
bool set_option(int socket, int level, int name, const T& value) {
  return setsockopt(socket, level, name, &value, sizeof value) == 0;
}

// Filters own broadcasts out, because each would wake the daemon. Best effort: where the kernel
// refuses, the caller recognises them.
void filter_own(int socket, const Address& own) {
  sockaddr_in from{};
  if (own.family() != AF_INET || own.size() != sizeof from) return;
  std::memcpy(&from, own.raw(), sizeof from);
  // A socket filter sees the datagram from its UDP header on, and the IP header at SKF_NET_OFF.
  constexpr auto kSourceAddress = static_cast<std::uint32_t>(SKF_NET_OFF + 12);
  constexpr std::uint32_t kSourcePort = 0;
  constexpr std::uint32_t kAllOfIt = 0xFFFFFFFF;
  std::array<sock_filter, 6> program{{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, kSourceAddress},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, ntohl(from.sin_addr.s_addr)},
      {BPF_LD | BPF_H | BPF_ABS, 0, 0, kSourcePort},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, ntohs(from.sin_port)},
      {BPF_RET | BPF_K, 0, 0, 0},
      {BPF_RET | BPF_K, 0, 0, kAllOfIt},
  }};
  const sock_fprog filter{.len = program.size(), .filter = program.data()};
  set_option(socket, SOL_SOCKET, SO_ATTACH_FILTER, filter);
}

// A received datagram or transmit timestamp, with its control data.
struct Received {
  std::size_t bytes = 0;
  int flags = 0;
  Address from;
  std::optional<timespec> stamp;           // software timestamp, CLOCK_REALTIME
  std::optional<timespec> card_stamp;      // hardware timestamp, clock of the card
  std::optional<sock_extended_err> about;  // set for entries of the error queue
};

Received read_control(const msghdr& header, std::size_t bytes) {
  Received received;
  received.bytes = bytes;
  received.flags = header.msg_flags;
  received.from = {static_cast<const sockaddr*>(header.msg_name), header.msg_namelen};
  msghdr walk = header;
  for (cmsghdr* part = CMSG_FIRSTHDR(&walk); part != nullptr; part = CMSG_NXTHDR(&walk, part)) {
    if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_TIMESTAMPING) {
      scm_timestamping stamps{};
      if (part->cmsg_len < CMSG_LEN(sizeof stamps)) continue;
      std::memcpy(&stamps, CMSG_DATA(part), sizeof stamps);
      const auto given = [](const timespec& stamp) {
        return stamp.tv_sec != 0 || stamp.tv_nsec != 0 ? std::optional{stamp} : std::nullopt;
      };
      received.stamp = given(stamps.ts[0]);
      received.card_stamp = given(stamps.ts[2]);
    } else if ((part->cmsg_level == SOL_IP && part->cmsg_type == IP_RECVERR) ||
               (part->cmsg_level == SOL_IPV6 && part->cmsg_type == IPV6_RECVERR)) {
      sock_extended_err about{};
      if (part->cmsg_len < CMSG_LEN(sizeof about)) continue;
      std::memcpy(&about, CMSG_DATA(part), sizeof about);
      received.about = about;
    }
  }
  return received;
}

class UdpNetwork final : public Network {
 public:
  UdpNetwork(const NetworkOptions& options, Oscillator& oscillator)
      : label_(options.label),
        everyone_(options.everyone),
        oscillator_(&oscillator),
        card_(options.card_stamps ? open_card_clock(options.interface) : nullptr) {}

  Result<void> bind_all(const NetworkOptions& options);

  const std::string& label() const override { return label_; }
  std::vector<int> descriptors() const override;
  std::optional<Arrival> receive() override;
  std::optional<Departure> departure() override;
  std::optional<std::uint32_t> send(const Address& to, std::span<const std::byte> bytes,
                                    bool stamp) override;
  void broadcast(std::span<const std::byte> bytes) override;
  bool kernel_stamps() const override { return kernel_stamps_; }
  bool card_stamps() const override { return card_stamps_; }
  std::vector<Address> bound() const override;
  const Losses& losses() const override { return losses_; }

 private:
  struct Socket {
    Descriptor descriptor;
    Address bound;
    bool stamps = false;     // the kernel gives transmit timestamps
    std::uint32_t next = 0;  // number the kernel gives to the next datagram with a timestamp
    std::uint64_t owed = 0;  // timestamps requested and not yet received
  };
  // A sent datagram whose transmit timestamp is outstanding.
  struct Waiting {
    std::size_t socket;
    std::uint32_t number;  // the kernel's
    std::uint32_t transmission;
    Instant called;  // time just before it was sent
  };
  static constexpr std::size_t kMaxWaiting = 64;

  Result<Socket> bind_one(const NetworkOptions& options, const Address& address) const;
  std::optional<Received> take(Socket& socket, int flags);
  std::uint32_t stamp_flags() const { return card_ ? kStampFlags | kByCard : kStampFlags; }
  // Instant of the timestamp; nothing: no usable timestamp.
  std::optional<Instant> stamped(const Received& received);
  Arrival arrival_of(const Received& received, std::span<const std::byte> bytes);
  std::optional<Departure> departure_of(std::size_t socket, const Received& received);
  void keep(const Received& received);
  void start_numbering_again(std::size_t index);
  Departure without_stamp(const Waiting& waiting) const {
    return {.transmission = waiting.transmission, .at = waiting.called};
  }

  std::string label_;
  std::vector<Address> everyone_;
  Oscillator* oscillator_;
  std::unique_ptr<CardClock> card_;  // null: timestamps of the kernel
  StampConverter card_converter_;
  std::vector<Socket> sockets_;
  std::size_t turn_ = 0;                  // index of the socket to read first
  std::deque<Waiting> waiting_;           // at most kMaxWaiting
  std::deque<Departure> without_kernel_;  // at most kMaxWaiting
  std::uint32_t transmissions_ = 0;
  bool kernel_stamps_ = false;
  bool card_stamps_ = false;
  Losses losses_;

  std::array<std::byte, kMaxBytes> buffer_{};
  // A datagram that arrived while reading the error queue: simulators have one queue for both.
  std::optional<Arrival> early_;
  std::vector<std::byte> early_bytes_;
};

Result<void> UdpNetwork::bind_all(const NetworkOptions& options) {
  std::vector<Address> addresses = options.bind;
  if (options.multicast) {
    for (const Address& group : options.everyone) {
      if (std::ranges::find(addresses, group) == addresses.end()) addresses.push_back(group);
    }
  }
  std::uint16_t port = options.port;
  for (const Address& address : addresses) {
    TRY(socket, bind_one(options, address.port() == 0 ? address.with_port(port) : address));
    if (port == 0) port = socket.bound.port();
    sockets_.push_back(std::move(socket));
  }
  if (sockets_.empty())
    return std::unexpected(
        fmt::format("{}: no address to bind; check 'interfaces' and 'peers'", label_));
  for (Address& address : everyone_) {
    if (address.port() == 0) address = address.with_port(port);
  }
  return {};
}

std::string bind_error(const Address& address, int error) {
  const char* const cure =
      error == EADDRINUSE ? "another program uses this port: stop it, or set another 'port' on "
                            "every machine"
      : error == EACCES   ? "grant CAP_NET_BIND_SERVICE, or set a 'port' of at least 1024"
      : error == EADDRNOTAVAIL
          ? "no interface has this address: add it, or correct 'bind' and 'interfaces'"
          : "check 'bind' and 'interfaces' in tempo.toml";
  return fmt::format("bind {}: {}; {}", address.text_with_port(), std::strerror(error), cure);
}

Result<UdpNetwork::Socket> UdpNetwork::bind_one(const NetworkOptions& options,
                                                const Address& address) const {
  TRY(descriptor, plain_socket(address.family(), SOCK_DGRAM, 0));
  const int number = descriptor.number();
  if (address.family() == AF_INET && !set_option(number, SOL_SOCKET, SO_BROADCAST, 1))
    return failure("SO_BROADCAST");
  if (address.family() == AF_INET6) set_option(number, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  const bool is_for_all = std::ranges::find_if(everyone_, [&](const Address& one) {
                            return one.with_port(0) == address.with_port(0);
                          }) != everyone_.end();
  // Several processes may share a broadcast address; each receives a copy. The first address is the
  // own one: a second daemon there is an error.
  if (is_for_all && !sockets_.empty() && !set_option(number, SOL_SOCKET, SO_REUSEADDR, 1))
    return failure("SO_REUSEADDR");
  if (is_for_all && !options.interface.empty()) {
    // Two interfaces may have the same broadcast address. Without the privilege for this call the
    // socket receives from both, and the caller recognises duplicates.
    setsockopt(number, SOL_SOCKET, SO_BINDTODEVICE, options.interface.c_str(),
               static_cast<socklen_t>(options.interface.size()));
  }
  if (::bind(number, address.raw(), address.size()) != 0)
    return std::unexpected(bind_error(address, errno));
  if (is_for_all && !sockets_.empty()) filter_own(number, sockets_.front().bound);

  const auto index = static_cast<int>(if_nametoindex(options.interface.c_str()));
  const int scope = address.scope() != 0 ? static_cast<int>(address.scope()) : index;
  if (options.multicast && address.family() == AF_INET6) {
    set_option(number, IPPROTO_IPV6, IPV6_MULTICAST_IF, scope);
    if (address.multicast()) {
      ipv6_mreq group{};
      sockaddr_in6 raw{};
      std::memcpy(&raw, address.raw(), sizeof raw);
      group.ipv6mr_multiaddr = raw.sin6_addr;
      group.ipv6mr_interface = static_cast<unsigned>(scope);
      if (!set_option(number, IPPROTO_IPV6, IPV6_JOIN_GROUP, group))
        return failure(fmt::format("join {}", address.text()));
    }
  } else if (options.multicast) {
    ip_mreqn group{};
    group.imr_ifindex = index;
    set_option(number, IPPROTO_IP, IP_MULTICAST_IF, group);
    if (address.multicast()) {
      sockaddr_in raw{};
      std::memcpy(&raw, address.raw(), sizeof raw);
      group.imr_multiaddr = raw.sin_addr;
      if (!set_option(number, IPPROTO_IP, IP_ADD_MEMBERSHIP, group))
        return failure(fmt::format("join {}", address.text()));
    }
  }

  Socket socket;
  socket.stamps = set_option(number, SOL_SOCKET, SO_TIMESTAMPING, stamp_flags() | kNumbered);
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (getsockname(number, reinterpret_cast<sockaddr*>(&storage), &size) != 0)
    return failure("getsockname");
  // Keep the requested address: a simulator names every socket by its host.
  socket.bound =
      address.with_port(Address{reinterpret_cast<const sockaddr*>(&storage), size}.port());
  socket.descriptor = std::move(descriptor);
  return socket;
}

std::vector<int> UdpNetwork::descriptors() const {
  std::vector<int> all;
  for (const Socket& socket : sockets_) all.push_back(socket.descriptor.number());
  return all;
}

std::vector<Address> UdpNetwork::bound() const {
  std::vector<Address> all;
  for (const Socket& socket : sockets_) all.push_back(socket.bound);
  return all;
}

std::optional<Received> UdpNetwork::take(Socket& socket, int flags) {
  sockaddr_storage from{};
  alignas(cmsghdr) Control control{};
  iovec part{.iov_base = buffer_.data(), .iov_len = buffer_.size()};
  msghdr header{};
  header.msg_name = &from;
  header.msg_namelen = sizeof from;
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const ssize_t bytes = recvmsg(socket.descriptor.number(), &header, flags);
  if (bytes < 0) return std::nullopt;
  return read_control(header, static_cast<std::size_t>(bytes));
}

std::optional<Instant> UdpNetwork::stamped(const Received& received) {
  if (received.card_stamp && card_ != nullptr) {
    if (const auto bracket = card_->read()) {
      if (const auto raw = card_converter_.convert(*bracket, nanos_of(*received.card_stamp))) {
        card_stamps_ = true;
        return oscillator_->at(*raw);
      }
    }
  }
  if (!received.stamp) return std::nullopt;
  return oscillator_->from_realtime(*received.stamp);
}

Arrival UdpNetwork::arrival_of(const Received& received, std::span<const std::byte> bytes) {
  kernel_stamps_ |= received.stamp.has_value();
  const std::optional<Instant> at = stamped(received);
  return {.bytes = bytes,
          .from = received.from,
          .at = at ? *at : oscillator_->now(),
          .kernel_stamp = at.has_value()};
}

std::optional<Arrival> UdpNetwork::receive() {
  if (early_) return std::exchange(early_, std::nullopt);
  std::size_t empty = 0;
  for (int tries = 0; tries < kMaxAtOnce && empty < sockets_.size(); ++tries) {
    const auto received = take(sockets_[turn_], 0);
    if (!received) {
      turn_ = (turn_ + 1) % sockets_.size();
      ++empty;
    } else if ((received->flags & MSG_TRUNC) != 0) {
      ++losses_.too_long;
      empty = 0;
    } else {
      const Arrival arrival = arrival_of(*received, std::span{buffer_}.first(received->bytes));
      turn_ = (turn_ + 1) % sockets_.size();  // a flood on one socket must not starve the others
      return arrival;
    }
  }
  return std::nullopt;
}

std::optional<Departure> UdpNetwork::departure() {
  if (!without_kernel_.empty()) {
    const Departure first = without_kernel_.front();
    without_kernel_.pop_front();
    return first;
  }
  for (std::size_t index = 0; index < sockets_.size(); ++index) {
    // Bounded: every iteration decrements `owed`.
    while (sockets_[index].owed > 0) {
      const auto received = take(sockets_[index], MSG_ERRQUEUE);
      if (!received) break;
      if ((received->flags & MSG_ERRQUEUE) == 0) {
        keep(*received);
        break;
      }
      --sockets_[index].owed;
      if (const auto departure = departure_of(index, *received)) return departure;
    }
  }
  if (!waiting_.empty() && oscillator_->now() - waiting_.front().called > kStampTimeout) {
    const Waiting first = waiting_.front();
    waiting_.pop_front();
    return without_stamp(first);
  }
  return std::nullopt;
}

std::optional<Departure> UdpNetwork::departure_of(std::size_t socket, const Received& received) {
  if ((!received.stamp && !received.card_stamp) || !received.about ||
      received.about->ee_origin != SO_EE_ORIGIN_TIMESTAMPING) {
    return std::nullopt;
  }
  const auto of_socket = [&](const Waiting& one) { return one.socket == socket; };
  auto found = std::ranges::find_if(waiting_, [&](const Waiting& one) {
    return of_socket(one) && one.number == received.about->ee_data;
  });
  if (received.bytes > 0) {
    // Only the timestamp was requested. clknetsim loops the datagram back with it, does not number
    // timestamps of single datagrams, and keeps only the newest.
    const auto newest = std::ranges::find_if(waiting_.rbegin(), waiting_.rend(), of_socket);
    found = newest == waiting_.rend() ? waiting_.end() : std::prev(newest.base());
  }
  if (found == waiting_.end()) return std::nullopt;
  const Waiting waiting = *found;
  const auto at = stamped(received);
  // A timestamp older than the send belongs to a datagram from before the numbering restarted. The
  // clock of a card is read less precisely than that of the kernel.
  const Nanos doubt = received.card_stamp ? 20us : 1us;
  if (at && *at < waiting.called - doubt) return std::nullopt;
  waiting_.erase(found);
  if (!at) return without_stamp(waiting);
  return Departure{.transmission = waiting.transmission, .at = *at, .kernel_stamp = true};
}

void UdpNetwork::keep(const Received& received) {
  if ((received.flags & MSG_TRUNC) != 0) {
    ++losses_.too_long;
    return;
  }
  early_bytes_.assign(buffer_.begin(),
                      buffer_.begin() + static_cast<std::ptrdiff_t>(received.bytes));
  early_ = arrival_of(received, early_bytes_);
}

std::optional<std::uint32_t> UdpNetwork::send(const Address& to, std::span<const std::byte> bytes,
                                              bool stamp) {
  const auto sender = std::ranges::find_if(
      sockets_, [&](const Socket& socket) { return socket.bound.family() == to.family(); });
  if (sender == sockets_.end()) {
    ++losses_.unsent[EAFNOSUPPORT];
    return std::nullopt;
  }
  // The kernel takes pointers to non-const but does not modify the data.
  iovec part{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
  msghdr header{};
  header.msg_name = const_cast<sockaddr*>(to.raw());
  header.msg_namelen = to.size();
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof kStampThis)> control{};
  const bool by_kernel = stamp && sender->stamps;
  if (by_kernel) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* const request = CMSG_FIRSTHDR(&header);
    request->cmsg_level = SOL_SOCKET;
    request->cmsg_type = SO_TIMESTAMPING;
    request->cmsg_len = CMSG_LEN(sizeof kStampThis);
    std::memcpy(CMSG_DATA(request), card_ ? &kCardStampThis : &kStampThis, sizeof kStampThis);
  }
  const Instant called = stamp ? oscillator_->now() : Instant{};
  if (sendmsg(sender->descriptor.number(), &header, 0) < 0) {
    ++losses_.unsent[errno];
    if (by_kernel) start_numbering_again(static_cast<std::size_t>(sender - sockets_.begin()));
    return std::nullopt;
  }
  if (!stamp) return std::nullopt;
  const std::uint32_t transmission = ++transmissions_;
  if (!by_kernel) {
    without_kernel_.push_back({.transmission = transmission, .at = called});
    if (without_kernel_.size() > kMaxWaiting) without_kernel_.pop_front();
    return transmission;
  }
  waiting_.push_back({.socket = static_cast<std::size_t>(sender - sockets_.begin()),
                      .number = sender->next++,
                      .transmission = transmission,
                      .called = called});
  ++sender->owed;
  if (waiting_.size() > kMaxWaiting) waiting_.pop_front();
  return transmission;
}

// Depending on the kernel version, a datagram that could not be sent used up a number or not.
void UdpNetwork::start_numbering_again(std::size_t index) {
  Socket& socket = sockets_[index];
  const int number = socket.descriptor.number();
  socket.stamps = set_option(number, SOL_SOCKET, SO_TIMESTAMPING, stamp_flags()) &&
                  set_option(number, SOL_SOCKET, SO_TIMESTAMPING, stamp_flags() | kNumbered);
  socket.next = 0;
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    if (waiting.socket != index) return false;
    without_kernel_.push_back(without_stamp(waiting));
    if (without_kernel_.size() > kMaxWaiting) without_kernel_.pop_front();
    return true;
  });
}

void UdpNetwork::broadcast(std::span<const std::byte> bytes) {
  for (const Address& one : everyone_) send(one, bytes, false);
}

}  // namespace

Result<std::unique_ptr<Network>> Network::open(const NetworkOptions& options,
                                               Oscillator& oscillator) {
  auto network = std::make_unique<UdpNetwork>(options, oscillator);
  if (auto bound = network->bind_all(options); !bound) return std::unexpected(bound.error());
  return network;
}

}  // namespace tempo::sys
