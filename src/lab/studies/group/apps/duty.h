// Common base of the applications of elections: an election and a duty, side by side.
//
// A duty is a machine that knows the work to be done; the election beside it (B.1, by capacity)
// decides which member does it. The duty reports its own capacity (`offer`) and calls elections
// (`hold`); the election reports the winner. Both use one atomic broadcast: all members receive a
// message in one order, or none does. So all members know the same things in the same order, and a
// duty that calls an election on receipt of a message calls it everywhere at the same reading of
// the clock.
//
// Applications after King, Gendreau, Ni, "Distributed Election in Computer Networks", 1988,
// section 7. They differ in their criterion, the function that gives the capacity.
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
  Nanos work{0};               // time that the elected member's work takes
  std::uint32_t founders = 0;  // joining a group: number of founding members; the others join later
  bool naive = false;  // for studies: an obvious but wrong version; each file says what is wrong

  // By this time the others have received a message of a live elected worker: they may decide T
  // after it, it waits for them, works, and its message arrives within T.
  Nanos patience() const { return 4 * bound + work; }
};

// The longer ago, the larger the capacity.
constexpr Capacity since(Nanos reading) {
  return std::numeric_limits<Capacity>::max() - reading.count();
}

struct Command {
  enum class Kind : std::uint8_t {
    ask,       // request of a user; `value` is its size or content
    offer,     // sets our capacity to `value`, if users decide it
    distrust,  // `node` must not be admitted
    elected,   // `node` won the election `number`; kNobody: there was no candidate
    give_up,   // the network violated its bounds
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

  static constexpr auto fields(auto list) {
    using M = Command;
    return list(field<&M::kind>("kind"), field<&M::node>("node"), field<&M::number>("number"),
                field<&M::value>("value"));
  }
};

struct Notice {
  enum class Kind : std::uint8_t {
    // For the election.
    offer,    // `value` is our capacity
    hold,     // call an election
    give_up,  // abandon the current election
    // For observers.
    accepted,  // the task `value` is known here and will be done
    begins,    // the turn of the task `value` begins
    done,      // `node` has done step `number` of the task `value`
    refused,   // too many requests to remember
    wants,     // wants to enter
    enters,
    leaves,
    votes,   // yes to version `number`, proposed by `node`
    writes,  // version `number` is `value`
  };
  Kind kind = Kind::hold;
  NodeId node = kNobody;
  std::uint32_t number = 0;
  std::uint64_t value = 0;

  static constexpr auto fields(auto list) {
    using M = Notice;
    return list(field<&M::kind>("kind"), field<&M::node>("node"), field<&M::number>("number"),
                field<&M::value>("value"));
  }
};

std::string_view name_of(Notice::Kind kind);

// Connects the election and the duty.
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
