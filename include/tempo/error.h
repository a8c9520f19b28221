// libtempo: the error type of every call that asks tempod.
#pragma once

#include <cstdint>
#include <string>

namespace tempo {

inline constexpr const char* kDefaultControlSocket = "/run/tempo/tempod.sock";

enum class ErrorCode : std::uint8_t {
  no_daemon,    // tempod or its page cannot be used, or the connection is closed
  not_allowed,  // this user lacks the permission
  refused,      // tempod refused the request: locks not configured, too many waiters
  timed_out,    // the wait time is over
  cancelled,    // the caller's cancel descriptor became readable
  bad_request,  // an argument is wrong: bad name, unknown criterion; nothing was done
};

struct Error {
  ErrorCode code = ErrorCode::no_daemon;
  std::string message;  // cause and cure, for people
};

}  // namespace tempo
