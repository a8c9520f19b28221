#include "services/vip/neighbour_socket.h"

#include <algorithm>

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace tempo::vip {
namespace {

constexpr std::size_t kMaxFrame = 1518;

Result<sys::Descriptor> packet_socket(std::uint16_t protocol) {
  auto socket = sys::plain_socket(AF_PACKET, SOCK_RAW, htons(protocol));
  if (socket) return socket;
  return std::unexpected(socket.error() +
                         "; tempo-vip needs CAP_NET_ADMIN and CAP_NET_RAW, as its unit grants");
}

// Only neighbour advertisements pass.
Result<void> filter_advertisements(const sys::Descriptor& socket) {
  constexpr std::uint32_t kNextHeader = ETH_HLEN + 6;
  constexpr std::uint32_t kIcmpType = ETH_HLEN + 40;
  std::array<sock_filter, 6> program{{
      {BPF_LD | BPF_B | BPF_ABS, 0, 0, kNextHeader},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, IPPROTO_ICMPV6},
      {BPF_LD | BPF_B | BPF_ABS, 0, 0, kIcmpType},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 136},
      {BPF_RET | BPF_K, 0, 0, kMaxFrame},
      {BPF_RET | BPF_K, 0, 0, 0},
  }};
  const sock_fprog filter{.len = program.size(), .filter = program.data()};
  if (setsockopt(socket.number(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) != 0)
    return sys::failure("filter neighbour advertisements");
  return {};
}

}  // namespace

Result<NeighbourSocket> NeighbourSocket::open() {
  NeighbourSocket sockets;
  TRY(arp, packet_socket(ETH_P_ARP));
  TRY(neighbour, packet_socket(ETH_P_IPV6));
  if (auto filtered = filter_advertisements(neighbour); !filtered)
    return std::unexpected(filtered.error());
  sockets.arp_ = std::move(arp);
  sockets.neighbour_ = std::move(neighbour);
  return sockets;
}

void NeighbourSocket::send(int interface, const AddressPrefix& about,
                           std::span<const std::byte> frame) const {
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_ifindex = interface;
  to.sll_protocol = htons(about.family == AF_INET ? ETH_P_ARP : ETH_P_IPV6);
  to.sll_halen = ETH_ALEN;
  std::copy_n(reinterpret_cast<const unsigned char*>(frame.data()), ETH_ALEN, to.sll_addr);
  (void)sendto(arp_.number(), frame.data(), frame.size(), MSG_DONTWAIT,
               reinterpret_cast<const sockaddr*>(&to), sizeof to);
}

void NeighbourSocket::receive(const std::function<void(int interface, const Claim&)>& each) const {
  for (const int socket : descriptors())
    for (int i = 0; i < kMaxAtOnce; ++i) {
      std::array<std::byte, kMaxFrame> frame;
      sockaddr_ll from{};
      socklen_t size = sizeof from;
      const ssize_t got = recvfrom(socket, frame.data(), frame.size(), MSG_DONTWAIT,
                                   reinterpret_cast<sockaddr*>(&from), &size);
      if (got < 0) break;
      if (from.sll_pkttype == PACKET_OUTGOING) continue;
      if (const auto claim = read_claim(std::span{frame}.first(static_cast<std::size_t>(got))))
        each(from.sll_ifindex, *claim);
    }
}

}  // namespace tempo::vip
