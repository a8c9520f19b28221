// Leadership as a table (section 12 of the lease lock's specification, retold in
// doc/internals/groups.md).
//
// Each row reads: in this state, on this event, do these and go to that state. Numbers are the
// specification's; those with a letter are ours, and doc/internals/decisions/022 says why they are
// there. A pair that no row names is "ignore": a late result of an election, a word that changes
// nothing.
//
// Which event a word is, is decided in one place, Leadership::hear.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tempo::groups {

enum class State : std::uint8_t {
  watch,     // nobody here is a candidate
  follow,    // somebody leads, or it is not yet known that nobody does
  elect,     // an election is held
  stand_by,  // another was elected; should it not lead in time, we ask
  ask,       // for the lease
  lead,      // the lease is ours, the user acts
  yield,     // and is to stop, for a better one
  retire,    // and is to stop, because it wants to
  rest,      // was leader and resigned: no candidate for a while
  count
};

enum class Event : std::uint8_t {
  // from the user
  stand,
  stand_too_soon,  // after a resignation
  withdraw,
  finish,  // the one job is done
  resign,
  stopped,  // acting, as it was told to
  // from the others' words
  leader_shows,
  leader_gone,  // it said so, or was silent for L
  invited,      // the leader wants us to ask for its lease
  heir_asks,    // whom we invited
  heir_unfit,   // it does not ask, or is no better any more
  job_done,     // by another
  // from the election
  elected_self,
  elected_other,
  // from the lease
  granted,
  lost,
  // from timers
  patience_over,  // r times D: the better ones are dead or cut off
  no_majority,    // no lease in three retries
  outdone,        // clearly, for long enough, and min_stay is over
  rest_over,
  count
};

enum class Verb : std::uint8_t {
  none,
  join,           // from now on a candidate
  leave,          // no candidate any more
  expect_leader,  // so long it may be silent
  hold_election,
  ask_lease,
  drop_lease,  // hand it over, free it, or ask for it no more
  wait_by_rank,
  reign,
  invite_better,  // the candidate that outdoes us
  invite_best,    // of those there are, if there is one
  forget_heir,
  stop_user,
  count_loss,
  tell_lost,
  tell_no_majority,
  tell_job_done,
  say_job_done,
  start_rest,
};

struct Row {
  std::string_view number;
  State from;
  Event on;
  State to;
  std::array<Verb, 4> verbs;
};

