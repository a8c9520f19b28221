#include "stamps.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <new>

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/number_text.h"
#include "platform/clocks/boot_clock.h"

namespace tempo::faults {
namespace {

constexpr long kPollNs = 100'000;

struct Page {
  std::atomic<std::int64_t> first{0};
  std::atomic<std::int64_t> last{0};
};

// nullptr: the file does not exist, is empty or cannot be mapped.
Page* page_of(const std::string& file, int flags) {
  const int descriptor = open(file.c_str(), flags | O_CLOEXEC, 0644);
  if (descriptor < 0) return nullptr;
  if ((flags & O_CREAT) != 0 && ftruncate(descriptor, sizeof(Page)) != 0) return nullptr;
  void* const memory =
      lseek(descriptor, 0, SEEK_END) < static_cast<off_t>(sizeof(Page))
          ? MAP_FAILED
          : mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  return memory == MAP_FAILED ? nullptr : std::launder(reinterpret_cast<Page*>(memory));
}

}  // namespace

std::vector<std::string> stamp_command(const StampOptions& options) {
  return {std::filesystem::read_symlink("/proc/self/exe").string(), kStamp, options.file,
          std::to_string(options.span.count()),
          options.ignore_term ? "ignore-term" : "exit-on-term"};
}

int stamp(const std::vector<std::string>& arguments) {
  if (arguments.size() != 3) return 2;
  // A set-user-id copy becomes that user altogether, as sudo does.
  if (setuid(geteuid()) != 0) return 2;
  if (arguments[2] == "ignore-term") std::signal(SIGTERM, SIG_IGN);
  Page* const page = page_of(arguments[0], O_RDWR | O_CREAT);
  if (page == nullptr) return 2;
  const Nanos span{parse_number<std::int64_t>(arguments[1]).value_or(0)};
  const BootTime first = sys::boot_clock();
  page->last = first.time_since_epoch().count();
  page->first = first.time_since_epoch().count();
  for (BootTime now = first; now < first + span; now = sys::boot_clock()) {
    page->last = now.time_since_epoch().count();
    const timespec interval{.tv_sec = 0, .tv_nsec = kPollNs};
    nanosleep(&interval, nullptr);
  }
  page->last = sys::boot_clock().time_since_epoch().count();
  return 0;
}

std::optional<Stamps> stamps_in(const std::string& file) {
  Page* const page = page_of(file, O_RDWR);
  if (page == nullptr) return std::nullopt;
  const Stamps stamps{.first = BootTime{Nanos{page->first.load()}},
                      .last = BootTime{Nanos{page->last.load()}}};
  munmap(page, sizeof(Page));
  if (stamps.first == BootTime{}) return std::nullopt;
  return stamps;
}

}  // namespace tempo::faults
