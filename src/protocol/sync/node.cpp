#include "protocol/sync/node.h"

#include <algorithm>

#include "machine/overloaded.h"

namespace tempo::node {
Node::Node(const Identity& identity, std::uint8_t networks, const election::Rules& rules,
           const Sync::Start& clock, const SyncRules& sync_rules)
    : identity_(identity), rules_(&rules), sync_(clock, sync_rules) {
  CHECK(networks <= kMaxNetworks);
  for (std::uint8_t i = 0; i < networks; ++i)
    slots_[i].emplace(
        Slot{.election = {{identity.self, identity.incarnation, identity.priority}, rules}});
}

void Node::start(Turn<Node>& turn) {
  for (std::uint8_t i = 0; i < kMaxNetworks; ++i)
    if (slots_[i]) step_election(turn, i, [](auto& machine, auto& inner) { machine.start(inner); });
}

void Node::receive(Turn<Node>& turn, NodeId from, const Message& message) {
  if (message.network >= kMaxNetworks || !slots_[message.network]) return;
  if (const election::Message* election = message.election()) {
    step_election(turn, message.network,
                  [&](auto& machine, auto& inner) { machine.receive(inner, from, *election); });
    receive_path(turn, message.network, from, message);
  } else {
    step_sync(turn, message.network,
              [&](auto& machine, auto& inner) { machine.receive(inner, from, *message.sync()); });
  }
  claim_worse(turn);
}

void Node::on_timer(Turn<Node>& turn, TimerId timer) {
  timers().locate(timer, [&]<std::size_t kPart>(Part<kPart>, TimerId own) {
    constexpr std::size_t kPerNetwork = Timers<election::Timer>::kCount;
    if constexpr (kPart == 0) {
      const auto network = static_cast<std::uint8_t>(std::to_underlying(own) / kPerNetwork);
      if (!slots_[network]) return;
      step_election(turn, network, [&](auto& machine, auto& inner) {
        machine.on_timer(inner, timer_id(std::to_underlying(own) % kPerNetwork));
      });
    } else {
      step_sync(turn, upstream_, [&](auto& machine, auto& inner) { machine.on_timer(inner, own); });
    }
  });
}

void Node::command(Turn<Node>& turn, const Command& command) {
  std::visit([&](const auto& one) { on_command(turn, one); }, command);
}

void Node::on_command(Turn<Node>& turn, const Join& join) {
  if (join.network >= kMaxNetworks || slots_[join.network]) return;
  slots_[join.network].emplace(
      Slot{.election = {{identity_.self, identity_.incarnation, identity_.priority}, *rules_}});
  step_election(turn, join.network, [](auto& machine, auto& inner) { machine.start(inner); });
}

void Node::on_command(Turn<Node>& turn, const ElectionCommand& command) {
  if (command.network >= kMaxNetworks || !slots_[command.network]) return;
  if (command.command == election::Command::stay_out) barred_by_operator_ = true;
  if (command.command == election::Command::come_back) {
    barred_by_operator_ = false;
    if (outvoted_) return;
  }
  step_election(turn, command.network,
                [&](auto& machine, auto& inner) { machine.command(inner, command.command); });
}

void Node::on_command(Turn<Node>& turn, const ClockCommand& command) {
  step_sync(turn, command.network == kNoNetwork ? upstream_ : command.network,
            [&](auto& machine, auto& inner) { machine.command(inner, command.command); });
}

// --- steps of the parts ---

// Notices first: a new master's messages carry the path of its own time, not of the one it
// followed.
template <class Step>
void Node::step_election(Turn<Node>& turn, std::uint8_t network, Step step) {
  using Out = Outbox<election::MasterElection>;
  step_part(turn, slots_[network]->election, step, [&](const Out& out) {
    for (const auto& output : out)
      if (output.kind == OutputKind::notice) on_notice(turn, network, output.notice);
    for (const auto& output : out)
      pass_on(turn, output, [&](const election::Message& message) {
        Message whole{.network = network, .body = message};
        if (election::masters_message(message.kind)) whole.path = path();
        return whole;
      });
  });
}

template <class Step>
void Node::step_sync(Turn<Node>& turn, std::uint8_t network, Step step) {
  std::optional<bool> outvoted;
  step_part(turn, sync_, step, [&](const Output<Sync>& output) {
    const auto whole = [&](const SyncMessage& message) {
      return Message{.network = network, .body = message};
    };
    if (pass_on(turn, output, whole)) return;
    turn.out.notify(ClockNotice{output.notice});
    std::visit(Overloaded{[&](const Stepped&) {
                            if (upstream_ != kNoNetwork && leads_any()) sync_.pass_on_step();
                          },
                          [&](const Outvoted&) { outvoted = true; },
                          [&](const Reinstated&) { outvoted = false; }, [](const auto&) {}},
               output.notice);
  });
  if (outvoted) on_verdict(turn, *outvoted);
}

// An outvoted node leads in no network until it is reinstated.
void Node::on_verdict(Turn<Node>& turn, bool outvoted) {
  outvoted_ = outvoted;
  if (barred_by_operator_) return;
  for (std::uint8_t i = 0; i < kMaxNetworks; ++i)
    if (slots_[i])
      step_election(turn, i, [this](auto& machine, auto& inner) {
        machine.command(inner,
                        outvoted_ ? election::Command::stay_out : election::Command::come_back);
      });
}

// Applies a notice of one network's election to the clock.
void Node::on_notice(Turn<Node>& turn, std::uint8_t network, const election::Notice& notice) {
  Slot& slot = *slots_[network];
  turn.out.notify(ElectionNotice{.network = network, .notice = notice});
  switch (notice.news) {
    case election::Change::leads:
      slot.leads = true;
      slot.master = identity_.self;
      slot.path = {};
      slot.path_heard = false;
      choose(turn);
      // Followers of the previous master may be far from the time that this node distributes.
      if (upstream_ != kNoNetwork) sync_.pass_on_step();
      break;
    case election::Change::follows:
      slot.leads = false;
      slot.master = notice.peer;
      slot.path = {.root = notice.peer, .hops = 0};
      slot.path_heard = false;
      choose(turn);
      break;
    case election::Change::adjusted:
      if (network == upstream_) on_command(turn, ClockCommand{Adjust{}});
      break;
    case election::Change::set:
      if (network == upstream_) on_command(turn, ClockCommand{Set{}});
      break;
    case election::Change::peer_down:
    case election::Change::ended:
      break;
  }
}

// --- several networks ---

bool Node::leads_any() const {
  return std::ranges::any_of(slots_, [](const auto& slot) { return slot && slot->leads; });
}

Path Node::path() const {
  if (upstream_ == kNoNetwork) return {.root = identity_.self, .hops = 0};
  const Path& beyond = slots_[upstream_]->path;
  return {.root = beyond.root, .hops = static_cast<std::uint8_t>(beyond.hops + 1)};
}

bool Node::usable(const Slot& slot) const {
  return !slot.leads && slot.master != kNobody && slot.path.root != identity_.self &&
         slot.path.hops < kMaxHops;
}

void Node::receive_path(Turn<Node>& turn, std::uint8_t network, NodeId from,
                        const Message& message) {
  Slot& slot = *slots_[network];
  const election::Message& election = *message.election();
  if (slot.leads || from != slot.master || message.path.root == kNobody ||
      !election::masters_message(election.kind) || election.epoch != slot.election.followed())
    return;
  slot.path_heard = true;
  if (slot.path == message.path) return;
  const bool was_usable = usable(slot);
  slot.path = message.path;
  if (was_usable && !usable(slot)) turn.out.notify(TimeLoop{network});
  choose(turn);
}

// Follows the best master: highest root, then shortest path, then first network.
void Node::choose(Turn<Node>& turn) {
  std::uint8_t best = kNoNetwork;
  bool leads_one = false;
  for (std::uint8_t i = 0; i < kMaxNetworks; ++i) {
    if (!slots_[i]) continue;
    leads_one |= slots_[i]->leads;
    if (!usable(*slots_[i])) continue;
    if (best == kNoNetwork) {
      best = i;
      continue;
    }
    const Path& challenger = slots_[i]->path;
    const Path& holder = slots_[best]->path;
    if (challenger.root != holder.root ? challenger.root > holder.root
                                       : challenger.hops < holder.hops)
      best = i;
  }
  if (best == kNoNetwork && !leads_one) return;  // no master and no followers: hold over
  const NodeId master = best == kNoNetwork ? identity_.self : slots_[best]->master;
  if (best != upstream_ || master != upstream_master_) {
    upstream_ = best;
    upstream_master_ = master;
    on_command(turn, ClockCommand{best == kNoNetwork ? SyncCommand{Lead{}} : Follow{master}});
    turn.out.notify(UpstreamChanged{upstream_});
  }
  claim_worse(turn);
}

// Claims the networks whose root is worse than ours, once our clock has been corrected, which any
// message may do. The path of a new master must have been received first: otherwise two gateways to
// the same root would take each other for a worse root and claim the network alternately.
void Node::claim_worse(Turn<Node>& turn) {
  if (upstream_ == kNoNetwork || !sync_.settled()) return;
  for (std::uint8_t i = 0; i < kMaxNetworks; ++i) {
    if (i == upstream_ || !slots_[i]) continue;
    const Slot& slot = *slots_[i];
    if (slot.leads || slot.master == kNobody || !slot.path_heard) continue;
    if (slot.path.root >= path().root) continue;
    if (slot.election.state() != election::State::slave) continue;
    step_election(turn, i, [](auto& machine, auto& inner) {
      machine.command(inner, election::Command::claim);
    });
  }
}

const char* Node::check() const {
  for (const auto& slot : slots_) {
    if (!slot) continue;
    if (const char* broken = slot->election.check()) return broken;
  }
  if (upstream_ != kNoNetwork && (!slots_[upstream_] || slots_[upstream_]->leads))
    return "the clock follows a network that this node leads";
  return sync_.check();
}

}  // namespace tempo::node
