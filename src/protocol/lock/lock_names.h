// Names of locks and their numbers at this host. Numbers are local: other hosts know a lock by its
// name.
//
// The number of numbers is limited. When the machine has no state about a lock any more, its number
// goes to the next name that needs one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/lock/mode.h"

namespace tempo::locks {

class Names {
 public:
  explicit Names(std::size_t max_names) : max_names_(max_names) {}

  std::optional<lock::LockId> find(std::string_view name) const;

  // The number of this name; allocates one if it has none. Unset: all numbers are in use.
  // `forgotten(id)` says whether the machine has no state about a lock.
  template <class Forgotten>
  std::optional<lock::LockId> number(std::string_view name, Forgotten forgotten);

  // Empty: no name has that number.
  const std::string& name_of(lock::LockId id) const;
  std::size_t size() const { return numbers_.size(); }

  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [name, id] : numbers_) visit(name, id);
  }

 private:
  static constexpr std::size_t kMaxTries = 8;  // numbers examined for reuse in one call

  // Gives the name this number, which another name may have had; unset: a new number, if there is
  // one.
  std::optional<lock::LockId> give(std::string_view name, std::optional<lock::LockId> id);

  std::size_t max_names_;
  std::map<std::string, lock::LockId, std::less<>> numbers_;
  std::vector<std::string> names_;  // by number
  std::size_t hand_ = 0;            // number at which the last search for a free number ended
};

// Each call examines only a few numbers in use, so that no call takes long. It reuses the first
// free one of these; otherwise it takes a new number while there are any.
template <class Forgotten>
std::optional<lock::LockId> Names::number(std::string_view name, Forgotten forgotten) {
  if (const auto known = find(name)) return known;
  const std::size_t tries =
      names_.size() < max_names_ ? std::min(kMaxTries, names_.size()) : names_.size();
  for (std::size_t i = 0; i < tries; ++i) {
    hand_ = (hand_ + 1) % names_.size();
    const lock::LockId id{static_cast<std::uint32_t>(hand_)};
    if (forgotten(id)) return give(name, id);
  }
  return give(name, std::nullopt);
}

}  // namespace tempo::locks
