#include "client/client.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/span_text.h"

namespace tempo::client {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kStart = "start it with 'systemctl start tempod' or give --socket";
constexpr auto kConnectRetry =
    std::chrono::milliseconds(20);  // pause while tempod's listen queue is full

ErrorCode code_of(ipc::Code code) {
  if (code == ipc::Code::not_allowed) return ErrorCode::not_allowed;
  return code == ipc::Code::bad_request ? ErrorCode::bad_request : ErrorCode::refused;
}

std::unexpected<Error> fail(ErrorCode code, std::string message) {
  return std::unexpected(Error{code, std::move(message)});
}

int to_poll_ms(Clock::duration left) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::clamp<std::int64_t>(ms, 0, 60'000));
}

Error no_answer(Nanos timeout) {
  return {ErrorCode::no_answer,
          fmt::format("tempod did not answer within {}; check 'systemctl status tempod', or raise "
                      "--timeout",
                      span_text(timeout))};
}

Error connect_error(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return {ErrorCode::not_running,
              fmt::format("tempod is not running here (no socket {}); {}", path, kStart)};
    case ECONNREFUSED:
      return {
          ErrorCode::not_running,
          fmt::format("tempod is not running here (no process listens on {}); {}", path, kStart)};
    case EACCES:
    case EPERM:
      return {
          ErrorCode::not_allowed,
          fmt::format("permission denied on {}; use sudo, or join the group that owns the socket",
                      path)};
    default:
      return {ErrorCode::not_running, fmt::format("cannot connect to tempod at {} ({}); {}", path,
                                                  std::strerror(error), kStart)};
  }
}

}  // namespace

Client::Client(int socket, std::string path, Nanos timeout)
    : socket_(socket), path_(std::move(path)), timeout_(timeout) {}
Client::Client(Client&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      path_(std::move(other.path_)),
      timeout_(other.timeout_),
      input_(std::move(other.input_)) {}
Client& Client::operator=(Client&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(path_, other.path_);
  std::swap(timeout_, other.timeout_);
  std::swap(input_, other.input_);
  return *this;
}
Client::~Client() {
  if (socket_ >= 0) close(socket_);
}

Result<Client, Error> Client::connect(const std::string& path, Nanos timeout) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path))
    return fail(
        ErrorCode::not_running,
        fmt::format("'{}' is not a valid socket path: the length must be 1 to {} bytes; give "
                    "another with --socket",
                    path, sizeof(address.sun_path) - 1));
  std::memcpy(address.sun_path, path.data(), path.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0)
    return fail(
        ErrorCode::not_running,
        fmt::format("cannot create a socket ({}); raise the limit of open files or close some "
                    "programs",
                    std::strerror(errno)));
  Client client(socket, path, timeout);
  const auto deadline = Clock::now() + timeout;
  while (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const int error = errno;
    if (error == EINTR) continue;
    if (error != EAGAIN) return std::unexpected(connect_error(path, error));
    // The listen queue is full, and a unix socket has no event to wait for.
    if (Clock::now() >= deadline) return std::unexpected(no_answer(timeout));
    poll(nullptr, 0, to_poll_ms(kConnectRetry));
  }
  return client;
}

Error Client::closed() const {
  return {
      ErrorCode::not_running,
      fmt::format("tempod closed the connection at {}; see 'journalctl -u tempod' for the reason",
                  path_)};
}

Error Client::read_final_error() {
  const auto reply = next(Nanos{0});
  return !reply && reply.error().code != ErrorCode::bad_reply ? reply.error() : closed();
}

Result<bool, Error> Client::send(const ipc::Request& request) {
  const std::string line = ipc::request_line(request) + '\n';
  const auto deadline = Clock::now() + timeout_;
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t wrote = ::send(socket_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (wrote >= 0) {
      sent += static_cast<std::size_t>(wrote);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return std::unexpected(read_final_error());
    const auto left = deadline - Clock::now();
    if (left <= left.zero()) return std::unexpected(no_answer(timeout_));
    pollfd end{socket_, POLLOUT, 0};
    poll(&end, 1, to_poll_ms(left));
  }
  return true;
}

Result<std::optional<std::string>, Error> Client::next_line(Nanos wait) {
  const auto deadline = Clock::now() + wait;
  std::size_t searched = 0;
  while (true) {
    if (const std::size_t end = input_.find('\n', searched); end != std::string::npos) {
      std::string line = input_.substr(0, end);
      input_.erase(0, end + 1);
      return line;
    }
    searched = input_.size();
    if (input_.size() > ipc::kMaxReply)
      return fail(ErrorCode::bad_reply,
                  "the process at the socket is not tempod (its reply has no end of line); give "
                  "another with --socket");
    std::array<char, 4096> buffer{};
    const ssize_t got = recv(socket_, buffer.data(), buffer.size(), 0);
    if (got > 0) {
      input_.append(buffer.data(), static_cast<std::size_t>(got));
      continue;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) return std::unexpected(closed());
    const auto left = deadline - Clock::now();
    if (left <= left.zero()) return std::nullopt;
    pollfd end{socket_, POLLIN, 0};
    if (poll(&end, 1, to_poll_ms(left)) < 0 && errno == EINTR) return std::nullopt;
  }
}

Result<std::optional<ipc::Reply>, Error> Client::next(Nanos wait) {
  TRY(reply, next_or_refusal(wait));
  if (reply && reply->refusal) return fail(code_of(reply->refusal->code), reply->refusal->message);
  return reply;
}

Result<std::optional<ipc::Reply>, Error> Client::next_or_refusal(Nanos wait) {
  TRY(line, next_line(wait));
  if (!line) return std::nullopt;
  auto reply = ipc::parse_reply(*line);
  if (!reply)
    return fail(ErrorCode::bad_reply,
                fmt::format("invalid reply from tempod: {}; use the tempo that came with it",
                            reply.error()));
  return *std::move(reply);
}

Result<ipc::Reply, Error> Client::ask(const ipc::Request& request) {
  TRY(sent, send(request));
  (void)sent;
  const auto deadline = Clock::now() + timeout_;
  while (true) {
    const auto left = std::chrono::duration_cast<Nanos>(deadline - Clock::now());
    TRY(reply, next(std::max(left, Nanos{0})));
    if (reply) return *std::move(reply);
    // `next` also returns on a signal, which the caller handles later; only the timeout ends this.
    if (Clock::now() >= deadline) return std::unexpected(no_answer(timeout_));
  }
}

}  // namespace tempo::client
