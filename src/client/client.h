// A connection to tempod's control socket.
//
// Every wait is bounded. An error has a code, for the exit status, and a message with cause and
// cure. One thread uses a connection. Streams are read line by line with `next`; the caller polls
// `descriptor` with its other descriptors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/control_protocol.h"
#include "base/result.h"
#include "base/units.h"

namespace tempo::client {

inline constexpr const char* kDefaultSocket = "/run/tempo/tempod.sock";

enum class ErrorCode : std::uint8_t {
  not_running,  // no process listens on the socket, or the connection is closed
  not_allowed,  // the mode of the socket or the daemon denies it
  no_answer,    // the timeout is over
  refused,      // the daemon refused the request
  bad_request,  // the daemon cannot carry out the request as it is
  bad_reply,    // the reply is not valid
};

struct Error {
  ErrorCode code = ErrorCode::not_running;
  std::string message;
};

class Client {
 public:
  // `timeout`: longest wait of `connect`, `ask` and `send`.
  static Result<Client, Error> connect(const std::string& socket, Nanos timeout);
  // Takes over a connected, non-blocking socket and closes it in the end.
  static Client over(int socket, Nanos timeout) { return {socket, "a socket", timeout}; }
  ~Client();
  Client(Client&& other) noexcept;
  Client& operator=(Client&& other) noexcept;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // One request, one reply; a refusal is an error.
  Result<ipc::Reply, Error> ask(const ipc::Request& request);

  // For streams: `send` once, then call `next`. Returns nullopt if no line arrived within `wait` or
  // a signal arrived.
  Result<bool, Error> send(const ipc::Request& request);
  Result<std::optional<ipc::Reply>, Error> next(Nanos wait);
  // The same, but a refusal is a reply: for connections with several requests under way.
  Result<std::optional<ipc::Reply>, Error> next_or_refusal(Nanos wait);

  int descriptor() const { return socket_; }  // to poll for POLLIN

 private:
  Client(int socket, std::string path, Nanos timeout);
  Result<std::optional<std::string>, Error> next_line(Nanos wait);
  Error closed() const;
  Error read_final_error();  // the error that tempod sent before it closed; else `closed`

  int socket_ = -1;
  std::string path_;
  Nanos timeout_{0};
  std::string input_;  // at most kMaxReply bytes and those of one recv
};

}  // namespace tempo::client
