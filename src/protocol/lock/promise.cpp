#include "protocol/lock/promise.h"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>

namespace tempo::locks {

std::string promise_of(const lock::lease::View& view,
                       const std::function<std::string(NodeId)>& name_of) {
  if (view.available)
    return "locks are UNSAFE: each of two members grants them alone when the other does not answer";
  const unsigned all = std::accumulate(view.votes.begin(), view.votes.end(), 0U);
  const auto* const most = std::ranges::max_element(view.votes);
  if (*most * 2U > all)
    return fmt::format("locks are safe while {} answers",
                       name_of(view.chairs[static_cast<std::size_t>(most - view.votes.begin())]));
  if (*most == 1)
    return fmt::format("locks are safe while {} of {} members answer", all / 2 + 1, all);
  return fmt::format("locks are safe while members with {} of {} votes answer", all / 2 + 1, all);
}

}  // namespace tempo::locks
