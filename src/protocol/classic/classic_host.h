// A host in classic mode: it speaks TSP version 1 with the time daemons of 4.3BSD.
//
// In each of its networks it takes part in the master election: the same machine as in tempo's own
// protocol (protocol/election), in its variant without epochs, because TSP has no field for them.
// The host translates between that machine's messages and TSP. As master it measures the clocks of
// its slaves with ICMP timestamps, averages those that are not faulty (average.h) and sends each
// slave its correction. As slave of one network and master of others it is a submaster: its own
// clock follows the one network, and the others follow its clock; it forwards Loops with one hop
// less. It answers the old control programs: Test, Msite, Traceon and Traceoff, and Setdate only if
// the options allow it.
//
// Source: Gusella and Zatti 1985, and their protocol specification, UCB/CSD 85/250 (1985); the
// behaviour of the daemons of 4.3BSD in packet captures. Deviations: doc/internals/classic.md.
//
// TSP has no authentication: every host that can send datagrams to this one can change its clock,
// within Options::correction_limit. The driver accepts packets only from the configured networks
// and addresses, and numbers the peers so that a lower NodeId has the lower name: of two masters,
// the one with the lower name stays.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "machine/compose.h"
#include "machine/machine.h"
#include "protocol/classic/average.h"
#include "protocol/classic/classic_types.h"
#include "protocol/classic/numbers.h"
#include "protocol/clock/steered_clock.h"
#include "protocol/election/master.h"

namespace tempo::classic {

class ClassicHost {
 public:
  using Message = Packet;
  using Command = std::variant<Join, Stop>;
  using Notice = classic::Notice;

  struct Identity {
    NodeId self{};
    Incarnation incarnation{};
    wire::Name name{};
    std::uint8_t networks = 0;  // bit i: it joins network i when it starts
  };

  // The rules must outlive the host; their variant must be `variant()` and their repeats 0.
  ClassicHost(const Identity& identity, const election::Rules& rules, const Options& options,
              const clock::SteeredClock& clock);

  // No epochs; everything else as corrected.
  static election::Variant variant() { return {.no_epoch = true}; }

  void start(Turn<ClassicHost>& turn);
  void receive(Turn<ClassicHost>& turn, NodeId from, const Packet& packet);
  void on_timer(Turn<ClassicHost>& turn, TimerId timer);
  void command(Turn<ClassicHost>& turn, const Command& command);

  using Parts = PartList<election::MasterElection>;

  // The timers of the networks' elections, then those of the host.
  auto timers() const {
    return JoinedTimers(slot_timers<Timers<election::Timer>::kCount>(slots_, ElectionTimers{}),
                        timers_);
  }
  const char* check() const;

  WallTime time(Instant now) const { return clock_.at(now); }
  const clock::SteeredClock& clock() const { return clock_; }
  const election::MasterElection* network(std::size_t number) const {
    return number < kMaxNetworks && slots_[number] ? &slots_[number]->election : nullptr;
  }
  // Name of the master followed in this network, or of this host if it leads; empty: none.
  wire::Name master_of(std::uint8_t network) const;
  std::uint8_t upstream() const { return upstream_; }  // kNoNetwork: the clock follows no master

 private:
  enum class OwnTimer : std::uint8_t { measure0, measure1, measure2, measure3, slew, count };

