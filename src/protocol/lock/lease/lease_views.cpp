// Changing the voters (section 9).
//
// Views follow each other by number. The holder of @view may propose the next one; the proposal
// succeeds when a quorum of the current voters, and a quorum of the next ones, have written to disk
// that they accept it. Two successful proposals for one number are the same: a member that grants
// @view reports the proposal it has accepted, the next holder has to propose that one again, and
// members no longer accept proposals under an older ballot. (This is Lamport's synod, one instance
// for each number, with the lease as its prepare phase.)
//
// Locks continue meanwhile. Promises survive a change, and quorums of adjacent views intersect in a
// member that keeps them; a message between members of different views is lost. Quorums of views
// that are not adjacent need not intersect, so
//   - no member accepts a next view before KEEP(Lmax) has passed in the current one: by then no
//     lease of the previous view is held;
//   - a member that enters a view counts on from the largest reserve of those that accepted it.
#include <algorithm>
#include <utility>

#include "protocol/lock/lease/lease_member.h"
#include "protocol/lock/lease/lease_mutation.h"

namespace tempo::lock::lease {
namespace {

constexpr ClientId kSelf{0};  // the only client of @view

// A voter informs the others of a new view, also if it has just lost its vote: perhaps no other
// member knows the view.
bool announces_views(const MemberState& state) {
  return state.voted_before || state.view().votes_for(state.self);
}

}  // namespace

void Member::request_change(Turn<Member>& turn, const Command& command) {
  if (change_.wanted || !changed(state_.view(), command.member, command.votes)) {
    turn.out.notify({.kind = Notice::Kind::refused, .lock = kViewLock});
    return;
  }
  change_ = {.wanted = true, .member = command.member, .votes = command.votes};
  on_lock(turn, kViewLock, [](Lock&, Scope&) {});
}

// Requests @view while a change is wanted, and proposes the change as soon as it holds @view.
void Member::advance_change(Turn<Member>& turn) {
  Scope scope{turn, state_, kViewLock};
  if (!change_.wanted) {
    if (view_lock_.known(kSelf)) view_lock_.abandon(scope);
    return;
  }
  if (!view_lock_.known(kSelf))  // or it was lost
    view_lock_.acquire(scope, Command::acquire(kViewLock, kSelf, Mode::exclusive, 0));
  if (!view_lock_.lease()) {
    change_.ballot = {};
    change_.again_at = kNever;
  } else if (change_.ballot != view_lock_.lease()->ballot) {
    const std::optional<View> next = changed(state_.view(), change_.member, change_.votes);
    const Proposal& known = state_.known;
    if (known.count == 0 && !next) return;
    change_.ballot = view_lock_.lease()->ballot;
    change_.proposal = {change_.ballot.count, known.count != 0 ? known.view : *next};
    change_.accepted_by = 0;
    change_.reserve = 0;
    propose(turn);
  }
}

void Member::propose(Turn<Member>& turn) {
  change_.again_at = turn.now + state_.rules.retry();
  const Message message{.kind = Kind::propose,
                        .lock = kViewLock,
                        .view = state_.view().number,
                        .boot = state_.boot,
                        .record = state_.record_id,
                        .ballot = change_.ballot,
                        .next = change_.proposal};
  turn.out.broadcast(message);
  receive_propose(turn, state_.self, message);
}

void Member::propose_again(Turn<Member>& turn) {
  if (view_lock_.top() > change_.ballot.count || state_.floor > change_.ballot.count)
    abandon_view_lock(turn);  // no member that has counted this far accepts the proposal
  else
    propose(turn);
}

// A wanted change starts over, with a larger ballot.
void Member::abandon_view_lock(Turn<Member>& turn) {
  on_lock(turn, kViewLock, [](Lock& lock, Scope& scope) { lock.abandon(scope); });
}

void Member::receive_propose(Turn<Member>& turn, NodeId from, const Message& message) {
  const View& next = message.next.view;
  const bool concerned = state_.view().votes_for(state_.self) || next.votes_for(state_.self);
  if (!concerned || next.number != state_.view().number + 1) return;
  if (!state_.speaks(turn.now) || turn.now < state_.settled_at) return;
  if (!view_lock_.accepts(message.ballot, state_.floor)) {
    if (from == state_.self) return;
    turn.out.send(from, {.kind = Kind::refuse,
                         .lock = kViewLock,
                         .view = state_.view().number,
                         .boot = state_.boot,
                         .record = state_.record_id,
                         .ballot = message.ballot,
                         .to_boot = message.boot,
                         .top = view_lock_.top(),
                         .why = Why::low});
    return;
  }
  debt_ = {from, message.boot, message.ballot};
  if (state_.accepted != message.next) {
    state_.accepted = message.next;
    state_.note_proposal(message.next);
    state_.ask_write(std::max(state_.asked, message.ballot.count));
    if (!mutated(Mutation::acceptance_not_durable)) return;
  }
  answer_proposal(turn);
}

// A proposal is accepted only when it is on disk.
void Member::answer_proposal(Turn<Member>& turn) {
  if (debt_.to == kNobody) return;
  const bool on_disk = state_.disk.next.count == debt_.ballot.count;
  if (!on_disk && !mutated(Mutation::acceptance_not_durable)) return;
  const Message message{.kind = Kind::accept,
                        .lock = kViewLock,
                        .view = state_.view().number,
                        .boot = state_.boot,
                        .record = state_.record_id,
                        .ballot = debt_.ballot,
                        .to_boot = debt_.boot,
                        .reserve = state_.disk.reserve,
                        .claims = state_.claims};
  const NodeId to = std::exchange(debt_, {}).to;
  if (to == state_.self)
    receive_accept(state_.self, message);
  else
    turn.out.send(to, message);
}

void Member::receive_accept(NodeId from, const Message& message) {
  if (change_.ballot.count == 0 || message.ballot != change_.ballot) return;
  change_.reserve = std::max(change_.reserve, message.reserve);
  const View& next = change_.proposal.view;
  change_.accepted_by |= state_.view().bit_of(from);
  change_.accepted_by |= next.bit_of(from);
  if (state_.view().quorum(change_.accepted_by) && next.quorum(change_.accepted_by))
    adopt(next, change_.reserve);
}

// A member with an older view gets our record; we ask a member with a newer one for its record.
void Member::receive_other_view(Turn<Member>& turn, NodeId from, const Message& message) {
  const std::uint32_t mine = state_.view().number;
  const bool a_question =
      message.kind == Kind::ask || message.kind == Kind::resume || message.kind == Kind::propose;
  if (message.view > mine)
    turn.out.send(from, {.kind = Kind::query, .lock = kViewLock, .view = mine});
  else if (a_question && announces_views(state_))
    turn.out.send(from, record_message(0, from));
}

// This view is known to be the next or a later one. It is in force here when it is on disk.
void Member::adopt(const View& view, std::uint64_t floor) {
  if (!state_.running || view.number <= state_.following.number) return;
  state_.following = view;
  if (mutated(Mutation::view_without_floor)) floor = 0;
  state_.floor = std::max(state_.floor, floor);
  state_.ask_write(state_.floor + state_.rules.block);
}

void Member::enter_view(Turn<Member>& turn, const View& view) {
  const bool more = change_.wanted && changed(view, change_.member, change_.votes);
  change_ = {.member = change_.member, .votes = change_.votes};
  abandon_view_lock(turn);  // while the others still understand it
  for (Lock& lock : locks_) lock.change_view(state_.view(), view);
  view_lock_.change_view(state_.view(), view);
  state_.enter(view, turn.now);
  state_.claims.erase_if([&](const Claim& claim) { return !view.votes_for(claim.member); });
  debt_ = {};
  turn.out.notify({.kind = Notice::Kind::view, .view = state_.view()});
  if (announces_views(state_)) turn.out.broadcast(record_message(0, kNobody));
  change_.wanted = more;
  on_lock(turn, kViewLock, [](Lock&, Scope&) {});
}

}  // namespace tempo::lock::lease
