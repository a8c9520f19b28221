// The first process of a guest, after the daemon has started: reports the kernel clock of the guest
// against the time-stamp counter of the CPU, which all guests share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tempo::uml {

// One reading: the counter in the middle of a reading of CLOCK_REALTIME.
struct Report {
  std::uint64_t counter = 0;
  std::int64_t real_ns = 0;
  std::int64_t page_ns = 0;  // network time of the page at that moment
  int status = 0;            // status of the page; -1: no page
  std::int64_t max_error_us =
      0;  // maxerror of the kernel; 0: it says that its clock is unsynchronized
};

int move_clock_as_guest(const std::string& by_ms);

// Appends a report to `file` ten times a second until `file`.halt appears; then the guest powers
// off. `file`.shove contains microseconds to move the clock by, once.
int report_as_guest(const std::string& file, const std::string& page);

std::vector<Report> read_reports(const std::filesystem::path& file);

std::uint64_t counter_now();

}  // namespace tempo::uml
