// Toy machines that test the machine contract.
//
//   Heartbeat   uses timers: each node sends heartbeats and suspects silent nodes;
//   Lots        uses random numbers: every node draws a lot, and the highest lot leads;
//   Tally       uses commands: a counter at every node, its changes sent by a Courier;
//   Leadership  is a Mux of the first two: it replaces a suspected leader.
//
// The same classes run in the simulator (sim_test.cpp), in an explorer of all orders of events
// (explorer_test.cpp) and over UDP between processes (udp_test.cpp). These tests show:
//
//   - One class works with all three drivers without special code. A driver only has to carry out
//     three kinds of output and to supply `now` and draws.
//   - Packing relative to now is enough to recognise states: the clocks of the machines never stop,
//     and the explorer still finishes, with exactly the number of states computed by hand.
//   - A draw as an argument can be enumerated: the explorer finds the two equal lots that a seeded
//     run finds only by luck, with a shortest path to them.
//   - Rules between parts may go both ways: a notice of each part of Leadership commands the other.
//   - Messages, commands and notices are flat: a datagram or a control message is their bytes.
//
// Each toy has a defect that can be enabled, to show that the drivers find it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "machine/courier.h"
#include "machine/machine.h"
#include "machine/mux.h"

namespace tempo::toys {

// A node is trusted from its first heartbeat until `timeout` passes without one.
class Heartbeat {
 public:
  struct Options {
    Nanos period;   // time between heartbeats
    Nanos timeout;  // time without a heartbeat until a node is suspected
  };
  using Message = Nothing;
  struct Command {  // another part of the node has received a message from this node
    NodeId heard = kNobody;

    static constexpr auto fields(auto list) { return list(field<&Command::heard>("heard")); }
  };
  struct Notice {
    NodeId node = kNobody;
    bool trusted = false;

    static constexpr auto fields(auto list) {
      return list(field<&Notice::node>("node"), field<&Notice::trusted>("trusted"));
    }
  };
  enum class Timer : std::uint8_t { beat, silence, count };

  explicit Heartbeat(const Options& options) : options_(options) {}

  void start(Turn<Heartbeat>& turn) { beat(turn); }
  void receive(Turn<Heartbeat>& turn, NodeId from, const Message&) { receive(turn, from); }
  void command(Turn<Heartbeat>& turn, const Command& command) { receive(turn, command.heard); }

  void on_timer(Turn<Heartbeat>& turn, TimerId timer) {
    if (turn.now < timers_.at(timer)) return;
    if (timer == timer_id(Timer::beat)) {
      beat(turn);
    } else {
      for (const auto& [node, until] : trusted_until_.sorted()) {
        if (until == kNever || turn.now < until) continue;
        trusted_until_[node] = kNever;
        turn.out.notify({.node = node, .trusted = false});
      }
      timers_.set(Timer::silence, first_silence());
    }
  }

  const Timers<Timer>& timers() const { return timers_; }
  const char* check() const {
    return timers_.at(Timer::silence) == first_silence() ? nullptr : "silence is detected in time";
  }

  bool trusts(NodeId node) const {
    const Instant* until = trusted_until_.find(node);
    return until != nullptr && *until != kNever;
  }

  static constexpr auto fields(auto list) {
    using M = Heartbeat;
    return list(field<&M::timers_>("timers"), field<&M::trusted_until_>("trusted_until"),
                fixed<&M::options_>());
  }
  friend FieldCheck;

 private:
  void beat(Turn<Heartbeat>& turn) {
    turn.out.broadcast({});
    timers_.set(Timer::beat, turn.now + options_.period);
  }

  void receive(Turn<Heartbeat>& turn, NodeId from) {
    if (!trusts(from)) turn.out.notify({.node = from, .trusted = true});
    trusted_until_[from] = turn.now + options_.timeout;
    timers_.set(Timer::silence, first_silence());
  }

  Instant first_silence() const {
    Instant first = kNever;
    for (const auto& slot : trusted_until_.sorted()) first = std::min(first, slot.value);
    return first;
  }

  Options options_;
  Timers<Timer> timers_;
  NodeMap<Instant> trusted_until_;  // kNever: suspected
};

inline constexpr Heartbeat::Options kHeartbeat{.period = 1s, .timeout = 3s};

// Every node draws a lot and waits, for a shorter time with a higher lot. A node that knows no
// leader then claims to lead, and repeats its claim. Of two leaders the one with the higher lot
// stays; with equal lots, the one with the higher node number. The defect is to ignore equal lots.
template <bool kBreaksTies = true>
class Lots {
 public:
  struct Options {
    std::uint32_t lots;  // number of different lots
    Nanos slot;          // difference of the waiting times of neighbouring lots
  };
  struct Message {  // "I lead, with this lot."
    std::uint32_t lot = 0;

