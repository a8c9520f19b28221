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

#include "machine/machine.h"

namespace tempo {

template <std::size_t kIndex>
using Part = std::integral_constant<std::size_t, kIndex>;

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
    const auto which = static_cast<std::uint8_t>(self.body.index());
    visit("part", which);
    std::visit([&](auto& part) { visit("body", part); }, self.body);
  }
};

// The name of the alternative that is held.
template <class... Ts>
std::string_view name_of(const OneOf<Ts...>& one)
  requires requires(const Ts&... part) { (name_of(part), ...); }
{
  return std::visit([](const auto& part) -> std::string_view { return name_of(part); }, one.body);
}

template <class Rules, Machine... Parts>
class Mux {
 public:
  using Message = OneOf<typename Parts::Message...>;
  using Command = OneOf<typename Parts::Command...>;
  using Notice = OneOf<typename Parts::Notice...>;
  template <std::size_t kPart>
  using PartType = std::tuple_element_t<kPart, std::tuple<Parts...>>;

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
    std::size_t before = 0;  // number of timers of the preceding parts
    each([&]<std::size_t kPart>(Part<kPart>) {
      const std::size_t wanted = std::to_underlying(timer);
      const std::size_t count = std::get<kPart>(parts_).timers().size();
      if (wanted >= before && wanted < before + count)
        step<kPart>(turn, [&](auto& part, auto& inner) {
          part.on_timer(inner, timer_id(wanted - before));
        });
      before += count;
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
  class AllTimers {
   public:
    explicit AllTimers(const Mux& mux) : mux_(&mux) {}
    Instant first() const {
      return std::apply([](const Parts&... part) { return std::min({part.timers().first()...}); },
                        mux_->parts_);
    }
    TimerId first_name() const {
      const Instant earliest = first();
      std::size_t before = 0;
      std::size_t found = 0;
      bool done = false;
      mux_->each([&]<std::size_t kPart>(Part<kPart>) {
        const auto& timers = std::get<kPart>(mux_->parts_).timers();
        if (!done && timers.first() == earliest) {
          found = before + std::to_underlying(timers.first_name());
          done = true;
        }
        before += timers.size();
      });
      return timer_id(found);
    }
    Instant at(TimerId timer) const {
      std::size_t before = 0;
      Instant when = kNever;
      mux_->each([&]<std::size_t kPart>(Part<kPart>) {
        const auto& timers = std::get<kPart>(mux_->parts_).timers();
        const std::size_t wanted = std::to_underlying(timer);
        if (wanted >= before && wanted < before + timers.size())
          when = timers.at(timer_id(wanted - before));
        before += timers.size();
      });
      return when;
    }
    std::size_t size() const {
      return std::apply([](const Parts&... part) { return (part.timers().size() + ...); },
                        mux_->parts_);
    }

   private:
    const Mux* mux_;
  };
  AllTimers timers() const { return AllTimers{*this}; }

  const char* check() const {
    const char* broken = nullptr;
    each([&]<std::size_t kPart>(Part<kPart>) {
      if (broken == nullptr) broken = std::get<kPart>(parts_).check();
    });
    return broken;
  }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    std::apply([&](auto&... part) { (visit("part", part), ...); }, self.parts_);
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
    auto& out = std::get<kPart>(turn.out.scratch.outboxes);
    out.clear();
    Turn<PartType<kPart>> inner{turn.now, turn.draw, out};
    take(std::get<kPart>(parts_), inner);
    for (const auto& output : out) {
      switch (output.kind) {
        case OutputKind::send:
          turn.out.send(output.to, Message::template of<kPart>(output.message));
          break;
        case OutputKind::broadcast:
          turn.out.broadcast(Message::template of<kPart>(output.message));
          break;
        case OutputKind::notice:
          CHECK(turn.out.scratch.notices.size() < kMaxNotices);
          turn.out.scratch.notices.push_back(Notice::template of<kPart>(output.notice));
          break;
      }
    }
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
struct OutboxScratch<Mux<Rules, Parts...>> {
  std::tuple<Outbox<Parts>...> outboxes;
  std::vector<OneOf<typename Parts::Notice...>> notices;  // at most Mux::kMaxNotices
};

}  // namespace tempo
