// States, messages, timers, commands and notices of TEMPO's master election.
//
// The names are those of Gusella and Zatti, "An Election Algorithm for a Distributed Clock
// Synchronization Program" (1985), sections 4 to 6; Loop, Stale and Masterdown were added later
// (doc/internals/election.md).
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/ids.h"
#include "base/units.h"
#include "machine/fields.h"

namespace tempo::election {

enum class State : std::uint8_t {
  startup,
  no_master,
  master,
  slave,
  candidate,
  accept,
  conflict,
  consistency
};
inline constexpr std::size_t kStates = 8;

enum class Kind : std::uint8_t {
  masterreq,   // broadcast: is there a master?
  masterack,   // reply: I am master
  masterup,    // broadcast: I am the new master
  slaveup,     // to a master: I follow you
  election,    // broadcast: I want to be master
  accept,      // reply to Election: you have my vote
  refuse,      // reply to Election: another candidate has my vote
  conflict,    // to a master: another master is active
  resolve,     // broadcast: other masters, answer
  quit,        // stop leading or standing: I am master
  ack,         // confirms receipt of a reliable message
  adjtime,     // the master corrects the receiver's clock
  settime,     // the master sets the clock of a node that has just started
  loop,        // broadcast: the master's beacon
  stale,       // to a master: your epoch is over; this message names the newer one
  masterdown,  // broadcast: this master's process has ended
};
inline constexpr std::size_t kKinds = 16;

// The sender retransmits the message until the receiver acknowledges it.
constexpr bool reliable(Kind kind) {
  using enum Kind;
  return kind == accept || kind == refuse || kind == quit || kind == conflict || kind == adjtime ||
         kind == settime;
}
// A broadcast question; a receiver answers only the newest of each sender.
constexpr bool call(Kind kind) { return kind == Kind::masterreq || kind == Kind::election; }
// Only a master sends it; it carries the epoch of that mastership.
constexpr bool masters_message(Kind kind) {
  using enum Kind;
  return kind == masterup || kind == masterack || kind == adjtime || kind == settime ||
         kind == loop || kind == resolve || kind == quit;
}
// Answers an Election and names its sequence number.
constexpr bool answer(Kind kind) {
  return kind == Kind::accept || kind == Kind::refuse || kind == Kind::quit;
}

// Preference for becoming master, 0 to kMaxPriority; a higher one leads first. Each step below
// kMaxPriority delays a candidacy by one more width of the election timer. A master names only
// nodes of kMaxPriority as heir. A node with kIneligible never leads; it has no place on the scale.
enum class Priority : std::uint8_t {};
inline constexpr Priority kMaxPriority{9};  // the default
inline constexpr Priority kIneligible{255};

// Steps below kMaxPriority; kIneligible: 0, because its timers delay no candidacy.
constexpr int steps_below_max(Priority priority) {
  return priority == kIneligible ? 0
                                 : std::to_underlying(kMaxPriority) - std::to_underlying(priority);
}

// One flat, small struct for all kinds; fields that a kind does not use keep their defaults.
struct Message {
  Kind kind = Kind::ack;
  bool not_set = false;     // slaveup: the sender's clock has not been set since it started
  bool was_master = false;  // slaveup: the sender was master until now
  Priority priority = kMaxPriority;  // of the sender
  Incarnation incarnation{};         // of the sender
  Sequence sequence = kNoSequence;   // of the sender
  Sequence answers = kNoSequence;    // accept, refuse, quit, ack: the message answered; kNoSequence
                                     // in a quit: to a master
  Epoch epoch{};                     // of the sender's mastership, or of the one it follows
  NodeId subject = kNobody;          // loop: the heir; masterdown: the master that ended
  Incarnation subject_incarnation{};  // ack: of the message acknowledged; masterdown: of the master
                                      // that ended
  Nanos age{0};  // masterreq, election: time since the start or the candidacy; 0 in the first send

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    auto& [kind, not_set, was_master, priority, incarnation, sequence, answers, epoch, subject,
           subject_incarnation, age] = self;
    visit("kind", kind);
    visit("not_set", not_set);
    visit("was_master", was_master);
    // Traces print no fields and the checker only compares packed states, so the scale itself is
    // packed and not its form on the wire.
    visit("priority", priority);
    visit("incarnation", incarnation);
    // A sequence number that no receiver reads is not part of the message.
    if (call(kind)) visit_as<role::call>(visit, "sequence", sequence);
    if (reliable(kind)) visit("sequence", sequence);
    if (answer(kind)) visit_as<role::their_call>(visit, "answers", answers);
    if (kind == Kind::ack) visit_as<role::theirs>(visit, "answers", answers);
    visit("epoch", epoch);
    visit("subject", subject);
    visit("subject_incarnation", subject_incarnation);
    visit("age", age);
  }
};
static_assert(sizeof(Message) <= 48);

enum class Timer : std::uint8_t {
  startup,
  no_master,
  sync,
  loop,
  election,
  candidate,
  accept,
  conflict,
  consistency,
  repeat,
  retransmit,
  count
};

enum class Command : std::uint8_t {
  stand,      // a slave calls an election now
  resign,     // a master steps down; another node may be elected at once
  claim,      // a slave becomes master now, because it has a better time from another network
  stay_out,   // resign, and stay ineligible until `come_back`
  come_back,  // become eligible again
  stop,       // end; a master broadcasts Masterdown first
};

enum class Change : std::uint8_t {
  adjusted,   // the node applied an Adjtime of `epoch`
  set,        // the node applied a Settime of `epoch`
  peer_down,  // `peer` acknowledged none of the sends of a reliable message
  ended,      // the machine has stopped on command
  leads,      // this node is master from now on, in `epoch`
  follows,    // this node follows `peer` from now on, in `epoch`
};
struct Notice {
  Change news = Change::ended;
  NodeId peer = kNobody;
  Epoch epoch{};

  static constexpr auto fields(auto list) {
    using M = Notice;
    return list(field<&M::news>("news"), field<&M::peer>("peer"), field<&M::epoch>("epoch"));
  }
};

std::string_view name_of(State state);
std::string_view name_of(Kind kind);
std::string_view name_of(Timer timer);
inline std::string_view name_of(const Message& message) { return name_of(message.kind); }

}  // namespace tempo::election
