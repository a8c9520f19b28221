#include "guest.h"

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <sys/reboot.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "api/page_file.h"

namespace tempo::uml {
namespace {

std::int64_t real_now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

void move_clock(std::int64_t by_ns) {
  const std::int64_t to = real_now() + by_ns;
  const timespec time{.tv_sec = to / 1'000'000'000, .tv_nsec = to % 1'000'000'000};
  ::clock_settime(CLOCK_REALTIME, &time);
}

// The narrowest of several readings: the host may interrupt a guest at any point.
Report take_report(const std::optional<page::Reader>& reader) {
  Report best;
  std::uint64_t narrowest = UINT64_MAX;
  for (int i = 0; i < 8; ++i) {
    const std::uint64_t before = counter_now();
    const std::int64_t real = real_now();
    const page::Reading reading = reader ? reader->now() : page::Reading{};
    const std::uint64_t after = counter_now();
    if (after - before >= narrowest) continue;
    narrowest = after - before;
    best = {.counter = before + (after - before) / 2,
            .real_ns = real,
            .page_ns = reading.time.time_since_epoch().count(),
            .status = reader ? static_cast<int>(reading.status) : -1};
  }
  timex kernel{};  // no modes: this reads only
  if (::adjtimex(&kernel) >= 0 && (kernel.status & STA_UNSYNC) == 0)
    best.max_error_us = kernel.maxerror;
  return best;
}

}  // namespace

std::uint64_t counter_now() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return 0;
#endif
}

int move_clock_as_guest(const std::string& by_ms) {
  move_clock(std::atoll(by_ms.c_str()) * 1'000'000);
  return 0;
}

int report_as_guest(const std::string& file, const std::string& page) {
  std::optional<page::Reader> reader;
  std::ofstream out(file);
  bool shoved = false;
  while (!std::filesystem::exists(file + ".halt")) {
    if (!reader)
      if (auto opened = page::Reader::open(page)) reader.emplace(*std::move(opened));
    if (std::ifstream shove(file + ".shove"); shove && !shoved) {
      std::int64_t by_us = 0;
      shove >> by_us;
      move_clock(by_us * 1000);
      shoved = true;
    }
    const Report report = take_report(reader);
    out << report.counter << ' ' << report.real_ns << ' ' << report.page_ns << ' ' << report.status
        << ' ' << report.max_error_us << std::endl;
    ::usleep(100'000);
  }
  ::reboot(RB_POWER_OFF);
  return 0;
}

std::vector<Report> read_reports(const std::filesystem::path& file) {
  std::vector<Report> reports;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (in.eof()) break;  // still being written
    Report report;
    if (std::istringstream(line) >> report.counter >> report.real_ns >> report.page_ns >>
        report.status >> report.max_error_us)
      reports.push_back(report);
  }
  return reports;
}

}  // namespace tempo::uml
