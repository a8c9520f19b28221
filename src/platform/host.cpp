#include "platform/host.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <optional>
#include <span>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/fnv.h"
#include "platform/descriptor.h"

namespace tempo::sys {
namespace {

__extension__ using Wide = unsigned __int128;

bool is_id(const std::string& text) {
  const auto hexadecimal = [](char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f');
  };
  // Disk images ship with "uninitialized" or zeros.
  return text.size() == 32 && std::ranges::all_of(text, hexadecimal) &&
         text.find_first_not_of('0') != std::string::npos;
}

std::optional<std::string> id_in(const std::string& path) {
  std::ifstream file{path};
  std::string line;
  if (!std::getline(file, line) || !is_id(line)) return std::nullopt;
  return line;
}

// Writes a temporary file and links it to its name, so no reader sees half of it. If two processes
// start at once, both use the id that was linked first.
std::optional<std::string> make_id(const std::string& directory, const std::string& path) {
  const std::string fresh = fmt::format("{}/.machine-id-{:016x}", directory, kernel_random());
  const std::string text = fmt::format("{:016x}{:016x}\n", kernel_random(), kernel_random());
  {
    const Descriptor file{::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)};
    if (file.none()) return std::nullopt;
    const bool written =
        ::write(file.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
        fsync(file.number()) == 0;
    if (!written) {
      unlink(fresh.c_str());
      return std::nullopt;
    }
  }
  const int linked = link(fresh.c_str(), path.c_str());
  if (linked != 0 && errno == EEXIST && !id_in(path)) rename(fresh.c_str(), path.c_str());
  unlink(fresh.c_str());
  return id_in(path);
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

MachineId machine_id(const MachineIdOptions& options) {
  using enum MachineId::Source;
  if (const auto id = id_in(options.machine_id)) return {.text = *id, .source = machine_id};
  if (!options.state_directory.empty()) {
    const std::string path = options.state_directory + "/machine-id";
    auto id = id_in(path);
    if (!id) id = make_id(options.state_directory, path);
    if (id) return {.text = *id, .source = state_file};
  }
  return {.text = sys::host_name(), .source = host_name};
}

std::string place_of(const std::string& directory) {
  std::string place = "-";
  struct statx about{};
  if (::statx(AT_FDCWD, directory.c_str(), 0, STATX_BTIME | STATX_INO, &about) == 0)
    place = (about.stx_mask & STATX_BTIME) != 0
                ? fmt::format("b{}.{}", about.stx_btime.tv_sec, about.stx_btime.tv_nsec)
                : fmt::format("i{}", about.stx_ino);
  std::ifstream file{"/sys/class/dmi/id/product_uuid"};
  std::string id;
  if (!std::getline(file, id) || id.empty()) return place + " -";
  return fmt::format("{} m{:016x}", place, std::to_underlying(host_id("hardware " + id)));
}

HostId host_id(const std::string& machine_id) {
  // The prefix makes it tempo's own; the finalizer of SplitMix64 (Steele et al., 2014) lets ids
  // that differ in one digit differ in every bit.
  const std::string text = "tempo host " + machine_id;
  std::uint64_t hash = fnv1a(std::as_bytes(std::span(text)));
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
  hash ^= hash >> 31;
  return HostId{hash == 0 ? 1 : hash};
}

std::uint64_t kernel_random() {
  std::uint64_t value = 0;
  ssize_t size = -1;
  do {
    size = getrandom(&value, sizeof value, 0);
  } while (size < 0 && errno == EINTR);
  CHECK(size == sizeof value);
  return value;
}

std::uint64_t KernelDraw::below(std::uint64_t limit) {
  CHECK(limit > 0);
  // Lemire (2019), as in Stream::below: at least half of all draws are accepted.
  for (;;) {
    const auto product = static_cast<Wide>(kernel_random()) * limit;
    const auto low = static_cast<std::uint64_t>(product);
    if (low >= limit || low >= (0 - limit) % limit)
      return static_cast<std::uint64_t>(product >> 64);
  }
}

}  // namespace tempo::sys
