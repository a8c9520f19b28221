#include "protocol/membership/view.h"

#include "protocol/membership/membership_mutation.h"

namespace tempo::membership {

bool suffices(const View& view, std::size_t count, bool with_tie_breaker) {
  const std::size_t size = view.members.size();
  const bool half = with_tie_breaker || mutated(Mutation::half_is_quorum);
  return 2 * count > size || (size > 0 && 2 * count == size && half);
}

void insert(Members& members, MemberId member) {
  members.push_back(member);
  std::ranges::sort(members);
}

}  // namespace tempo::membership
