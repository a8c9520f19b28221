#include "platform/directory_lock.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/file.h>

namespace tempo::sys {

Result<Descriptor> lock_directory(const std::string& path, Nanos longest) {
  Descriptor directory{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (directory.none())
    return std::unexpected(
        fmt::format("cannot open the directory {}: {}; create it or choose another", path,
                    std::strerror(errno)));
  constexpr auto kStep = 20ms;
  for (Nanos waited{0};; waited += kStep) {
    if (::flock(directory.number(), LOCK_EX | LOCK_NB) == 0) return directory;
    if (errno != EWOULDBLOCK && errno != EINTR)
      return std::unexpected(
          fmt::format("cannot lock the directory {}: {}; choose one on a local "
                      "file system",
                      path, std::strerror(errno)));
    if (waited >= longest)
      return std::unexpected(fmt::format(
          "the directory {} is in use by another process; stop it or choose another directory",
          path));
    ::poll(nullptr, 0, static_cast<int>(kStep.count()));
  }
}

}  // namespace tempo::sys
