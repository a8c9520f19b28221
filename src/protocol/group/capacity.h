// Elections by capacity: the common part of the four algorithms.
//
// Every candidate has a capacity, the value of a criterion (load, free memory, the quality of its
// clock ...). All processes agree on the candidate with the largest capacity; of equal ones the
// larger number wins. The algorithms differ in what they require of the network and the processes:
//
//   A   (capacity_a.h)   reliable broadcast, all begin at once, no process pauses
//   B.1 (capacity_b1.h)  reliable broadcast, all begin within T, processes may stop
//   B.2 (capacity_b2.h)  as B.1, and up to t processes may be byzantine
//   C   (capacity_c.h)   broadcast that loses messages
//
// T is the time within which a broadcast is delivered. "Reliable" means: within T, to all or to
// none, in the same order everywhere, and to the sender too. Only atomic broadcast on synchronized
// clocks is that, so A, B.1 and B.2 run on network time (WallTime) and C on boot time (BootTime).
// Each algorithm is a table whose rows carry the numbers of the paper's transitions; rows with a
// letter are ours.
//
// Source: King, Gendreau, Ni, "Distributed Election in Computer Networks", 1988.
//
// We differ in all four:
//   - Elections have numbers, so that a group can hold one after another and late messages of an
//     earlier one have no effect.
//   - A process reads its capacity once, when it enters an election; a later change counts in the
//     next one.
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
#include "machine/field_list.h"
#include "protocol/group/capacity_mutation.h"

namespace tempo::election::capacity {

using Capacity = std::int64_t;
inline constexpr Capacity kNotCandidate = -1;  // like every value below zero

// A candidate and its capacity.
struct Bid {
  Capacity capacity = kNotCandidate;
  NodeId node = kNobody;

  auto operator<=>(const Bid&) const = default;  // the larger bid is the better candidate

  static constexpr auto fields(auto list) {
    return list(field<&Bid::capacity>("capacity"), field<&Bid::node>("node"));
  }
};

// The bids received, one for each candidate: the first bid of a process counts.
class Bids {
 public:
  // Returns whether the process is new.
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
  // The best bid; its node is kNobody if there is none.
  Bid best() const;

  static constexpr auto fields(auto list) { return list(field<&Bids::bids_>("bids")); }
  friend FieldCheck;

 private:
  std::vector<Bid> bids_;  // ascending by node
};

// The paper's text as printed, or as corrected; a row of a table may belong to one of the two.
enum class Variant : std::uint8_t { corrected, as_printed };

struct Rules {
  std::uint32_t members = 2;    // the group: nodes 0 to members - 1
  Nanos bound{0};               // T
  std::uint32_t malicious = 0;  // t, only for B.2: most byzantine members
  Variant variant = Variant::corrected;
};

struct Command {
  enum class Kind : std::uint8_t {
    offer,    // set this process's capacity; below zero: no candidate
    hold,     // begin an election; no effect during one
    give_up,  // abandon the current election: the network broke its guarantee
  };
  Kind kind = Kind::hold;
  Capacity capacity = kNotCandidate;  // valid for offer

  static constexpr Command offer(Capacity value) { return {Kind::offer, value}; }
  static constexpr Command hold() { return {Kind::hold, kNotCandidate}; }
  static constexpr Command give_up() { return {Kind::give_up, kNotCandidate}; }

  static constexpr auto fields(auto list) {
    return list(field<&Command::kind>("kind"), field<&Command::capacity>("capacity"));
  }
};

struct Notice {
  enum class Kind : std::uint8_t {
    elected,   // `master` is elected; kNobody: there was no candidate
    help,      // the process knows of an election, but not its winner
    given_up,  // the current election was abandoned by command
  };
  Kind kind = Kind::elected;
  NodeId master = kNobody;
  std::uint32_t number = 0;  // of the election

  static constexpr auto fields(auto list) {
    using M = Notice;
    return list(field<&M::kind>("kind"), field<&M::master>("master"), field<&M::number>("number"));
  }
};

// Messages of the next election that arrive before the current one has ended, for algorithms that
// tolerate byzantine members: such a member could otherwise begin the next election when only some
// members have ended this one. Keeps one message of each process for each `place` in the protocol.
template <class Message>
class EarlyMessages {
 public:
  struct Entry {
    NodeId from = kNobody;
    std::uint32_t place = 0;
    Message message{};

    static constexpr auto fields(auto list) {
      using M = Entry;
      return list(field<&M::from>("from"), field<&M::place>("place"),
                  field<&M::message>("message"));
    }
  };

  void keep(NodeId from, std::uint32_t place, const Message& message) {
    for (const Entry& entry : entries_)
      if (entry.from == from && entry.place == place) return;
    entries_.push_back({from, place, message});
  }
  std::vector<Entry> take() { return std::exchange(entries_, {}); }
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }

  static constexpr auto fields(auto list) { return list(field<&EarlyMessages::entries_>("words")); }
  friend FieldCheck;

 private:
  std::vector<Entry> entries_;  // in the order of arrival
};

}  // namespace tempo::election::capacity
