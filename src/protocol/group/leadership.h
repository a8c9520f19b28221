// Who leads a group: one host's part in it.
//
// The leader is the holder of the exclusive lease "@group/NAME", nobody else; its token is the
// term. An election by capacity only decides who asks for that lease, so that a wrong result costs
// time, never a second leader. Words go to all, once in a lease from candidates and four times from
// the leader: what each has to offer, who leads in which term, and whom the leader would have ask
// for its lease. Who hears nothing of a leader for one lease calls an election.
//
// A leader makes room for a candidate that is better by a margin, for a while, after it has led for
// `min_stay`. It invites that one to ask for the lease, has its user stop, and only then lets go:
// the lock hands the lease to the one who waits. Only the invited asks while somebody leads, so the
// lock's own queue is the choice of the heir. Capacities change at most once in `min_stay`; both
// rules together keep a flapping or boasting candidate from moving the leadership more often.
//
// What it promises: the user is told to lead only with the lease in hand, and the lease is let go
// only after the user has stopped. That it is lost in between, the lock tells; stopping the user in
// time is the guard's. The clock is the lock's (CLOCK_BOOTTIME).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/inline_vector.h"
#include "machine/machine.h"
#include "protocol/group/capacity.h"
#include "protocol/group/leadership_mutation.h"
#include "protocol/group/leadership_table.h"
#include "protocol/lock/mode.h"

namespace tempo::groups {

using election::capacity::Bid;
using election::capacity::Capacity;
using election::capacity::kNotCandidate;
using lock::kNoToken;
using lock::Token;

inline constexpr std::size_t kMaxCandidates = 64;  // of a group, besides the one here
inline constexpr Nanos kNotOver{-1};

struct Rules {
  Nanos lease = 2s;  // L
  int margin_percent = 10;

  Nanos retry() const { return lease / 4; }             // R
  Nanos patience() const { return 2 * retry(); }        // D
  Nanos leaders_words() const { return lease / 4; }     // between two of them
  Nanos candidates_words() const { return lease; }      // likewise, of one that does not lead
  Nanos silence() const { return lease; }               // after so much there is no leader
  Nanos doubt() const { return lease / 2; }             // after so much there may be none
  Nanos fresh() const { return 4 * lease; }             // a candidate not heard for longer is gone
  Nanos hold() const { return 2 * lease; }              // t_hold: better for so long
  Nanos invitation() const { return 2 * lease; }        // the heir has so long to ask
  Nanos no_majority() const { return 3 * retry(); }     // asked in vain for so long: too few answer
  Nanos longest_election() const { return 2 * lease; }  // then what is known decides
  Nanos repeats_over() const { return 4 * lease; }      // for so long it says that the job is done
};

// What a host says of itself, to all.
struct Heartbeat {
  Capacity capacity = kNotCandidate;
  bool leads = false;
  bool asks = false;      // for the lease
  Token term = kNoToken;  // of the leader
  NodeId heir = kNobody;  // whom a leader, or one that was, invites
  Nanos over = kNotOver;  // so long ago the group's one job was done

  bool operator==(const Heartbeat&) const = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("capacity", self.capacity);
    visit("leads", self.leads);
    visit("asks", self.asks);
    visit("term", self.term);
    visit("heir", self.heir);
    visit("over", self.over);
  }
};
inline std::string_view name_of(const Heartbeat& word) {
  return word.leads ? "leads" : word.asks ? "asks" : "word";
}

struct Command {
  enum class Kind : std::uint8_t {
    stand,     // capacity, min_stay, once
    offer,     // capacity
    withdraw,  // the user is gone, or wants no more
    finish,    // the one job is done
    resign,
    stopped,   // the user acts no more
    elected,   // by an election: `node`; nobody: it came to nothing
    defeated,  // by one that does not say who was elected
    granted,   // the lease: `token`
    lost,      // the lease
  };
  Kind kind = Kind::stand;
  Capacity capacity = kNotCandidate;
  Nanos min_stay{0};
  bool once = false;
  NodeId node = kNobody;
  Token token = kNoToken;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("kind", self.kind);
    visit("capacity", self.capacity);
    visit("min_stay", self.min_stay);
    visit("once", self.once);
    visit("node", self.node);
    visit("token", self.token);
  }
};

struct Notice {
  enum class Kind : std::uint8_t {
    // for whoever holds elections
    hold,   // one
    offer,  // from now on this is our capacity in it
    // for the lock
    ask,
    drop,
    // for the user
    leads,  // `token`
    stop,   // acting, then say so
    lost,
    follows,      // `node` leads in the term `token`; nobody: nobody is known to
    no_majority,  // asked, and not heard by enough
    job_done,     // by `node`
  };
  Kind kind = Kind::hold;
  Capacity capacity = kNotCandidate;
  NodeId node = kNobody;
  Token token = kNoToken;

  bool operator==(const Notice&) const = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("kind", self.kind);
    visit("capacity", self.capacity);
    visit("node", self.node);
    visit("token", self.token);
  }
};

