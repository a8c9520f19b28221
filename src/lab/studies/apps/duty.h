// What the applications of elections have in common: an election and a duty, side by side.
//
// A duty is a machine that knows what is to be done and by whom; who that is, the election beside
// it decides (B.1, by capacity). The duty says what its own capacity is (`offer`) and that an
// election is to be held (`hold`); it is told who was elected. Both ride on one atomic broadcast:
// what a member says, all members hear in one order, or none does. So all members know the same
// things in the same order, and a duty that begins an election when it hears something begins it
// everywhere at one reading of the clock.
//
// Applications after King, Gendreau, Ni, "Distributed Election in Computer Networks", 1988,
// section 7. Each differs from the next in its criterion, the function that gives the capacity.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "machine/machine.h"
#include "machine/mux.h"
#include "protocol/broadcast/over.h"
#include "protocol/group/capacity_b1.h"

namespace tempo::apps {

using election::capacity::Capacity;
using election::capacity::kNotCandidate;

struct Rules {
  std::uint32_t members = 2;   // nodes 0 to members - 1
  Nanos bound{0};              // T: a broadcast is delivered everywhere within this
  Nanos work{0};               // what the elected does takes this long
  std::uint32_t founders = 0;  // joining a group: its first members; the others come to join
  bool naive = false;          // for studies: as one writes it first. Each file says what is wrong

  // A live worker that was elected has been heard by then: the others may decide T after it, it
  // waits for them, works, and is heard within T.
  Nanos patience() const { return 4 * bound + work; }
};

// The longer ago, the larger.
constexpr Capacity since(Nanos reading) {
  return std::numeric_limits<Capacity>::max() - reading.count();
}

struct Command {
  enum class Kind : std::uint8_t {
    ask,       // a user's wish; `value` says how much, or what
    offer,     // from now on `value` is our capacity, if users decide it
    distrust,  // `node` is not to be let in
    elected,   // `node` was, in the election `number`; nobody: there was no candidate
    give_up,   // the network broke its promise
  };
  Kind kind = Kind::ask;
  NodeId node = kNobody;
  std::uint32_t number = 0;
  std::int64_t value = 0;

  static constexpr Command ask(std::int64_t value) { return {Kind::ask, kNobody, 0, value}; }
  static constexpr Command offer(Capacity value) { return {Kind::offer, kNobody, 0, value}; }
  static constexpr Command distrust(NodeId node) { return {Kind::distrust, node, 0, 0}; }
  static constexpr Command elected(NodeId node, std::uint32_t number) {
    return {Kind::elected, node, number, 0};
  }
  static constexpr Command give_up() { return {Kind::give_up, kNobody, 0, 0}; }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("kind", self.kind);
    visit("node", self.node);
    visit("number", self.number);
    visit("value", self.value);
  }
};

struct Notice {
  enum class Kind : std::uint8_t {
    // For the election.
    offer,    // `value` is our capacity
    hold,     // an election
    give_up,  // the one under way
    // For whoever watches.
    accepted,  // the task `value` is known here and will be done
    begins,    // it is its turn
    done,      // step `number` of the task `value` was done by `node`
    refused,   // more is asked than we can remember
    wants,     // to enter
    enters,
    leaves,
    votes,   // yes to what `node` proposes as version `number`
    writes,  // version `number` is `value`
  };
  Kind kind = Kind::hold;
  NodeId node = kNobody;
  std::uint32_t number = 0;
  std::uint64_t value = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("kind", self.kind);
    visit("node", self.node);
    visit("number", self.number);
    visit("value", self.value);
  }
};

std::string_view name_of(Notice::Kind kind);

// What the election and the duty beside it tell each other.
struct ElectionAndDuty {
  template <class Mux, class Turn>
  static void on(Mux& mux, Turn& turn, Part<0> /*election*/,
                 const election::capacity::Notice& notice) {
    if (notice.kind == election::capacity::Notice::Kind::elected)
      mux.template command_part<1>(turn, Command::elected(notice.master, notice.number));
  }
  template <class Mux, class Turn>
  static void on(Mux& mux, Turn& turn, Part<1> /*duty*/, const Notice& notice) {
    using ElectionCommand = election::capacity::Command;
    if (notice.kind == Notice::Kind::offer)
      mux.template command_part<0>(turn,
                                   ElectionCommand::offer(static_cast<Capacity>(notice.value)));
    if (notice.kind == Notice::Kind::hold)
      mux.template command_part<0>(turn, ElectionCommand::hold());
    if (notice.kind == Notice::Kind::give_up)
      mux.template command_part<0>(turn, ElectionCommand::give_up());
  }
};

template <class Duty>
using Member = Mux<ElectionAndDuty, election::CapacityB1, Duty>;

template <class Duty>
using App = broadcast::Over<Member<Duty>>;

}  // namespace tempo::apps
