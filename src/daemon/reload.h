// Reloading the settings: which keys take effect while the daemon runs.
//
// The parent reads the files, because the worker may not (the key belongs to root), and sends the
// changes to the worker as text. One table here has every key of the settings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/settings.h"
#include "base/result.h"
#include "protocol/auth/keyring.h"

namespace tempo::daemon {

// Keys whose values differ.
struct Difference {
  std::vector<std::string> now{};      // take effect immediately
  std::vector<std::string> restart{};  // need a restart
};
Difference difference(const config::Settings& before, const config::Settings& after);

// Why a change of this key needs a restart; empty: the key is read at the start only.
std::string_view restart_reason(std::string_view key);

// `before` with the values of `after` that can change at run time.
config::Settings changed(const config::Settings& before, const config::Settings& after);

// Message from the parent to the worker.
struct ReloadMessage {
  config::Settings settings{};  // only values that can change at run time are valid
  auth::Keyring keys{};
};
std::string reload_text(const config::Settings& settings, std::string_view keys);
Result<ReloadMessage> parse_reload(std::string_view text);

}  // namespace tempo::daemon
