// A command that says when it runs: the first and the last moment, in a file that outlives it.
//
// The test program starts itself again as that command, under `tempo lock`. It looks at the clock
// every tenth of a millisecond, so that it is seen to run until a tenth of a millisecond before its
// end, whoever ends it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace tempo::faults {

inline constexpr const char* kStamp = "--stamp";  // the word by which main() knows

struct Stamps {
  Instant first{};
  Instant last{};
};

struct StampOrder {
  std::string file;
  Nanos span{0};          // it ends by itself then
  bool stubborn = false;  // does not end when asked to by TERM
};
std::vector<std::string> words_of(const StampOrder& order);  // a command line for it
int stamp(const std::vector<std::string>& words);            // what it does

std::optional<Stamps> stamps_in(const std::string& file);  // nothing: it has not run yet

}  // namespace tempo::faults
