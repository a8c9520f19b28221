#include "platform/whole_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fnv.h"
#include "base/number_text.h"
#include "platform/descriptor.h"

namespace tempo::sys {
namespace {

constexpr mode_t kMode = 0644;
constexpr mode_t kSecretMode = 0600;
constexpr std::size_t kMaxRecord = std::size_t{1} << 20;  // longest record, in bytes

std::string directory_of(const std::string& path) {
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  return directory.empty() ? "." : directory;
}

FileText lost(std::string error) {
  return {.state = FileState::lost, .text = {}, .error = std::move(error)};
}

// --- reading ---

// The text of an open file. Not a regular file: reading could block.
FileText text_of(const Descriptor& file, const struct stat& status, const std::string& path,
                 std::size_t most) {
  if (!S_ISREG(status.st_mode))
    return lost(fmt::format("{} is not a regular file; replace it by one", path));
  std::string text(most + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.number(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return lost(fmt::format("cannot read {}: {}; check the disk", path, std::strerror(errno)));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > most)
    return lost(fmt::format("{} is larger than {} bytes; check the path", path, most));
  text.resize(size);
  return {.state = FileState::good, .text = std::move(text), .error = {}};
}

// Reads the file if `objection` has none to its status; else it is lost for that reason.
template <class Objection>
FileText read_if(const std::string& path, std::size_t most, Objection objection) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (file.none()) {
    const int error = errno;
    struct stat link{};
    if (error == ENOENT && ::lstat(path.c_str(), &link) != 0) return {};
    if (error == ENOENT)
      return lost(fmt::format("{} is a link to a file that does not exist; restore it", path));
    errno = error;
    return lost(fmt::format("cannot read {}: {}; check its owner and its mode", path,
                            std::strerror(errno)));
  }
  struct stat status{};
  if (::fstat(file.number(), &status) != 0)
    return lost(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  if (std::string why = objection(status); !why.empty()) return lost(std::move(why));
  return text_of(file, status, path, most);
}

// --- records ---

constexpr std::string_view kGeneration = "generation ";
constexpr std::string_view kChecksum = "checksum ";
constexpr std::size_t kChecksumBytes = kChecksum.size() + 17;
constexpr std::size_t kTrailerBytes = kGeneration.size() + 21 + kChecksumBytes;  // at most

std::string previous_of(const std::string& path) { return path + ".old"; }
std::string fresh_of(const std::string& path) { return path + ".new"; }

std::string checksum_line(std::string_view text) {
  return fmt::format("{}{:016x}\n", kChecksum, fnv1a(std::as_bytes(std::span(text))));
}

// One generation of a record, without its trailer.
struct Generation {
  FileText file{};
  std::uint64_t number = 0;  // valid if the file is good
};

Generation generation_in(FileText file, const std::string& path) {
  if (file.state != FileState::good) return {.file = std::move(file)};
  const Generation damaged{.file = lost(fmt::format("{} is damaged: its checksum is wrong", path))};
  std::string_view text = file.text;
  const std::size_t size = text.size() - std::min(kChecksumBytes, text.size());
  const std::string_view checksum = text.substr(size);
  text = text.substr(0, size);
  if (checksum != checksum_line(text)) return damaged;
  const std::size_t start = text.rfind(kGeneration);
  if (start == std::string_view::npos || !text.ends_with('\n')) return damaged;
  const auto number = parse_number<std::uint64_t>(
      text.substr(start + kGeneration.size(), size - start - kGeneration.size() - 1));
  if (!number) return damaged;
  file.text.resize(start);
  return {.file = std::move(file), .number = *number};
}

Generation read_generation(const std::string& path, std::size_t most) {
  return generation_in(read_file(path, most + kTrailerBytes), path);
}

// --- writing ---

std::unexpected<std::string> write_failure(const std::string& path, int error) {
  const std::string directory = directory_of(path);
  std::string cure = "free space or check the rights of " + directory;
  if (error == ENOENT) cure = "create its directory first";
  if (error == EEXIST) cure = "it exists and was not changed";
  if (error == EACCES || error == EPERM)
    cure = "check the rights of " + directory + ", or run this as root";
  return std::unexpected(fmt::format("cannot write {}: {}; {}", path, std::strerror(error), cure));
}

bool write_all(const Descriptor& file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file.number(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// Writes a new file and returns when its contents are on disk. A link in its place is not followed.
Result<void> write_fresh(const std::string& path, std::string_view text, mode_t mode = kMode) {
  ::unlink(path.c_str());  // of a writer that died
  const Descriptor file{
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)};
  if (file.none()) return write_failure(path, errno);
  // The mode does not depend on the umask: the worker has another user and reads these files.
  if (::fchmod(file.number(), mode) == 0 && write_all(file, text) && ::fsync(file.number()) == 0)
    return {};
  const int error = errno;
  ::unlink(path.c_str());
  return write_failure(path, error);
}

// Changes a name in the directory of `path`; the change is durable only after fsync() of the
// directory.
template <class Change>
Result<void> change_name(const std::string& path, Change change) {
  const Descriptor directory{
      ::open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (directory.none() || change() != 0 || ::fsync(directory.number()) != 0)
    return write_failure(path, errno);
  return {};
}

Result<void> put_in_place(const std::string& fresh, const std::string& path) {
  return change_name(path, [&] { return ::rename(fresh.c_str(), path.c_str()); });
}

}  // namespace

FileText read_file(const std::string& path, std::size_t most) {
  return read_if(path, most, [](const struct stat&) { return std::string{}; });
}

FileText read_secret(const std::string& path, std::size_t most, std::span<const uid_t> owners) {
  return read_if(path, most, [&](const struct stat& status) -> std::string {
    if (!S_ISREG(status.st_mode)) return {};  // has its own message
    if (status.st_uid != 0 && std::ranges::find(owners, status.st_uid) == owners.end())
      return fmt::format(
          "{0} belongs to user {1}, who could replace it; fix it with 'chown root {0}'", path,
          status.st_uid);
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
      return fmt::format("{0} is open to other users (mode {1:04o}); fix it with 'chmod 600 {0}'",
                         path, status.st_mode & 07777U);
    return {};
  });
}

Result<void> replace_file(const std::string& path, std::string_view text) {
  const std::string fresh = fresh_of(path);
  if (auto written = write_fresh(fresh, text); !written) return written;
  return put_in_place(fresh, path);
}

Result<void> write_secret(const std::string& path, std::string_view text, WriteMode mode) {
  const std::string fresh = fresh_of(path);
  if (auto written = write_fresh(fresh, text, kSecretMode); !written) return written;
  if (mode == WriteMode::replace) return put_in_place(fresh, path);
  auto linked = change_name(path, [&] { return ::link(fresh.c_str(), path.c_str()); });
  ::unlink(fresh.c_str());
  return linked;
}

Result<void> remove_file(const std::string& path) {
  return change_name(path, [&] { return ::unlink(path.c_str()); });
}

std::string generation_text(std::string_view text, std::uint64_t number) {
  const std::string all = fmt::format("{}{}{}\n", text, kGeneration, number);
  return all + checksum_line(all);
}

Record record_in(const RecordFiles& files, const std::string& path) {
  Generation current = generation_in(files.current, path);
  Generation previous = generation_in(files.previous, previous_of(path));
  const bool has_previous = previous.file.state == FileState::good;
  // A writer that died between its two renames has left the next generation under another name.
  if (current.file.state == FileState::absent && has_previous) {
    Generation fresh = generation_in(files.fresh, fresh_of(path));
    if (fresh.file.state == FileState::good && fresh.number == previous.number + 1)
      current = std::move(fresh);
  }
  if (current.file.state == FileState::absent && previous.file.state == FileState::absent)
    return {};
  if (current.file.state == FileState::good && (!has_previous || current.number > previous.number))
    return {.state = FileState::good,
            .text = std::move(current.file.text),
            .previous = {},
            .error = {}};
  Record record{.state = FileState::lost, .text = {}, .previous = {}, .error = current.file.error};
  if (current.file.state == FileState::good)
    record.error =
        fmt::format("{} is an old copy: it is not newer than {}", path, previous_of(path));
  if (current.file.state == FileState::absent)
    record.error = fmt::format("{} is missing, but {} exists", path, previous_of(path));
  if (has_previous) record.previous = std::move(previous.file.text);
  return record;
}

Record read_record(const std::string& path, std::size_t most) {
  const auto read = [&](const std::string& file) { return read_file(file, most + kTrailerBytes); };
  return record_in({read(path), read(previous_of(path)), read(fresh_of(path))}, path);
}

Result<void> write_record(const std::string& path, std::string_view text) {
  const std::string fresh = fresh_of(path);
  const Generation previous = read_generation(previous_of(path), kMaxRecord);
  Generation current = read_generation(path, kMaxRecord);
  if (current.file.state == FileState::absent && previous.file.state == FileState::good &&
      read_generation(fresh, kMaxRecord).number == previous.number + 1) {
    if (auto done = put_in_place(fresh, path); !done) return done;  // of a writer that died
    current = read_generation(path, kMaxRecord);
  }
  const std::uint64_t number = std::max(current.number, previous.number) + 1;
  if (auto written = write_fresh(fresh, generation_text(text, number)); !written) return written;
  if (current.file.state == FileState::good && current.number > previous.number &&
      ::rename(path.c_str(), previous_of(path).c_str()) != 0)
    return write_failure(previous_of(path), errno);
  return put_in_place(fresh, path);
}

std::string space_error(const std::string& directory) {
  constexpr std::uint64_t kLeast = 64 * 1024;  // bytes; the files of the state are smaller
  struct statvfs system{};
  if (::statvfs(directory.c_str(), &system) != 0) return "";
  if ((system.f_flag & ST_RDONLY) != 0)
    return fmt::format("the file system of {} is read-only", directory);
  const bool root = ::geteuid() == 0;
  const std::uint64_t left = (root ? system.f_bfree : system.f_bavail) * system.f_frsize;
  if (system.f_blocks != 0 && left < kLeast)
    return fmt::format("the file system of {} is full: {} bytes left", directory, left);
  return "";
}

}  // namespace tempo::sys
