#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/number_text.h"
#include "cli/common/exit_codes.h"
#include "cli/locks/lock.h"

namespace tempo::cli {
namespace {

std::string error(const std::string& file) {
  return fmt::format("cannot keep the token in {}: {}", file, std::strerror(errno));
}

}  // namespace

// The newest token seen is the file's one line. Whoever checks has the file to itself.
int fence_check(const FenceCheckArguments& arguments) {
  const auto token = parse_number<std::uint64_t>(arguments.token);
  if (!token)
    return print_error(kBadUsage,
                       fmt::format("'{}' is not a token; give $TEMPO_LOCK_TOKEN", arguments.token));
  const int file = open(arguments.file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0 || flock(file, LOCK_EX) != 0) return print_error(kBadUsage, error(arguments.file));
  std::string text(32, '\0');
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  if (size < 0) return print_error(kBadUsage, error(arguments.file));
  text.resize(static_cast<std::size_t>(size));
  const auto newest = parse_number<std::uint64_t>(text.substr(0, text.find('\n')));
  if (!text.empty() && !newest)
    return print_error(
        kBadUsage,
        fmt::format("{} is not a file of tokens; name another, or remove it", arguments.file));
  if (newest && *token < *newest)
    return print_error(kViolation,
                       fmt::format("token {} is old: {} has been seen", *token, *newest));
  if (newest == *token) return kDone;
  const std::string line = fmt::format("{}\n", *token);
  if (pwrite(file, line.data(), line.size(), 0) != static_cast<ssize_t>(line.size()) ||
      ftruncate(file, static_cast<off_t>(line.size())) != 0 || fsync(file) != 0)
    return print_error(kBadUsage, error(arguments.file));
  return kDone;  // the file is closed, and let go, with the process
}

}  // namespace tempo::cli
