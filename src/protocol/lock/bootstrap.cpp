#include "protocol/lock/bootstrap.h"

#include <algorithm>

#include "base/check.h"

namespace tempo::lock {
namespace {

constexpr int kSilences = 3;  // after so many intervals of silence a claim is forgotten

bool before(const VoterSet& one, const VoterSet& other) {
  return std::ranges::lexicographical_compare(one, other);
}

}  // namespace

bool among(const VoterSet& voters, NodeId member) {
  return std::ranges::find(voters, member) != voters.end();
}

Bootstrap::Bootstrap(const Start& start)
    : self_(start.self), expected_(start.expected), interval_(start.interval) {
  CHECK(expected_ >= 1 && expected_ <= kMaxVoterSet);
  if (start.saved) said_ = *start.saved;
}

void Bootstrap::start(Turn<Bootstrap>& turn) {
  if (committed()) return turn.out.notify({.kind = Notice::Kind::committed, .word = said_});
  next_ = turn.now;
}

void Bootstrap::receive(Turn<Bootstrap>& turn, NodeId from, const Message& message) {
  if (from == self_) return;
  if (message.stage != Stage::proposed && message.voters.empty()) return;  // nobody founds nothing
  if (committed()) {
    if (message.stage != Stage::committed)
      turn.out.send(from, said_);
    else if (message.voters != said_.voters)
      turn.out.notify({.kind = Notice::Kind::split, .word = message});
    return;
  }
  remember(from, message, turn.now);
  if (message.stage == Stage::committed) return receive_committed(turn, message);
  if (message.stage == Stage::ready) receive_ready(turn, from, message);
  advance(turn);
}

void Bootstrap::remember(NodeId from, const VoterProposal& word, Instant now) {
  const auto place = std::ranges::lower_bound(others_, from, {}, &Other::member);
  if (place != others_.end() && place->member == from)
    *place = {.member = from, .word = word, .at = now};
  else
    others_.insert(place, {.member = from, .word = word, .at = now});
  if (others_.size() > kMaxOthers) others_.pop_back();
}

void Bootstrap::receive_committed(Turn<Bootstrap>& turn, const VoterProposal& word) {
  if (among(word.voters, self_)) return want(turn, word);
  said_ = word;
  wanted_.reset();
  next_ = kNever;
  turn.out.notify({.kind = Notice::Kind::committed, .word = said_});
}

void Bootstrap::receive_ready(Turn<Bootstrap>& turn, NodeId from, const VoterProposal& word) {
  if (said_.stage == Stage::ready &&
      (!before(word.voters, said_.voters) || !among(said_.voters, from)))
    return;
  if (among(word.voters, self_)) want(turn, word);
}

void Bootstrap::on_timer(Turn<Bootstrap>& turn, TimerId /*timer*/) {
  next_ = turn.now + interval_;
  std::erase_if(others_, [&](const auto& other) {
    return other.at + kSilences * interval_ < turn.now && other.word.stage == Stage::proposed;
  });
  if (said_.stage == Stage::proposed && !wanted_) choose();
  turn.out.broadcast(said_);
  advance(turn);
}

void Bootstrap::command(Turn<Bootstrap>& turn, const Command& command) {
  if (!wanted_ || command.written != *wanted_) return;
  said_ = *wanted_;
  wanted_.reset();
  if (committed()) {
    next_ = kNever;
    turn.out.broadcast(said_);
    turn.out.notify({.kind = Notice::Kind::committed, .word = said_});
    return;
  }
  turn.out.broadcast(said_);
  advance(turn);
}

// The first so many of those that were heard lately, this one among them.
void Bootstrap::choose() {
  said_.voters.clear();
  bool self_is_in = false;
  const auto take = [&](NodeId member) {
    if (said_.voters.size() < expected_) said_.voters.push_back(member);
  };
  for (const Other& other : others_) {
    if (!self_is_in && self_ < other.member) {
      take(self_);
      self_is_in = true;
    }
    take(other.member);
  }
  if (!self_is_in) take(self_);
}

void Bootstrap::advance(Turn<Bootstrap>& turn) {
  if (wanted_ || said_.voters.size() != expected_ || !among(said_.voters, self_)) return;
  if (said_.stage == Stage::proposed &&
      all_others(Stage::proposed, turn.now - kSilences * interval_))
    return want(turn, {.stage = Stage::ready, .voters = said_.voters});
  if (said_.stage == Stage::ready && all_others(Stage::ready, Instant::min()))
    want(turn, {.stage = Stage::committed, .voters = said_.voters});
}

bool Bootstrap::all_others(Stage least, Instant since) const {
  return std::ranges::all_of(said_.voters, [&](NodeId voter) {
    if (voter == self_) return true;
    const auto found = std::ranges::find(others_, voter, &Other::member);
    return found != others_.end() && found->word.stage >= least &&
           found->word.voters == said_.voters && found->at >= since;
  });
}

void Bootstrap::want(Turn<Bootstrap>& turn, const VoterProposal& word) {
  if (wanted_ == word) return;
  wanted_ = word;
  turn.out.notify({.kind = Notice::Kind::write, .word = word});
}

const char* Bootstrap::check() const {
  if (said_.stage == Stage::ready && !among(said_.voters, self_))
    return "ready for voters without this one";
  if (said_.stage != Stage::proposed && said_.voters.empty()) return "founded by nobody";
  return nullptr;
}

static_assert(Machine<Bootstrap>);

}  // namespace tempo::lock
