// Leadership of a group: one host's part.
//
// The leader is the holder of the exclusive lease "@group/NAME", and only it; the lease's token is
// the term. An election by capacity only decides which host asks for that lease, so a wrong result
// costs time, never a second leader. Heartbeats go to all hosts, once in a lease from candidates
// and four times from the leader: the host's capacity, the leader and its term, and the heir whom
// the leader invites to ask for its lease. A host that receives no heartbeat of a leader for one
// lease calls an election.
//
// A leader steps down for a candidate that is better by a margin, for a while, after it has led for
// `min_stay`. It invites that candidate to ask for the lease, has its user stop, and only then
// releases: the lock hands the lease to the waiting host. While there is a leader only the invited
// host asks, so the lock's own queue implements the choice of the heir. Capacities change at most
// once in `min_stay`; both rules together prevent a candidate with a fluctuating or exaggerated
// capacity from moving the leadership more often.
//
// Guarantees: the host tells its user to lead only while it holds the lease, and releases the lease
// only after the user has stopped. The lock reports a lease that is lost in between; the guard
// stops the user in time. Times are boot time, as those of the lock.
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

inline constexpr std::size_t kMaxCandidates = 64;  // of a group, besides the own one
inline constexpr Nanos kNotOver{-1};               // the group's one job is not done

struct Rules {
  Nanos lease = 2s;  // L
  int margin_percent = 10;

  Nanos retry() const { return lease / 4; }            // R
  Nanos patience() const { return 2 * retry(); }       // D
  Nanos leader_interval() const { return lease / 4; }  // between a leader's heartbeats
  Nanos candidate_interval() const { return lease; }   // between a candidate's heartbeats
  Nanos silence() const { return lease; }    // without a heartbeat for this long there is no leader
  Nanos doubt() const { return lease / 2; }  // without a heartbeat for this long there may be none
  Nanos fresh() const { return 4 * lease; }  // a candidate silent for longer is gone
  Nanos hold() const { return 2 * lease; }   // t_hold: how long a candidate must be better
  Nanos invitation() const { return 2 * lease; }  // time in which the heir must ask
  Nanos no_majority() const {
    return 3 * retry();
  }  // asking without a grant for this long: too few voters answer
  Nanos longest_election() const { return 2 * lease; }  // after this the known candidates decide
  Nanos repeat_job_done() const {
    return 4 * lease;
  }  // how long a host repeats that the job is done
};

// A host's broadcast about itself.
struct Heartbeat {
  Capacity capacity = kNotCandidate;
  bool leads = false;
  bool asks = false;      // asks for the lease
  Token term = kNoToken;  // of the leader; kNoToken: does not lead
  NodeId heir = kNobody;  // host that a leader, or a former one, invites; kNobody: none
  Nanos over = kNotOver;  // time since the group's one job was done; kNotOver: not done

  bool operator==(const Heartbeat&) const = default;

  static constexpr auto fields(auto list) {
    using M = Heartbeat;
    return list(field<&M::capacity>("capacity"), field<&M::leads>("leads"), field<&M::asks>("asks"),
                field<&M::term>("term"), field<&M::heir>("heir"), field<&M::over>("over"));
  }
};
inline std::string_view name_of(const Heartbeat& heartbeat) {
  return heartbeat.leads ? "leads" : heartbeat.asks ? "asks" : "word";
}

struct Command {
  enum class Kind : std::uint8_t {
    stand,     // with capacity, min_stay, once
    offer,     // with capacity
    withdraw,  // the user is gone, or no longer stands
    finish,    // the one job is done
    resign,
    stopped,   // the user no longer acts
    elected,   // result of an election: `node`; kNobody: it had no result
    defeated,  // result of an election that does not name the winner
    granted,   // the lease, with `token`
    resumed,   // the lease of an earlier incarnation, with `token`
    lost,      // the lease
  };
  Kind kind = Kind::stand;
  Capacity capacity = kNotCandidate;
  Nanos min_stay{0};
  bool once = false;
  NodeId node = kNobody;
  Token token = kNoToken;

  static constexpr auto fields(auto list) {
    using M = Command;
    return list(field<&M::kind>("kind"), field<&M::capacity>("capacity"),
                field<&M::min_stay>("min_stay"), field<&M::once>("once"), field<&M::node>("node"),
                field<&M::token>("token"));
  }
};

struct Notice {
  enum class Kind : std::uint8_t {
    // for the elections
    hold,   // hold an election
    offer,  // use this capacity in elections from now on
    // for the lock
    ask,
    drop,
    // for the user
    leads,  // with `token`
    stop,   // stop acting, then confirm
    lost,
    follows,      // `node` leads in the term `token`; kNobody: no leader is known
    no_majority,  // asked, but too few voters answered
    job_done,     // by `node`
  };
  Kind kind = Kind::hold;
  Capacity capacity = kNotCandidate;
  NodeId node = kNobody;
  Token token = kNoToken;

  bool operator==(const Notice&) const = default;

  static constexpr auto fields(auto list) {
    using M = Notice;
    return list(field<&M::kind>("kind"), field<&M::capacity>("capacity"), field<&M::node>("node"),
                field<&M::token>("token"));
  }
};

