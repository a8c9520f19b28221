// The log of the daemon: lines on standard error, or in the journal when it runs as a service.
#pragma once

#include <string_view>

namespace tempo::daemon {

// `journal`: no timestamps, and each line starts with its priority as sd-daemon(3) defines it.
void open_log(std::string_view name, bool journal);
// Minimum level: error, warning or info.
void set_log_level(std::string_view level);

void log_info(std::string_view line);
void log_warning(std::string_view line);
void log_error(std::string_view line);

// Logs an event at its priority: warnings and errors are the events that need an operator.
void log_event(std::string_view name, std::string_view details);

}  // namespace tempo::daemon
