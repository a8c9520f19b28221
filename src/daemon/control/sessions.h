// Sessions as clients keep them: the text that a grant carries and that a client shows to resume.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace tempo::daemon {

// The number of a session, and the origin of the ballot under which it was granted.
struct SessionText {
  std::uint64_t number = 0;  // not 0
  HostId origin = kNoHost;
};
std::string session_text(const SessionText& session);
std::optional<SessionText> session_of(std::string_view text);

}  // namespace tempo::daemon
