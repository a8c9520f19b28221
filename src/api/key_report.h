// The keys of a cluster as one member sees them: which step of a key change comes next on this
// machine, and whether it is safe.
//
// Every datagram says which key seals it and which other key its sender opens. A step is safe if
// no member that was heard would be cut off by it: `promote` if all open the new key, `drop` if all
// seal with it. A member that has not been heard lately may lack the key; the report names it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/snapshot.h"

namespace tempo::obs {

enum class KeyStep : std::uint8_t { none, add, promote, drop, count };
std::string_view name_of(KeyStep step);  // "none", "add", ...

struct KeyReport {
  KeyStep next = KeyStep::none;        // of this machine; none: no key change is in progress
  bool safe = true;                    // `lacking` and `silent` are empty
  std::vector<std::string> lacking{};  // members that the next step would cut off
  std::vector<std::string> silent{};   // members that have not been heard for `silent_after_s`
  std::string text{};                  // state and next step, a sentence for people
};
// `silent_after_s` unset: a member may be silent for any time.
KeyReport key_report(const Snapshot& snapshot, std::optional<double> silent_after_s);

// The members with their keys, a table.
std::string keys_text(const Snapshot& snapshot);

}  // namespace tempo::obs
