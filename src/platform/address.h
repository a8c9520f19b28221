// An IPv4 or IPv6 address with port and scope: a value that can be compared and printed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <sys/socket.h>

#include "base/result.h"

namespace tempo::sys {

class Address {
 public:
  Address() = default;  // none
  Address(const sockaddr* from, socklen_t size);

  // Accepts "192.0.2.7", "192.0.2.7:525", "fe80::1%eth0" and "[fe80::1%eth0]:525". Host names are
  // not resolved. `port` is used if the text has none.
  static Result<Address> parse(std::string_view text, std::uint16_t port);

  bool none() const { return size_ == 0; }
  int family() const { return storage_.ss_family; }
  std::uint16_t port() const;
  Address with_port(std::uint16_t port) const;
  std::uint32_t scope() const;  // interface index of an IPv6 link-local address; 0: none
  bool multicast() const;
  bool any() const;  // 0.0.0.0 or ::
  const sockaddr* raw() const;
  socklen_t size() const { return size_; }
  std::string text() const;  // without the port
  std::string text_with_port() const;
  bool operator==(const Address& other) const;

 private:
  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

}  // namespace tempo::sys
