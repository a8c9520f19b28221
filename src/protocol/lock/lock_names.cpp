#include "protocol/lock/lock_names.h"

#include <algorithm>
#include <utility>

namespace tempo::locks {

using lock::LockId;

std::optional<LockId> Names::find(std::string_view name) const {
  const auto found = numbers_.find(name);
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

// Each call examines only a few numbers in use, so that no call takes long. It reuses the first
// free one of these; otherwise it takes a new number while there are any.
std::optional<LockId> Names::number(std::string_view name, const Forgotten& forgotten) {
  if (const auto known = find(name)) return known;
  std::optional<LockId> given;
  const std::size_t tries =
      names_.size() < max_names_ ? std::min(kMaxTries, names_.size()) : names_.size();
  for (std::size_t i = 0; i < tries && !given; ++i) {
    hand_ = (hand_ + 1) % names_.size();
    const LockId id{static_cast<std::uint32_t>(hand_)};
    if (forgotten(id)) given = id;
  }
  if (!given) {
    if (names_.size() >= max_names_) return std::nullopt;
    given = LockId{static_cast<std::uint32_t>(names_.size())};
    names_.emplace_back();
  }
  std::string& place = names_[std::to_underlying(*given)];
  numbers_.erase(place);
  place = name;
  numbers_.emplace(name, *given);
  return given;
}

const std::string& Names::name_of(LockId id) const {
  static const std::string none;
  return std::to_underlying(id) < names_.size() ? names_[std::to_underlying(id)] : none;
}

}  // namespace tempo::locks
