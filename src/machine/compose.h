// Composition: a machine that consists of other machines, its parts.
//
// The whole lists the types of its parts once and steps a part with step_part:
//
//     using Parts = PartList<Election, Clock>;
//
//     step_part(turn, clock_, [&](Clock& clock, Turn<Clock>& inner) { clock.start(inner); },
//               [&](const Output<Clock>& output) {
//                 if (!pass_on(turn, output, [](const auto& m) { return Message{m}; }))
//                   on_notice(turn, output.notice);
//               });
//
// The handler gets the outputs of the part in their order, after the step. It may step any part
// again, also the same one. A part with another Time than the whole does not compile; step_part_at
// steps it at the time that the whole converts.
//
// A whole shows the timers of its parts as one set, numbered consecutively: JoinedTimers for parts
// of different types, SlotTimers for a range of optional parts of one type.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "machine/machine.h"

namespace tempo {

template <class... Parts>
struct PartList {};

// The number of a part or of a set of timers.
template <std::size_t kIndex>
using Part = std::integral_constant<std::size_t, kIndex>;

// Outboxes of one part, one for each step in progress: a handler may step the part again.
template <class M>
class OutboxStack {
 public:
  Outbox<M>& push() {
    CHECK(depth_ < kMaxDepth);
    if (depth_ == boxes_.size()) boxes_.push_back(std::make_unique<Outbox<M>>());
    Outbox<M>& box = *boxes_[depth_++];
    box.clear();
    return box;
  }
  void pop() { --depth_; }

 private:
  static constexpr std::size_t kMaxDepth = 64;

  std::vector<std::unique_ptr<Outbox<M>>> boxes_;
  std::size_t depth_ = 0;
};

// One stack for each type in the list.
template <class List, class... Done>
struct PartOutboxes;
template <class... Done>
struct PartOutboxes<PartList<>, Done...> {
  std::tuple<OutboxStack<Done>...> stacks;
};
template <class First, class... Rest, class... Done>
struct PartOutboxes<PartList<First, Rest...>, Done...>
    : std::conditional_t<(std::same_as<First, Done> || ...),
                         PartOutboxes<PartList<Rest...>, Done...>,
                         PartOutboxes<PartList<Rest...>, Done..., First>> {};

template <class M>
  requires requires { typename M::Parts; }
struct OutboxScratch<M> : PartOutboxes<typename M::Parts> {};

// `on_output` takes one output, or all outputs of the step (`const Outbox<M>&`).
template <class Whole, class M, class Step, class OnOutput>
void step_part_at(TimeOf<M> now, Turn<Whole>& turn, M& part, Step step, OnOutput on_output) {
  auto& stack = std::get<OutboxStack<M>>(turn.out.scratch.stacks);
  Outbox<M>& box = stack.push();
  Turn<M> inner{now, turn.draw, box};
  step(part, inner);
  if constexpr (std::invocable<OnOutput, const Outbox<M>&>)
    on_output(std::as_const(box));
  else
    for (const Output<M>& output : box) on_output(output);
  stack.pop();
}

template <class Whole, class M, class Step, class OnOutput>
void step_part(Turn<Whole>& turn, M& part, Step step, OnOutput on_output) {
  static_assert(std::same_as<TimeOf<M>, TimeOf<Whole>>,
                "the part runs on another clock: step it with step_part_at");
  step_part_at(turn.now, turn, part, step, on_output);
}

// Sends a message of a part as a message of the whole, `wrap(message)`. False: the output is a
// notice or a record.
template <class Whole, class M, class Wrap>
bool pass_on(Turn<Whole>& turn, const Output<M>& output, Wrap wrap) {
  if (output.kind == OutputKind::send)
    turn.out.send(output.to, wrap(output.message));
  else if (output.kind == OutputKind::broadcast)
    turn.out.broadcast(wrap(output.message));
  else
    return false;
  return true;
}

// The timers of several sets, numbered consecutively. Among equal deadlines the first set comes
// first. It refers to sets that are lvalues and copies the others.
template <class... Sets>
class JoinedTimers {
 public:
  explicit JoinedTimers(Sets&&... sets) : sets_(std::forward<Sets>(sets)...) {}

