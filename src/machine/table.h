// State machines as tables.
//
// A row reads: in the state `from`, on one of the events `on`, if the condition `when` holds, enter
// the state `to`, then perform the actions in their order. A table is an array of rows that can be
// read beside the paper that it comes from:
//
//     using Row = TableRow<State, Event, Verb>;
//     inline constexpr Row kRows[] = {
//     //  #    from         on                  to            actions
//       {"4", S::stand_by, E::leader_shows,    S::follow,    {}},
//       {"5", S::stand_by, E::patience_over,   S::ask,       {V::ask_lease}},
//     };
//     static_assert(deterministic(kRows));
//
// Of several rows for one state and event the first counts whose condition holds; without a row
// the event is ignored. A table may also list its ignored events and the events that occur in some
// states only (IgnoredIn, OnlyIn); `complete` then asserts that no pair was forgotten, and an
// event that cannot occur stops the program.
//
// A machine steps with StateTable<kRows>::take_row. It passes `enter`, the only function of the
// machine that assigns its state.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "machine/mutation.h"

namespace tempo {

template <class T, std::size_t kMax>
struct ShortList {
  std::array<T, kMax> items{};
  std::size_t size = 0;

  constexpr explicit(false) ShortList(T item) : items{item}, size(1) {}
  constexpr ShortList(std::initializer_list<T> list) {
    for (const T& item : list)
      items[size++] = item;  // an overflow does not compile in a constant expression
  }
  constexpr const T* begin() const { return items.data(); }
  constexpr const T* end() const { return items.data() + size; }
};

// The position of an enumerator.
constexpr std::size_t enum_index(auto enumerator) { return static_cast<std::size_t>(enumerator); }

// The condition of rows that have none.
enum class Always : std::uint8_t { always };
struct NoCondition {
  constexpr bool operator()(auto /*when*/) const { return true; }
};

template <class State, class Event, class Action, class When = Always>
struct TableRow {
  using Events = ShortList<Event, 16>;
  using Actions = ShortList<Action, 5>;

  std::string_view number;  // of the transition in its source; empty: the source has no numbers
  State from;
  Events on;
  When when;
  State to;
  Actions actions;

  constexpr TableRow(std::string_view row, State in, const Events& events, When condition,
                     State next, const Actions& all)
      : number(row), from(in), on(events), when(condition), to(next), actions(all) {}
  constexpr TableRow(std::string_view row, State in, const Events& events, State next,
                     const Actions& all)
      : TableRow(row, in, events, When::always, next, all) {}
  constexpr TableRow(State in, const Events& events, State next, const Actions& all)
      : TableRow({}, in, events, When::always, next, all) {}

  constexpr bool matches(State state, Event event) const {
    return from == state && std::ranges::find(on, event) != on.end();
  }
};

// Events that may occur in this state and change nothing.
template <class State, class Event>
struct IgnoredIn {
  State in;
  ShortList<Event, 24> what;
};

// An event that occurs in these states only.
template <class State, class Event>
struct OnlyIn {
  Event what;
  ShortList<State, 8> states;

