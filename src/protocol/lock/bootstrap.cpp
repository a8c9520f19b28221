#include "protocol/lock/bootstrap.h"

#include <algorithm>

#include "base/check.h"

namespace tempo::lock {
namespace {

constexpr std::uint64_t kNumbers = (std::uint64_t{1} << 63) - 1;  // a number is from 1 to this
constexpr int kSilences = 3;  // a proposal expires after this many intervals of silence

bool before(const Bootstrap::VoterProposal& one, const Bootstrap::VoterProposal& other) {
  if (one.voters == other.voters) return one.number < other.number;
  return std::ranges::lexicographical_compare(one.voters, other.voters);
}

}  // namespace

bool among(const VoterSet& voters, NodeId member) {
  return std::ranges::find(voters, member) != voters.end();
}

Bootstrap::Bootstrap(const Start& start)
    : self_(start.self),
      expected_(start.expected),
      aside_(start.aside),
      most_(start.most),
      interval_(start.interval) {
  CHECK(expected_ <= kMaxVoterSet);
  if (start.saved) current_ = *start.saved;
}

void Bootstrap::start(Turn<Bootstrap>& turn) {
  if (!committed()) {
    number_ = 1 + turn.draw.below(kNumbers);
    next_ = turn.now;
    return;
  }
  turn.out.broadcast(current_);
  turn.out.notify({.kind = Notice::Kind::committed, .word = current_});
}

void Bootstrap::receive(Turn<Bootstrap>& turn, NodeId from, const Message& message) {
  if (from == self_) return;
  if (committed()) {
    if (message.stage != Stage::committed)
      turn.out.send(from, current_);
    else if (!message.voters.empty() && message != current_)
      turn.out.notify({.kind = Notice::Kind::split, .from = from, .word = message});
    return;
  }
  if (message.voters.empty()) return;  // it only asks, or it is invalid
  if (message.stage != Stage::proposed && message.number == 0) return;
  remember(from, message, turn.now);
  follow_nominator(from, message, turn.now);
  if (message.stage == Stage::committed) return receive_committed(turn, message);
  if (message.stage == Stage::ready) receive_ready(turn, from, message);
  advance(turn);
}

void Bootstrap::remember(NodeId from, const VoterProposal& proposal, BootTime now) {
  const auto place = std::ranges::lower_bound(others_, from, {}, &Other::member);
  if (place != others_.end() && place->member == from)
    *place = {.member = from, .proposal = proposal, .at = now};
  else
    others_.insert(place, {.member = from, .proposal = proposal, .at = now});
  if (others_.size() > kMaxOthers) others_.pop_back();
}

void Bootstrap::receive_committed(Turn<Bootstrap>& turn, const VoterProposal& proposal) {
  if (among(proposal.voters, self_)) return enter(turn, proposal);
  current_ = proposal;
  next_ = kNever;
  turn.out.notify({.kind = Notice::Kind::committed, .word = current_});
}

void Bootstrap::receive_ready(Turn<Bootstrap>& turn, NodeId from, const VoterProposal& proposal) {
  if (aside_ || crowded()) return;
  if (current_.stage == Stage::ready &&
      (!before(proposal, current_) || !among(current_.voters, from)))
    return;
  if (among(proposal.voters, self_)) enter(turn, proposal);
}

// --- nominations ---

void Bootstrap::command(Turn<Bootstrap>& turn, const Command& command) {
  if (current_.stage != Stage::proposed) return;
  if (std::holds_alternative<Abandon>(command) && nominator_ == self_) leave_nomination();
  const auto* nominate = std::get_if<Nominate>(&command);
  if (nominate == nullptr || expected_ != 0 || aside_ || !among(nominate->voters, self_)) return;
  nominator_ = self_;
  nominated_ = {.voters = nominate->voters, .number = number_};
  next_ = turn.now;
}

void Bootstrap::follow_nominator(NodeId from, const VoterProposal& proposal, BootTime now) {
  if (expected_ != 0 || aside_ || current_.stage != Stage::proposed) return;
  if (proposal.stage != Stage::proposed || proposal.number == 0) return;
  if (nominator_ != kNobody && nominator_ != from) return;
  if (!among(proposal.voters, self_) || !among(proposal.voters, from) || nominated_ == proposal)
    return;
  nominator_ = from;
  nominated_ = proposal;
  choose();
  next_ = now;
}

void Bootstrap::leave_nomination() {
  nominator_ = kNobody;
  nominated_ = {};
  choose();
}

// Another nomination without a common member goes first.
bool Bootstrap::smaller_nomination(BootTime now) const {
  if (expected_ != 0) return false;
  return std::ranges::any_of(others_, [&](const Other& other) {
    return other.at + kSilences * interval_ >= now && before(other.proposal, current_) &&
           std::ranges::none_of(other.proposal.voters,
                                [&](NodeId voter) { return among(current_.voters, voter); });
  });
}

// --- the agreement ---

void Bootstrap::on_timer(Turn<Bootstrap>& turn, TimerId /*timer*/) {
  if (turn.now < next_) return;
  next_ = turn.now + interval_;
  std::erase_if(others_, [&](const auto& other) {
    return other.at + kSilences * interval_ < turn.now && other.proposal.stage == Stage::proposed;
  });
  if (current_.stage == Stage::proposed && nominator_ != kNobody && nominator_ != self_ &&
      std::ranges::find(others_, nominator_, &Other::member) == others_.end())
    leave_nomination();
  if (current_.stage == Stage::proposed && !aside_) choose();
  turn.out.broadcast(current_);
  if (idle() && (questions_ == 0 || --questions_ == 0)) next_ = kNever;
  advance(turn);
}

// The first recently heard members up to the expected number, in ascending order; this member takes
// its place among them.
void Bootstrap::choose() {
  if (expected_ == 0) {
    current_ = nominated_;
    if (nominator_ != self_) current_.number = 0;
    return;
  }
  current_.voters.clear();
  bool self_is_in = false;
  const auto take = [&](NodeId member) {
    if (current_.voters.size() < expected_) current_.voters.push_back(member);
  };
  for (const Other& other : others_) {
    if (!self_is_in && self_ < other.member) {
      take(self_);
      self_is_in = true;
    }
    take(other.member);
  }
  if (!self_is_in) take(self_);
  current_.number = 0;
  learn_number();
}

// The number of the proposed list comes from its first member, which proposes the same list.
void Bootstrap::learn_number() {
  if (current_.voters.empty()) return;
  const NodeId first = current_.voters.front();
  if (first == self_) current_.number = number_;
  const auto found = std::ranges::find(others_, first, &Other::member);
  if (found != others_.end() && found->proposal.voters == current_.voters)
    current_.number = found->proposal.number;
}

void Bootstrap::advance(Turn<Bootstrap>& turn) {
  if (current_.voters.size() != expected() || !among(current_.voters, self_)) return;
  if (current_.stage == Stage::proposed && expected_ != 0) learn_number();
  const std::uint64_t number = expected_ != 0 ? current_.number : nominated_.number;
  if (current_.stage == Stage::proposed && number != 0 && !crowded() &&
      !smaller_nomination(turn.now) &&
      all_others(Stage::proposed, turn.now - kSilences * interval_))
    enter(turn, {Stage::ready, current_.voters, number});
  if (current_.stage == Stage::ready && all_others(Stage::ready, BootTime::min()))
    enter(turn, {Stage::committed, current_.voters, current_.number});
}

bool Bootstrap::all_others(Stage least, BootTime since) const {
  return std::ranges::all_of(current_.voters, [&](NodeId voter) {
    if (voter == self_) return true;
    const auto found = std::ranges::find(others_, voter, &Other::member);
    return found != others_.end() && found->proposal.stage >= least &&
           found->proposal.voters == current_.voters && found->at >= since &&
           (least == Stage::proposed || found->proposal.number == current_.number);
  });
}

// The next stage, or a smaller list: on disk before any other member learns of it.
void Bootstrap::enter(Turn<Bootstrap>& turn, const VoterProposal& proposal) {
  current_ = proposal;
  turn.out.persist(current_);
  turn.out.broadcast(current_);
  if (!committed()) return;
  next_ = kNever;
  turn.out.notify({.kind = Notice::Kind::committed, .word = current_});
}

const char* Bootstrap::check() const {
  if (current_.stage == Stage::ready && !among(current_.voters, self_))
    return "ready for voters that exclude this member";
  if (current_.stage != Stage::proposed && current_.number == 0)
    return "ready for or committed to a voter set without a number";
  if (current_.stage != Stage::proposed && current_.voters.empty())
    return "ready for or committed to an empty voter set";
  return nullptr;
}

static_assert(CheckableMachine<Bootstrap>);

}  // namespace tempo::lock
