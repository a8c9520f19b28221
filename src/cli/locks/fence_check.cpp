#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/number_text.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "cli/locks/lock.h"

namespace tempo::cli {
namespace {

std::string file_error(const std::string& file) {
  return fmt::format("cannot store the token in {}: {}; give a writable file", file,
                     std::strerror(errno));
}

int accept(const FenceCheckArguments& arguments, std::uint64_t token) {
  if (arguments.json)
    print_json(Json::object().add("accepted", true).add("token", fmt::format("{}", token)));
  return kDone;
}

}  // namespace

// The file has one line, the newest token seen. A lock on the file makes checks exclusive; the
// kernel releases it when the process ends.
int fence_check(const FenceCheckArguments& arguments) {
  const auto token = parse_number<std::uint64_t>(arguments.token);
  if (!token)
    return print_error(kBadUsage,
                       fmt::format("'{}' is not a token; give $TEMPO_LOCK_TOKEN", arguments.token));
  const int file = open(arguments.file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0 || flock(file, LOCK_EX) != 0)
    return print_error(kBadUsage, file_error(arguments.file));
  std::string text(32, '\0');
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  if (size < 0) return print_error(kBadUsage, file_error(arguments.file));
  text.resize(static_cast<std::size_t>(size));
  const auto newest = parse_number<std::uint64_t>(text.substr(0, text.find('\n')));
  if (!text.empty() && !newest)
    return print_error(
        kBadUsage,
        fmt::format("{} does not contain a token; give another file or remove it", arguments.file));
  if (newest && *token < *newest) {
    if (arguments.json)
      print_json(Json::object()
                     .add("accepted", false)
                     .add("token", fmt::format("{}", *token))
                     .add("newest", fmt::format("{}", *newest)));
    return print_error(kViolation, fmt::format("token {} is older than {}, the newest token seen",
                                               *token, *newest));
  }
  if (newest == *token) return accept(arguments, *token);
  const std::string line = fmt::format("{}\n", *token);
  if (pwrite(file, line.data(), line.size(), 0) != static_cast<ssize_t>(line.size()) ||
      ftruncate(file, static_cast<off_t>(line.size())) != 0 || fsync(file) != 0)
    return print_error(kBadUsage, file_error(arguments.file));
  return accept(arguments, *token);
}

}  // namespace tempo::cli
