// Over: runs a machine (the rider) on top of atomic broadcast (the carrier).
//
// All riders, the sender's included, receive a rider's broadcast in the same order, or none does.
// When the bounds are violated, the rider gets the command to give up its current work, because the
// other members may not have received the same messages. The rider may broadcast, but not send to
// single nodes.
#pragma once

#include <cstddef>
#include <tuple>
#include <utility>
#include <variant>

#include "machine/machine.h"
#include "machine/mux.h"
#include "protocol/broadcast/atomic.h"

namespace tempo::broadcast {

// The rider's command to give up. In a Mux the command goes to the last part, whose notices inform
// the other parts.
template <class Command>
struct GiveUp {
  static Command command() { return Command::give_up(); }
};
template <class... Commands>
struct GiveUp<OneOf<Commands...>> {
  static constexpr std::size_t kLast = sizeof...(Commands) - 1;
  using Last = std::variant_alternative_t<kLast, std::variant<Commands...>>;
  static OneOf<Commands...> command() {
    return OneOf<Commands...>::template of<kLast>(Last::give_up());
  }
};

template <Machine Rider>
class Over {
 public:
  using Carrier = Atomic<typename Rider::Message>;
  using Message = typename Carrier::Message;
  using Command = typename Rider::Command;
  using Notice = OneOf<typename Carrier::Notice, typename Rider::Notice>;

  Over(Carrier carrier, Rider rider) : carrier_(std::move(carrier)), rider_(std::move(rider)) {}

  const Carrier& carrier() const { return carrier_; }
  const Rider& rider() const { return rider_; }

  void start(Turn<Over>& turn) {
    carry(turn, [](Carrier& carrier, auto& inner) { carrier.start(inner); });
    ride(turn, [](Rider& rider, auto& inner) { rider.start(inner); });
  }
  void receive(Turn<Over>& turn, NodeId from, const Message& message) {
    carry(turn, [&](Carrier& carrier, auto& inner) { carrier.receive(inner, from, message); });
  }
  void on_timer(Turn<Over>& turn, TimerId timer) {
    const std::size_t wanted = std::to_underlying(timer);
    const std::size_t first = carrier_.timers().size();
    if (wanted < first)
      carry(turn, [&](Carrier& carrier, auto& inner) { carrier.on_timer(inner, timer); });
    else
      ride(turn,
           [&](Rider& rider, auto& inner) { rider.on_timer(inner, timer_id(wanted - first)); });
  }
  void command(Turn<Over>& turn, const Command& command) {
    ride(turn, [&](Rider& rider, auto& inner) { rider.command(inner, command); });
  }

  // The carrier's timers, then the rider's: at equal deadlines messages are delivered before the
  // rider's timers fire.
  class BothTimers {
   public:
    explicit BothTimers(const Over& over) : over_(&over) {}
    Instant first() const {
      return std::min(over_->carrier_.timers().first(), over_->rider_.timers().first());
    }
    TimerId first_name() const {
      const auto& carrier = over_->carrier_.timers();
      if (carrier.first() == first()) return carrier.first_name();
      return timer_id(carrier.size() + std::to_underlying(over_->rider_.timers().first_name()));
    }
    Instant at(TimerId timer) const {
      const std::size_t wanted = std::to_underlying(timer);
      const std::size_t first = over_->carrier_.timers().size();
      return wanted < first ? over_->carrier_.timers().at(timer)
                            : over_->rider_.timers().at(timer_id(wanted - first));
    }
    std::size_t size() const {
      return over_->carrier_.timers().size() + over_->rider_.timers().size();
    }

   private:
    const Over* over_;
  };
  BothTimers timers() const { return BothTimers{*this}; }

  const char* check() const {
    const char* broken = carrier_.check();
    return broken != nullptr ? broken : rider_.check();
  }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("carrier", self.carrier_);
    visit("rider", self.rider_);
  }

 private:
  template <class Do>
  void carry(Turn<Over>& turn, Do action) {
    auto& out = turn.out.scratch.carrier;
    out.clear();
    Turn<Carrier> inner{turn.now, turn.draw, out};
    action(carrier_, inner);
    // The rider handles the notices after the loop, so that the carrier's outputs come first.
    auto& notices = turn.out.scratch.notices;
    notices.clear();
    for (const auto& output : out) {
      if (output.kind != OutputKind::notice) {
        turn.out.broadcast(output.message);
        continue;
      }
      turn.out.notify(Notice::template of<0>(output.notice));
      notices.push_back(output.notice);
    }
    for (std::size_t i = 0; i < notices.size(); ++i)
      notify(turn, typename Carrier::Notice(notices[i]));
  }

  void notify(Turn<Over>& turn, const typename Carrier::Notice& notice) {
    using Kind = typename Carrier::Notice::Kind;
    if (notice.kind == Kind::delivered)
      ride(turn,
           [&](Rider& rider, auto& inner) { rider.receive(inner, notice.node, notice.content); });
    else if (notice.kind == Kind::broken)
      ride(turn, give_up);
  }

  static void give_up(Rider& rider, Turn<Rider>& turn) {
    rider.command(turn, GiveUp<Command>::command());
  }

  template <class Do>
  void ride(Turn<Over>& turn, Do action) {
    auto& out = turn.out.scratch.rider;
    out.clear();
    Turn<Rider> inner{turn.now, turn.draw, out};
    action(rider_, inner);
    bool refused = false;
    for (const auto& output : out) {
      CHECK(output.kind != OutputKind::send);
      if (output.kind == OutputKind::notice)
        turn.out.notify(Notice::template of<1>(output.notice));
      else
        refused |= !broadcast(turn, output.message);
    }
    if (refused) ride(turn, give_up);
  }

  // Returns false if the carrier is in doubt and refuses the broadcast.
  bool broadcast(Turn<Over>& turn, const typename Rider::Message& content) {
    auto& out = turn.out.scratch.broadcaster;
    out.clear();
    Turn<Carrier> inner{turn.now, turn.draw, out};
    const bool trusted = carrier_.doubt() == Doubt::none;
    carrier_.command(inner, {.content = content});
    for (const auto& output : out) {
      if (output.kind == OutputKind::notice)
        turn.out.notify(Notice::template of<0>(output.notice));
      else
        turn.out.broadcast(output.message);
    }
    return trusted;
  }

  Carrier carrier_;
  Rider rider_;
};

}  // namespace tempo::broadcast

namespace tempo {

template <class Rider>
struct OutboxScratch<broadcast::Over<Rider>> {
  using Carrier = broadcast::Atomic<typename Rider::Message>;
  Outbox<Carrier> carrier;
  Outbox<Carrier> broadcaster;
  Outbox<Rider> rider;
  std::vector<typename Carrier::Notice> notices;
};

}  // namespace tempo
