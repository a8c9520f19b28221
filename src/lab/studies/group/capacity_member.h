// A group in which some lie is a world of members: each is an honest machine or a liar that speaks
// the same messages.
#pragma once

#include <cstddef>
#include <tuple>
#include <variant>

#include "machine/machine.h"
#include "machine/one_timer.h"

namespace tempo::sim::capacity {

// A member of a group in which some lie.
template <class Honest, class Byzantine>
class Member {
 public:
  using Message = typename Honest::Message;
  using Command = typename Honest::Command;
  using Notice = typename Honest::Notice;

  explicit Member(const Honest& honest) : soul_(honest) {}
  explicit Member(const Byzantine& byzantine) : soul_(byzantine) {}

  const Honest* honest() const { return std::get_if<Honest>(&soul_); }

  void start(Turn<Member>& turn) {
    act(turn, [](auto& soul, auto& inner) { soul.start(inner); });
  }
  void receive(Turn<Member>& turn, NodeId from, const Message& message) {
    act(turn, [&](auto& soul, auto& inner) { soul.receive(inner, from, message); });
  }
  void on_timer(Turn<Member>& turn, TimerId timer) {
    act(turn, [&](auto& soul, auto& inner) { soul.on_timer(inner, timer); });
  }
  void command(Turn<Member>& turn, const Command& command) {
    act(turn, [&](auto& soul, auto& inner) { soul.command(inner, command); });
  }

  // Both kinds have one timer.
  OneTimer timers() const {
    return OneTimer{std::visit([](const auto& soul) { return soul.timers().first(); }, soul_)};
  }
  const char* check() const {
    return std::visit([](const auto& soul) { return soul.check(); }, soul_);
  }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    std::visit([&](auto& soul) { visit("soul", soul); }, self.soul_);
  }

 private:
  template <class Do>
  void act(Turn<Member>& turn, Do todo) {
    std::visit(
        [&]<class Soul>(Soul& soul) {
          auto& out = std::get<Outbox<Soul>>(turn.out.scratch.outboxes);
          out.clear();
          Turn<Soul> inner{turn.now, turn.draw, out};
          todo(soul, inner);
          for (const Output<Soul>& output : out) {
            if (output.kind == OutputKind::notice)
              turn.out.notify(output.notice);
            else
              turn.out.broadcast(output.message);
          }
        },
        soul_);
  }

  std::variant<Honest, Byzantine> soul_;
};

}  // namespace tempo::sim::capacity

namespace tempo {

template <class Honest, class Byzantine>
struct OutboxScratch<sim::capacity::Member<Honest, Byzantine>> {
  std::tuple<Outbox<Honest>, Outbox<Byzantine>> outboxes;
};

}  // namespace tempo