enum class Timer : std::uint8_t {
  heartbeat,  // send the next heartbeat
  silence,    // no heartbeat of the leader
  election,   // the election takes too long
  patience,   // the better candidates did not take the lease
  majority,   // no lease from the voters
  outdone,    // another candidate has been better for long enough
  heir,       // the heir did not ask
  rest,       // the rest after a resignation is over
  change,     // the capacity may change
  count,
};

class Leadership {
 public:
  using Message = Heartbeat;
  using Time = BootTime;
  using Command = groups::Command;
  using Notice = groups::Notice;

  struct Candidate {
    Bid bid{};
    BootTime until{};  // gone unless heard again by then

    static constexpr auto fields(auto list) {
      return list(field<&Candidate::bid>("bid"), field<&Candidate::until>("until"));
    }
  };

  Leadership(NodeId self, const Rules& rules) : self_(self), rules_(rules) {}

  void start(Turn<Leadership>& turn);
  void receive(Turn<Leadership>& turn, NodeId from, const Heartbeat& heartbeat);
  void on_timer(Turn<Leadership>& turn, TimerId timer);
  void command(Turn<Leadership>& turn, const Command& command);

  const Timers<Timer, Time>& timers() const { return timers_; }
  const char* check() const;

  State state() const { return state_; }
  NodeId leader() const { return leader_; }  // kNobody: unknown
  Token term() const { return term_; }       // of the current leader, or of the last one
  bool stands() const { return state_ != State::watch && state_ != State::rest; }
  // Whether the others know this host as a candidate.
  bool eligible() const { return stands() && state_ != State::retire; }
  bool acts() const {
    return state_ == State::lead || state_ == State::yield || state_ == State::retire;
  }
  Capacity capacity() const { return bid_; }
  Nanos min_stay() const { return min_stay_; }
  // Other hosts' candidates heard recently.
  const std::vector<Candidate>& candidates() const { return candidates_; }
  // Removes candidates that were not heard again in time. A passive host has no timer for that: a
  // caller that needs the candidates calls this first.
  void forget_silent(BootTime now);
  BootTime next_silent() const;  // time of the next removal, unless more heartbeats arrive
  // No host takes part, as far as this one knows.
  bool forgettable(BootTime now) const;

  static constexpr auto fields(auto list) {
    using M = Leadership;
    return list(field<&M::self_>("self"), field<&M::state_>("state"), field<&M::leader_>("leader"),
                field<&M::reported_leader_>("told"), field<&M::term_>("term"),
                field<&M::heir_>("heir"), field<&M::heard_at_>("heard_at"),
                field<&M::candidates_>("candidates"), field<&M::bid_>("bid"),
                field<&M::offered_>("offered"), field<&M::min_stay_>("min_stay"),
                field<&M::once_>("once"), field<&M::joined_at_>("joined_at"),
                field<&M::change_at_>("change_at"), field<&M::stay_until_>("stay_until"),
                field<&M::better_since_>("better_since"), field<&M::losses_>("losses"),
                field<&M::rest_until_>("rest_until"), field<&M::over_at_>("over_at"),
                field<&M::timers_>("timers"), fixed<&M::rules_>());
  }
  friend FieldCheck;

 private:
  void happen(Turn<Leadership>& turn, Event event, NodeId about = kNobody);
  void enter(State next);
  void perform(Turn<Leadership>& turn, Verb verb, NodeId about);
  void begin(BootTime now);
  void finish(Turn<Leadership>& turn);

  void learn(BootTime now, NodeId from, const Heartbeat& heartbeat);
  void on_heartbeat(Turn<Leadership>& turn, NodeId from, const Heartbeat& heartbeat);
  void on_result(Turn<Leadership>& turn, bool we_are_elected);
  void on_no_result(Turn<Leadership>& turn);
  void take_offer(Turn<Leadership>& turn, Capacity capacity);
  void announce(Turn<Leadership>& turn);
  void send_heartbeat(Turn<Leadership>& turn);
  Heartbeat heartbeat(BootTime now) const;
  bool sends_heartbeats(BootTime now) const;

  Bid own() const { return {bid_, self_}; }
  Bid best() const;  // best bid of the others; node kNobody: none
  bool clearly_better(const Bid& bid) const;
  void check_rivals(Turn<Leadership>& turn);
  std::int64_t rank() const;
  Nanos patience(BootTime now) const;

  NodeId self_;
  Rules rules_;
  State state_ = State::watch;
  NodeId leader_ = kNobody;
  NodeId reported_leader_ = kNobody;  // the leader last reported to the user
  Token term_ = kNoToken;
  NodeId heir_ = kNobody;              // host that this leader has invited; kNobody: none
  BootTime heard_at_{};                // last heartbeat of the leader
  std::vector<Candidate> candidates_;  // by node, at most kMaxCandidates
  Capacity bid_ = kNotCandidate;       // as announced
  Capacity offered_ = kNotCandidate;   // to be announced when the capacity may change
  Nanos min_stay_{0};
  bool once_ = false;
  BootTime joined_at_{};
  BootTime change_at_{};              // earliest change of the capacity
  BootTime stay_until_{};             // the leader is not outdone before
  BootTime better_since_ = kNever;    // another candidate is clearly better; kNever: none is
  InlineVector<BootTime, 3> losses_;  // last three losses of the lease
  BootTime rest_until_{};
  BootTime over_at_ = kNever;  // when this host's job was done; kNever: not done
  Timers<Timer, Time> timers_;
};

static_assert(CheckableMachine<Leadership>);

}  // namespace tempo::groups
