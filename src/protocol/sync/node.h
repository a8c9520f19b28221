// One whole node's brain: an election in every network it is on, and one clock.
//
// In each network the node takes part in that network's own election. Its clock follows at most one
// master: in a single network simply that network's, on several the one with the best path to a
// root (a root is a master whose time is its own). Where it is master itself it hands its time on:
// it is then slave of one network and master of the others, a submaster. If it is slave in a
// network whose root is worse than the one it follows elsewhere, it claims that network's
// mastership.
//
// A path is a root and the number of networks between; every master's message carries it. Time that
// runs in a circle is recognised by its root (ourselves) or by a path that has grown too long, and
// is not followed (4.3BSD's Loop, with a hop count).
//
// It leaves sockets, host names and keys to the driver, who gives out node numbers in the order of
// the host ids.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "machine/mux.h"
#include "protocol/election/master.h"
#include "protocol/sync/sync.h"

namespace tempo::node {

inline constexpr std::size_t kMaxNetworks = 8;
inline constexpr std::uint8_t kMaxHops = 8;  // longer paths are circles
inline constexpr std::uint8_t kNoNetwork = 255;

// Where a master's time comes from.
struct Path {
  NodeId root = kNobody;  // kNobody: not said
  std::uint8_t hops = 0;

  bool operator==(const Path&) const = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("root", self.root);
    visit("hops", self.hops);
  }
};

class Node {
 public:
  struct Message {
    std::uint8_t network = 0;
    Path path{};  // with a master's election messages
    OneOf<election::Message, SyncMessage> body{};

    const election::Message* election() const { return std::get_if<0>(&body.body); }
    const SyncMessage* sync() const { return std::get_if<1>(&body.body); }

    template <class Self, class Visitor>
    static void fields(Self& self, Visitor& visit) {
      visit("network", self.network);
      visit("path", self.path);
      visit("body", self.body);
    }
  };

  struct Command {
    enum class What : std::uint8_t { join, election, sync };
    What what = What::election;
    std::uint8_t network = 0;  // join: take part in this one from now on; election: in this one
    election::Command election{};
    SyncCommand sync{};
  };

  struct Notice {
    enum class What : std::uint8_t {
      election,  // a notice of this network's election
      sync,      // a notice of the clock
      upstream,  // the clock follows this network's master from now on (kNoNetwork: leads)
      circle,    // this network's time comes from ourselves, or its path is too long
    };
    What what = What::election;
    std::uint8_t network = 0;
    election::Notice election{};
    SyncNotice sync{};
  };

  struct Identity {
    NodeId self;
    Incarnation incarnation;
    election::Priority priority = election::kMaxPriority;
  };

  // The rules are shared and must outlive the node. It takes part in networks 0 to `networks` - 1.
  Node(const Identity& identity, std::uint8_t networks, const election::Rules& rules,
       const Sync::Start& clock, const SyncRules& sync_rules);

  void start(Turn<Node>& turn);
  void receive(Turn<Node>& turn, NodeId from, const Message& message);
  void on_timer(Turn<Node>& turn, TimerId timer);
  void command(Turn<Node>& turn, const Command& command);

  // All timers, numbered through: the networks' first, then the clock's.
  class AllTimers {
   public:
    explicit AllTimers(const Node& node) : node_(&node) {}
    Instant first() const;
    TimerId first_name() const;
    Instant at(TimerId timer) const;
    static constexpr std::size_t size() {
      return kMaxNetworks * Timers<election::Timer>::kCount + Timers<Sync::Timer>::kCount;
    }

   private:
    const Node* node_;
  };
  AllTimers timers() const { return AllTimers{*this}; }
  const char* check() const;

  const Sync& sync() const { return sync_; }
  const election::MasterElection* network(std::size_t number) const {
    return number < kMaxNetworks && slots_[number] ? &slots_[number]->election : nullptr;
  }
  std::uint8_t upstream() const { return upstream_; }  // kNoNetwork: none, or leads
  Path path() const;                                   // of our own time
  NodeId self() const { return identity_.self; }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    for (auto& slot : self.slots_) visit("slot", slot);
    visit("upstream", self.upstream_);
    visit("told_out", self.barred_by_operator_);
    visit("outvoted", self.outvoted_);
    visit("sync", self.sync_);
  }

 private:
  struct Slot {
    election::MasterElection election;
    bool leads = false;
    NodeId master = kNobody;
    Path path{};
    bool path_heard = false;  // from this master; until then `path` is what may well be

    template <class Self, class Visitor>
    static void fields(Self& self, Visitor& visit) {
      visit("election", self.election);
      visit("leads", self.leads);
      visit("master", self.master);
      visit("path", self.path);
      visit("path_heard", self.path_heard);
    }
  };

  template <class Step>
  void step_election(Turn<Node>& turn, std::uint8_t network, Step take);
  template <class Step>
  void step_sync(Turn<Node>& turn, std::uint8_t network, Step take);
  void command_sync(Turn<Node>& turn, const SyncCommand& command);
  void on_notice(Turn<Node>& turn, std::uint8_t network, const election::Notice& notice);
  void receive_path(Turn<Node>& turn, std::uint8_t network, NodeId from, const Message& message);
  void choose(Turn<Node>& turn);
  bool leads_any() const;
  void claim_worse(Turn<Node>& turn);
  void on_sync_notice(Turn<Node>& turn, const SyncNotice& notice);
  bool usable(const Slot& slot) const;

  Identity identity_;
  const election::Rules* rules_;
  std::array<std::optional<Slot>, kMaxNetworks> slots_;
  std::uint8_t upstream_ = kNoNetwork;
  NodeId upstream_master_ = kNobody;
  bool barred_by_operator_ = false;  // by command: never lead
  bool outvoted_ = false;            // by the members: our clock is wrong
  Sync sync_;
};

inline std::string_view name_of(const Node::Message& message) {
  const election::Message* election = message.election();
  return election != nullptr ? election::name_of(*election) : name_of(*message.sync());
}

}  // namespace tempo::node

namespace tempo {
template <>
struct OutboxScratch<node::Node> {
  Outbox<election::MasterElection> election;
  Outbox<node::Sync> sync;
};
}  // namespace tempo

namespace tempo::node {
static_assert(Machine<Node>);
}  // namespace tempo::node
