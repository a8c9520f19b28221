#include "platform/unix_socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "platform/unix_address.h"

namespace tempo::sys {
namespace {

constexpr int kWaiting = 512;  // length of the accept queue

// Binds with no rights for others; the caller then sets the mode with chmod().
bool bind_privately(const Descriptor& socket, const UnixAddress& address) {
  const mode_t before = umask(0177);
  const bool bound = ::bind(socket.number(), address.generic(), address.size) == 0;
  const int error = errno;
  umask(before);
  errno = error;
  return bound;
}

// Removes a socket file that has no listener.
Result<void> remove_stale_socket(const std::string& path) {
  struct stat file{};
  if (lstat(path.c_str(), &file) != 0) return {};
  if (!S_ISSOCK(file.st_mode))
    return std::unexpected(
        fmt::format("{} exists and is not a socket; remove it or choose another path", path));
  if (auto listener = connect_unix(path); listener || errno != ECONNREFUSED)
    return std::unexpected(fmt::format(
        "{} is in use: another process listens on it; stop it or choose another path", path));
  if (unlink(path.c_str()) != 0) return failure(fmt::format("remove {}", path));
  return {};
}

Descriptor make_spare() { return Descriptor{::open("/dev/null", O_RDONLY | O_CLOEXEC)}; }

}  // namespace

Result<UnixListener> UnixListener::open(const std::string& path, mode_t mode) {
  TRY(address, unix_address(path));
  TRY(socket, plain_socket(AF_UNIX, SOCK_STREAM, 0));
  if (!bind_privately(socket, address)) {
    if (errno != EADDRINUSE) return failure(fmt::format("bind {}", path));
    if (auto removed = remove_stale_socket(path); !removed) return std::unexpected(removed.error());
    if (!bind_privately(socket, address)) return failure(fmt::format("bind {}", path));
  }
  UnixListener listener{std::move(socket), path};
  if (chmod(path.c_str(), mode) != 0) return failure(fmt::format("chmod {}", path));
  if (listen(listener.descriptor(), kWaiting) != 0) return failure(fmt::format("listen {}", path));
  return listener;
}

UnixListener::UnixListener(Descriptor socket, std::string path)
    : socket_(std::move(socket)), path_(std::move(path)), spare_(make_spare()) {
  struct stat file{};
  if (lstat(path_.c_str(), &file) == 0) {
    device_ = file.st_dev;
    inode_ = file.st_ino;
  }
}

UnixListener::~UnixListener() {
  if (socket_.none()) return;
  struct stat file{};
  if (lstat(path_.c_str(), &file) == 0 && file.st_dev == device_ && file.st_ino == inode_)
    unlink(path_.c_str());
}

std::optional<Descriptor> UnixListener::accept() {
  Descriptor accepted{::accept(socket_.number(), nullptr, nullptr)};
  exhausted_ = accepted.none() &&
               (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
  if (exhausted_) {
    spare_.close();
    Descriptor{::accept(socket_.number(), nullptr, nullptr)}.close();
    spare_ = make_spare();
  }
  if (accepted.none() || !make_plain(accepted.number())) return std::nullopt;
  return accepted;
}

Result<Descriptor> connect_unix(const std::string& path) {
  TRY(address, unix_address(path));
  TRY(socket, plain_socket(AF_UNIX, SOCK_STREAM, 0));
  if (connect(socket.number(), address.generic(), address.size) != 0) {
    const int error = errno;
    socket.close();
    errno = error;
    return failure(fmt::format("connect {}", path));
  }
  return socket;
}

LineConnection::LineConnection(Descriptor socket) : socket_(std::move(socket)) {}

short LineConnection::events() const {
  if (queued() > 0 || line_is_here()) return POLLOUT;
  return ended_ ? 0 : POLLIN;
}

bool LineConnection::line_is_here() const {
  return input_.find('\n', searched_) != std::string::npos || (ended_ && !input_.empty());
}

std::optional<Credentials> LineConnection::peer() const {
  ucred known{};
  socklen_t size = sizeof known;
  if (getsockopt(socket_.number(), SOL_SOCKET, SO_PEERCRED, &known, &size) != 0)
    return std::nullopt;
  return Credentials{.process = known.pid, .user = known.uid, .group = known.gid};
}

bool LineConnection::peer_in_group(gid_t group) const {
  if (const auto known = peer(); known && known->group == group) return true;
  std::array<gid_t, 256> groups{};
  socklen_t size = sizeof groups;
  if (getsockopt(socket_.number(), SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) != 0)
    return false;
  return std::ranges::count(std::span(groups).first(size / sizeof(gid_t)), group) > 0;
}

std::optional<std::string> LineConnection::line() {
  if (broken()) return std::nullopt;
  std::size_t end = input_.find('\n', searched_);
  // Bounded: every iteration adds input, and the input is limited.
  while (end == std::string::npos && !ended_ && input_.size() <= kMaxLine) {
    const std::size_t before = input_.size();
    read_some();
    if (input_.size() == before) break;
    end = input_.find('\n', before);
  }
  searched_ = end == std::string::npos ? input_.size() : 0;
  if (broken()) return std::nullopt;
  if (end > kMaxLine && input_.size() > kMaxLine) {
    too_long_ = true;
    break_off("line too long");
    return std::nullopt;
  }
  if (end == std::string::npos) {
    if (!ended_ || input_.empty()) return std::nullopt;
    searched_ = 0;
    return std::exchange(input_, {});
  }
  std::string line = input_.substr(0, end);
  input_.erase(0, end + 1);
  return line;
}

void LineConnection::read_some() {
  std::array<char, kMaxLine> some;
  const ssize_t size = recv(socket_.number(), some.data(), some.size(), 0);
  if (size > 0) {
    input_.append(some.data(), static_cast<std::size_t>(size));
  } else if (size == 0) {
    ended_ = true;
  } else if (errno != EAGAIN && errno != EINTR) {
    break_off("read error");
  }
}

bool LineConnection::write(std::string_view line) {
  CHECK(!line.contains('\n'));
  if (broken()) return false;
  if (queued() > 0 && queued() + line.size() + 1 > kMaxQueued)
    return break_off("client reads too slowly");
  output_.append(line);
  output_.push_back('\n');
  return flush();
}

bool LineConnection::flush() {
  while (!broken() && queued() > 0) {
    const ssize_t size = send(socket_.number(), output_.data() + sent_, queued(), MSG_NOSIGNAL);
    if (size > 0) {
      sent_ += static_cast<std::size_t>(size);
    } else if (size < 0 && errno == EAGAIN) {
      break;
    } else if (size < 0 && errno != EINTR) {
      return break_off("peer closed the connection");
    }
  }
  if (queued() == 0) {
    if (output_.capacity() > 2 * kMaxQueued)
      output_ = {};  // long answers are rare: release the memory
    output_.clear();
    sent_ = 0;
  } else if (sent_ >= kMaxQueued) {
    output_.erase(0, std::exchange(sent_, 0));
  }
  return !broken();
}

void LineConnection::write_final(std::string_view line) const {
  CHECK(broken() && !line.contains('\n'));
  if (cut_) return;
  const std::string text = std::string(line) + '\n';
  (void)!send(socket_.number(), text.data(), text.size(), MSG_NOSIGNAL);
}

bool LineConnection::break_off(const char* why) {
  broken_ = why;
  cut_ = queued() > 0;
  ended_ = true;
  input_.clear();
  output_.clear();
  searched_ = 0;
  sent_ = 0;
  return false;
}

}  // namespace tempo::sys
