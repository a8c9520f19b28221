// A file descriptor that is closed when its owner goes, and sockets as the simulators know them.
//
// Sockets are made by a plain socket() and told by fcntl() not to block and not to be inherited:
// SOCK_NONBLOCK and SOCK_CLOEXEC are unknown where tempo runs under a simulated clock and network
// (decision 014). Failures of the system are sentences: what was tried, and what the kernel said.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace tempo::sys {

class Descriptor {
 public:
  Descriptor() = default;  // none
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  bool none() const { return number_ < 0; }
  int release() { return std::exchange(number_, -1); }
  void close();

 private:
  int number_ = -1;
};

// "bind 192.0.2.7:525: Address already in use", from errno or from the number given.
std::unexpected<std::string> failure(std::string_view what);
std::unexpected<std::string> failure(std::string_view what, int error);

Result<void> make_plain(int descriptor);  // does not block, is not inherited
Result<Descriptor> plain_socket(int family, int type, int protocol);

}  // namespace tempo::sys
