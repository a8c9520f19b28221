#include "platform/notify.h"

#include <cstdint>
#include <cstdlib>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

#include "base/number_text.h"
#include "platform/unix_address.h"

namespace tempo::sys {
namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

// A status is one line: a newline would start another assignment.
std::string one_line(std::string_view text) {
  std::string line{text};
  for (char& letter : line) {
    if (letter == '\n' || letter == '\r') letter = ' ';
  }
  return line;
}

}  // namespace

std::optional<Nanos> watchdog_of(std::string_view microseconds, std::string_view process,
                                 int self) {
  const auto span = parse_number<std::int64_t>(microseconds);
  constexpr std::int64_t kDay = 86'400'000'000;
  if (!span || *span <= 0 || *span > 365 * kDay) return std::nullopt;
  if (!process.empty() && parse_number<std::int64_t>(process) != self)
    return std::nullopt;  // for another process
  return std::chrono::microseconds{*span};
}

Notifier::Notifier(std::string path, std::optional<Nanos> watchdog) : path_(std::move(path)) {
  if (path_.empty()) return;
  if (auto made = plain_socket(AF_UNIX, SOCK_DGRAM, 0)) {
    socket_ = *std::move(made);
    watchdog_ = watchdog;
  }
}

Notifier Notifier::from_environment() {
  return Notifier{environment("NOTIFY_SOCKET"),
                  watchdog_of(environment("WATCHDOG_USEC"), environment("WATCHDOG_PID"), getpid())};
}

void Notifier::ready(std::string_view status) { notify("READY=1\nSTATUS=" + one_line(status)); }
void Notifier::status(std::string_view text) { notify("STATUS=" + one_line(text)); }
void Notifier::alive() { notify("WATCHDOG=1"); }
void Notifier::stopping() { notify("STOPPING=1"); }

void Notifier::notify(const std::string& text) {
  if (socket_.none()) return;
  const auto to = unix_address(path_);
  if (!to) return;
  sendto(socket_.number(), text.data(), text.size(), MSG_NOSIGNAL, to->generic(), to->size);
}

}  // namespace tempo::sys
