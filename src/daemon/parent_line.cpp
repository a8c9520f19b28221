#include "daemon/parent_line.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fcntl.h>
#include <sys/socket.h>

namespace tempo::daemon {

ParentLine::ParentLine() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()) != 0) return;
  // A hook that inherited an end would keep the connection open after the parent is gone.
  for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
  parents_ = sys::Descriptor(ends[0]);
  workers_ = sys::Descriptor(ends[1]);
}

int ParentLine::own() const { return parents_.none() ? workers_.number() : parents_.number(); }

int ParentLine::descriptor() const { return own(); }

bool ParentLine::send(std::string_view text) const {
  return text.size() <= kMaxBytes &&
         ::send(own(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

std::string ParentLine::receive() const {
  std::string text(kMaxBytes, '\0');
  const ssize_t size = ::recv(own(), text.data(), text.size(), MSG_DONTWAIT);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return text;
}

}  // namespace tempo::daemon
