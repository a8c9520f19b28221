#include "api/clockbound.h"

#include <bit>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tempo::doors {
namespace {

constexpr std::uint64_t kMagic = 0x0002'42434e5a'4d41;  // bytes 41 4D 5A 4E 43 42 02 00
constexpr std::uint16_t kVersion = 2;
constexpr std::uint16_t kFirstGeneration = 2;
constexpr mode_t kMode = 0644;
constexpr std::size_t kWords = 8;  // after the header

std::unexpected<std::string> failed(const std::string& path, int error) {
  return std::unexpected(fmt::format(
      "cannot write ClockBound's segment {} ({}); create its directory and let tempod write it, or "
      "remove doors.clockbound",
      path, std::strerror(error)));
}

}  // namespace

struct ClockBoundWriter::Segment {
  std::uint64_t magic;
  std::uint32_t size;
  std::uint16_t version;
  std::atomic<std::uint16_t> generation;
  std::array<std::atomic<std::uint64_t>, kWords> words;
};

Result<ClockBoundWriter> ClockBoundWriter::open(const std::string& path) {
  static_assert(sizeof(Segment) == kClockBoundBytes);
  static_assert(std::atomic<std::uint16_t>::is_always_lock_free);
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kMode);
  if (file < 0) return failed(path, errno);
  struct stat info{};
  const bool sized = ::fstat(file, &info) == 0 && S_ISREG(info.st_mode) &&
                     ::fchmod(file, kMode) == 0 && ::ftruncate(file, kClockBoundBytes) == 0;
  void* const memory =
      sized ? ::mmap(nullptr, kClockBoundBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
            : MAP_FAILED;
  const int error = sized || errno != 0 ? errno : EINVAL;
  ::close(file);
  if (memory == MAP_FAILED) return failed(path, error);
  auto* const segment = static_cast<Segment*>(memory);
  // An incomplete segment has generation 0, and its readers wait.
  if (segment->magic != kMagic || segment->version != kVersion) segment->generation.store(0);
  segment->magic = kMagic;
  segment->size = kClockBoundBytes;
  segment->version = kVersion;
  ClockBoundWriter writer(segment);
  writer.write({});
  return writer;
}

ClockBoundWriter::~ClockBoundWriter() {
  if (memory_ == nullptr) return;
  write({});
  ::munmap(memory_, kClockBoundBytes);
}

// Every word is stored with release: a reader that sees a new word sees the odd generation too.
void ClockBoundWriter::write(const ClockBoundState& state) {
  const std::uint16_t before = memory_->generation.load(std::memory_order_relaxed);
  const auto odd = static_cast<std::uint16_t>(before | 1);
  const auto word = [](auto value) { return static_cast<std::uint64_t>(value); };
  const auto whole = [](Nanos time) { return std::chrono::floor<std::chrono::seconds>(time); };
  const std::array<std::uint64_t, kWords> words{
      word(whole(state.as_of).count()),
      word((state.as_of - whole(state.as_of)).count()),
      word(whole(state.void_after).count()),
      word((state.void_after - whole(state.void_after)).count()),
      word(state.bound.count()),
      0,  // no disruption marker
      std::bit_cast<std::uint64_t>(std::array<std::uint32_t, 2>{
          state.max_drift_ppb, static_cast<std::uint32_t>(state.status)}),
      0};
  memory_->generation.store(odd, std::memory_order_release);
  for (std::size_t i = 0; i < kWords; ++i)
    memory_->words[i].store(words[i], std::memory_order_release);
  const auto even = static_cast<std::uint16_t>(odd + 1);
  memory_->generation.store(even == 0 ? kFirstGeneration : even, std::memory_order_release);
}

}  // namespace tempo::doors
