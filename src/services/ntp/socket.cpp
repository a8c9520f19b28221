#include "services/ntp/socket.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/core.h>
#include <linux/errqueue.h>
#include <linux/filter.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

namespace tempo::ntp {
namespace {

constexpr std::uint32_t kStamps =
    SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_CMSG;
constexpr int kReceiveBuffer = 1 << 20;  // the kernel may grant less
using Control = std::array<std::byte, 512>;

template <class T>
bool set_option(int socket, int level, int name, const T& value) {
  return setsockopt(socket, level, name, &value, sizeof value) == 0;
}

// Best effort: where the kernel refuses, the server ignores the same datagrams.
void filter_requests(int socket) {
  constexpr std::uint32_t kUdpHeader = 8;
  constexpr std::uint32_t kAllOfIt = 0xFFFFFFFF;
  // The filter sees the datagram from its UDP header on. Jumps count the instructions to skip.
  std::array<sock_filter, 9> program{{
      {BPF_LD | BPF_W | BPF_LEN, 0, 0, 0},
      {BPF_JMP | BPF_JGE | BPF_K, 0, 6, kUdpHeader + kPacketBytes},
      {BPF_LD | BPF_B | BPF_ABS, 0, 0, kUdpHeader},
      {BPF_ALU | BPF_AND | BPF_K, 0, 0, 0x3f},         // version and mode
      {BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 4U << 3 | 3},  // version 4, client
      {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 3U << 3 | 3},  // version 3, client
      {BPF_JMP | BPF_JA, 0, 0, 1},
      {BPF_RET | BPF_K, 0, 0, kAllOfIt},
      {BPF_RET | BPF_K, 0, 0, 0},
  }};
  const sock_fprog filter{.len = program.size(), .filter = program.data()};
  set_option(socket, SOL_SOCKET, SO_ATTACH_FILTER, filter);
}

sys::Address address_of(const in_addr& address) {
  sockaddr_in raw{};
  raw.sin_family = AF_INET;
  raw.sin_addr = address;
  return {reinterpret_cast<const sockaddr*>(&raw), sizeof raw};
}

sys::Address address_of(const in6_addr& address) {
  sockaddr_in6 raw{};
  raw.sin6_family = AF_INET6;
  raw.sin6_addr = address;
  return {reinterpret_cast<const sockaddr*>(&raw), sizeof raw};
}

template <class T>
std::optional<T> content_of(const cmsghdr& part, int level, int type) {
  if (part.cmsg_level != level || part.cmsg_type != type || part.cmsg_len < CMSG_LEN(sizeof(T)))
    return std::nullopt;
  T value;
  std::memcpy(&value, CMSG_DATA(&part), sizeof value);
  return value;
}

// The control data of a datagram.
struct Described {
  sys::Address local;
  unsigned interface = 0;
  std::optional<timespec> stamp;
};

Described described(msghdr& header) {
  Described found;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (const auto stamps = content_of<scm_timestamping>(*part, SOL_SOCKET, SCM_TIMESTAMPING)) {
      if (stamps->ts[0].tv_sec != 0) found.stamp = stamps->ts[0];
    } else if (const auto info = content_of<in_pktinfo>(*part, IPPROTO_IP, IP_PKTINFO)) {
      found.local = address_of(info->ipi_spec_dst);
      found.interface = static_cast<unsigned>(info->ipi_ifindex);
    } else if (const auto info6 = content_of<in6_pktinfo>(*part, IPPROTO_IPV6, IPV6_PKTINFO)) {
      found.local = address_of(info6->ipi6_addr);
      found.interface = info6->ipi6_ifindex;
    }
  }
  return found;
}

// Appends control data to a message that has room for it.
class ControlWriter {
 public:
  explicit ControlWriter(Control& control) : control_(&control) {}
  template <class T>
  void put(int level, int type, const T& value) {
    cmsghdr head{};
    head.cmsg_level = level;
    head.cmsg_type = type;
    head.cmsg_len = CMSG_LEN(sizeof value);
    std::memcpy(control_->data() + used_, &head, sizeof head);
    std::memcpy(control_->data() + used_ + CMSG_LEN(0), &value, sizeof value);
    used_ += CMSG_SPACE(sizeof value);
  }
  std::size_t used() const { return used_; }

