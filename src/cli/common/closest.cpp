#include <algorithm>
#include <numeric>

#include "cli/common/command_line.h"

namespace tempo::cli {
namespace {

// Insertions, deletions, substitutions and swaps of neighbours that turn one word into the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string_view closest(std::string_view word, const std::vector<std::string_view>& candidates) {
  constexpr std::size_t kMaxLength = 64;  // longer words are no typing mistakes
  if (word.empty() || word.size() > kMaxLength) return {};
  std::string_view best;
  std::size_t least = std::max<std::size_t>(word.size() / 3, 1) + 1;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > kMaxLength) continue;
    const std::size_t now = distance(word, candidate);
    if (now < least) {
      least = now;
      best = candidate;
    }
  }
  if (!best.empty()) return best;
  for (const std::string_view candidate : candidates)
    if (word.size() >= 3 && candidate.starts_with(word)) return candidate;
  return {};
}

}  // namespace tempo::cli
