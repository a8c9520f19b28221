// Mux: composes several machines into one.
//
// The parts run in one node, share its links and do not know each other. Rules turn a notice of one
// part into a command to another:
//
//     struct Rules {
//       template <class Mux, class Turn>
//       static void on(Mux& mux, Turn& turn, Part<0>, const Clock::Notice& notice) {
//         if (notice.synchronized) mux.template command_part<1>(turn, Election::Command{...});
//       }
//     };
//
// Every notice also goes to the driver; a notice without a rule goes only there. Rules run after
// the step that made the notice, in the order of the notices. One step causes at most kMaxNotices.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "machine/compose.h"

namespace tempo {

// A variant of flat types, with a field list.
template <class... Ts>
struct OneOf {
  std::variant<Ts...> body;

  template <std::size_t kPart>
  static OneOf of(const std::variant_alternative_t<kPart, std::variant<Ts...>>& value) {
    return {std::variant<Ts...>(std::in_place_index<kPart>, value)};
  }

  bool operator==(const OneOf&) const = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    auto& [body] = self;
    const auto which = static_cast<std::uint8_t>(body.index());
    visit("part", which);
    std::visit([&](auto& part) { visit("body", part); }, body);
  }
};

// The name of the alternative that is held.
template <class... Ts>
std::string_view name_of(const OneOf<Ts...>& one)
  requires requires(const Ts&... part) { (name_of(part), ...); }
{
  return std::visit([](const auto& part) -> std::string_view { return name_of(part); }, one.body);
}

template <class Rules, CheckableMachine... Parts>
class Mux {
 public:
  using Message = OneOf<typename Parts::Message...>;
  using Command = OneOf<typename Parts::Command...>;
  using Notice = OneOf<typename Parts::Notice...>;
  template <std::size_t kPart>
  using PartType = std::tuple_element_t<kPart, std::tuple<Parts...>>;
  using Time = TimeOf<PartType<0>>;

  explicit Mux(Parts... parts) : parts_(std::move(parts)...) {}

  void start(Turn<Mux>& turn) {
    each([&]<std::size_t kPart>(Part<kPart>) {
      step<kPart>(turn, [](auto& part, auto& inner) { part.start(inner); });
    });
    apply_rules(turn);
  }

  void receive(Turn<Mux>& turn, NodeId from, const Message& message) {
    each([&]<std::size_t kPart>(Part<kPart>) {
      if (message.body.index() != kPart) return;
      step<kPart>(turn, [&](auto& part, auto& inner) {
        part.receive(inner, from, std::get<kPart>(message.body));
      });
    });
    apply_rules(turn);
  }

  void on_timer(Turn<Mux>& turn, TimerId timer) {
    timers().locate(timer, [&]<std::size_t kPart>(Part<kPart>, TimerId own) {
      step<kPart>(turn, [&](auto& part, auto& inner) { part.on_timer(inner, own); });
    });
    apply_rules(turn);
  }

  void command(Turn<Mux>& turn, const Command& command) {
    each([&]<std::size_t kPart>(Part<kPart>) {
      if (command.body.index() == kPart) command_part<kPart>(turn, std::get<kPart>(command.body));
    });
    apply_rules(turn);
  }

  // For rules: gives a command to one part.
  template <std::size_t kPart>
  void command_part(Turn<Mux>& turn, const typename PartType<kPart>::Command& command) {
    step<kPart>(turn, [&](auto& part, auto& inner) { part.command(inner, command); });
  }

  template <std::size_t kPart>
  const PartType<kPart>& part() const {
    return std::get<kPart>(parts_);
  }

  // The timers of all parts, numbered consecutively.
  auto timers() const {
    return std::apply([](const Parts&... part) { return JoinedTimers(part.timers()...); }, parts_);
  }

  const char* check() const {
    const char* broken = nullptr;
    each([&]<std::size_t kPart>(Part<kPart>) {
      if (broken == nullptr) broken = std::get<kPart>(parts_).check();
    });
    return broken;
  }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    auto& [parts] = self;
    std::apply([&](auto&... part) { (visit("part", part), ...); }, parts);
  }

 private:
  static constexpr std::size_t kMaxNotices = 4096;

  template <class Do>
  static void each(Do action) {
    [&]<std::size_t... kPart>(std::index_sequence<kPart...>) {
      (action(Part<kPart>{}), ...);
    }(std::index_sequence_for<Parts...>{});
  }

  // Runs one step of one part. Its messages go out tagged with the part's number; its notices are
  // queued for the rules.
  template <std::size_t kPart, class Step>
  void step(Turn<Mux>& turn, Step take) {
    step_part(turn, std::get<kPart>(parts_), take, [&](const Output<PartType<kPart>>& output) {
      if (pass_on(turn, output,
                  [](const auto& message) { return Message::template of<kPart>(message); }))
        return;
      CHECK(turn.out.scratch.notices.size() < kMaxNotices);
      turn.out.scratch.notices.push_back(Notice::template of<kPart>(output.notice));
    });
  }

  void apply_rules(Turn<Mux>& turn) {
    auto& notices = turn.out.scratch.notices;
    for (std::size_t i = 0; i < notices.size(); ++i) {
      const Notice notice = notices[i];  // a copy: rules may add more
      turn.out.notify(notice);
      each([&]<std::size_t kPart>([[maybe_unused]] Part<kPart> part) {
        if (notice.body.index() != kPart) return;
        if constexpr (requires { Rules::on(*this, turn, part, std::get<kPart>(notice.body)); })
          Rules::on(*this, turn, part, std::get<kPart>(notice.body));
      });
    }
    notices.clear();
  }

  std::tuple<Parts...> parts_;
};

template <class Rules, class... Parts>
struct OutboxScratch<Mux<Rules, Parts...>> : PartOutboxes<PartList<Parts...>> {
  std::vector<OneOf<typename Parts::Notice...>> notices;  // at most Mux::kMaxNotices
};

}  // namespace tempo
