// What happens inside a guest: the first process, after the daemon is started, tells the host how
// the guest's kernel clock stands to the processor's time-stamp counter, which all guests share.
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
  std::int64_t page_ns = 0;  // what the daemon's page showed as the network's time, then
  int status = 0;            // of the page; -1: there is none
};

int move_clock_as_guest(const std::string& by_ms);

// Appends a report to `file` ten times a second until `file`.halt appears, which is obeyed. In
// `file`.shove are microseconds to move the clock by, once.
int report_as_guest(const std::string& file, const std::string& page);

std::vector<Report> read_reports(const std::filesystem::path& file);

std::uint64_t counter_now();

}  // namespace tempo::uml