  constexpr bool occurs(State state) const {
    return std::ranges::find(states, state) != states.end();
  }
};

// Whether no row is unreachable: no earlier row for the same state and event has the same condition
// or none.
consteval bool deterministic(const auto& rows) {
  for (const auto& row : rows)
    for (const auto* earlier = std::begin(rows); earlier != &row; ++earlier)
      if (earlier->from == row.from &&
          (earlier->when == row.when || earlier->when == decltype(row.when)::always))
        for (const auto event : row.on)
          if (std::ranges::find(earlier->on, event) != earlier->on.end()) return false;
  return true;
}

// Whether every pair of a state and an event has a row, is ignored or cannot occur, and only one of
// the three.
template <std::size_t kStates, std::size_t kEvents, class Row, std::size_t kRows, class State,
          class Event, std::size_t kIgnored, std::size_t kLimits>
consteval bool complete(const Row (&rows)[kRows],
                        const IgnoredIn<State, Event> (&ignored)[kIgnored],
                        const OnlyIn<State, Event> (&only_in)[kLimits]) {
  enum class Cell : std::uint8_t { empty, row, other, contradiction };
  std::array<std::array<Cell, kEvents>, kStates> cells{};
  const auto put = [&](auto state, auto event, Cell what) {
    Cell& cell = cells[enum_index(state)][enum_index(event)];
    cell = cell == Cell::empty || (cell == Cell::row && what == Cell::row) ? what
                                                                           : Cell::contradiction;
  };
  for (const auto& row : rows)
    for (const Event event : row.on) put(row.from, event, Cell::row);
  for (const auto& one : ignored)
    for (const Event event : one.what) put(one.in, event, Cell::other);
  for (const auto& one : only_in)
    for (std::size_t state = 0; state < kStates; ++state)
      if (!one.occurs(static_cast<State>(state))) put(state, one.what, Cell::other);
  for (const auto& state : cells)
    for (const Cell cell : state)
      if (cell != Cell::row && cell != Cell::other) return false;
  return true;
}

// Finds rows by an index that the compiler makes. `kRows` and `kLimits`, arrays of OnlyIn, are
// constants with linkage.
template <const auto& kRows, const auto&... kLimits>
class StateTable {
 public:
  using Row = std::remove_cvref_t<decltype(kRows[0])>;
  using State = decltype(Row::from);
  using Event = std::remove_cvref_t<decltype(*std::declval<Row>().on.begin())>;

  static constexpr bool possible(State state, Event event) {
    return first_row(state, event) != kImpossible;
  }

  // The row for this state and event whose condition `holds`; null: none.
  template <class Holds = NoCondition>
  static const Row* row_of(State state, Event event, Holds holds = {}) {
    const std::uint8_t first = first_row(state, event);
    if (first >= std::size(kRows)) return nullptr;
    for (const Row* row = std::begin(kRows) + first; row != std::end(kRows);
         row = std::find_if(row + 1, std::end(kRows),
                            [&](const Row& next) { return next.matches(state, event); }))
      if (!missing(row) && holds(row->when)) return row;
    return nullptr;
  }

  // Takes that row: calls `enter(to)` if the state changes, then `perform(action)` for each action.
  // Returns the row; null: the event is ignored.
  template <class Enter, class Perform, class Holds = NoCondition>
  static const Row* take_row(State state, Event event, Enter enter, Perform perform,
                             Holds holds = {}) {
    CHECK(possible(state, event));
    const Row* const row = row_of(state, event, holds);
    if (row == nullptr) return nullptr;
    if (row->to != state) enter(row->to);
    for (const auto& action : row->actions) perform(action);
    return row;
  }

 private:
  static constexpr std::uint8_t kNone = 255, kImpossible = 254;
  static_assert(std::size(kRows) < kImpossible);

  static constexpr std::size_t kStates = [] {
    std::size_t count = 0;
    for (const Row& row : kRows)
      count = std::max({count, enum_index(row.from) + 1, enum_index(row.to) + 1});
    return count;
  }();
  static constexpr std::size_t kEvents = [] {
    std::size_t count = 0;
    for (const Row& row : kRows)
      for (const Event event : row.on) count = std::max(count, enum_index(event) + 1);
    return count;
  }();
  // For each state and event the number of its first row.
  static constexpr auto kFirst = [] {
    std::array<std::array<std::uint8_t, kEvents>, kStates> first{};
    for (auto& state : first) state.fill(kNone);
    for (std::size_t i = std::size(kRows); i-- > 0;)
      for (const Event event : kRows[i].on)
        first[enum_index(kRows[i].from)][enum_index(event)] = static_cast<std::uint8_t>(i);
    [[maybe_unused]] const auto limit = [&](const auto& limits) {
      for (const auto& only : limits)
        for (std::size_t i = 0; i < kStates; ++i)
          if (!only.occurs(static_cast<State>(i))) first[i][enum_index(only.what)] = kImpossible;
    };
    (limit(kLimits), ...);
    return first;
  }();
  static constexpr std::uint8_t first_row(State state, Event event) {
    return enum_index(state) < kStates && enum_index(event) < kEvents
               ? kFirst[enum_index(state)][enum_index(event)]
               : kNone;
  }
};

}  // namespace tempo
