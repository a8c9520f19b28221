// Leadership as a table (section 12 of the lease lock's specification, summarized in
// doc/internals/groups.md).
//
// Each row reads: in this state, on this event, do these and go to that state. Numbers are the
// specification's; rows with a letter are ours, and doc/internals/decisions/022 explains them. A
// pair without a row is ignored: a late result of an election, a heartbeat that changes nothing.
//
// Leadership::on_heartbeat alone decides which event a heartbeat is.
#pragma once

#include <cstdint>
#include <string_view>

#include "machine/table.h"

namespace tempo::groups {

enum class State : std::uint8_t {
  watch,     // no candidate on this host
  follow,    // there is a leader, or its absence is not yet known
  elect,     // an election is running
  stand_by,  // another was elected; this host asks if that one does not lead in time
  ask,       // asks for the lease
  lead,      // holds the lease, the user acts
  yield,     // the user has to stop, for a better candidate
  retire,    // the user has to stop, because it resigned
  rest,      // resigned as leader: not a candidate for a while
  count
};

enum class Event : std::uint8_t {
  // from the user
  stand,
  stand_too_soon,  // too soon after a resignation
  withdraw,
  finish,  // the one job is done
  resign,
  stopped,  // the user has stopped acting, as requested
  // from heartbeats of the others
  leader_shows,
  leader_gone,  // it said so, or was silent for L
  invited,      // the leader wants this host to ask for its lease
  heir_asks,    // the invited host
  heir_unfit,   // the invited host does not ask, or is no longer better
  job_done,     // by another host
  // from the election
  elected_self,
  elected_other,
  // from the lease
  granted,
  resumed,  // this host led before its daemon restarted, and its user still acts
  lost,
  // from timers
  patience_over,  // r times D: the better candidates are dead or cut off
  no_majority,    // no lease in three retries
  outdone,        // clearly, for long enough, and min_stay is over
  rest_over,
  count
};

enum class Verb : std::uint8_t {
  join,           // become a candidate
  leave,          // stop being a candidate
  expect_leader,  // start the silence timer
  hold_election,
  ask_lease,
  drop_lease,  // hand it over, free it, or stop asking for it
  wait_by_rank,
  reign,
  invite_better,  // invite the candidate that outdoes this host
  invite_best,    // invite the best candidate, if there is one
  forget_heir,
  stop_user,
  count_loss,
  notify_lost,
  notify_no_majority,
  notify_job_done,
  announce_job_done,
  start_rest,
};

using Row = TableRow<State, Event, Verb>;

// clang-format off
inline constexpr Row kRows[] = {
  // #     from             on                     to               does
  {"0a",  State::watch,    Event::stand,          State::follow,   {Verb::join, Verb::expect_leader}},
  {"0c",  State::watch,    Event::stand_too_soon, State::rest,     {}},

  {"1",   State::follow,   Event::leader_gone,    State::elect,    {Verb::hold_election}},
  {"1a",  State::follow,   Event::elected_self,   State::ask,      {Verb::ask_lease}},       // others noticed the silence first
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
  {"6a",  State::follow,   Event::resumed,        State::lead,     {Verb::reign}},
  {"6a",  State::elect,    Event::resumed,        State::lead,     {Verb::reign}},
  {"6a",  State::stand_by, Event::resumed,        State::lead,     {Verb::reign}},
  {"7",   State::ask,      Event::leader_shows,   State::follow,   {Verb::drop_lease}},
  {"8",   State::ask,      Event::no_majority,    State::elect,    {Verb::notify_no_majority, Verb::drop_lease, Verb::hold_election}},

  {"9",   State::lead,     Event::outdone,        State::lead,     {Verb::invite_better}},
  {"9a",  State::lead,     Event::heir_unfit,     State::lead,     {Verb::forget_heir}},
  {"9c",  State::lead,     Event::heir_asks,      State::yield,    {Verb::stop_user}},
  {"9d",  State::yield,    Event::stopped,        State::follow,   {Verb::drop_lease, Verb::expect_leader}},
  {"10",  State::lead,     Event::resign,         State::retire,   {Verb::invite_best, Verb::stop_user}},
  {"10a", State::retire,   Event::stopped,        State::rest,     {Verb::leave, Verb::drop_lease, Verb::start_rest}},
  {"10b", State::rest,     Event::rest_over,      State::follow,   {Verb::join, Verb::expect_leader}},
  {"10c", State::lead,     Event::withdraw,       State::watch,    {Verb::leave, Verb::invite_best, Verb::drop_lease}},
  {"11",  State::lead,     Event::lost,           State::elect,    {Verb::count_loss, Verb::notify_lost, Verb::hold_election}},
  {"11a", State::yield,    Event::lost,           State::follow,   {Verb::notify_lost, Verb::expect_leader}},
  {"11b", State::retire,   Event::lost,           State::rest,     {Verb::leave, Verb::notify_lost, Verb::start_rest}},

  {"12a", State::lead,     Event::finish,         State::watch,    {Verb::leave, Verb::drop_lease, Verb::announce_job_done}},
  {"12a", State::yield,    Event::finish,         State::watch,    {Verb::leave, Verb::drop_lease, Verb::announce_job_done}},
  {"12a", State::retire,   Event::finish,         State::watch,    {Verb::leave, Verb::drop_lease, Verb::announce_job_done}},
  {"12b", State::follow,   Event::job_done,       State::watch,    {Verb::leave, Verb::notify_job_done}},
  {"12b", State::elect,    Event::job_done,       State::watch,    {Verb::leave, Verb::notify_job_done}},
  {"12b", State::stand_by, Event::job_done,       State::watch,    {Verb::leave, Verb::notify_job_done}},
  {"12b", State::ask,      Event::job_done,       State::watch,    {Verb::leave, Verb::drop_lease, Verb::notify_job_done}},

  {"0b",  State::follow,   Event::withdraw,       State::watch,    {Verb::leave}},
  {"0b",  State::elect,    Event::withdraw,       State::watch,    {Verb::leave}},
  {"0b",  State::stand_by, Event::withdraw,       State::watch,    {Verb::leave}},
  {"0b",  State::ask,      Event::withdraw,       State::watch,    {Verb::leave, Verb::drop_lease}},
  {"0b",  State::yield,    Event::withdraw,       State::watch,    {Verb::leave, Verb::drop_lease}},
  {"10a", State::retire,   Event::withdraw,       State::watch,    {Verb::leave, Verb::drop_lease, Verb::start_rest}},
  {"0b",  State::rest,     Event::withdraw,       State::watch,    {}},
};
// clang-format on
static_assert(deterministic(kRows));

std::string_view name_of(State state);

}  // namespace tempo::groups
