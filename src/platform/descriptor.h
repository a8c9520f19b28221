// A file descriptor that closes itself, and socket creation that works under simulators.
//
// Sockets are created by plain socket(); fcntl() then sets O_NONBLOCK and FD_CLOEXEC, because
// clknetsim, which simulates clock and network, does not know SOCK_NONBLOCK and SOCK_CLOEXEC
// (decision 014). A system error becomes a sentence: the operation that failed and the text of
// errno.
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

// Formats an error such as "bind 192.0.2.7:525: Address already in use", from errno or from the
// number given.
std::unexpected<std::string> failure(std::string_view what);
std::unexpected<std::string> failure(std::string_view what, int error);

Result<void> make_plain(int descriptor);  // sets O_NONBLOCK and FD_CLOEXEC
Result<Descriptor> plain_socket(int family, int type, int protocol);

}  // namespace tempo::sys
