#include "daemon/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace tempo::daemon {

void open_log(std::string_view name, bool journal) {
  auto logger = std::make_shared<spdlog::logger>(std::string(name),
                                                 std::make_shared<spdlog::sinks::stderr_sink_st>());
  logger->set_pattern(journal ? "%v" : "%Y-%m-%d %H:%M:%S.%e %n %l: %v");
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

void set_log_level(std::string_view level) {
  spdlog::set_level(spdlog::level::from_str(std::string(level)));
}

void log_info(std::string_view line) { spdlog::info(line); }
void log_warning(std::string_view line) { spdlog::warn(line); }
void log_error(std::string_view line) { spdlog::error(line); }

}  // namespace tempo::daemon
