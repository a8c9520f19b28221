#include "platform/unix_address.h"

#include <algorithm>
#include <cstddef>

#include <fmt/core.h>

namespace tempo::sys {

Result<UnixAddress> unix_address(std::string_view path) {
  UnixAddress address;
  if (path.empty() || path.size() >= sizeof address.raw.sun_path)
    return std::unexpected(fmt::format("'{}' is too long or too short for a socket", path));
  address.raw.sun_family = AF_UNIX;
  std::ranges::copy(path, address.raw.sun_path);
  if (path.front() == '@') address.raw.sun_path[0] = '\0';
  // The kernel counts every byte of an abstract name, and none after a path's end.
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  if (path.front() != '@') ++address.size;
  return address;
}

}  // namespace tempo::sys
