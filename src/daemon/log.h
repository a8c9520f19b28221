// What the daemon tells people: lines on standard error, or in the journal when it runs as a
// service.
#pragma once

#include <string_view>

namespace tempo::daemon {

// `journal`: no timestamps, the journal has its own.
void open_log(std::string_view name, bool journal);
// error, warning or info: this and what is worse.
void set_log_level(std::string_view level);

void log_info(std::string_view line);
void log_warning(std::string_view line);
void log_error(std::string_view line);

}  // namespace tempo::daemon
