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

constexpr long kNapNs = 100'000;

struct Page {
  std::atomic<std::int64_t> first{0};
  std::atomic<std::int64_t> last{0};
};

// Null: there is no such file, or it is empty.
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

std::vector<std::string> words_of(const StampOrder& order) {
  return {std::filesystem::read_symlink("/proc/self/exe").string(), kStamp, order.file,
          std::to_string(order.span.count()), order.stubborn ? "stubborn" : "polite"};
}

int stamp(const std::vector<std::string>& words) {
  if (words.size() != 3) return 2;
  if (words[2] == "stubborn") std::signal(SIGTERM, SIG_IGN);
  Page* const page = page_of(words[0], O_RDWR | O_CREAT);
  if (page == nullptr) return 2;
  const Nanos span{parse_number<std::int64_t>(words[1]).value_or(0)};
  const Instant first = sys::boot_clock();
  page->last = first.time_since_epoch().count();
  page->first = first.time_since_epoch().count();
  for (Instant now = first; now < first + span; now = sys::boot_clock()) {
    page->last = now.time_since_epoch().count();
    const timespec nap{.tv_sec = 0, .tv_nsec = kNapNs};
    nanosleep(&nap, nullptr);
  }
  page->last = sys::boot_clock().time_since_epoch().count();
  return 0;
}

std::optional<Stamps> stamps_in(const std::string& file) {
  Page* const page = page_of(file, O_RDWR);
  if (page == nullptr) return std::nullopt;
  const Stamps stamps{.first = Instant{Nanos{page->first.load()}},
                      .last = Instant{Nanos{page->last.load()}}};
  munmap(page, sizeof(Page));
  if (stamps.first == Instant{}) return std::nullopt;
  return stamps;
}

}  // namespace tempo::faults
