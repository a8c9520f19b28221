// Decides what the process at the other end of a connection may do, by its credentials.
#pragma once

#include <optional>

#include <unistd.h>

#include "daemon/control/connection.h"
#include "platform/unix_socket.h"

namespace tempo::daemon {

class Authorizer {
 public:
  Privilege privilege_of(const sys::LineConnection& socket) const {
    const std::optional<sys::Credentials> peer = socket.peer();
    if (!peer) return Privilege::read;
    if (peer->user == 0 || peer->user == ::geteuid() || peer->user == owner_)
      return Privilege::change;
    return socket.peer_in_group(::getegid()) ? Privilege::lock : Privilege::read;
  }

 private:
  uid_t owner_ = ::getuid();  // user who started the daemon, before it changed its user
};

}  // namespace tempo::daemon
