#include "platform/whole_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "platform/descriptor.h"

namespace tempo::sys {
namespace {

// The new name is durable only after fsync() of the directory.
bool sync_directory(const std::string& path) {
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  const Descriptor opened{
      ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  return !opened.none() && ::fsync(opened.number()) == 0;
}

}  // namespace

Result<void> replace_file(const std::string& path, std::string_view text) {
  const std::string fresh = path + ".new";
  const auto failed = [&](const char* what) {
    return std::unexpected(fmt::format("cannot {} {}: {}", what, fresh, std::strerror(errno)));
  };
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return failed("write");
  const ssize_t written = ::write(file, text.data(), text.size());
  const bool whole = written == static_cast<ssize_t>(text.size()) && ::fsync(file) == 0;
  if (::close(file) != 0 || !whole) return failed("write");
  if (::rename(fresh.c_str(), path.c_str()) != 0 || !sync_directory(path)) return failed("rename");
  return {};
}

std::string read_file(const std::string& path, std::size_t most) {
  std::ifstream file(path, std::ios::binary);
  std::string text(most, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace tempo::sys
