// One part of several: a part of the cells of a sweep, or of the runs of one command.
#pragma once

#include <cstdint>

namespace tempo::sweep {

struct Share {
  std::uint64_t number = 1;  // counted from 1
  std::uint64_t of = 1;

  bool operator==(const Share&) const = default;
  bool has(std::uint64_t nth) const { return nth % of == number - 1; }
};

}  // namespace tempo::sweep