    static constexpr auto fields(auto list) { return list(field<&Message::lot>("lot")); }
  };
  struct Command {  // this node is down; if it leads, another must
    NodeId down = kNobody;

    static constexpr auto fields(auto list) { return list(field<&Command::down>("down")); }
  };
  struct Notice {
    NodeId leader = kNobody;

    static constexpr auto fields(auto list) { return list(field<&Notice::leader>("leader")); }
  };
  enum class Timer : std::uint8_t { claim, count };

  Lots(NodeId self, const Options& options) : options_(options), self_(self) {}

  void start(Turn<Lots>& turn) { draw_lot(turn); }

  void receive(Turn<Lots>& turn, NodeId from, const Message& claim) {
    if (from == leader_) {
      leading_lot_ = claim.lot;
    } else if (leader_ == kNobody || beats(claim.lot, from)) {
      follow(turn, from, claim.lot);
      timers_.stop(Timer::claim);
    }
  }

  void on_timer(Turn<Lots>& turn, TimerId timer) {
    if (turn.now < timers_.at(timer)) return;
    if (!leads()) follow(turn, self_, own_lot_);
    claim(turn);
  }

  void command(Turn<Lots>& turn, const Command& command) {
    if (command.down != leader_ || leads()) return;
    follow(turn, kNobody, 0);
    draw_lot(turn);
  }

  const Timers<Timer>& timers() const { return timers_; }
  const char* check() const {
    return timers_.running(Timer::claim) == (leader_ == kNobody || leads())
               ? nullptr
               : "a node without a leader claims eventually";
  }

  NodeId leader() const { return leader_; }
  bool leads() const { return leader_ == self_; }

  static constexpr auto fields(auto list) {
    using M = Lots;
    return list(field<&M::self_>("self"), field<&M::leader_>("leader"),
                field<&M::own_lot_>("own_lot"), field<&M::leading_lot_>("leading_lot"),
                field<&M::timers_>("timers"), fixed<&M::options_>());
  }
  friend FieldCheck;

 private:
  void draw_lot(Turn<Lots>& turn) {
    own_lot_ = static_cast<std::uint32_t>(turn.draw.below(options_.lots));
    timers_.set(Timer::claim, turn.now + options_.slot * (options_.lots - own_lot_));
  }

  void claim(Turn<Lots>& turn) {
    turn.out.broadcast({.lot = own_lot_});
    timers_.set(Timer::claim, turn.now + options_.slot * options_.lots);
  }

  void follow(Turn<Lots>& turn, NodeId leader, std::uint32_t lot) {
    leader_ = leader;
    leading_lot_ = lot;
    turn.out.notify({.leader = leader});
  }

  bool beats(std::uint32_t lot, NodeId node) const {
    if (lot != leading_lot_) return lot > leading_lot_;
    return kBreaksTies && node > leader_;
  }

  Options options_;
  NodeId self_;
  NodeId leader_ = kNobody;
  std::uint32_t own_lot_ = 0;
  std::uint32_t leading_lot_ = 0;  // lot of the leader; 0 without a leader
  Timers<Timer> timers_;           // `claim` runs unless another node leads
};

// A number is added at every node: here at once, at the others by a message that is repeated until
// it is acknowledged or given up. The defect is to add duplicates.
template <bool kDetectsDuplicates = true>
class Tally {
 public:
  enum class Kind : std::uint8_t { add, added };
  struct Message {
    Kind kind = Kind::add;
    Sequence sequence = kNoSequence;
    Incarnation incarnation{};  // of the node that assigned the sequence number
    std::uint32_t amount = 0;

    static constexpr auto fields(auto list) {
      using M = Message;
      return list(field<&M::kind>("kind"), field<&M::sequence>("sequence"),
                  field<&M::incarnation>("life"), field<&M::amount>("amount"));
    }
  };
  struct Command {
    std::uint32_t add = 0;

    static constexpr auto fields(auto list) { return list(field<&Command::add>("add")); }
  };
  enum class Event : std::uint8_t { total_is, added_at, gave_up_on };
  struct Notice {
    Event event = Event::total_is;
    NodeId node = kNobody;    // valid for added_at and gave_up_on
    std::uint32_t total = 0;  // valid for total_is

