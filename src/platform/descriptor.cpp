#include "platform/descriptor.h"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tempo::sys {

void Descriptor::close() {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

std::unexpected<std::string> failure(std::string_view what) { return failure(what, errno); }

std::unexpected<std::string> failure(std::string_view what, int error) {
  return std::unexpected(fmt::format("{}: {}", what, std::generic_category().message(error)));
}

Result<void> make_plain(int descriptor) {
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) != 0) return failure("fcntl");
  // Failure is ignored: a simulator without child processes may not implement FD_CLOEXEC.
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return {};
}

Result<Descriptor> plain_socket(int family, int type, int protocol) {
  Descriptor made{::socket(family, type, protocol)};
  if (made.none()) return failure("socket");
  if (auto plain = make_plain(made.number()); !plain) return std::unexpected(plain.error());
  return made;
}

}  // namespace tempo::sys
