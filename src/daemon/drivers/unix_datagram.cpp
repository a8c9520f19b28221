#include "daemon/drivers/unix_datagram.h"

#include <cerrno>
#include <utility>

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/unix_address.h"

namespace tempo::daemon {
namespace {

constexpr mode_t kOwnerOnly = 0600;

// Removes a socket file that nobody listens to.
Result<void> make_room(const std::string& path, const sys::UnixAddress& address) {
  struct stat file{};
  if (lstat(path.c_str(), &file) != 0) return {};
  if (!S_ISSOCK(file.st_mode))
    return std::unexpected(fmt::format("{} exists and is not a socket; remove it", path));
  TRY(probe, sys::plain_socket(AF_UNIX, SOCK_DGRAM, 0));
  if (connect(probe.number(), address.generic(), address.size) == 0)
    return std::unexpected(
        fmt::format("another program listens on {}; stop it, or use another path", path));
  if (errno == ECONNREFUSED) unlink(path.c_str());
  return {};
}

}  // namespace

Result<UnixDatagramSocket> UnixDatagramSocket::open(const std::string& path,
                                                    std::optional<uid_t> owner) {
  TRY(address, sys::unix_address(path));
  if (const auto free = make_room(path, address); !free) return std::unexpected(free.error());
  TRY(socket, sys::plain_socket(AF_UNIX, SOCK_DGRAM, 0));
  // With no rights for others from its first moment on.
  const mode_t before = umask(0177);
  const bool bound = bind(socket.number(), address.generic(), address.size) == 0;
  const int error = errno;
  umask(before);
  if (!bound) return sys::failure(fmt::format("bind {}", path), error);
  UnixDatagramSocket opened{std::move(socket), path};
  if (chmod(path.c_str(), kOwnerOnly) != 0) return sys::failure(fmt::format("chmod {}", path));
  if (owner && chown(path.c_str(), *owner, static_cast<gid_t>(-1)) != 0)
    return sys::failure(fmt::format("chown {}", path));
  return opened;
}

UnixDatagramSocket::UnixDatagramSocket(sys::Descriptor socket, std::string path)
    : socket_(std::move(socket)), path_(std::move(path)) {
  struct stat file{};
  if (lstat(path_.c_str(), &file) == 0) {
    device_ = file.st_dev;
    inode_ = file.st_ino;
  }
}

UnixDatagramSocket::~UnixDatagramSocket() {
  if (socket_.none()) return;
  struct stat file{};
  if (lstat(path_.c_str(), &file) == 0 && file.st_dev == device_ && file.st_ino == inode_)
    unlink(path_.c_str());
}

std::optional<std::size_t> UnixDatagramSocket::receive(std::span<std::byte> buffer) const {
  const ssize_t size = recv(socket_.number(), buffer.data(), buffer.size(), MSG_TRUNC);
  if (size < 0) return std::nullopt;
  return static_cast<std::size_t>(size);
}

}  // namespace tempo::daemon
