#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number_text.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "cli/locks/lock.h"

namespace tempo::cli {
namespace {

constexpr int kMaxTries = 1000;  // each try that fails shows a check of another process that ended

std::string file_error(const std::string& file) {
  return fmt::format("cannot store the token in {}: {}; give a file in a writable directory", file,
                     std::strerror(errno));
}

int accept(const FenceCheckArguments& arguments, std::uint64_t token) {
  if (arguments.json)
    print_json(Json::object().add("accepted", true).add("token", fmt::format("{}", token)));
  return kDone;
}

int reject(const FenceCheckArguments& arguments, std::uint64_t token,
           std::optional<std::uint64_t> newest, const std::string& why) {
  if (arguments.json) {
    Json answer = Json::object();
    answer.add("accepted", false).add("token", fmt::format("{}", token));
    if (newest) answer.add("newest", fmt::format("{}", *newest));
    print_json(answer);
  }
  return print_error(kViolation, why);
}

// The token in an open file; nothing: the file is empty, cut off or damaged, so the newest token is
// lost.
std::optional<std::uint64_t> token_in(int file) {
  std::string text(32, '\0');
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  if (size <= 0 || text[static_cast<std::size_t>(size) - 1] != '\n') return std::nullopt;
  return parse_number<std::uint64_t>(
      std::string_view(text).substr(0, static_cast<std::size_t>(size) - 1));
}

// Another check may have replaced the file while this one waited for the lock.
bool still_there(int file, const std::string& path) {
  struct stat opened{}, named{};
  return fstat(file, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// Writes a file of its own beside the file of tokens and returns its name; empty: failed.
std::string write_fresh(const std::string& path, std::uint64_t token, mode_t mode) {
  std::string fresh = fmt::format("{}.{}.new", path, getpid());
  unlink(fresh.c_str());
  const int file = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (file < 0) return "";
  const std::string line = fmt::format("{}\n", token);
  const bool written = fchmod(file, mode) == 0 &&
                       write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
                       fsync(file) == 0;
  const int error = errno;
  close(file);
  if (written) return fresh;
  unlink(fresh.c_str());
  errno = error;
  return "";
}

// A new name is durable only after fsync() of its directory.
bool sync_directory(const std::string& path) {
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  const int opened =
      open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = opened >= 0 && fsync(opened) == 0;
  if (opened >= 0) close(opened);
  return synced;
}

// Creates the file with this token; false with EEXIST: another check was faster.
bool create(const std::string& path, std::uint64_t token) {
  const std::string fresh = write_fresh(path, token, 0644);
  if (fresh.empty()) return false;
  const bool linked = link(fresh.c_str(), path.c_str()) == 0;
  const int error = errno;
  unlink(fresh.c_str());
  errno = error;
  return linked && sync_directory(path);
}

bool replace(const std::string& path, std::uint64_t token, int old) {
  struct stat status{};
  if (fstat(old, &status) != 0) return false;
  const std::string fresh = write_fresh(path, token, status.st_mode & 0777U);
  return !fresh.empty() && rename(fresh.c_str(), path.c_str()) == 0 && sync_directory(path);
}

}  // namespace

// The file has one line, the newest token seen, and is replaced as a whole: it is never empty. A
// lock on it makes checks exclusive; the kernel releases the lock when the process ends.
int fence_check(const FenceCheckArguments& arguments) {
  const auto token = parse_number<std::uint64_t>(arguments.token);
  if (!token)
    return print_error(kBadUsage,
                       fmt::format("'{}' is not a token; give $TEMPO_LOCK_TOKEN", arguments.token));
  for (int i = 0; i < kMaxTries; ++i) {
    const int file = open(arguments.file.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0 && errno == ENOENT && create(arguments.file, *token))
      return accept(arguments, *token);
    if (file < 0 && errno == EEXIST) continue;
    if (file < 0 || flock(file, LOCK_EX) != 0)
      return print_error(kBadUsage, file_error(arguments.file));
    if (!still_there(file, arguments.file)) {
      close(file);
      continue;
    }
    const auto newest = token_in(file);
    if (!newest)
      return reject(arguments, *token, std::nullopt,
                    fmt::format("the newest token seen is lost: {0} is empty or damaged; make sure "
                                "that no holder of an older token is left, then remove {0}",
                                arguments.file));
    if (*token < *newest)
      return reject(
          arguments, *token, newest,
          fmt::format("token {} is older than {}, the newest token seen", *token, *newest));
    if (*newest == *token || replace(arguments.file, *token, file))
      return accept(arguments, *token);
    break;
  }
  return print_error(kBadUsage, file_error(arguments.file));
}

}  // namespace tempo::cli
