// Enumerates the values of random draws.
//
// The caller runs a step repeatedly. In each run the draws take another combination of values,
// lowest first, until all have occurred.
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/random.h"

namespace tempo::check {

class EveryDraw final : public Draw {
 public:
  static constexpr std::uint64_t kMaxValues =
      1024;  // of one draw; checked machines draw small numbers

  std::uint64_t below(std::uint64_t limit) override {
    CHECK(limit > 0 && limit <= kMaxValues);
    if (used_ == taken_.size()) taken_.push_back({0, limit});
    CHECK(taken_[used_].limit == limit);
    return taken_[used_++].value;
  }

  // Advances to the next combination; returns false after the last one.
  bool advance() {
    CHECK(used_ == taken_.size());
    while (!taken_.empty() && taken_.back().value + 1 == taken_.back().limit) taken_.pop_back();
    used_ = 0;
    if (taken_.empty()) return false;
    ++taken_.back().value;
    return true;
  }

  std::vector<std::uint32_t> values() const {
    std::vector<std::uint32_t> values;
    values.reserve(taken_.size());
    for (const Taken& taken : taken_) values.push_back(static_cast<std::uint32_t>(taken.value));
    return values;
  }

 private:
  struct Taken {
    std::uint64_t value;
    std::uint64_t limit;
  };
  std::vector<Taken> taken_;  // draws of the current run
  std::size_t used_ = 0;      // draws of taken_ made so far in this run
};

}  // namespace tempo::check
