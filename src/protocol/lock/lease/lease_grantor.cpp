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
    mine = promises_.end() - 1;
  } else {
    mine->until = std::max(mine->until, until);
    if (request.mode == Mode::shared || mutated(Mutation::shared_promise_raised))
      mine->mode = request.mode;
  }
  if (request.registers.holder != kNobody) mine->note(request.registers, request.resumed);
  return Why::none;
}

// A grantor that knows later clients of this lease, or a larger count, answers no. One that missed
// the registration joins: its promise counts, but it confirms nothing.
Why Grantor::resume(const ResumeRequest& request, BootTime now, const Rules& rules,
                    bool& confirmed) {
  drop_passed(now);
  confirmed = false;
  if (std::ranges::find(ended_, request.ballot) != ended_.end()) return Why::ended;
  Promise* mine = std::ranges::find(promises_, request.ballot, &Promise::ballot);
  const bool promised = mine != promises_.end();
  for (const Promise& promise : promises_)
    if (promise.ballot != request.ballot && conflict(request.mode, promise.mode)) return Why::busy;
  if (!promised) {
    if (request.ballot.count < top_ && !mutated(Mutation::resume_below_top)) return Why::low;
    if (promises_.full()) return Why::busy;
    promises_.push_back({request.ballot, request.mode, now});
    mine = promises_.end() - 1;
  }
  if (request.mode == Mode::exclusive && mine->mode == Mode::shared) return Why::busy;
  Registration& known = mine->registered;
  confirmed = known.holder == request.holder && known.lists(request.client);
  if (!confirmed && known.holder != kNobody && known.sub >= request.client.sub &&
      !mutated(Mutation::resume_of_any_client))
    return Why::busy;
  raise(request.ballot.count);
  mine->until = std::max(mine->until, now + rules.keep(request.length));
  if (request.mode == Mode::shared) mine->mode = Mode::shared;
  // Without a confirmation it stays unregistered: this grantor must not confirm it the next time.
  if (confirmed) known.boot = request.boot;
  return Why::none;
}

void Grantor::note_pass(const Ballot& ballot, NodeId holder, Boot boot, std::uint32_t sub) {
  Promise* const mine = std::ranges::find(promises_, ballot, &Promise::ballot);
  if (mine == promises_.end() || mine->registered.holder == kNobody) return;
  if (sub <= mine->registered.sub || mutated(Mutation::pass_keeps_clients)) return;
  mine->registered = {.holder = holder, .boot = boot, .sub = sub};
}

bool Registration::lists(const Insider& client) const {
  return std::ranges::any_of(inside, [&](const Insider& one) {
    return one.sub == client.sub && one.session.number == client.session.number &&
           (one.session.process == client.session.process ||
            mutated(Mutation::session_of_any_process));
  });
}

void Registration::add(const Insider& client) {
  if (!inside.full() && std::ranges::find(inside, client) == inside.end()) inside.push_back(client);
}

void Promise::note(const Registration& told, bool resumed) {
  const bool same = registered.holder == told.holder && registered.boot <= told.boot;
  if (resumed && same) {
    registered.boot = told.boot;
    for (const Insider& client : told.inside) registered.add(client);
  } else if (registered.holder == kNobody || told.sub > registered.sub ||
             (same && told.sub == registered.sub)) {
    registered = told;
  }
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
