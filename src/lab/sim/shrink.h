// Shrinks a failing run to the parts it needs.
//
// Delta debugging (Zeller & Hildebrandt 2002): remove parts of a list, halves first, then smaller
// pieces, and keep each smaller list that still fails, until no single item can be removed. Every
// try is one run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tempo::sim {

inline constexpr std::size_t kMaxTries = 10'000;

// Returns a sublist for which `fails` still holds and from which no single item can be removed,
// unless the tries run out first. Requires fails(items).
template <class Item, class Fails>
std::vector<Item> fewest(std::vector<Item> items, Fails fails, std::size_t tries = kMaxTries) {
  std::size_t pieces = 2;
  while (!items.empty() && tries > 0) {
    pieces = std::min(pieces, items.size());
    bool shrunk = false;
    for (std::size_t piece = 0; piece < pieces && tries > 0; ++piece) {
      const std::size_t from = items.size() * piece / pieces;
      const std::size_t to = items.size() * (piece + 1) / pieces;
      std::vector<Item> rest(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(from));
      rest.insert(rest.end(), items.begin() + static_cast<std::ptrdiff_t>(to), items.end());
      --tries;
      if (!fails(rest)) continue;
      items = std::move(rest);
      pieces = std::max<std::size_t>(2, pieces - 1);
      shrunk = true;
      break;
    }
    if (shrunk) continue;
    if (pieces >= items.size()) break;
    pieces *= 2;
  }
  return items;
}

// The smallest number in [low, high] for which `fails` holds. Requires that `fails` is monotone and
// that fails(high) holds.
template <class Number, class Fails>
Number least(Number low, Number high, Fails fails) {
  while (low < high) {
    const Number middle = low + (high - low) / 2;
    if (fails(middle))
      high = middle;
    else
      low = middle + Number{1};
  }
  return high;
}

}  // namespace tempo::sim
