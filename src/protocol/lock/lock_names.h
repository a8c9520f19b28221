// Names of locks and their numbers at this host. Numbers are this host's affair: others know a lock
// by its name.
//
// There are only so many numbers. That of a lock of which the machine knows nothing any more is
// given to the next name that needs one.
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
  explicit Names(std::size_t most) : most_(most) {}

  std::optional<lock::LockId> find(std::string_view name) const;

  // The number of this name, a new one if it has none; nothing if all are in use. `forgotten` says
  // whether the machine knows nothing of a lock.
  using Forgotten = std::function<bool(lock::LockId)>;
  std::optional<lock::LockId> number(std::string_view name, const Forgotten& forgotten);

  // Empty: none has that number.
  const std::string& name_of(lock::LockId id) const;
  std::size_t size() const { return numbers_.size(); }

  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [name, id] : numbers_) visit(name, id);
  }

 private:
  static constexpr std::size_t kMaxTries = 8;  // numbers looked at for one to give again

  std::size_t most_;
  std::map<std::string, lock::LockId, std::less<>> numbers_;
  std::vector<std::string> names_;  // by number
  std::size_t hand_ = 0;            // where the last look for a free number ended
};

}  // namespace tempo::locks
