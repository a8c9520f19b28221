// Over: runs a machine (the rider) on top of atomic broadcast (the carrier).
//
// All riders, the sender's included, receive a rider's broadcast in the same order, or none does.
// When the bounds are violated, the rider gets the command to give up its current work, because the
// other members may not have received the same messages. The rider may broadcast, but not send to
// single nodes; its time is network time.
#pragma once

#include <cstddef>
#include <functional>
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

template <CheckableMachine Rider>
class Over {
 public:
  using Carrier = Atomic<typename Rider::Message>;
  using Message = typename Carrier::Message;
  using Command = typename Rider::Command;
  using Notice = OneOf<typename Carrier::Notice, typename Rider::Notice>;
  using Parts = PartList<Carrier, Rider>;
  using Time = typename Carrier::Time;

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
    timers().locate(timer, [&]<std::size_t kPart>(Part<kPart>, TimerId own) {
      const auto fire = [&](auto& part, auto& inner) { part.on_timer(inner, own); };
      if constexpr (kPart == 0)
        carry(turn, fire);
      else
        ride(turn, fire);
    });
  }
  void command(Turn<Over>& turn, const Command& command) {
    ride(turn, [&](Rider& rider, auto& inner) { rider.command(inner, command); });
  }

  // The carrier's timers, then the rider's: at equal deadlines messages are delivered before the
  // rider's timers fire.
  auto timers() const { return JoinedTimers(carrier_.timers(), rider_.timers()); }

  const char* check() const {
    const char* broken = carrier_.check();
    return broken != nullptr ? broken : rider_.check();
  }

  static constexpr auto fields(auto list) {
    return list(field<&Over::carrier_>("carrier"), field<&Over::rider_>("rider"));
  }
  friend FieldCheck;

 private:
  // The rider handles the notices after the loop, so that the carrier's outputs come first.
  template <class Do>
  void carry(Turn<Over>& turn, Do action) {
    step_part(turn, carrier_, action, [&](const Outbox<Carrier>& out) {
      for (const auto& output : out) pass_carrier(turn, output);
      for (const auto& output : out)
        if (output.kind == OutputKind::notice) notify(turn, output.notice);
    });
  }

  static void pass_carrier(Turn<Over>& turn, const Output<Carrier>& output) {
    if (!pass_on(turn, output, std::identity{}))
      turn.out.notify(Notice::template of<0>(output.notice));
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
    bool refused = false;
    step_part(turn, rider_, action, [&](const Output<Rider>& output) {
      CHECK(output.kind != OutputKind::send);
      if (output.kind == OutputKind::notice)
        turn.out.notify(Notice::template of<1>(output.notice));
      else
        refused |= !broadcast(turn, output.message);
    });
    if (refused) ride(turn, give_up);
  }

  // Returns false if the carrier is in doubt and refuses the broadcast.
  bool broadcast(Turn<Over>& turn, const typename Rider::Message& content) {
    const bool trusted = carrier_.doubt() == Doubt::none;
    step_part(
        turn, carrier_,
        [&](auto& carrier, auto& inner) { carrier.command(inner, {.content = content}); },
        [&](const Output<Carrier>& output) { pass_carrier(turn, output); });
    return trusted;
  }

  Carrier carrier_;
  Rider rider_;
};

}  // namespace tempo::broadcast
