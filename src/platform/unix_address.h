// Address of a unix socket. A path that is too long is an error.
#pragma once

#include <string_view>

#include <sys/socket.h>
#include <sys/un.h>

#include "base/result.h"

namespace tempo::sys {

struct UnixAddress {
  sockaddr_un raw{};
  socklen_t size = 0;

  const sockaddr* generic() const { return reinterpret_cast<const sockaddr*>(&raw); }
};

Result<UnixAddress> unix_address(std::string_view path);  // "@name": abstract namespace

}  // namespace tempo::sys
