// Replies that several topics of the control server use.
#pragma once

#include <string>
#include <utility>

#include "api/control_protocol.h"
#include "base/result.h"

namespace tempo::daemon {

// Refuses a request with an id, e.g. for a lock.
inline std::string refuse(const ipc::Request& request, ipc::Code code, std::string sentence) {
  return ipc::refusal_line({.code = code, .message = std::move(sentence), .id = request.id});
}

inline std::string done_line(const Result<void>& done) {
  return done ? ipc::done_line()
              : ipc::refusal_line({.code = ipc::Code::unavailable, .message = done.error()});
}

}  // namespace tempo::daemon
