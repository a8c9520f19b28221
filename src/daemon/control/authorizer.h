// Decides what the process at the other end of a connection may do, by its credentials.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <unistd.h>

#include "daemon/control/connection.h"
#include "platform/confinement.h"
#include "platform/unix_socket.h"

namespace tempo::daemon {

class Authorizer {
 public:
  // `candidates`: names of the users that may stand for groups and nothing more. They are looked up
  // now, because the system call filter forbids it later; a name without a user is ignored.
  explicit Authorizer(const std::vector<std::string>& candidates) {
    for (const std::string& name : candidates)
      if (const auto user = sys::user_id(name)) candidates_.push_back(*user);
  }
  Privilege privilege_of(const sys::LineConnection& socket) const {
    const std::optional<sys::Credentials> peer = socket.peer();
    if (!peer) return Privilege::read;
    if (peer->user == 0 || peer->user == ::geteuid() || peer->user == owner_)
      return Privilege::change;
    if (socket.peer_in_group(::getegid())) return Privilege::lock;
    const bool stands = std::ranges::find(candidates_, peer->user) != candidates_.end();
    return stands ? Privilege::elect : Privilege::read;
  }

 private:
  std::vector<uid_t> candidates_;
  uid_t owner_ = ::getuid();  // user who started the daemon, before it changed its user
};

}  // namespace tempo::daemon
