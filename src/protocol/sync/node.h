// A node: an election in each of its networks, and one clock.
//
// The node takes part in the election of each network. Its clock follows at most one master: with
// one network that network's master, with several the master with the best path to a root (a root
// is a master that follows no other). Where the node is master itself, it distributes its time: it
// is then slave in one network and master in the others, a submaster. If it is slave in a network
// whose root is worse than the root it follows elsewhere, it claims the mastership of that network.
//
// A path is a root and the number of networks to it; every message of a master carries it. A node
// detects a time loop by its root (the node itself) or by a path that is too long, and does not
// follow it (4.3BSD's Loop, with a hop count).
//
// The driver has the sockets, host names and keys, and assigns node numbers in the order of the
// host ids.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "machine/compose.h"
#include "protocol/election/master.h"
#include "protocol/sync/sync.h"

namespace tempo::node {

inline constexpr std::size_t kMaxNetworks = 8;
inline constexpr std::uint8_t kMaxHops = 8;  // longer paths are time loops
inline constexpr std::uint8_t kNoNetwork = 255;

// Source of a master's time.
struct Path {
  NodeId root = kNobody;  // kNobody: unknown
  std::uint8_t hops = 0;  // networks between the root and the master

  bool operator==(const Path&) const = default;
};

class Node {
 public:
  struct Message {
    std::uint8_t network = 0;
    Path path{};  // in a master's election messages
    std::variant<election::Message, SyncMessage> body{};

    const election::Message* election() const { return std::get_if<0>(&body); }
    const SyncMessage* sync() const { return std::get_if<1>(&body); }
  };

  struct Join {
    std::uint8_t network = 0;
  };
  struct ElectionCommand {
    std::uint8_t network = 0;
    election::Command command{};
  };
  struct ClockCommand {
    SyncCommand command{};
    std::uint8_t network = kNoNetwork;  // for its messages; kNoNetwork: the one it follows
  };
  using Command = std::variant<Join, ElectionCommand, ClockCommand>;

  struct ElectionNotice {
    std::uint8_t network = 0;
    election::Notice notice{};
  };
  struct ClockNotice {
    SyncNotice notice{};
  };
  struct UpstreamChanged {
    std::uint8_t network = 0;  // the clock follows its master from now on; kNoNetwork: leads
  };
  struct TimeLoop {
    std::uint8_t network = 0;  // its time comes from this node, or its path is too long
  };
  using Notice = std::variant<ElectionNotice, ClockNotice, UpstreamChanged, TimeLoop>;

  struct Identity {
    NodeId self;
    Incarnation incarnation;
    election::Priority priority = election::kMaxPriority;
  };

  // The rules must outlive the node. It takes part in networks 0 to `networks` - 1.
  Node(const Identity& identity, std::uint8_t networks, const election::Rules& rules,
       const Sync::Start& clock, const SyncRules& sync_rules);

  void start(Turn<Node>& turn);
  void receive(Turn<Node>& turn, NodeId from, const Message& message);
  void on_timer(Turn<Node>& turn, TimerId timer);
  void command(Turn<Node>& turn, const Command& command);

  using Parts = PartList<election::MasterElection, Sync>;

  // All timers, numbered consecutively: those of the networks, then those of the clock.
  auto timers() const {
    return JoinedTimers(slot_timers<Timers<election::Timer>::kCount>(slots_, ElectionTimers{}),
                        sync_.timers());
  }
  const char* check() const;

  const Sync& sync() const { return sync_; }
  const election::MasterElection* network(std::size_t number) const {
    return number < kMaxNetworks && slots_[number] ? &slots_[number]->election : nullptr;
  }
  std::uint8_t upstream() const { return upstream_; }          // kNoNetwork: none, or leads
  NodeId upstream_master() const { return upstream_master_; }  // this node itself if it leads
  Path path() const;                                           // of this node's own time
  NodeId self() const { return identity_.self; }

 private:
  struct Slot {
    election::MasterElection election;
    bool leads = false;
    NodeId master = kNobody;
    Path path{};
    bool path_heard = false;  // `path` comes from this master; false: it is an assumption
  };

  struct ElectionTimers {
    const Timers<election::Timer>& operator()(const Slot& slot) const {
      return slot.election.timers();
    }
  };

  template <class Step>
  void step_election(Turn<Node>& turn, std::uint8_t network, Step step);
  template <class Step>
  void step_sync(Turn<Node>& turn, std::uint8_t network, Step step);
  void on_command(Turn<Node>& turn, const Join& join);
  void on_command(Turn<Node>& turn, const ElectionCommand& command);
  void on_command(Turn<Node>& turn, const ClockCommand& command);
  void on_notice(Turn<Node>& turn, std::uint8_t network, const election::Notice& notice);
  void receive_path(Turn<Node>& turn, std::uint8_t network, NodeId from, const Message& message);
  void choose(Turn<Node>& turn);
  bool leads_any() const;
  void claim_worse(Turn<Node>& turn);
  void on_verdict(Turn<Node>& turn, bool outvoted);
  bool usable(const Slot& slot) const;

  Identity identity_;
  const election::Rules* rules_;
  std::array<std::optional<Slot>, kMaxNetworks> slots_;
  std::uint8_t upstream_ = kNoNetwork;  // network whose master the clock follows
  NodeId upstream_master_ = kNobody;    // that master; this node itself if it leads
  bool barred_by_operator_ = false;     // by the command stay_out
  bool outvoted_ = false;               // the members voted that this node's clock is wrong
  Sync sync_;
};

inline std::string_view name_of(const Node::Message& message) {
  const election::Message* election = message.election();
  return election != nullptr ? election::name_of(*election) : name_of(*message.sync());
}

// Simulated and not checked, because of Sync.
static_assert(Machine<Node> && !CheckableMachine<Node>);
}  // namespace tempo::node
