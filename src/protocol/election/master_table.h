// TEMPO's state machine as a table (Gusella & Zatti 1985, sections 5 and 6.1).
//
// Each row reads: in this state, on one of these events, enter that state and perform these
// actions. The epoch rules apply before the table and appear in it as the events `higher`, `lower`
// and similar ones. Where the paper is silent or fails, a comment on the row gives the reason;
// doc/internals/election.md has the details.
//
// Events are messages and timeouts, subdivided only where the protocol itself distinguishes cases:
// `..._new` is the first message of a mastership not followed before; `..._given_up` is a message
// of a master that has not sent anything to this node for long. MasterElection::event_of alone
// decides the event of a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "machine/table.h"
#include "protocol/election/master_types.h"

namespace tempo::election {

enum class Event : std::uint8_t {
  // messages
  masterreq,
  masterreq_younger,
  masterack,
  masterup,
  slaveup,
  election,
  election_again,
  election_older,
  election_newer,
  election_duplicate,
  accept,
  refuse,
  conflict,
  resolve,
  resolve_new,
  resolve_smaller,
  quit,
  quit_new,
  quit_lower,
  adjtime,
  settime,
  loop,
  loop_new,
  loop_larger,
  loop_given_up,
  stale_newer,
  stale_own,
  masterdown,
  masterdown_heir,
  // messages of a master with another epoch, or of another master
  higher,
  lower,
  rival,
  lower_rival,
  // timers
  startup_timeout,
  startup_timeout_rival,
  no_master_timeout,
  no_master_overdue,
  sync_timeout,
  loop_timeout,
  election_timeout,
  election_timeout_idle,
  candidate_timeout,
  candidate_overdue,
  accept_timeout,
  conflict_timeout,
  consistency_timeout,
  // commands
  stand,
  resign,
  claim,
  stop,
  count
};
inline constexpr std::size_t kEvents = static_cast<std::size_t>(Event::count);

enum class Verb : std::uint8_t {
  broadcast,            // a message of this kind
  reply,                // a message of this kind to the sender
  start,                // this timer, with its configured time
  remember_first,       // the sender is the first master heard
  remember_candidate,   // the sender is the accepted candidate
  note_rival,           // another node is starting or standing
  begin,                // broadcast Masterreq, start the start-up timer
  stand,                // clear the list, broadcast Election, start the candidate timer
  reign,                // take a new epoch; broadcast Masterup; start the sync and Loop timers
  reign_on,             // the same, with the present epoch
  add_sender,           // to the list
  prolong,              // restart the candidate timer, up to the end of the candidacy
  back_off,             // double the range of the election timeout and draw from it
  apply,                // the master's correction of the clock
  slaveup,              // to the master followed
  slaveup_was_master,   // the same, with was_master set
  slaveup_if_followed,  // the same, if the sender is the master followed
  slaveup_if_overlooked,
  adjtime_round,  // Adjtime to every node in the list
  settime_once,   // Settime, once for each Masterreq
  settime_if_not_set,
  loop_at_once,        // unless a Loop was sent within the last candidate time
  loop_if_was_master,  // the same, if the sender was master
  quit_election,       // reliable Quit that names the sender's Election
  quit_master,         // reliable Quit to a rival master, one at a time
  quit_rival,  // unless a Quit to it is in flight: Quit, add sender, Resolve again, restart the
               // conflict timer
  conflict_to_first,  // reliable Conflict to the first master heard
  follow_epoch,       // the epoch that the message names
  give_up_for_now,    // treat the epoch followed as given up for one accept time
  wait_for_heir,      // set the election timer so that the heir stands first
  election_soon,      // set the election timer to one candidate time
  end,
};

struct Action {
  Verb verb{};
  std::uint8_t what = 0;  // a Kind or a Timer

