// A connection to tempod, for programs that ask it things.
//
// Every wait has an end. A failure is a sentence that names the cure, and a kind for the exit
// status. A connection is used by one thread; streams are read line by line with `next`, beside
// whatever else the caller polls for.
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
  not_running,  // nobody at the socket, or the connection broke
  not_allowed,  // by the socket's mode, or the daemon's word
  no_answer,    // within the time given
  refused,      // the daemon understood and said no
  nonsense,     // what came is not an answer
};

struct Error {
  ErrorCode code = ErrorCode::not_running;
  std::string sentence;
};

class Client {
 public:
  // Nothing waits longer than `patience`.
  static Result<Client, Error> connect(const std::string& socket, Nanos timeout);
  // Over a socket that is connected already, which it owns from now on; non-blocking.
  static Client over(int socket, Nanos timeout) { return {socket, "a socket", timeout}; }
  ~Client();
  Client(Client&& other) noexcept;
  Client& operator=(Client&& other) noexcept;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // One request, one reply; a refusal is a failure.
  Result<ipc::Reply, Error> ask(const ipc::Request& request);

  // For streams: send once, then take what comes. Nothing, if nothing came within `wait` or a
  // signal arrived.
  Result<bool, Error> send(const ipc::Request& request);
  Result<std::optional<ipc::Reply>, Error> next(Nanos wait);
  // The same, with refusals among the replies: of several requests each has its own.
  Result<std::optional<ipc::Reply>, Error> next_of_any_kind(Nanos wait);

  int descriptor() const { return socket_; }  // to poll for POLLIN

 private:
  Client(int socket, std::string path, Nanos timeout);
  Result<std::optional<std::string>, Error> next_line(Nanos wait);
  Error gone() const;
  Error last_words();  // why it was closed, if that was said; else `gone`

  int socket_ = -1;
  std::string path_;
  Nanos patience_{0};
  std::string input_;  // at most kMaxReply and what one reading brings
};

}  // namespace tempo::client
