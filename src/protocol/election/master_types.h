// The vocabulary of TEMPO's master election: states, messages, timers, commands, notices.
//
// Words are those of Gusella and Zatti, "An Election Algorithm for a Distributed Clock
// Synchronization Program" (1985), sections 4 to 6; Loop, Stale and Masterdown are later additions
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
  masterreq,  // broadcast: is there a master?
  masterack,  // I am
  masterup,   // broadcast: I am the new master
  slaveup,    // I follow you
  election,   // broadcast: I want to be master
  accept,
  refuse,
  conflict,  // there is another master beside you
  resolve,   // broadcast: rival masters, show yourselves
  quit,      // stop: I am master
  ack,
  adjtime,     // a correction of the clock
  settime,     // the time, for one that has just started
  loop,        // broadcast: the master's beacon
  stale,       // your epoch is over; this one rules
  masterdown,  // broadcast: this master's process is gone
};
inline constexpr std::size_t kKinds = 16;

// Retransmitted until acknowledged.
constexpr bool reliable(Kind kind) {
  using enum Kind;
  return kind == accept || kind == refuse || kind == quit || kind == conflict || kind == adjtime ||
         kind == settime;
}
// A question to all; of each sender the newest counts.
constexpr bool call(Kind kind) { return kind == Kind::masterreq || kind == Kind::election; }
// Carries the epoch of its sender's mastership.
constexpr bool masters_message(Kind kind) {
  using enum Kind;
  return kind == masterup || kind == masterack || kind == adjtime || kind == settime ||
         kind == loop || kind == resolve || kind == quit;
}
// Answers an Election and names it.
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

// Flat and small: what a kind does not use stays at its default.
struct Message {
  Kind kind = Kind::ack;
  bool not_set = false;              // slaveup: my clock has not been set since I started
  bool was_master = false;           // slaveup: I was master until now
  Priority priority = kMaxPriority;  // of the sender
  Incarnation incarnation{};         // of the sender
  Sequence sequence = kNoSequence;   // of the sender
  Sequence answers =
      kNoSequence;           // accept, refuse, quit, ack: the message answered; quit 0: to a master
  Epoch epoch{};             // the sender's mastership, or the one it follows
  NodeId subject = kNobody;  // loop: the heir; masterdown: who is gone
  Incarnation
      subject_incarnation{};  // ack: of the message acknowledged; masterdown: of who is gone
  Nanos age{0};  // masterreq, election: since the start or candidacy began; 0 in the first send

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("kind", self.kind);
    visit("not_set", self.not_set);
    visit("was_master", self.was_master);
    visit("priority", self.priority);
    visit("incarnation", self.incarnation);
    // What no receiver looks at is not part of what a message says.
    if (call(self.kind)) field::call(visit, "sequence", self.sequence);
    if (reliable(self.kind)) visit("sequence", self.sequence);
    if (answer(self.kind)) field::their_call(visit, "answers", self.answers);
    if (self.kind == Kind::ack) field::theirs(visit, "answers", self.answers);
    visit("epoch", self.epoch);
    visit("subject", self.subject);
    visit("subject_incarnation", self.subject_incarnation);
    visit("age", self.age);
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
  stand,     // call an election now, if a slave
  resign,    // lead no longer, if a master; another may be elected at once
  claim,     // be master now, if a slave: it brings a better time from another network
  stay_out,  // resign, and never lead until `come_back`
  come_back,
  stop,  // end; a master says so first
};

enum class Change : std::uint8_t {
  adjusted,   // an Adjtime of `epoch` was applied
  set,        // a Settime of `epoch` was applied
  peer_down,  // `peer` did not acknowledge
  ended,      // stopped on command
  leads,      // this node rules from now on, under `epoch`
  follows,    // it follows `peer` from now on, under `epoch`
};
struct Notice {
  Change news = Change::ended;
  NodeId peer = kNobody;
  Epoch epoch{};

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("news", self.news);
    visit("peer", self.peer);
    visit("epoch", self.epoch);
  }
};

std::string_view name_of(State state);
std::string_view name_of(Kind kind);
std::string_view name_of(Timer timer);
inline std::string_view name_of(const Message& message) { return name_of(message.kind); }

}  // namespace tempo::election
