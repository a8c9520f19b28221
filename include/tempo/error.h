// libtempo: why something cannot be had from tempod.
#pragma once

#include <cstdint>
#include <string>

namespace tempo {

inline constexpr const char* kDefaultControlSocket = "/run/tempo/tempod.sock";

enum class ErrorCode : std::uint8_t {
  no_daemon,    // tempod cannot be reached, or is gone
  not_allowed,  // this user may not
  refused,      // the name is bad, there are no locks here, too many wait
  too_late,     // it did not come about for as long as we were to wait
  cancelled,
};

struct Error {
  ErrorCode code = ErrorCode::no_daemon;
  std::string sentence;  // with the cure
};

}  // namespace tempo