    static constexpr auto fields(auto list) {
      using M = Notice;
      return list(field<&M::event>("news"), field<&M::node>("node"), field<&M::total>("total"));
    }
  };
  enum class Timer : std::uint8_t { resend, count };
  using MessageCourier = Courier<Message>;
  struct Options {
    std::uint32_t nodes;
    typename MessageCourier::Options post;
  };

  Tally(NodeId self, Incarnation incarnation, const Options& options)
      : options_(options), self_(self), incarnation_(incarnation) {}

  void start(Turn<Tally>&) {}

  void receive(Turn<Tally>& turn, NodeId from, const Message& message) {
    if (message.kind == Kind::add) {
      Message answer = message;
      answer.kind = Kind::added;
      turn.out.send(from, answer);
      if (courier_.fresh(from, message.incarnation, message.sequence) || !kDetectsDuplicates)
        add(turn, message.amount);
    } else if (message.incarnation == incarnation_ &&
               courier_.acknowledge(from, message.sequence) != nullptr) {
      turn.out.notify({.event = Event::added_at, .node = from});
    }
    timers_.set(Timer::resend, courier_.due());
  }

  void on_timer(Turn<Tally>& turn, TimerId timer) {
    if (turn.now < timers_.at(timer)) return;
    courier_.on_timer(
        turn.now, options_.post,
        [&](NodeId to, const Message& message) { turn.out.send(to, message); },
        [&](NodeId to, const Message&) {
          unsure_of_.insert(to);
          turn.out.notify({.event = Event::gave_up_on, .node = to});
        });
    timers_.set(Timer::resend, courier_.due());
  }

  void command(Turn<Tally>& turn, const Command& command) {
    add(turn, command.add);
    for (std::uint32_t i = 0; i < options_.nodes; ++i) {
      if (NodeId{i} == self_) continue;
      const Message message{.kind = Kind::add,
                            .sequence = courier_.next_sequence(),
                            .incarnation = incarnation_,
                            .amount = command.add};
      turn.out.send(NodeId{i}, message);
      courier_.post(turn.now, NodeId{i}, message, options_.post);
    }
    timers_.set(Timer::resend, courier_.due());
  }

  const Timers<Timer>& timers() const { return timers_; }
  const char* check() const {
    return timers_.at(Timer::resend) == courier_.due() ? nullptr : "due messages are sent in time";
  }

  std::uint32_t total() const { return total_; }
  const NodeSet& unsure_of() const { return unsure_of_; }

  static constexpr auto fields(auto list) {
    using M = Tally;
    return list(field<&M::self_>("self"), field<&M::incarnation_>("life"),
                field<&M::total_>("total"), field<&M::unsure_of_>("unsure_of"),
                field<&M::timers_>("timers"), field<&M::courier_>("courier"),
                fixed<&M::options_>());
  }
  friend FieldCheck;

 private:
  void add(Turn<Tally>& turn, std::uint32_t amount) {
    total_ += amount;
    turn.out.notify({.event = Event::total_is, .total = total_});
  }

  Options options_;
  NodeId self_;
  Incarnation incarnation_;
  std::uint32_t total_ = 0;
  NodeSet unsure_of_;  // nodes that did not acknowledge a message
  Timers<Timer> timers_;
  MessageCourier courier_;
};

// A suspected leader is down; a leader that claims is alive. The defect is to omit the second rule:
// a node may then follow a leader that it suspects.
template <bool kUsesClaims = true>
struct LeadershipRules {
  template <class Mux, class Turn>
  static void on(Mux& mux, Turn& turn, Part<0>, const Heartbeat::Notice& notice) {
    if (!notice.trusted) mux.template command_part<1>(turn, Lots<>::Command{.down = notice.node});
  }
  template <class Mux, class Turn>
  static void on(Mux& mux, Turn& turn, Part<1>, const Lots<>::Notice& notice) {
    if (kUsesClaims && notice.leader != kNobody && !mux.template part<1>().leads())
      mux.template command_part<0>(turn, Heartbeat::Command{.heard = notice.leader});
  }
};
template <bool kUsesClaims = true>
using Leadership = Mux<LeadershipRules<kUsesClaims>, Heartbeat, Lots<>>;

static_assert(CheckableMachine<Heartbeat> && CheckableMachine<Lots<>> &&
              CheckableMachine<Tally<>> && CheckableMachine<Leadership<>>);

}  // namespace tempo::toys