  constexpr Action() = default;
  constexpr explicit(false) Action(Verb action, std::uint8_t with = 0) : verb(action), what(with) {}
};

using Row = TableRow<State, Event, Action>;

namespace table {
using S = State;
using E = Event;
using M = Kind;
using T = Timer;

constexpr Action broadcast(Kind kind) { return {Verb::broadcast, static_cast<std::uint8_t>(kind)}; }
constexpr Action reply(Kind kind) { return {Verb::reply, static_cast<std::uint8_t>(kind)}; }
constexpr Action start(Timer timer) { return {Verb::start, static_cast<std::uint8_t>(timer)}; }
using Verb::remember_first, Verb::remember_candidate, Verb::note_rival, Verb::begin, Verb::stand,
    Verb::reign, Verb::reign_on, Verb::add_sender, Verb::prolong, Verb::back_off, Verb::apply,
    Verb::slaveup, Verb::slaveup_was_master, Verb::slaveup_if_followed, Verb::slaveup_if_overlooked,
    Verb::adjtime_round, Verb::settime_once, Verb::settime_if_not_set, Verb::loop_at_once,
    Verb::loop_if_was_master, Verb::quit_election, Verb::quit_master, Verb::quit_rival,
    Verb::conflict_to_first, Verb::follow_epoch, Verb::give_up_for_now, Verb::wait_for_heir,
    Verb::election_soon, Verb::end;

// clang-format off
inline constexpr Row kRows[] = {
// from            on                                    to               actions

// Startup: is there a master?
{S::startup,     E::masterack,                           S::consistency, {remember_first, start(T::consistency)}},
{S::startup,     {E::adjtime, E::settime},               S::consistency, {apply, remember_first, start(T::consistency)}},  // often overtakes Masterack
{S::startup,     E::startup_timeout,                     S::no_master,   {start(T::no_master)}},
{S::startup,     E::startup_timeout_rival,               S::slave,       {start(T::election)}},       // the paper defines it in NoMaster only
{S::startup,     E::masterreq_younger,                   S::startup,     {note_rival}},               // the last one started becomes master
{S::startup,     E::election,                            S::startup,     {note_rival}},
{S::startup,     {E::masterup, E::loop_new, E::resolve_new, E::quit_new}, S::slave, {slaveup, start(T::election)}},  // without Slaveup the master would not list this node

// NoMaster: no master answered.
{S::no_master,   {E::masterreq, E::election},            S::slave,       {start(T::election)}},       // no reply: Slaveup follows the Masterup
{S::no_master,   {E::masterup, E::loop_new, E::resolve_new, E::quit_new}, S::slave, {slaveup, start(T::election)}},
{S::no_master,   E::masterack,                           S::consistency, {remember_first, start(T::consistency)}},
{S::no_master,   {E::adjtime, E::settime},               S::consistency, {apply, remember_first, start(T::consistency)}},
{S::no_master,   E::no_master_timeout,                   S::master,      {reign}},
{S::no_master,   E::no_master_overdue,                   S::startup,     {begin}},                    // suspended while answers arrived

// Master
{S::master,      E::sync_timeout,                        S::master,      {adjtime_round, start(T::sync)}},
{S::master,      E::loop_timeout,                        S::master,      {broadcast(M::loop), start(T::loop)}},
{S::master,      E::masterreq,                           S::master,      {reply(M::masterack), add_sender, settime_once}},
{S::master,      E::slaveup,                             S::master,      {add_sender, settime_if_not_set, loop_if_was_master}},
{S::master,      E::accept,                              S::master,      {add_sender}},               // arrived after the candidate timer expired
{S::master,      E::election,                            S::master,      {quit_election, add_sender}},  // section 5.3, last paragraph
{S::master,      E::election_newer,                      S::accept,      {follow_epoch, start(T::election), remember_candidate, reply(M::accept), start(T::accept)}},
{S::master,      E::conflict,                            S::conflict,    {broadcast(M::resolve), start(T::conflict)}},
{S::master,      E::higher,                              S::slave,       {slaveup_was_master, start(T::election)}},
{S::master,      E::lower,                               S::master,      {quit_master, add_sender, loop_at_once}},
{S::master,      E::stale_newer,                         S::slave,       {follow_epoch, slaveup_was_master, election_soon}},  // if that master is dead, it is replaced soon
{S::master,      E::stale_own,                           S::candidate,   {follow_epoch, stand}},      // an earlier incarnation of this node led
{S::master,      E::resolve,                             S::master,      {reply(M::masterack), start(T::sync)}},  // no-epoch; section 5.3, step 5
{S::master,      {E::quit, E::quit_new},                 S::slave,       {start(T::election)}},       // no-epoch
{S::master,      E::loop_larger,                         S::master,      {quit_master}},              // no-epoch; the master with the smaller id stays

// Slave
{S::slave,       {E::adjtime, E::settime},               S::slave,       {apply, start(T::election)}},
{S::slave,       E::election,                            S::accept,      {start(T::election), remember_candidate, reply(M::accept), start(T::accept)}},
{S::slave,       E::masterup,                            S::slave,       {slaveup, start(T::election)}},
{S::slave,       {E::election_timeout, E::stand},        S::candidate,   {stand}},
{S::slave,       E::election_timeout_idle,               S::slave,       {start(T::election)}},       // an ineligible node
{S::slave,       E::quit,                                S::slave,       {start(T::election)}},
{S::slave,       {E::loop, E::resolve},                  S::slave,       {start(T::election), slaveup_if_overlooked}},
{S::slave,       E::loop_given_up,                       S::slave,       {slaveup_if_overlooked}},
{S::slave,       {E::loop_new, E::resolve_new, E::quit_new}, S::slave,   {slaveup, start(T::election)}},
{S::slave,       E::masterdown_heir,                     S::candidate,   {give_up_for_now, stand}},
{S::slave,       E::masterdown,                          S::slave,       {give_up_for_now, wait_for_heir}},

// Candidate
{S::candidate,   E::accept,                              S::candidate,   {add_sender, prolong}},
{S::candidate,   E::refuse,                              S::slave,       {back_off, start(T::election)}},
{S::candidate,   {E::quit, E::quit_new},                 S::slave,       {start(T::election)}},       // no back-off: a master exists
{S::candidate,   E::quit_lower,                          S::slave,       {reply(M::stale), start(T::election)}},
{S::candidate,   E::election,                            S::candidate,   {reply(M::refuse)}},
{S::candidate,   E::election_older,                      S::accept,      {start(T::election), remember_candidate, reply(M::accept), start(T::accept)}},  // section 5.2: one slave missed it
{S::candidate,   {E::masterup, E::loop, E::loop_new, E::resolve, E::resolve_new}, S::slave, {slaveup, start(T::election)}},
{S::candidate,   E::slaveup,                             S::candidate,   {add_sender}},
{S::candidate,   {E::adjtime, E::settime},               S::slave,       {apply, start(T::election)}},
{S::candidate,   E::masterack,                           S::slave,       {start(T::election)}},
{S::candidate,   E::candidate_timeout,                   S::master,      {reign}},
{S::candidate,   E::candidate_overdue,                   S::slave,       {start(T::election)}},       // suspended while answers arrived

// Accept
{S::accept,      E::election_again,                      S::accept,      {reply(M::accept), start(T::accept)}},   // not Refuse: decision 004
{S::accept,      E::election_duplicate,                  S::accept,      {reply(M::refuse)}},         // variant refuse-duplicate only
{S::accept,      E::election,                            S::accept,      {start(T::election), reply(M::refuse)}},
{S::accept,      E::accept_timeout,                      S::slave,       {}},
{S::accept,      {E::masterup, E::loop, E::loop_new, E::resolve, E::resolve_new, E::quit, E::quit_new}, S::slave, {slaveup, start(T::election)}},
{S::accept,      {E::adjtime, E::settime},               S::slave,       {apply, start(T::election)}},
{S::accept,      E::masterack,                           S::slave,       {start(T::election)}},
{S::accept,      E::election_timeout,                    S::accept,      {start(T::election)}},       // only after a suspension: this timer is the longer one

// Conflict
{S::conflict,    E::conflict_timeout,                    S::master,      {reign_on}},
{S::conflict,    E::masterreq,                           S::conflict,    {reply(M::masterack), add_sender}},
{S::conflict,    E::election,                            S::conflict,    {quit_election, add_sender}},
{S::conflict,    E::election_newer,                      S::accept,      {follow_epoch, start(T::election), remember_candidate, reply(M::accept), start(T::accept)}},
{S::conflict,    {E::slaveup, E::accept},                S::conflict,    {add_sender}},
{S::conflict,    E::higher,                              S::slave,       {slaveup_was_master, start(T::election)}},
{S::conflict,    E::lower,                               S::conflict,    {quit_master, add_sender}},
{S::conflict,    E::stale_newer,                         S::slave,       {follow_epoch, slaveup_was_master, election_soon}},
{S::conflict,    E::stale_own,                           S::candidate,   {follow_epoch, stand}},
{S::conflict,    {E::masterack, E::loop, E::loop_larger},  S::conflict,  {quit_rival}},               // no-epoch; until no rival answers
{S::conflict,    E::resolve_smaller,                     S::conflict,    {reply(M::masterack)}},      // no-epoch; conflict-kills-both: for any id
{S::conflict,    {E::quit, E::quit_new},                 S::slave,       {start(T::election)}},       // no-epoch

// Consistency: is there a second master?
{S::consistency, E::rival,                               S::slave,       {slaveup_if_followed, conflict_to_first, start(T::election)}},
{S::consistency, E::lower_rival,                         S::slave,       {reply(M::stale), conflict_to_first, start(T::election)}},
{S::consistency, {E::adjtime, E::settime},               S::consistency, {apply}},
{S::consistency, E::consistency_timeout,                 S::slave,       {start(T::election)}},

// A node that is not master answers a master of a lower epoch with Stale.
{S::startup,     E::lower,                               S::startup,     {reply(M::stale)}},
{S::no_master,   E::lower,                               S::no_master,   {reply(M::stale)}},
{S::slave,       E::lower,                               S::slave,       {reply(M::stale)}},
{S::candidate,   E::lower,                               S::candidate,   {reply(M::stale)}},
{S::accept,      E::lower,                               S::accept,      {reply(M::stale)}},
{S::consistency, E::lower,                               S::consistency, {reply(M::stale)}},

// Resign: the heir stands at once, and this node accepts it.
{S::master,      E::resign,                              S::slave,       {broadcast(M::masterdown), start(T::election)}},
{S::conflict,    E::resign,                              S::slave,       {broadcast(M::masterdown), start(T::election)}},

// Claim: for a slave that has a better time from another network.
{S::slave,       E::claim,                               S::master,      {reign}},

// Stop
{S::master,      E::stop,                                S::master,      {broadcast(M::masterdown), end}},
{S::conflict,    E::stop,                                S::conflict,    {broadcast(M::masterdown), end}},
{S::startup,     E::stop,                                S::startup,     {end}},
{S::no_master,   E::stop,                                S::no_master,   {end}},
{S::slave,       E::stop,                                S::slave,       {end}},
{S::candidate,   E::stop,                                S::candidate,   {end}},
{S::accept,      E::stop,                                S::accept,      {end}},
{S::consistency, E::stop,                                S::consistency, {end}},
};

// Events that may occur and change nothing.
inline constexpr IgnoredIn<State, Event> kIgnored[] = {
{S::startup,     {E::masterreq, E::slaveup, E::accept, E::refuse, E::conflict, E::stand, E::resign, E::claim}},
{S::no_master,   {E::slaveup, E::accept, E::refuse, E::conflict, E::stand, E::resign, E::claim}},
{S::master,      {E::refuse, E::masterack, E::masterup, E::adjtime, E::settime, E::loop, E::stand, E::claim}},
{S::slave,       {E::masterreq, E::masterack, E::slaveup, E::accept, E::refuse, E::conflict, E::resign}},
{S::candidate,   {E::masterreq, E::conflict, E::loop_given_up, E::stand, E::resign, E::claim}},   // a Masterreq postpones no election
{S::accept,      {E::masterreq, E::slaveup, E::accept, E::refuse, E::conflict, E::loop_given_up, E::stand, E::resign, E::claim}},
{S::conflict,    {E::conflict, E::refuse, E::masterup, E::adjtime, E::settime, E::resolve, E::stand, E::claim}},
{S::consistency, {E::masterreq, E::masterack, E::masterup, E::slaveup, E::election, E::accept, E::refuse, E::conflict,
                  E::loop, E::loop_new, E::loop_given_up, E::resolve, E::resolve_new, E::quit, E::quit_new, E::stand, E::resign, E::claim}},
};

// Events that occur in these states only: elsewhere event_of returns another event, or the timer
// does not run.
inline constexpr OnlyIn<State, Event> kOnlyIn[] = {
{E::masterreq_younger,     {S::startup}},
{E::election_again,        {S::accept}},
{E::election_older,        {S::candidate}},
{E::election_newer,        {S::master, S::conflict}},
{E::election_duplicate,    {S::accept}},
{E::resolve_smaller,       {S::conflict}},
{E::resolve_new,           {S::startup, S::no_master, S::slave, S::candidate, S::accept, S::consistency}},
{E::loop_new,              {S::startup, S::no_master, S::slave, S::candidate, S::accept, S::consistency}},
{E::loop_larger,           {S::master, S::conflict}},
{E::loop_given_up,         {S::slave, S::candidate, S::accept, S::consistency}},
{E::loop,                  {S::master, S::slave, S::candidate, S::accept, S::conflict, S::consistency}},  // a starting node follows no master:
{E::resolve,               {S::master, S::slave, S::candidate, S::accept, S::conflict, S::consistency}},  // every epoch is new to it
{E::quit,                  {S::master, S::slave, S::candidate, S::accept, S::conflict, S::consistency}},
{E::quit_lower,            {S::candidate}},
{E::stale_newer,           {S::master, S::conflict}},
{E::stale_own,             {S::master, S::conflict}},
{E::masterdown,            {S::slave}},
{E::masterdown_heir,       {S::slave}},
{E::higher,                {S::master, S::conflict}},
{E::rival,                 {S::consistency}},
{E::lower_rival,           {S::consistency}},
{E::startup_timeout,       {S::startup}},
{E::startup_timeout_rival, {S::startup}},
{E::no_master_timeout,     {S::no_master}},
{E::no_master_overdue,     {S::no_master}},
{E::sync_timeout,          {S::master}},
{E::loop_timeout,          {S::master}},
{E::election_timeout,      {S::slave, S::accept}},
{E::election_timeout_idle, {S::slave}},
{E::candidate_timeout,     {S::candidate}},
{E::candidate_overdue,     {S::candidate}},
{E::accept_timeout,        {S::accept}},
{E::conflict_timeout,      {S::conflict}},
{E::consistency_timeout,   {S::consistency}},
};
// clang-format on

static_assert(deterministic(kRows));
static_assert(complete<kStates, kEvents>(kRows, kIgnored, kOnlyIn));
}  // namespace table

using MasterTable = StateTable<table::kRows, table::kOnlyIn>;

std::string_view name_of(Event event);
std::string_view name_of(Verb verb);

}  // namespace tempo::election
