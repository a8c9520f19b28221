// What the clients of a lock wrote down, and whether that can be.
//
// A hold is the time in which a client could act: from its first look at the clock after it was
// told, to the moment it let go or its lease was over, whichever came first. All stamps are of one
// clock, which every process of a machine shares. Of two holds of one lock that conflict one ends
// before the other begins, and the later has the larger token. Leaders of a group are holders of a
// lock, too: their terms are holds like any other.
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
  Instant entered{};
  Instant left{};  // of a client that died inside: when it was last seen there
};

struct Breach {
  enum class Kind : std::uint8_t {
    backwards,       // it ends before it begins: the client wrote nonsense
    two_exclusive,   // two writers at once
    reader_beside,   // a reader and a writer at once
    token_disorder,  // the later of two in conflict has no larger token
  };
  Kind kind = Kind::backwards;
  Hold first{};
  Hold second{};  // the one that entered later; of `backwards`, the same
};
std::string_view name_of(Breach::Kind kind);
std::string text_of(const Breach& breach);

// At most this many are reported: one is enough to look for its cause.
inline constexpr std::size_t kMaxBreaches = 16;
// Empty: all promises held. In any order; nothing is said of holds that do not conflict.
std::vector<Breach> judge(std::vector<Hold> history);

}  // namespace tempo::faults