  // What is known of one other host of a network.
  struct Peer {
    wire::Name name{};
    std::uint32_t starts = 1;  // Masterreqs heard: its incarnation
    IncomingNumbers numbers{};
    std::uint16_t set_date = 0;       // sequence number of its last Setdate
    std::optional<Nanos> correction;  // of the last round; unset: not measured
  };
  struct Slot {
    election::MasterElection election;
    OutgoingNumbers numbers{};
    Sequence call = kNoSequence;     // of the last Masterreq or Election
    Sequence resolve = kNoSequence;  // of the last Resolve
    std::uint16_t answered = 0;      // sequence number of the datagram that this step answers
    election::State shown = election::State::startup;  // of the last notice
    wire::Name shown_master{};
    NodeId barred = kNobody;                       // a master whose time comes from this host
    std::vector<std::pair<NodeId, Peer>> peers{};  // sorted by id
    // The round that is being measured.
    Instant round{};              // when its corrections are sent
    std::uint32_t exchanges = 0;  // still to begin
    std::uint16_t measure_id = 0;
    std::vector<std::pair<NodeId, OffsetProbe>> probes{};
  };
  struct ElectionTimers {
    const Timers<election::Timer>& operator()(const Slot& slot) const {
      return slot.election.timers();
    }
  };

  static constexpr std::size_t kMaxPeers = 510;   // of one network; the driver numbers no more
  static constexpr std::uint32_t kExchanges = 4;  // of ICMP timestamps with each slave in a round

  void join(Turn<ClassicHost>& turn, std::uint8_t network);
  void receive_tsp(Turn<ClassicHost>& turn, NodeId from, const Packet& packet);
  void receive_control(Turn<ClassicHost>& turn, NodeId from, const Packet& packet);
  void receive_loop(Turn<ClassicHost>& turn, NodeId from, const Packet& packet);
  void receive_date(Turn<ClassicHost>& turn, NodeId from, const Packet& packet);
  void answer_timestamp(Turn<ClassicHost>& turn, NodeId from, const Packet& packet);
  void receive_timestamp(Turn<ClassicHost>& turn, NodeId from, const Packet& packet);
  void receive_election(Turn<ClassicHost>& turn, NodeId from, const Packet& packet);

  template <class Step>
  void step_election(Turn<ClassicHost>& turn, std::uint8_t network, Step step,
                     const wire::tsp::Datagram* received = nullptr);
  void send_message(Turn<ClassicHost>& turn, std::uint8_t network,
                    const Output<election::MasterElection>& output);
  void on_notice(Turn<ClassicHost>& turn, std::uint8_t network, const election::Notice& notice,
                 const wire::tsp::Datagram* received);
  void after_step(Turn<ClassicHost>& turn, std::uint8_t network, election::State before);

  void plan_round(std::uint8_t network, Instant now);
  void measure(Turn<ClassicHost>& turn, std::uint8_t network);
  // Computes the corrections of the slaves; returns that of the own clock.
  Nanos finish_round(std::uint8_t network);
  void correct(Turn<ClassicHost>& turn, Nanos by, bool step, const wire::Name& master);
  void slew(Instant now, Nanos by);
  void choose_upstream();
  void spread_time(Turn<ClassicHost>& turn);

  void send(Turn<ClassicHost>& turn, std::uint8_t network, NodeId to,
            const wire::tsp::Datagram& datagram);
  void broadcast(Turn<ClassicHost>& turn, std::uint8_t network,
                 const wire::tsp::Datagram& datagram);
  Peer* peer(Slot& slot, NodeId id);  // null: the table is full
  const Peer* find_peer(const Slot& slot, NodeId id) const;
  std::uint32_t milliseconds(Instant now) const;  // since midnight UT
  Nanos measuring_step() const;
  std::int64_t micros(Instant now) const;

  Identity identity_;
  const election::Rules* rules_;
  Options options_;
  clock::SteeredClock clock_;
  std::array<std::optional<Slot>, kMaxNetworks> slots_;
  std::uint8_t upstream_ = kNoNetwork;
  std::uint16_t extra_ = 0;  // number of the next message outside the elections
  bool stopped_ = false;
  Timers<OwnTimer> timers_;
};

std::string_view name_of(Refused::Reason reason);

// "adjtime -35 ms", "loop h1 hops 9", "timestamp request".
std::string text_of(const Packet& packet);

// Simulated and not checked: names and clocks are no small state.
static_assert(Machine<ClassicHost> && !CheckableMachine<ClassicHost>);
}  // namespace tempo::classic