enum class Timer : std::uint8_t {
  word,
  silence,   // of the leader
  election,  // it takes too long
  patience,
  majority,
  outdone,
  heir,
  rest,
  change,  // of the capacity
  count,
};

class Leadership {
 public:
  using Message = Heartbeat;
  using Command = groups::Command;
  using Notice = groups::Notice;

  struct Candidate {
    Bid bid{};
    Instant until{};  // not heard again by then: gone

    template <class Self, class Visitor>
    static void fields(Self& self, Visitor& visit) {
      visit("bid", self.bid);
      visit("until", self.until);
    }
  };

  Leadership(NodeId self, const Rules& rules) : self_(self), rules_(rules) {}

  void start(Turn<Leadership>& turn);
  void receive(Turn<Leadership>& turn, NodeId from, const Heartbeat& word);
  void on_timer(Turn<Leadership>& turn, TimerId timer);
  void command(Turn<Leadership>& turn, const Command& command);

  const Timers<Timer>& timers() const { return timers_; }
  const char* check() const;

  State state() const { return state_; }
  NodeId leader() const { return leader_; }  // as far as is known
  Token term() const { return term_; }       // of the leader, or of the last there was
  bool stands() const { return state_ != State::watch && state_ != State::rest; }
  // What the others know of us as a candidate.
  bool eligible() const { return stands() && state_ != State::retire; }
  bool acts() const {
    return state_ == State::lead || state_ == State::yield || state_ == State::retire;
  }
  Capacity capacity() const { return bid_; }
  Nanos min_stay() const { return min_stay_; }
  // Besides ourselves, those heard lately.
  const std::vector<Candidate>& candidates() const { return candidates_; }
  // Those not heard again in time are gone. A machine that only watches has no timer for that: who
  // asks for candidates sees to it.
  void forget_silent(Instant now);
  Instant next_silent() const;  // when it is time for that again, unless more is heard
  // Nobody here or elsewhere takes part, as far as is known.
  bool forgettable(Instant now) const;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("self", self.self_);
    visit("state", self.state_);
    visit("leader", self.leader_);
    visit("told", self.told_);
    visit("term", self.term_);
    visit("heir", self.heir_);
    visit("heard_at", self.heard_at_);
    visit("candidates", self.candidates_);
    visit("bid", self.bid_);
    visit("offered", self.offered_);
    visit("min_stay", self.min_stay_);
    visit("once", self.once_);
    visit("joined_at", self.joined_at_);
    visit("change_at", self.change_at_);
    visit("stay_until", self.stay_until_);
    visit("better_since", self.better_since_);
    visit("losses", self.losses_);
    visit("rest_until", self.rest_until_);
    visit("over_at", self.over_at_);
    visit("timers", self.timers_);
  }

 private:
  void happen(Turn<Leadership>& turn, Event event, NodeId about = kNobody);
  void perform(Turn<Leadership>& turn, Verb verb, NodeId about);
  void begin(Instant now);
  void finish(Turn<Leadership>& turn);

  void learn(Instant now, NodeId from, const Heartbeat& word);
  void on_heartbeat(Turn<Leadership>& turn, NodeId from, const Heartbeat& word);
  void on_result(Turn<Leadership>& turn, bool we_are_elected);
  void on_no_result(Turn<Leadership>& turn);
  void take_offer(Turn<Leadership>& turn, Capacity capacity);
  void announce(Turn<Leadership>& turn);
  void say(Turn<Leadership>& turn);
  Heartbeat word(Instant now) const;
  bool speaks(Instant now) const;

  Bid own() const { return {bid_, self_}; }
  Bid best() const;  // of the others; nobody's if there is none
  bool clearly_better(const Bid& bid) const;
  void look_around(Turn<Leadership>& turn);
  std::int64_t rank() const;
  Nanos patience(Instant now) const;

  NodeId self_;
  Rules rules_;
  State state_ = State::watch;
  NodeId leader_ = kNobody;
  NodeId told_ = kNobody;  // the leader that the user was told of
  Token term_ = kNoToken;
  NodeId heir_ = kNobody;              // whom we, leader, have invited
  Instant heard_at_{};                 // the leader, for the last time
  std::vector<Candidate> candidates_;  // by node, at most kMaxCandidates
  Capacity bid_ = kNotCandidate;       // as announced
  Capacity offered_ = kNotCandidate;   // to be announced when it may change
  Nanos min_stay_{0};
  bool once_ = false;
  Instant joined_at_{};
  Instant change_at_{};              // not before: the next capacity
  Instant stay_until_{};             // not outdone before
  Instant better_since_ = kNever;    // somebody clearly is
  InlineVector<Instant, 3> losses_;  // of the lease, the last three
  Instant rest_until_{};
  Instant over_at_ = kNever;  // our job was done
  Timers<Timer> timers_;
};

static_assert(Machine<Leadership>);

}  // namespace tempo::groups
