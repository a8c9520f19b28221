// Elections by capacity: what the four algorithms have in common.
//
// Every candidate has a capacity, the value of a criterion (load, free memory, the quality of its
// clock ...). All processes agree on the candidate with the largest; of equal ones the larger
// number wins. The algorithms differ in what they ask of the network and of the processes:
//
//   A   (capacity_a.h)   reliable broadcast, all begin at once, nobody pauses
//   B.1 (capacity_b1.h)  reliable broadcast, all begin within T, processes may stop
//   B.2 (capacity_b2.h)  the same, and up to t processes may do anything at all
//   C   (capacity_c.h)   broadcast that loses messages
//
// T is the time within which a broadcast is delivered. "Reliable" is: within T, to all or to none,
// in one order for all, and to the sender too. Each algorithm is a table whose rows carry the
// numbers of the paper's transitions; rows with a letter are ours.
//
// Source: King, Gendreau, Ni, "Distributed Election in Computer Networks", 1988.
//
// Where we differ, in all four:
//   - Elections have numbers, so that a group can hold one after another and late messages of an
//     earlier one do no harm.
//   - The capacity is asked once, when a process enters an election; it may change any time after,
//     for the next one.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "base/units.h"
#include "protocol/group/capacity_mutation.h"

namespace tempo::election::capacity {

using Capacity = std::int64_t;
inline constexpr Capacity kNotCandidate = -1;  // as every value below zero

// A candidate and what it has to offer.
struct Bid {
  Capacity capacity = kNotCandidate;
  NodeId node = kNobody;

  auto operator<=>(const Bid&) const = default;  // the larger is the better candidate

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("capacity", self.capacity);
    visit("node", self.node);
  }
};

// The candidates heard of, one bid each: the first word of a process stands.
class Bids {
 public:
  // Whether the process is new here.
  bool add(const Bid& bid) {
    const auto place = std::ranges::lower_bound(bids_, bid.node, {}, &Bid::node);
    if (place != bids_.end() && place->node == bid.node) return false;
    CHECK(bids_.size() < kMaxNodes);
    bids_.insert(place, bid);
    return true;
  }
  void clear() { bids_.clear(); }

  bool empty() const { return bids_.empty(); }
  std::size_t size() const { return bids_.size(); }
  const Bid& operator[](std::size_t place) const {
    CHECK(place < bids_.size());
    return bids_[place];
  }
  // The best candidate; nobody's bid if there is none.
  Bid best() const;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("bids", self.bids_);
  }

 private:
  std::vector<Bid> bids_;  // ascending by node
};

// The paper's text as printed, or as repaired; a row of a table may belong to one of the two.
enum class Variant : std::uint8_t { corrected, as_printed };

struct Rules {
  std::uint32_t members = 2;    // the group: nodes 0 to members - 1
  Nanos bound{0};               // T
  std::uint32_t malicious = 0;  // t, for B.2 alone: at most so many of the members
  Variant variant = Variant::corrected;
};

struct Command {
  enum class Kind : std::uint8_t {
    offer,    // from now on this is my capacity; below zero: I am no candidate
    hold,     // an election, by me; nothing happens if one is under way
    give_up,  // the election under way: the network broke its promise
  };
  Kind kind = Kind::hold;
  Capacity capacity = kNotCandidate;  // of `offer`

  static constexpr Command offer(Capacity value) { return {Kind::offer, value}; }
  static constexpr Command hold() { return {Kind::hold, kNotCandidate}; }
  static constexpr Command give_up() { return {Kind::give_up, kNotCandidate}; }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("kind", self.kind);
    visit("capacity", self.capacity);
  }
};

struct Notice {
  enum class Kind : std::uint8_t {
    elected,   // `master` is; nobody if there was no candidate
    help,      // an election is known to have been held, and not who won it
    given_up,  // the election under way, by command
  };
  Kind kind = Kind::elected;
  NodeId master = kNobody;
  std::uint32_t number = 0;  // of the election

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("kind", self.kind);
    visit("master", self.master);
    visit("number", self.number);
  }
};

// Words about the next election that came before this one has ended, for algorithms that must bear
// lies: who lies could else begin the next when some have ended this one and some have not. One
// word of each process for each `place` in the protocol.
template <class Message>
class NextWords {
 public:
  struct Entry {
    NodeId from = kNobody;
    std::uint32_t place = 0;
    Message message{};

    template <class Self, class Visitor>
    static void fields(Self& self, Visitor& visit) {
      visit("from", self.from);
      visit("place", self.place);
      visit("message", self.message);
    }
  };

  void keep(NodeId from, std::uint32_t place, const Message& message) {
    for (const Entry& word : entries_)
      if (word.from == from && word.place == place) return;
    entries_.push_back({from, place, message});
  }
  std::vector<Entry> take() { return std::exchange(entries_, {}); }
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("words", self.entries_);
  }

 private:
  std::vector<Entry> entries_;  // in the order in which they came
};

// In this phase, on this event, if this holds: do these, in their order, and go on in that phase.
template <class Phase, class Event, class When, class Verb>
struct Row {
  std::string_view number;  // the paper's, or ours with a letter
  Phase phase;
  Event event;
  When when;
  std::array<Verb, 4> verbs;
  Phase next;
};

// The first row of a table for this phase and event whose condition `holds`; null: nothing happens.
template <class Row, std::size_t kRows, class Phase, class Event, class Holds>
const Row* row_of(const std::array<Row, kRows>& table, Phase phase, Event event, Holds holds) {
  for (const Row& row : table)
    if (row.phase == phase && row.event == event && !missing(row) && holds(row.when)) return &row;
  return nullptr;
}

}  // namespace tempo::election::capacity