// clang-format off
inline constexpr std::array kRows = std::to_array<Row>({
  // #     from             on                     to               does
  {"0a",  State::watch,    Event::stand,          State::follow,   {Verb::join, Verb::expect_leader}},
  {"0c",  State::watch,    Event::stand_too_soon, State::rest,     {}},

  {"1",   State::follow,   Event::leader_gone,    State::elect,    {Verb::hold_election}},
  {"1a",  State::follow,   Event::elected_self,   State::ask,      {Verb::ask_lease}},       // others saw the silence first
  {"1b",  State::follow,   Event::elected_other,  State::stand_by, {Verb::wait_by_rank}},
  {"9b",  State::follow,   Event::invited,        State::ask,      {Verb::ask_lease}},

  {"2",   State::elect,    Event::elected_self,   State::ask,      {Verb::ask_lease}},
  {"3",   State::elect,    Event::elected_other,  State::stand_by, {Verb::wait_by_rank}},
  {"4a",  State::elect,    Event::leader_shows,   State::follow,   {}},
  {"9b",  State::elect,    Event::invited,        State::ask,      {Verb::ask_lease}},

  {"4",   State::stand_by, Event::leader_shows,   State::follow,   {}},
  {"5",   State::stand_by, Event::patience_over,  State::ask,      {Verb::ask_lease}},
  {"9b",  State::stand_by, Event::invited,        State::ask,      {Verb::ask_lease}},

  {"6",   State::ask,      Event::granted,        State::lead,     {Verb::reign}},
  {"7",   State::ask,      Event::leader_shows,   State::follow,   {Verb::drop_lease}},
  {"8",   State::ask,      Event::no_majority,    State::elect,    {Verb::tell_no_majority, Verb::drop_lease, Verb::hold_election}},

  {"9",   State::lead,     Event::outdone,        State::lead,     {Verb::invite_better}},
  {"9a",  State::lead,     Event::heir_unfit,     State::lead,     {Verb::forget_heir}},
  {"9c",  State::lead,     Event::heir_asks,      State::yield,    {Verb::stop_user}},
  {"9d",  State::yield,    Event::stopped,        State::follow,   {Verb::drop_lease, Verb::expect_leader}},
  {"10",  State::lead,     Event::resign,         State::retire,   {Verb::invite_best, Verb::stop_user}},
  {"10a", State::retire,   Event::stopped,        State::rest,     {Verb::leave, Verb::drop_lease, Verb::start_rest}},
  {"10b", State::rest,     Event::rest_over,      State::follow,   {Verb::join, Verb::expect_leader}},
  {"10c", State::lead,     Event::withdraw,       State::watch,    {Verb::leave, Verb::invite_best, Verb::drop_lease}},
  {"11",  State::lead,     Event::lost,           State::elect,    {Verb::count_loss, Verb::tell_lost, Verb::hold_election}},
  {"11a", State::yield,    Event::lost,           State::follow,   {Verb::tell_lost, Verb::expect_leader}},
  {"11b", State::retire,   Event::lost,           State::rest,     {Verb::leave, Verb::tell_lost, Verb::start_rest}},

  {"12a", State::lead,     Event::finish,         State::watch,    {Verb::leave, Verb::drop_lease, Verb::say_job_done}},
  {"12a", State::yield,    Event::finish,         State::watch,    {Verb::leave, Verb::drop_lease, Verb::say_job_done}},
  {"12a", State::retire,   Event::finish,         State::watch,    {Verb::leave, Verb::drop_lease, Verb::say_job_done}},
  {"12b", State::follow,   Event::job_done,       State::watch,    {Verb::leave, Verb::tell_job_done}},
  {"12b", State::elect,    Event::job_done,       State::watch,    {Verb::leave, Verb::tell_job_done}},
  {"12b", State::stand_by, Event::job_done,       State::watch,    {Verb::leave, Verb::tell_job_done}},
  {"12b", State::ask,      Event::job_done,       State::watch,    {Verb::leave, Verb::drop_lease, Verb::tell_job_done}},

  {"0b",  State::follow,   Event::withdraw,       State::watch,    {Verb::leave}},
  {"0b",  State::elect,    Event::withdraw,       State::watch,    {Verb::leave}},
  {"0b",  State::stand_by, Event::withdraw,       State::watch,    {Verb::leave}},
  {"0b",  State::ask,      Event::withdraw,       State::watch,    {Verb::leave, Verb::drop_lease}},
  {"0b",  State::yield,    Event::withdraw,       State::watch,    {Verb::leave, Verb::drop_lease}},
  {"10a", State::retire,   Event::withdraw,       State::watch,    {Verb::leave, Verb::drop_lease, Verb::start_rest}},
  {"0b",  State::rest,     Event::withdraw,       State::watch,    {}},
});
// clang-format on

template <std::size_t kSize>
consteval bool deterministic(const std::array<Row, kSize>& rows) {
  for (std::size_t i = 0; i < kSize; ++i)
    for (std::size_t j = i + 1; j < kSize; ++j)
      if (rows[i].from == rows[j].from && rows[i].on == rows[j].on) return false;
  return true;
}
static_assert(deterministic(kRows));

// Nothing: ignore.
constexpr const Row* row_of(State from, Event on) {
  for (const Row& row : kRows)
    if (row.from == from && row.on == on) return &row;
  return nullptr;
}

std::string_view name_of(State state);

}  // namespace tempo::groups
