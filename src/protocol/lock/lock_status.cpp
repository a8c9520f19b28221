#include "protocol/lock/lock_status.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

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

unsigned votes_needed(const lock::lease::View& view) {
  if (view.available) return 1;
  return std::accumulate(view.votes.begin(), view.votes.end(), 0U) / 2 + 1;
}

std::optional<unsigned> losses_survived(const lock::lease::View& view,
                                        std::span<const VoterSight> voters) {
  std::vector<unsigned> votes;
  for (const VoterSight& voter : voters)
    if (voter.reachable) votes.push_back(voter.votes);
  std::ranges::sort(votes, std::greater{});
  unsigned left = std::accumulate(votes.begin(), votes.end(), 0U);
  const unsigned needed = votes_needed(view);
  if (left < needed) return std::nullopt;
  unsigned losses = 0;
  for (const unsigned lost : votes) {
    if (left - lost < needed) break;
    left -= lost;
    ++losses;
  }
  return losses;
}

std::string no_majority_text(const lock::lease::View& view, std::span<const VoterSight> voters) {
  if (losses_survived(view, voters)) return "";
  const auto reachable = std::ranges::count_if(voters, &VoterSight::reachable);
  const bool equal = std::ranges::all_of(voters, [](const auto& one) { return one.votes == 1; });
  std::string text = fmt::format(
      "no locks: {} of {} voters reachable, {} needed", reachable, voters.size(),
      equal ? fmt::format("{}", votes_needed(view)) : fmt::format("{} votes", votes_needed(view)));
  const char* separator = "; ";
  for (const VoterSight& voter : voters) {
    if (voter.reachable) continue;
    text += fmt::format("{}{} {}", std::exchange(separator, ", "), voter.name, voter.silence);
  }
  return text;
}

}  // namespace tempo::locks
