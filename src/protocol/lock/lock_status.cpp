#include "protocol/lock/lock_status.h"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>

namespace tempo::locks {

NodeId needed_voter(const lock::lease::View& view) {
  const unsigned all = std::accumulate(view.votes.begin(), view.votes.end(), 0U);
  const auto* const most = std::ranges::max_element(view.votes);
  if (view.available || *most * 2U <= all) return kNobody;
  return view.slots[static_cast<std::size_t>(most - view.votes.begin())];
}

std::string lock_status(const lock::lease::View& view, std::string_view needed) {
  const auto voters =
      std::ranges::count_if(view.votes, [](std::uint8_t votes) { return votes > 0; });
  if (view.available) {
    return fmt::format(
        "{} voters; locks are UNSAFE: each voter grants them alone while the other does not answer",
        voters);
  }
  const unsigned all = std::accumulate(view.votes.begin(), view.votes.end(), 0U);
  const unsigned quorum = all / 2 + 1;
  const std::string count = fmt::format("{} voter{}", voters, voters == 1 ? "" : "s");
  if (needed_voter(view) != kNobody) return fmt::format("{}; locks need {}", count, needed);
  if (std::ranges::max(view.votes) > 1)
    return fmt::format("{}; locks need {} of {} votes", count, quorum, all);
  if (quorum == all) return fmt::format("{}; locks need both", count);
  return fmt::format("{}; locks survive the loss of {}", count, all - quorum);
}

}  // namespace tempo::locks
