#include "api/page_file.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tempo::page {
namespace {

constexpr mode_t kMode = 0644;  // readable by all users
constexpr Nanos kReopenInterval = 1s;
constexpr Nanos kMaxReadTime = 100us;  // of three clocks in succession
constexpr int kMaxAttempts = 8;

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (open()) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

Nanos read_clock(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::chrono::seconds{time.tv_sec} + Nanos{time.tv_nsec};
}

// All zero if the kernel does not provide it: then all boots look the same.
BootId boot_id() {
  BootId id{};
  const File file{::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)};
  char text[37]{};
  if (!file.open() || ::read(file.descriptor(), text, 36) != 36) return id;
  char* end = std::remove(text, text + 36, '-');
  for (std::size_t i = 0; i < id.size() && text + 2 * i + 2 <= end; ++i)
    std::from_chars(text + 2 * i, text + 2 * i + 2, id[i], 16);
  return id;
}

enum class Fault : std::uint8_t { none, not_a_page, version, truncated, boot };

Fault fault_of(int file) {
  Header header;
  if (::pread(file, &header, sizeof header, 0) != sizeof header) return Fault::truncated;
  if (header.magic != kMagic) return Fault::not_a_page;
  if (header.version != kVersion || header.size != sizeof(Page)) return Fault::version;
  struct stat info{};
  if (::fstat(file, &info) != 0 || info.st_size < static_cast<off_t>(sizeof(Page)))
    return Fault::truncated;
  return header.boot_id == boot_id() ? Fault::none : Fault::boot;
}

std::string message_of(Fault fault, const std::string& path) {
  switch (fault) {
    case Fault::none:
      break;
    case Fault::not_a_page:
      return fmt::format("{} is not a time page; give the path of tempod's page", path);
    case Fault::version:
      return fmt::format(
          "{} is a time page of another version; use the libtempo that came with tempod", path);
    case Fault::truncated:
      return fmt::format("{} is truncated; restart tempod, which writes a new page", path);
    case Fault::boot:
      return fmt::format("{} is from an earlier boot; start tempod, which writes a new page", path);
  }
  return {};
}

std::string system_error(std::string_view action, const std::string& path, int error) {
  return fmt::format("cannot {} the time page {} ({}); check the directory and its permissions",
                     action, path, std::strerror(error));
}

// Creates an empty page under a temporary name and renames it when it is complete.
Result<Mapping> create(const std::string& path) {
  const std::string draft = path + ".new";
  ::unlink(draft.c_str());
  const File file{::open(draft.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kMode)};
  if (!file.open()) return std::unexpected(system_error("write", draft, errno));
  if (::fchmod(file.descriptor(), kMode) != 0 || ::ftruncate(file.descriptor(), sizeof(Page)) != 0)
    return std::unexpected(system_error("write", draft, errno));
  Mapping mapping(file.descriptor(), true);
  if (mapping.empty()) return std::unexpected(system_error("write", draft, errno));
  Page* const page = new (mapping.page()) Page;
  page->header = {.size = sizeof(Page), .boot_id = boot_id()};
  // Differs from all numbers of an earlier file: a reader may be switching between the two.
  page->sequence.store(static_cast<std::uint64_t>(read_clock(CLOCK_MONOTONIC_RAW).count()) << 1);
  if (::rename(draft.c_str(), path.c_str()) != 0)
    return std::unexpected(system_error("write", path, errno));
  return mapping;
}

Moment read_moment() {
  return {.raw = Instant{read_clock(CLOCK_MONOTONIC_RAW)},
          .boot = read_clock(CLOCK_BOOTTIME),
          .real = read_clock(CLOCK_REALTIME)};
}

}  // namespace

std::string path_for(const std::string& socket) {
  constexpr std::string_view kSuffix = ".sock";
  if (socket.empty() || socket.front() == '@') return {};
  std::string stem = socket;
  if (stem.ends_with(kSuffix)) stem.resize(stem.size() - kSuffix.size());
  return stem + ".page";
}

Mapping::Mapping(int descriptor, bool writable) {
  void* const memory = ::mmap(nullptr, sizeof(Page), writable ? PROT_READ | PROT_WRITE : PROT_READ,
                              MAP_SHARED, descriptor, 0);
  if (memory != MAP_FAILED) memory_ = memory;
}

Mapping::~Mapping() {
  if (memory_ != nullptr) ::munmap(memory_, sizeof(Page));
}

Mapping::Mapping(Mapping&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(memory_, other.memory_);
  return *this;
}

