// The history of holds that the clients of locks logged, and its check.
//
// A hold is the time in which a client could act: from its first reading of the clock after the
// grant until it released the lock or its lease ended, whichever came first. All processes use the
// boot clock of one machine. Of two conflicting holds of one lock, one ends before the other
// begins, and the later has the larger token. Terms of a group's leaders count as holds too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "protocol/lock/mode.h"

namespace tempo::faults {

struct Hold {
  std::uint32_t client = 0;
  std::uint32_t lock = 0;
  lock::Mode mode = lock::Mode::exclusive;
  lock::Token token = lock::kNoToken;
  BootTime entered{};
  BootTime left{};  // if the client died while holding: when it was last seen
};

struct Violation {
  enum class Kind : std::uint8_t {
    backwards,          // a hold ends before it begins: the log is invalid
    two_exclusive,      // two writers at once
    reader_and_writer,  // a reader and a writer at once
    token_disorder,     // the later of two conflicting holds has no larger token
  };
  Kind kind = Kind::backwards;
  Hold first{};
  Hold second{};  // the hold that began later; backwards: equal to first
};
std::string_view name_of(Violation::Kind kind);
std::string text_of(const Violation& violation);

// Number of violations reported; one is enough to find a cause.
inline constexpr std::size_t kMaxViolations = 16;
// Empty: the history is correct. Holds may be in any order.
std::vector<Violation> find_violations(std::vector<Hold> history);

}  // namespace tempo::faults