  auto first() const {
    return std::apply([](const auto&... set) { return std::min({set.first()...}); }, sets_);
  }
  TimerId first_name() const {
    const auto earliest = first();
    std::size_t found = 0;
    bool done = false;
    each([&](const auto& set, std::size_t before) {
      if (done || set.first() != earliest) return;
      found = before + std::to_underlying(set.first_name());
      done = true;
    });
    return timer_id(found);
  }
  auto at(TimerId timer) const {
    decltype(first()) when = kNever;
    locate(timer, [&]<std::size_t kSet>(Part<kSet>, TimerId own) {
      when = std::get<kSet>(sets_).at(own);
    });
    return when;
  }
  std::size_t size() const {
    return std::apply([](const auto&... set) { return (set.size() + ...); }, sets_);
  }

  // Calls `visit(Part<kSet>{}, own)` for the set that has this timer; `own` is its name there.
  template <class Visit>
  void locate(TimerId timer, Visit visit) const {
    const std::size_t wanted = std::to_underlying(timer);
    std::size_t before = 0;
    [&]<std::size_t... kSet>(std::index_sequence<kSet...>) {
      const auto one = [&]<std::size_t kOne>(Part<kOne> part) {
        const std::size_t size = std::get<kOne>(sets_).size();
        if (wanted >= before && wanted < before + size) visit(part, timer_id(wanted - before));
        before += size;
      };
      (one(Part<kSet>{}), ...);
    }(std::index_sequence_for<Sets...>{});
  }

 private:
  template <class Visit>
  void each(Visit visit) const {
    std::size_t before = 0;
    std::apply([&](const auto&... set) { ((visit(set, before), before += set.size()), ...); },
               sets_);
  }

  std::tuple<Sets...> sets_;
};
template <class... Sets>
JoinedTimers(Sets&&...) -> JoinedTimers<Sets...>;

// The timers of a range of optional slots with `kPerSlot` timers each: timer i of slot s has the
// number s * kPerSlot + i. `timers_of(*slot)` returns the timers of a slot.
template <class Slots, class TimersOf, std::size_t kPerSlot>
class SlotTimers {
 public:
  using Slot = std::remove_cvref_t<decltype(**std::declval<const Slots&>().begin())>;
  using Time = decltype(std::declval<const TimersOf&>()(std::declval<const Slot&>()).first());

  SlotTimers(const Slots& slots, TimersOf timers_of) : slots_(&slots), timers_of_(timers_of) {}

  Time first() const {
    Time earliest = kNever;
    for (const auto& slot : *slots_)
      if (slot) earliest = std::min(earliest, timers_of_(*slot).first());
    return earliest;
  }
  TimerId first_name() const {
    const auto earliest = first();
    for (std::size_t i = 0; i < slots_->size(); ++i)
      if (const auto& slot = (*slots_)[i]; slot && timers_of_(*slot).first() == earliest)
        return timer_id(i * kPerSlot + std::to_underlying(timers_of_(*slot).first_name()));
    return timer_id(0);
  }
  Time at(TimerId timer) const {
    const auto& slot = (*slots_)[std::to_underlying(timer) / kPerSlot];
    return slot ? timers_of_(*slot).at(timer_id(std::to_underlying(timer) % kPerSlot)) : kNever;
  }
  std::size_t size() const { return slots_->size() * kPerSlot; }

 private:
  const Slots* slots_;
  TimersOf timers_of_;
};
template <std::size_t kPerSlot, class Slots, class TimersOf>
SlotTimers<Slots, TimersOf, kPerSlot> slot_timers(const Slots& slots, TimersOf timers_of) {
  return {slots, timers_of};
}

}  // namespace tempo
