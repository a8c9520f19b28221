// The next deadline of each of many locks, as a tournament tree: a change costs the logarithm of
// their number, and the first deadline is always available.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/units.h"
#include "machine/field_list.h"

namespace tempo::lock::lease {

class Deadlines {
 public:
  BootTime first() const { return tree_.empty() ? kNever : tree_[1]; }

  void set(std::size_t lock, BootTime due) {
    if (lock >= leaves()) grow(lock + 1);
    std::size_t at = leaves() + lock;
    tree_[at] = due;
    for (at /= 2; at >= 1; at /= 2) tree_[at] = std::min(tree_[2 * at], tree_[2 * at + 1]);
  }

  // Appends the locks that are due to `found`, in ascending order.
  void find(BootTime now, std::vector<std::size_t>& found) const {
    if (first() <= now) find(1, now, found);
  }

  static constexpr auto fields(auto list) { return list(field<&Deadlines::tree_>("tree")); }
  friend FieldCheck;

 private:
  std::size_t leaves() const { return tree_.size() / 2; }

  void grow(std::size_t locks) {
    std::size_t wanted = 1;
    while (wanted < locks) wanted *= 2;
    const std::vector<BootTime> old =
        std::exchange(tree_, std::vector<BootTime>(2 * wanted, kNever));
    for (std::size_t i = 0; i < old.size() / 2; ++i) set(i, old[old.size() / 2 + i]);
  }

  void find(std::size_t at, BootTime now, std::vector<std::size_t>& found) const {
    if (tree_[at] > now) return;
    if (at >= leaves()) {
      found.push_back(at - leaves());
      return;
    }
    find(2 * at, now, found);
    find(2 * at + 1, now, found);
  }

  // The root is 1, the children of i are 2i and 2i + 1; the leaves are the second half: locks by
  // number.
  std::vector<BootTime> tree_;
};

}  // namespace tempo::lock::lease
