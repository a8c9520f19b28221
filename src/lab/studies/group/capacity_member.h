// A member of a group with Byzantine members: either an honest machine or a malicious one with the
// same messages.
#pragma once

#include <functional>
#include <variant>

#include "machine/compose.h"
#include "machine/one_timer.h"

namespace tempo::sim::capacity {

// See the header of this file.
template <class Honest, class Byzantine>
class Member {
 public:
  using Message = typename Honest::Message;
  using Time = TimeOf<Honest>;
  using Command = typename Honest::Command;
  using Notice = typename Honest::Notice;
  using Parts = PartList<Honest, Byzantine>;

  explicit Member(const Honest& honest) : part_(honest) {}
  explicit Member(const Byzantine& byzantine) : part_(byzantine) {}

  const Honest* honest() const { return std::get_if<Honest>(&part_); }

  void start(Turn<Member>& turn) {
    act(turn, [](auto& part, auto& inner) { part.start(inner); });
  }
  void receive(Turn<Member>& turn, NodeId from, const Message& message) {
    act(turn, [&](auto& part, auto& inner) { part.receive(inner, from, message); });
  }
  void on_timer(Turn<Member>& turn, TimerId timer) {
    act(turn, [&](auto& part, auto& inner) { part.on_timer(inner, timer); });
  }
  void command(Turn<Member>& turn, const Command& command) {
    act(turn, [&](auto& part, auto& inner) { part.command(inner, command); });
  }

  // Both variants have one timer.
  OneTimer<Time> timers() const {
    return OneTimer{std::visit([](const auto& part) { return part.timers().first(); }, part_)};
  }
  const char* check() const {
    return std::visit([](const auto& part) { return part.check(); }, part_);
  }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    auto& [either] = self;
    std::visit([&](auto& part) { visit("soul", part); }, either);
  }

 private:
  template <class Do>
  void act(Turn<Member>& turn, Do todo) {
    std::visit(
        [&]<class Part>(Part& part) {
          step_part(turn, part, todo, [&](const Output<Part>& output) {
            if (!pass_on(turn, output, std::identity{})) turn.out.notify(output.notice);
          });
        },
        part_);
  }

  std::variant<Honest, Byzantine> part_;
};

}  // namespace tempo::sim::capacity
