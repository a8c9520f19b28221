// Names of locks and their numbers at this host. Numbers are local: other hosts know a lock by its
// name.
//
// The number of numbers is limited. When the machine has no state about a lock any more, its number
// goes to the next name that needs one.
#pragma once

#include <cstddef>
#include <functional>
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
  // `forgotten` says whether the machine has no state about a lock.
  using Forgotten = std::function<bool(lock::LockId)>;
  std::optional<lock::LockId> number(std::string_view name, const Forgotten& forgotten);

  // Empty: no name has that number.
  const std::string& name_of(lock::LockId id) const;
  std::size_t size() const { return numbers_.size(); }

  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [name, id] : numbers_) visit(name, id);
  }

 private:
  static constexpr std::size_t kMaxTries = 8;  // numbers examined for reuse in one call

  std::size_t max_names_;
  std::map<std::string, lock::LockId, std::less<>> numbers_;
  std::vector<std::string> names_;  // by number
  std::size_t hand_ = 0;            // number at which the last search for a free number ended
};

}  // namespace tempo::locks
