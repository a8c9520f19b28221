// The elections of one group on a ring: its candidates in the order of their hosts' ids; each sends
// only to the next one.
//
// Each election runs a new machine of the equitable or the anonymous ring
// (protocol/group/ring_*.h), so that a station skipped as dead in one election is asked again in
// the next. The hosts number their elections in common. A heartbeat states the last election its
// host knows of; a host drops messages of earlier elections, and joins a later one on its first
// message.
//
// Each host knows the ring from the heartbeats of the candidates. Hosts that know different rings
// ignore each other and skip each other as if they were dead. Both may then ask for the group's
// lease, which decides. Times are boot time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "machine/compose.h"
#include "machine/machine.h"
#include "machine/one_timer.h"
#include "protocol/group/ring_anonymous.h"
#include "protocol/group/ring_equitable.h"
#include "protocol/group/terms.h"

namespace tempo::groups {

// Command: the ring on which this host would hold an election now. The machine that embeds the
// elections gives it to them before Hold and before a message.
struct Ring {
  std::vector<NodeId> members{};  // in ascending order
  std::uint64_t sum = 0;  // sum of their hosts' ids, which are random enough to identify the ring
};

// A message from one member to another. On an anonymous ring the message carries no id.
struct RingMessage {
  Algorithm algorithm = Algorithm::ring;
  std::uint32_t election = 0;
  std::uint64_t ring = 0;  // sum of the ring
  election::ring::Message message{};
};

class RingElections {
 public:
  // Begins an election, unless one has been running for less than a lease.
  struct Hold {
    Algorithm algorithm = Algorithm::ring;
  };
  // Another host knows of this election.
  struct Learn {
    std::uint32_t last = 0;
  };
  using Message = RingMessage;
  using Time = BootTime;
  using Command = std::variant<Hold, Learn, Ring>;
  using Notice = ElectionNotice;
  using Parts = PartList<election::RingElection, election::AnonymousRingElection>;

  RingElections(NodeId self, Incarnation incarnation, Nanos lease)
      : self_(self), incarnation_(incarnation), lease_(lease) {}

  void start(Turn<RingElections>& /*turn*/) {}
  void receive(Turn<RingElections>& turn, NodeId from, const Message& envelope);
  void on_timer(Turn<RingElections>& turn, TimerId timer);
  void command(Turn<RingElections>& turn, const Command& command);

  OneTimer<Time> timers() const;
  const char* check() const;

  std::uint32_t last() const { return last_; }  // number of the last election known to this host

 private:
  // The machine keeps the address of its rules.
  template <class M, class Rules>
  struct Station {
    Station(NodeId at, Incarnation incarnation, const Rules& of)
        : rules(std::make_unique<const Rules>(of)), machine(at, incarnation, *rules) {}

    std::unique_ptr<const Rules> rules;
    M machine;
  };
  using Equitable = Station<election::RingElection, election::ring::EquitableRules>;
  using Anonymous = Station<election::AnonymousRingElection, election::anonymous::Rules>;

  void on_command(Turn<RingElections>& turn, const Hold& hold);
  void on_command(Turn<RingElections>& turn, const Learn& learn);
  void on_command(Turn<RingElections>& turn, const Ring& ring);
  bool begin(BootTime now, Algorithm algorithm, std::uint32_t number);
  NodeId station_of(NodeId member) const;  // kNobody: not on the ring
  NodeId member_at(NodeId station) const;
  bool under_way(BootTime now) const;
  template <class Variant, class Do>
  static void with_machine(Variant& station, Do todo);
  template <class Do>
  void step(Turn<RingElections>& turn, Do todo);
  void on_notice(Turn<RingElections>& turn, const election::RingElection& machine,
                 const election::ring::Notice& notice) const;
  void on_notice(Turn<RingElections>& turn, const election::AnonymousRingElection& machine,
                 const election::anonymous::Notice& notice) const;

  static constexpr int kMaxWakes = 64;  // in one step

  NodeId self_;
  Incarnation incarnation_;
  Nanos lease_;
  std::uint32_t last_ = 0;
  std::uint32_t here_ = 0;  // number of the last election in which this host took part
  Algorithm algorithm_ = Algorithm::ring;
  Ring known_;  // the ring of the next election
  Ring ring_;   // the ring of the last election
  BootTime began_at_{};
  std::variant<std::monostate, Equitable, Anonymous> station_;  // set during an election
};

static_assert(Machine<RingElections> && std::movable<RingElections>);

}  // namespace tempo::groups
