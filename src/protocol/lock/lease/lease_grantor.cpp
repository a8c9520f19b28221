#include "protocol/lock/lease/lease_grantor.h"

#include <algorithm>

#include "protocol/lock/lease/lease_mutation.h"

namespace tempo::lock::lease {

Why Grantor::decide(const GrantRequest& request, BootTime now, const Rules& rules) {
  drop_passed(now);
  if (std::ranges::find(ended_, request.ballot) != ended_.end()) return Why::ended;  // 2
  Promise* mine = std::ranges::find(promises_, request.ballot, &Promise::ballot);
  const bool promised = mine != promises_.end();
  for (const Promise& promise : promises_)  // 3
    if (promise.ballot != request.ballot && conflict(request.mode, promise.mode)) return Why::busy;
  if (!request.held && !promised) {
    // 4: a new proposal of this member has already raised `top`.
    const std::uint64_t least = request.own ? top_ : top_ + 1;
    if (request.ballot.count < least && !mutated(Mutation::no_low_test)) return Why::low;
    if (request.behind) return Why::queue;  // 5
  }
  if (!promised && promises_.full()) return Why::busy;
  raise(request.ballot.count);  // 6
  const Nanos length = mutated(Mutation::promise_of_own_length) ? rules.lease : request.length;
  const BootTime until = now + std::min(rules.keep(length), request.over_in);
  if (!promised) {
    promises_.push_back({request.ballot, request.mode, until});
    return Why::none;
  }
  mine->until = std::max(mine->until, until);
  if (request.mode == Mode::shared || mutated(Mutation::shared_promise_raised))
    mine->mode = request.mode;
  return Why::none;
}

void Grantor::end(const Ballot& ballot) {
  promises_.erase_if([&](const Promise& promise) { return promise.ballot == ballot; });
  if (std::ranges::find(ended_, ballot) == ended_.end()) ended_.push_newest(ballot);
}

void Grantor::drop_passed(BootTime now) {
  promises_.erase_if([&](const Promise& promise) { return promise.until <= now; });
}

bool Grantor::promised(const Ballot& ballot) const {
  return std::ranges::find(promises_, ballot, &Promise::ballot) != promises_.end();
}

const char* Grantor::check() const {
  for (const Promise& one : promises_) {
    if (one.ballot.count > top_) return "a promise with a count above top";
    for (const Promise& other : promises_)
      if (&one != &other && conflict(one.mode, other.mode)) return "promises in conflict";
  }
  return nullptr;
}

}  // namespace tempo::lock::lease