bool Mapping::replace(int descriptor) const {
  return ::mmap(memory_, sizeof(Page), PROT_READ, MAP_SHARED | MAP_FIXED, descriptor, 0) !=
         MAP_FAILED;
}

Result<Writer> Writer::open(const std::string& path) {
  {
    const File file{::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW)};
    if (file.open() && fault_of(file.descriptor()) == Fault::none) {
      Mapping mapping(file.descriptor(), true);
      if (!mapping.empty()) {
        take_over(*mapping.page());
        return Writer(std::move(mapping));
      }
    }
  }
  TRY(mapping, create(path));
  return Writer(std::move(mapping));
}

void Writer::orphan() {
  if (const auto loaded = load(*mapping_.page())) write(orphaned(loaded->content));
}

Reader::Reader(std::string path, Mapping mapping, Identity file)
    : path_(std::move(path)), mapping_(std::move(mapping)), file_(file) {}

Reader::Identity Reader::identity_of(int file) {
  struct stat info{};
  if (::fstat(file, &info) != 0) return {};
  return {.device = info.st_dev, .number = info.st_ino};
}

Reader::Reader(Reader&& other) noexcept
    : path_(std::move(other.path_)),
      mapping_(std::move(other.mapping_)),
      file_(other.file_),
      checked_at_(other.checked_at_.load(std::memory_order_relaxed)) {}

Result<Reader> Reader::open(const std::string& path) {
  const File file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file.open() && errno == ENOENT)
    return std::unexpected(
        fmt::format("no time page at {}; start tempod or give the path of its page", path));
  if (!file.open()) return std::unexpected(system_error("read", path, errno));
  if (const Fault fault = fault_of(file.descriptor()); fault != Fault::none)
    return std::unexpected(message_of(fault, path));
  Mapping mapping(file.descriptor(), false);
  if (mapping.empty()) return std::unexpected(system_error("read", path, errno));
  return Reader(path, std::move(mapping), identity_of(file.descriptor()));
}

Reading Reader::now() const {
  const std::optional<Loaded> loaded = load(*mapping_.page());
  if (loaded && is_sane(*loaded)) [[likely]] {
    const Nanos real = read_clock(CLOCK_REALTIME_COARSE);
    const Instant raw{read_clock(CLOCK_MONOTONIC_RAW)};
    const Reading reading = carry(loaded->content, raw);
    if (in_main_part(reading.status) && !perhaps_slept(loaded->content, raw, real)) [[likely]]
      return reading;
  }
  return read_carefully();
}

// Checks the content once per write.
bool Reader::is_sane(const Loaded& loaded) const {
  if (sane_sequence_.load(std::memory_order_relaxed) == loaded.sequence) [[likely]]
    return true;
  if (!sane(loaded.content)) return false;
  sane_sequence_.store(loaded.sequence, std::memory_order_relaxed);
  return true;
}

// The quick reading was not synchronized, or a clock jumped. The page may have been replaced; the
// jump may be a set clock, or a pause of this process between two clocks.
Reading Reader::read_carefully() const {
  for (int attempt = 1;; ++attempt) {
    const std::optional<Loaded> loaded = load(*mapping_.page());
    const Moment moment = read_moment_closely();
    const Reading reading = loaded ? read(loaded->content, moment) : Reading{};
    if (in_main_part(reading.status) || attempt == kMaxAttempts) return reading;
    const bool renewed = loaded && moment.raw - loaded->content.raw <= loaded->content.fresh;
    if (renewed || !reopen(moment.raw)) return reading;
  }
}

// Returns true if a new file has replaced the page. One thread checks; the others keep their page.
bool Reader::reopen(Instant now) const {
  std::int64_t last = checked_at_.load(std::memory_order_acquire);
  const std::int64_t at = now.time_since_epoch().count();
  if (at - last < kReopenInterval.count()) return false;
  if (!checked_at_.compare_exchange_strong(last, at, std::memory_order_acq_rel)) return false;
  const File file{::open(path_.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file.open()) return false;
  const Identity found = identity_of(file.descriptor());
  if (found == file_ || fault_of(file.descriptor()) != Fault::none ||
      !mapping_.replace(file.descriptor()))
    return false;
  file_ = found;
  return true;
}

Moment read_moment_closely() {
  Moment moment = read_moment();
  for (int i = 0; i < kMaxAttempts; ++i) {
    if (read_clock(CLOCK_MONOTONIC_RAW) - moment.raw.time_since_epoch() < kMaxReadTime) break;
    moment = read_moment();
  }
  return moment;
}

}  // namespace tempo::page
