#include "machine/table.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace tempo {
namespace {

enum class State : std::uint8_t { idle, busy, done };
enum class Event : std::uint8_t { work, finish, look, count };
enum class When : std::uint8_t { always, tired };
using Row = TableRow<State, Event, char, When>;
using Plain = TableRow<State, Event, char>;
using S = State;
using E = Event;

// clang-format off
constexpr Row kRows[] = {
  {"1",  S::idle, E::work,              When::tired,  S::idle, {'z'}},
  {"2",  S::idle, E::work,              When::always, S::busy, {'a', 'b'}},
  {"3",  S::busy, {E::work, E::finish}, When::always, S::done, {'c'}},
};
static_assert(deterministic(kRows));

// Each is wrong in one way.
constexpr Plain kTwice[] = {
  {S::idle, E::work,              S::busy, {}},
  {S::idle, {E::finish, E::work}, S::done, {}},
};
constexpr Row kUnreachable[] = {
  {"1", S::idle, E::work, When::always, S::idle, {}},
  {"2", S::idle, E::work, When::tired,  S::busy, {}},
};
static_assert(!deterministic(kTwice));
static_assert(!deterministic(kUnreachable));

constexpr IgnoredIn<State, Event> kIgnored[] = {
  {S::idle, {E::look, E::finish}},
  {S::busy, {E::look}},
  {S::done, {E::look}},
};
constexpr OnlyIn<State, Event> kOnlyIn[] = {{E::work, {S::idle, S::busy}}, {E::finish, {S::idle, S::busy}}};
static_assert(complete<3, 3>(kRows, kIgnored, kOnlyIn));

constexpr IgnoredIn<State, Event> kForgotten[] = {{S::idle, {E::look}}, {S::busy, {E::look}}, {S::done, {E::look}}};
constexpr OnlyIn<State, Event> kContradiction[] = {{E::work, {S::idle}}, {E::finish, {S::idle, S::busy}}};
static_assert(!complete<3, 3>(kRows, kForgotten, kOnlyIn));
static_assert(!complete<3, 3>(kRows, kIgnored, kContradiction));
// clang-format on

struct Machine {
  State state = State::idle;
  bool tired = false;
  std::string done{};

  template <class Table>
  const Row* step(Event event) {
    return Table::take_row(
        state, event,
        [&](State next) {
          state = next;
          done += '>';
        },
        [&](char action) { done += action; },
        [&](When when) { return when == When::always || tired; });
  }
};
using Open = StateTable<kRows>;
using Closed = StateTable<kRows, kOnlyIn>;

TEST(StateTable, EntersTheStateAndThenPerformsTheActions) {
  Machine machine;
  EXPECT_EQ(machine.step<Open>(Event::work)->number, "2");
  EXPECT_EQ(machine.state, State::busy);
  EXPECT_EQ(machine.step<Open>(Event::finish)->number, "3");
  EXPECT_EQ(machine.done, ">ab>c");
}

TEST(StateTable, TakesTheFirstRowWhoseConditionHolds) {
  Machine machine{.tired = true};
  EXPECT_EQ(machine.step<Open>(Event::work)->number, "1");
  EXPECT_EQ(machine.done, "z") << "the state does not change, so the machine does not enter it";
}

TEST(StateTable, IgnoresAnEventWithoutARow) {
  Machine machine;
  EXPECT_EQ(machine.step<Open>(Event::look), nullptr);
  machine.state = State::done;
  EXPECT_EQ(machine.step<Open>(Event::work), nullptr);
  EXPECT_EQ(machine.done, "");
}

TEST(StateTable, KnowsEventsThatCannotOccur) {
  EXPECT_TRUE(Open::possible(State::done, Event::work));
  EXPECT_FALSE(Closed::possible(State::done, Event::work));
  EXPECT_TRUE(Closed::possible(State::done, Event::look));
  Machine machine{.state = State::done};
  EXPECT_DEATH(machine.step<Closed>(Event::work), "possible");
}

}  // namespace
}  // namespace tempo