 private:
  Control* control_;
  std::size_t used_ = 0;
};

std::string bind_error(const sys::Address& address, int error) {
  const char* const cure =
      error == EADDRINUSE ? "another program uses this port: stop it, or set another ntp.port"
      : error == EACCES   ? "grant CAP_NET_BIND_SERVICE, or set an ntp.port of at least 1024"
                          : "check ntp.listen in tempo.toml";
  return fmt::format("bind {}: {}; {}", address.text_with_port(), std::strerror(error), cure);
}

}  // namespace

Result<Socket> Socket::open(const sys::Address& address, bool server) {
  TRY(descriptor, sys::plain_socket(address.family(), SOCK_DGRAM, 0));
  const int number = descriptor.number();
  if (address.family() == AF_INET6) {
    set_option(number, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    set_option(number, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
  } else {
    set_option(number, IPPROTO_IP, IP_PKTINFO, 1);
  }
  set_option(number, SOL_SOCKET, SO_RCVBUF, kReceiveBuffer);
  if (server) filter_requests(number);
  if (::bind(number, address.raw(), address.size()) != 0)
    return std::unexpected(bind_error(address, errno));
  set_option(number, SOL_SOCKET, SO_TIMESTAMPING, kStamps);
  return Socket(std::move(descriptor));
}

std::optional<Socket::Arrival> Socket::receive() {
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
  const ssize_t bytes = recvmsg(descriptor(), &header, 0);
  if (bytes < 0) return std::nullopt;
  const Described found = described(header);
  return Arrival{.bytes = std::span{buffer_}.first(static_cast<std::size_t>(bytes)),
                 .from = {reinterpret_cast<const sockaddr*>(&from), header.msg_namelen},
                 .asked = found.local,
                 .interface = found.interface,
                 .stamp = found.stamp};
}

bool Socket::answer(const Arrival& to, const PacketBytes& bytes, bool stamp) const {
  PacketBytes sent = bytes;
  iovec part{.iov_base = sent.data(), .iov_len = sent.size()};
  alignas(cmsghdr) Control control{};
  ControlWriter writer(control);
  if (stamp) writer.put(SOL_SOCKET, SO_TIMESTAMPING, std::uint32_t{SOF_TIMESTAMPING_TX_SOFTWARE});
  if (to.asked.family() == AF_INET) {
    sockaddr_in raw{};
    std::memcpy(&raw, to.asked.raw(), sizeof raw);
    in_pktinfo info{};
    info.ipi_spec_dst = raw.sin_addr;
    writer.put(IPPROTO_IP, IP_PKTINFO, info);
  } else if (to.asked.family() == AF_INET6 && !to.asked.multicast()) {
    sockaddr_in6 raw{};
    std::memcpy(&raw, to.asked.raw(), sizeof raw);
    in6_pktinfo info{};
    info.ipi6_addr = raw.sin6_addr;
    // Of a link-local address, which does not name its link.
    if (to.from.scope() != 0) info.ipi6_ifindex = to.interface;
    writer.put(IPPROTO_IPV6, IPV6_PKTINFO, info);
  }
  msghdr header{};
  header.msg_name = const_cast<sockaddr*>(to.from.raw());  // NOLINT: sendmsg does not write it
  header.msg_namelen = to.from.size();
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (writer.used() > 0) {
    header.msg_control = control.data();
    header.msg_controllen = writer.used();
  }
  return sendmsg(descriptor(), &header, 0) == static_cast<ssize_t>(sent.size());
}

bool Socket::send(const sys::Address& to, const PacketBytes& bytes) const {
  return sendto(descriptor(), bytes.data(), bytes.size(), 0, to.raw(), to.size()) ==
         static_cast<ssize_t>(bytes.size());
}

// The kernel returns the frame that left, with its headers; the answer is at its end.
std::optional<Socket::Departure> Socket::departure() {
  alignas(cmsghdr) Control control{};
  iovec part{.iov_base = buffer_.data(), .iov_len = buffer_.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const ssize_t bytes = recvmsg(descriptor(), &header, MSG_ERRQUEUE);
  if (bytes < 0) return std::nullopt;
  const auto frame = std::span{buffer_}.first(static_cast<std::size_t>(bytes));
  const Described found = described(header);
  if (frame.size() < kPacketBytes || !found.stamp) return Departure{};
  return Departure{.answer = *decode(frame.last(kPacketBytes)), .stamp = *found.stamp};
}

}  // namespace tempo::ntp
