#include "daemon/log.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tempo::daemon {
namespace {

using spdlog::level::level_enum;

bool g_journal = false;

// Events that need an operator; all others are informational.
struct EventLevel {
  std::string_view name;
  level_enum level;
};
constexpr std::array kEventLevels{
    EventLevel{"id-taken", level_enum::err},        EventLevel{"two-voting-sets", level_enum::err},
    EventLevel{"clone", level_enum::err},           EventLevel{"vote-lost", level_enum::err},
    EventLevel{"two-masters", level_enum::warn},    EventLevel{"host-down", level_enum::warn},
    EventLevel{"network-down", level_enum::warn},   EventLevel{"time-circle", level_enum::warn},
    EventLevel{"bound-exceeded", level_enum::warn}, EventLevel{"utc-lost", level_enum::warn},
    EventLevel{"other-revision", level_enum::warn},
};

// The journal takes the priority of a line from its prefix: 3 error, 4 warning, 6 informational,
// 7 debug.
std::string_view prefix_of(level_enum level) {
  if (!g_journal) return "";
  if (level == level_enum::err) return "<3>";
  if (level == level_enum::warn) return "<4>";
  return level == level_enum::debug ? "<7>" : "<6>";
}

void log_line(level_enum level, std::string_view line) {
  spdlog::log(level, "{}{}", prefix_of(level), line);
}

}  // namespace

void open_log(std::string_view name, bool journal) {
  g_journal = journal;
  auto logger = std::make_shared<spdlog::logger>(std::string(name),
                                                 std::make_shared<spdlog::sinks::stderr_sink_st>());
  logger->set_pattern(journal ? "%v" : "%Y-%m-%d %H:%M:%S.%e %n %l: %v");
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
}

bool is_journal(const char* stream) {
  struct stat here{};
  if (stream == nullptr || ::fstat(STDERR_FILENO, &here) != 0) return false;
  return fmt::format("{}:{}", here.st_dev, here.st_ino) == stream;
}

void set_log_level(std::string_view level) {
  spdlog::set_level(spdlog::level::from_str(std::string(level)));
}

void log_debug(std::string_view line) { log_line(level_enum::debug, line); }
void log_info(std::string_view line) { log_line(level_enum::info, line); }
void log_warning(std::string_view line) { log_line(level_enum::warn, line); }
void log_error(std::string_view line) { log_line(level_enum::err, line); }

void log_event(std::string_view name, std::string_view details) {
  const auto* const found = std::ranges::find(kEventLevels, name, &EventLevel::name);
  const level_enum level = found == kEventLevels.end() ? level_enum::info : found->level;
  spdlog::log(level, "{}{}: {}", prefix_of(level), name, details);
}

}  // namespace tempo::daemon
