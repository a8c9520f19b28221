#include "platform/clocks/timestamp_socket.h"

#include <cerrno>

#include <linux/icmp.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace tempo::sys {

Result<TimestampSocket> TimestampSocket::open() {
  auto descriptor = plain_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
  if (!descriptor) {
    if (errno == EPERM || errno == EACCES)
      return std::unexpected(
          "cannot measure clocks with ICMP timestamps: permission denied; run as root or with "
          "CAP_NET_RAW");
    return std::unexpected(descriptor.error());
  }
  const icmp_filter others{.data = ~((1U << ICMP_TIMESTAMP) | (1U << ICMP_TIMESTAMPREPLY))};
  if (setsockopt(descriptor->number(), SOL_RAW, ICMP_FILTER, &others, sizeof others) != 0)
    return failure("ICMP_FILTER");
  return TimestampSocket(*std::move(descriptor));
}

std::optional<TimestampSocket::Received> TimestampSocket::receive() {
  sockaddr_storage from{};
  socklen_t size = sizeof from;
  const ssize_t bytes = recvfrom(descriptor_.number(), buffer_.data(), buffer_.size(), 0,
                                 reinterpret_cast<sockaddr*>(&from), &size);
  if (bytes < 0) return std::nullopt;
  return Received{.packet = std::span(buffer_).first(static_cast<std::size_t>(bytes)),
                  .from = Address{reinterpret_cast<const sockaddr*>(&from), size}.with_port(0)};
}

void TimestampSocket::send(const Address& to, std::span<const std::byte> message) const {
  const Address target = to.with_port(0);
  (void)sendto(descriptor_.number(), message.data(), message.size(), 0, target.raw(),
               target.size());
}

}  // namespace tempo::sys
