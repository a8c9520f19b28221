#include "protocol/lock/lock_names.h"

#include <utility>

namespace tempo::locks {

using lock::LockId;

std::optional<LockId> Names::find(std::string_view name) const {
  const auto found = numbers_.find(name);
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

std::optional<LockId> Names::give(std::string_view name, std::optional<LockId> id) {
  if (!id) {
    if (names_.size() >= max_names_) return std::nullopt;
    id = LockId{static_cast<std::uint32_t>(names_.size())};
    names_.emplace_back();
  }
  std::string& place = names_[std::to_underlying(*id)];
  numbers_.erase(place);
  place = name;
  numbers_.emplace(name, *id);
  return id;
}

const std::string& Names::name_of(LockId id) const {
  static const std::string none;
  return std::to_underlying(id) < names_.size() ? names_[std::to_underlying(id)] : none;
}

}  // namespace tempo::locks
