#include "platform/unix_address.h"

#include <algorithm>
#include <cstddef>

#include <fmt/core.h>

namespace tempo::sys {

Result<UnixAddress> unix_address(std::string_view path) {
  UnixAddress address;
  if (path.empty() || path.size() >= sizeof address.raw.sun_path)
    return std::unexpected(fmt::format("'{}' is not a valid socket path: 1 to {} bytes", path,
                                       sizeof address.raw.sun_path - 1));
  address.raw.sun_family = AF_UNIX;
  std::ranges::copy(path, address.raw.sun_path);
  if (path.front() == '@') address.raw.sun_path[0] = '\0';
  // Every byte of an abstract name counts; a path ends with a zero byte, which counts too.
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  if (path.front() != '@') ++address.size;
  return address;
}

}  // namespace tempo::sys
