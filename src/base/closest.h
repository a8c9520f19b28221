// The known name that a mistyped one most likely means, for "did you mean ...?".
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace tempo {

// The least number of insertions, deletions, substitutions and swaps of neighbouring characters
// that turns one word into the other; no part of a word changes twice. '_' equals '-'.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto same = [](char x, char y) { return (x == '_' ? '-' : x) == (y == '_' ? '-' : y); };
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = same(a[i - 1], b[j - 1]) ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  return cost[a.size()][b.size()];
}

// Index of the candidate with the least distance to `word`, the first of several; at most one edit
// per three characters counts as close, or one edit in a shorter word. If none is close, the first
// candidate that begins with `word`, which then has at least three characters. The result is
// candidates.size() if there is none. Words and candidates above 64 characters match nothing.
inline std::size_t closest(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::size_t kMaxLength = 64;  // bounds the time for a long word
  constexpr std::size_t kMinPrefix = 3;
  const std::size_t none = candidates.size();
  if (word.empty() || word.size() > kMaxLength) return none;
  std::size_t best = none;
  std::size_t limit = std::max<std::size_t>(word.size() / 3, 1) + 1;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].size() > kMaxLength) continue;
    const std::size_t edits = edit_distance(word, candidates[i]);
    if (edits < limit) {
      limit = edits;
      best = i;
    }
  }
  if (best != none || word.size() < kMinPrefix) return best;
  const auto longer = std::ranges::find_if(
      candidates, [&](std::string_view candidate) { return candidate.starts_with(word); });
  return static_cast<std::size_t>(longer - candidates.begin());
}

}  // namespace tempo
