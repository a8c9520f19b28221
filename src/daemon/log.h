// The log of the daemon: lines on standard error, or in the journal when it runs as a service.
#pragma once

#include <string_view>

namespace tempo::daemon {

// `journal`: no timestamps, and each line starts with its priority as sd-daemon(3) defines it.
void open_log(std::string_view name, bool journal);
// Whether standard error is the stream to the journal that systemd names in JOURNAL_STREAM, which
// is `stream`; null: the variable is not set. A program that redirects standard error has left it.
bool is_journal(const char* stream);
// Minimum level: error, warning, info or debug.
void set_log_level(std::string_view level);

// Debug lines have the words of the protocols; all others are for operators.
void log_debug(std::string_view line);
void log_info(std::string_view line);
void log_warning(std::string_view line);
void log_error(std::string_view line);

// Logs an event at its priority: warnings and errors are the events that need an operator.
void log_event(std::string_view name, std::string_view details);

}  // namespace tempo::daemon
