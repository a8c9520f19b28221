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
// lease, which decides.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "machine/machine.h"
#include "protocol/group/ring_anonymous.h"
#include "protocol/group/ring_equitable.h"
#include "protocol/group/terms.h"

namespace tempo::groups {

struct Ring {
  std::vector<NodeId> members{};  // in ascending order
  std::uint64_t sum = 0;  // sum of their hosts' ids, which are random enough to identify the ring
};

// A message from one member to another. On an anonymous ring the message carries no id.
struct RingMessage {
  Algorithm algorithm = Algorithm::ring;
  std::uint32_t election = 0;
  std::uint64_t ring = 0;  // sum of the ring
  NodeId to = kNobody;
  election::ring::Message message{};
};

class RingElections {
 public:
  RingElections(NodeId self, Incarnation incarnation, Nanos lease)
      : self_(self), incarnation_(incarnation), lease_(lease) {}
  RingElections(const RingElections&) = delete;  // machines keep the address of their rules
  RingElections& operator=(const RingElections&) = delete;

  // Results of a step, in order.
  struct Results {
    std::vector<RingMessage> messages{};
    std::optional<NodeId> elected{};  // by an election that names its winner; unset: no result
    bool defeated = false;            // another member is elected, and no message says which one
  };

  // Begins an election, unless one has been running for less than a lease.
  void hold(Instant now, Draw& draw, Algorithm algorithm, const Ring& ring, Results& results);
  // `ring` is the ring on which this host would hold an election now.
  void receive(Instant now, Draw& draw, NodeId from, const RingMessage& envelope, const Ring& ring,
               Results& results);
  void on_timer(Instant now, Draw& draw, Results& results);
  Instant due() const;

  std::uint32_t last() const { return last_; }  // number of the last election known to this host
  void learn(std::uint32_t last) { last_ = std::max(last_, last); }
  Algorithm algorithm() const { return algorithm_; }  // of the last election of this host

 private:
  template <class M, class Rules>
  struct Station {
    Station(NodeId at, Incarnation incarnation, const Rules& of)
        : rules(of), machine(at, incarnation, rules) {}
    Station(const Station&) = delete;
    Station& operator=(const Station&) = delete;

    Rules rules;
    M machine;
  };
  using Equitable = Station<election::RingElection, election::ring::EquitableRules>;
  using Anonymous = Station<election::AnonymousRingElection, election::anonymous::Rules>;

  bool begin(Instant now, Algorithm algorithm, std::uint32_t number, const Ring& ring);
  NodeId station_of(NodeId member) const;  // kNobody: not on the ring
  NodeId member_at(NodeId station) const;
  bool under_way(Instant now) const;
  template <class Do>
  void with_station(Do todo);
  template <class M, class Do>
  void step(M& machine, Instant now, Draw& draw, Results& results, Do todo);
  void on_notice(const election::RingElection& machine, const election::ring::Notice& notice,
                 Results& results) const;
  void on_notice(const election::AnonymousRingElection& machine,
                 const election::anonymous::Notice& notice, Results& results) const;

  static constexpr int kMaxWakes = 64;  // in one step

  NodeId self_;
  Incarnation incarnation_;
  Nanos lease_;
  std::uint32_t last_ = 0;
  std::uint32_t here_ = 0;  // number of the last election in which this host took part
  Algorithm algorithm_ = Algorithm::ring;
  Ring ring_;
  Instant began_at_{};
  std::variant<std::monostate, Equitable, Anonymous> station_;  // set during an election
};

}  // namespace tempo::groups
