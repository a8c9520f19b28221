// A command that records its first and last time of running in a file.
//
// The test program runs itself as this command under `tempo lock`. The command writes the time
// every 0.1 ms, so the last stamp is at most 0.1 ms before its end, even if it is killed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace tempo::faults {

inline constexpr const char* kStamp = "--stamp";  // first argument; main() then calls stamp()

struct Stamps {  // boot time
  BootTime first{};
  BootTime last{};
};

struct StampOptions {
  std::string file;
  Nanos span{0};             // the command exits after this time
  bool ignore_term = false;  // ignores SIGTERM
};
std::vector<std::string> stamp_command(const StampOptions& options);  // its command line
int stamp(const std::vector<std::string>& arguments);  // arguments after kStamp; the exit status

std::optional<Stamps> stamps_in(const std::string& file);  // nullopt: not started yet

}  // namespace tempo::faults
