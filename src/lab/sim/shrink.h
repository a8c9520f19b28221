// Shrinking a failing run to what it needs.
//
// Delta debugging (Zeller & Hildebrandt 2002): leave out parts of a list, halves first, then
// smaller pieces, and keep what still fails, until nothing can be left out singly. Each try is one
// run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tempo::sim {

inline constexpr std::size_t kMaxTries = 10'000;

// A sublist for which `fails` still holds and from which no single item can be left out, unless the
// tries run out first. `fails(items)` must hold.
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

// The smallest number in [low, high] for which `fails` holds, if failing is monotone; `fails(high)`
// must.
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
