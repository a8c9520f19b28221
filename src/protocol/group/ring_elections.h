// The elections of one group on a ring: its candidates in the order of their hosts' ids, each of
// which sends to the next one only.
//
// What runs is the machine of the equitable ring or that of the ring without names
// (protocol/election/ring_*.h), a new one for each election: who was passed over as dead in one is
// asked again in the next. Elections are counted in common. A host says in its words which was the
// last it knows of; what still comes of an earlier one is dropped, and the first message of a later
// one makes a host take part in that.
//
// Who is on the ring is what each knows from the words of the candidates. Hosts that know different
// rings do not hear each other, and pass each other over as if they were dead: with the result that
// both may ask for the group's lease, which decides.
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
  std::vector<NodeId> members{};  // in their order
  std::uint64_t sum = 0;  // of their hosts' ids, which are as good as random: it names the ring
};

// What one member says to another. Of a ring without names the message has no id in it.
struct OnRing {
  Algorithm algorithm = Algorithm::ring;
  std::uint32_t election = 0;
  std::uint64_t ring = 0;  // its sum
  NodeId to = kNobody;
  election::ring::Message message{};
};

class RingElections {
 public:
  RingElections(NodeId self, Incarnation life, Nanos lease)
      : self_(self), life_(life), lease_(lease) {}
  RingElections(const RingElections&) = delete;  // machines keep the address of their rules
  RingElections& operator=(const RingElections&) = delete;

  // What came of a step, in order.
  struct Results {
    std::vector<OnRing> said{};
    std::optional<NodeId> elected{};
    bool defeated = false;  // another is elected, and nobody says who
  };

  // One that is under way, and has been for less than a lease, is this one.
  void hold(Instant now, Draw& draw, Algorithm algorithm, const Ring& ring, Results& results);
  // `ring` is the one that would be held on now.
  void receive(Instant now, Draw& draw, NodeId from, const OnRing& said, const Ring& ring,
               Results& results);
  void on_timer(Instant now, Draw& draw, Results& results);
  Instant due() const;

  std::uint32_t last() const { return last_; }  // election anybody is known to have held
  void learn(std::uint32_t last) { last_ = std::max(last_, last); }
  Algorithm algorithm() const { return algorithm_; }  // of the last one here

 private:
  template <class M, class Rules>
  struct Station {
    Station(NodeId at, Incarnation life, const Rules& of) : rules(of), machine(at, life, rules) {}
    Station(const Station&) = delete;
    Station& operator=(const Station&) = delete;

    Rules rules;
    M machine;
  };
  using Equitable = Station<election::RingElection, election::ring::EquitableRules>;
  using Anonymous = Station<election::AnonymousRingElection, election::anonymous::Rules>;

  bool begin(Instant now, Algorithm algorithm, std::uint32_t number, const Ring& ring);
  NodeId station_of(NodeId member) const;  // nobody: not on the ring
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
  Incarnation life_;
  Nanos lease_;
  std::uint32_t last_ = 0;
  std::uint32_t here_ = 0;  // the last in which this host took part
  Algorithm algorithm_ = Algorithm::ring;
  Ring ring_;
  Instant began_at_{};
  std::variant<std::monostate, Equitable, Anonymous> station_;  // while there is an election
};

}  // namespace tempo::groups
