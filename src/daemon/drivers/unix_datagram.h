// A unix socket that receives datagrams from local programs.
//
// It owns its socket file, as UnixListener does: it replaces a file that nobody listens to, never
// one with a listener, and never a file that is not a socket. Only the owner of the file and root
// may send. No call blocks.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include <sys/types.h>

#include "base/result.h"
#include "platform/descriptor.h"

namespace tempo::daemon {

class UnixDatagramSocket {
 public:
  // `owner`: user who may send, beside root; unset: the user of this process.
  static Result<UnixDatagramSocket> open(const std::string& path, std::optional<uid_t> owner);
  ~UnixDatagramSocket();  // removes the file if it is still the one of this socket
  UnixDatagramSocket(UnixDatagramSocket&&) noexcept = default;
  UnixDatagramSocket& operator=(UnixDatagramSocket&&) = delete;
  UnixDatagramSocket(const UnixDatagramSocket&) = delete;
  UnixDatagramSocket& operator=(const UnixDatagramSocket&) = delete;

  int descriptor() const { return socket_.number(); }  // to poll for POLLIN
  const std::string& path() const { return path_; }

  // Size of the next datagram, which may exceed that of the buffer: then the rest is lost. Nothing:
  // none is waiting.
  std::optional<std::size_t> receive(std::span<std::byte> buffer) const;

 private:
  UnixDatagramSocket(sys::Descriptor socket, std::string path);

  sys::Descriptor socket_;
  std::string path_;
  dev_t device_ = 0;  // with `inode_` it identifies the file
  ino_t inode_ = 0;
};

}  // namespace tempo::daemon
