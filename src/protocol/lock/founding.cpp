#include "protocol/lock/founding.h"

#include <algorithm>

#include "base/check.h"

namespace tempo::lock {
namespace {

constexpr int kSilences = 3;  // after so many intervals of silence a claim is forgotten

bool before(const Roster& one, const Roster& other) {
  return std::ranges::lexicographical_compare(one, other);
}

}  // namespace

bool among(const Roster& voters, NodeId member) {
  return std::ranges::find(voters, member) != voters.end();
}

Founding::Founding(const Start& start)
    : self_(start.self), expected_(start.expected), interval_(start.interval) {
  CHECK(expected_ >= 1 && expected_ <= kMaxInRoster);
  if (start.saved) said_ = *start.saved;
}

void Founding::start(Turn<Founding>& turn) {
  if (founded()) return turn.out.note({.kind = Notice::Kind::founded, .word = said_});
  next_ = turn.now;
}

void Founding::receive(Turn<Founding>& turn, NodeId from, const Message& message) {
  if (from == self_) return;
  if (message.stage != Stage::claims && message.voters.empty()) return;  // nobody founds nothing
  if (founded()) {
    if (message.stage != Stage::founded)
      turn.out.send(from, said_);
    else if (message.voters != said_.voters)
      turn.out.note({.kind = Notice::Kind::split, .word = message});
    return;
  }
  remember(from, message, turn.now);
  if (message.stage == Stage::founded) return hear_founded(turn, message);
  if (message.stage == Stage::ready) hear_ready(turn, from, message);
  advance(turn);
}

void Founding::remember(NodeId from, const Word& word, Instant now) {
  const auto place = std::ranges::lower_bound(others_, from, {}, &Other::member);
  if (place != others_.end() && place->member == from)
    *place = {.member = from, .word = word, .at = now};
  else
    others_.insert(place, {.member = from, .word = word, .at = now});
  if (others_.size() > kMaxOthers) others_.pop_back();
}

void Founding::hear_founded(Turn<Founding>& turn, const Word& word) {
  if (among(word.voters, self_)) return want(turn, word);
  said_ = word;
  wanted_.reset();
  next_ = kNever;
  turn.out.note({.kind = Notice::Kind::founded, .word = said_});
}

void Founding::hear_ready(Turn<Founding>& turn, NodeId from, const Word& word) {
  if (said_.stage == Stage::ready &&
      (!before(word.voters, said_.voters) || !among(said_.voters, from)))
    return;
  if (among(word.voters, self_)) want(turn, word);
}

void Founding::wake(Turn<Founding>& turn, TimerId /*timer*/) {
  next_ = turn.now + interval_;
  std::erase_if(others_, [&](const auto& other) {
    return other.at + kSilences * interval_ < turn.now && other.word.stage == Stage::claims;
  });
  if (said_.stage == Stage::claims && !wanted_) choose();
  turn.out.broadcast(said_);
  advance(turn);
}

void Founding::command(Turn<Founding>& turn, const Command& command) {
  if (!wanted_ || command.written != *wanted_) return;
  said_ = *wanted_;
  wanted_.reset();
  if (founded()) {
    next_ = kNever;
    turn.out.broadcast(said_);
    turn.out.note({.kind = Notice::Kind::founded, .word = said_});
    return;
  }
  turn.out.broadcast(said_);
  advance(turn);
}

// The first so many of those that were heard lately, this one among them.
void Founding::choose() {
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

void Founding::advance(Turn<Founding>& turn) {
  if (wanted_ || said_.voters.size() != expected_ || !among(said_.voters, self_)) return;
  if (said_.stage == Stage::claims && all_others(Stage::claims, turn.now - kSilences * interval_))
    return want(turn, {.stage = Stage::ready, .voters = said_.voters});
  if (said_.stage == Stage::ready && all_others(Stage::ready, Instant::min()))
    want(turn, {.stage = Stage::founded, .voters = said_.voters});
}

bool Founding::all_others(Stage least, Instant since) const {
  return std::ranges::all_of(said_.voters, [&](NodeId voter) {
    if (voter == self_) return true;
    const auto found = std::ranges::find(others_, voter, &Other::member);
    return found != others_.end() && found->word.stage >= least &&
           found->word.voters == said_.voters && found->at >= since;
  });
}

void Founding::want(Turn<Founding>& turn, const Word& word) {
  if (wanted_ == word) return;
  wanted_ = word;
  turn.out.note({.kind = Notice::Kind::write, .word = word});
}

const char* Founding::check() const {
  if (said_.stage == Stage::ready && !among(said_.voters, self_))
    return "ready for voters without this one";
  if (said_.stage != Stage::claims && said_.voters.empty()) return "founded by nobody";
  return nullptr;
}

static_assert(Machine<Founding>);

}  // namespace tempo::lock
