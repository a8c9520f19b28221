// New settings for a running daemon: what can change while it runs, and what cannot.
//
// The parent reads the files, for the worker may not (the key is root's), and hands down what the
// worker is to change as a text. Every key of the settings is in one table here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/settings.h"
#include "base/result.h"
#include "protocol/auth/keyring.h"

namespace tempo::daemon {

// The keys whose values differ.
struct Difference {
  std::vector<std::string> now{};      // take effect at once
  std::vector<std::string> restart{};  // at the next start
};
Difference difference(const config::Settings& before, const config::Settings& after);

// `before` with those of `after` that can change while it runs.
config::Settings changed(const config::Settings& before, const config::Settings& after);

// What the parent hands down.
struct ReloadMessage {
  config::Settings settings{};  // only those that can change while it runs have a meaning
  auth::Keyring keys{};
};
std::string reload_text(const config::Settings& settings, std::string_view keys);
Result<ReloadMessage> parse_reload(std::string_view text);

}  // namespace tempo::daemon
