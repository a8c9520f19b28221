// The table as a whole. Its header asserts that it is complete and deterministic; these tests
// compare it with the description of each state.
#include "protocol/election/master_table.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::election {
namespace {

using table::E;
using table::kRows;
using table::M;
using table::S;
using table::T;
using ::testing::UnorderedElementsAre;

bool does(const Row& row, Verb verb) {
  return std::ranges::any_of(row.actions, [&](const Action& a) { return a.verb == verb; });
}
bool does(const Row& row, Action wanted) {
  return std::ranges::any_of(
      row.actions, [&](const Action& a) { return a.verb == wanted.verb && a.what == wanted.what; });
}
bool leads_into(const Row& row, State state) { return row.to == state && row.from != state; }

// Every event that leaves a state, with the next state.
std::map<std::string, std::string> exits_of(State state) {
  std::map<std::string, std::string> exits;
  for (std::size_t i = 0; i < kEvents; ++i) {
    const auto event = static_cast<Event>(i);
    const Row* row = MasterTable::row_of(state, event);
    if (row != nullptr && row->to != state) exits.emplace(name_of(event), name_of(row->to));
  }
  return exits;
}

using Exits = std::map<std::string, std::string>;

TEST(Exits, OfStartup) {
  EXPECT_EQ(exits_of(S::startup), (Exits{{"masterack", "consistency"},
                                         {"adjtime", "consistency"},
                                         {"settime", "consistency"},
                                         {"startup_timeout", "no_master"},
                                         {"startup_timeout_rival", "slave"},
                                         {"masterup", "slave"},
                                         {"loop_new", "slave"},
                                         {"resolve_new", "slave"},
                                         {"quit_new", "slave"}}));
}
TEST(Exits, OfNoMaster) {
  EXPECT_EQ(exits_of(S::no_master), (Exits{{"masterreq", "slave"},
                                           {"election", "slave"},
                                           {"masterup", "slave"},
                                           {"masterack", "consistency"},
                                           {"adjtime", "consistency"},
                                           {"settime", "consistency"},
                                           {"no_master_timeout", "master"},
                                           {"no_master_overdue", "startup"},
                                           {"loop_new", "slave"},
                                           {"resolve_new", "slave"},
                                           {"quit_new", "slave"}}));
}
TEST(Exits, OfMaster) {
  EXPECT_EQ(exits_of(S::master), (Exits{{"conflict", "conflict"},
                                        {"higher", "slave"},
                                        {"stale_newer", "slave"},
                                        {"stale_own", "candidate"},
                                        {"election_newer", "accept"},
                                        {"quit", "slave"},
                                        {"quit_new", "slave"},
                                        {"resign", "slave"}}));
}
TEST(Exits, OfSlave) {
  EXPECT_EQ(exits_of(S::slave), (Exits{{"election", "accept"},
                                       {"election_timeout", "candidate"},
                                       {"stand", "candidate"},
                                       {"claim", "master"},
                                       {"masterdown_heir", "candidate"}}));
}
TEST(Exits, OfCandidate) {
  EXPECT_EQ(exits_of(S::candidate), (Exits{{"refuse", "slave"},
                                           {"quit", "slave"},
                                           {"quit_new", "slave"},
                                           {"quit_lower", "slave"},
                                           {"election_older", "accept"},
                                           {"masterup", "slave"},
                                           {"loop", "slave"},
                                           {"loop_new", "slave"},
                                           {"resolve", "slave"},
                                           {"resolve_new", "slave"},
                                           {"adjtime", "slave"},
                                           {"settime", "slave"},
                                           {"masterack", "slave"},
                                           {"candidate_timeout", "master"},
                                           {"candidate_overdue", "slave"}}));
}
TEST(Exits, OfAccept) {
  EXPECT_EQ(exits_of(S::accept), (Exits{{"accept_timeout", "slave"},
                                        {"masterup", "slave"},
                                        {"loop", "slave"},
                                        {"loop_new", "slave"},
                                        {"resolve", "slave"},
                                        {"resolve_new", "slave"},
                                        {"quit", "slave"},
                                        {"quit_new", "slave"},
                                        {"adjtime", "slave"},
                                        {"settime", "slave"},
                                        {"masterack", "slave"}}));
}
TEST(Exits, OfConflict) {
  EXPECT_EQ(exits_of(S::conflict), (Exits{{"conflict_timeout", "master"},
                                          {"higher", "slave"},
                                          {"stale_newer", "slave"},
                                          {"stale_own", "candidate"},
                                          {"election_newer", "accept"},
                                          {"quit", "slave"},
                                          {"quit_new", "slave"},
                                          {"resign", "slave"}}));
}
TEST(Exits, OfConsistency) {
  EXPECT_EQ(
      exits_of(S::consistency),
      (Exits{{"rival", "slave"}, {"lower_rival", "slave"}, {"consistency_timeout", "slave"}}));
}

// --- entries: every row that enters a state starts what the state needs ---

TEST(Entries, IntoMasterReignAndNoOtherRowReigns) {
  for (const Row& row : kRows) {
    if (leads_into(row, S::master)) {
      EXPECT_TRUE(does(row, row.from == S::conflict ? Verb::reign_on : Verb::reign))
          << name_of(row.from);
    }
    if (does(row, Verb::reign) || does(row, Verb::reign_on)) {
      EXPECT_EQ(row.to, S::master) << name_of(row.from);
    }
  }
}

TEST(Entries, IntoCandidateStand) {
  for (const Row& row : kRows) EXPECT_EQ(leads_into(row, S::candidate), does(row, Verb::stand));
}

TEST(Entries, IntoAcceptRememberAndAnswerTheCandidate) {
  for (const Row& row : kRows) {
    if (!leads_into(row, S::accept)) continue;
    EXPECT_TRUE(does(row, Verb::remember_candidate));
    EXPECT_TRUE(does(row, table::reply(M::accept)));
    EXPECT_TRUE(does(row, table::start(T::accept)));
    EXPECT_TRUE(does(row, table::start(T::election)));
  }
}

// After Accept the election timer already runs, because Accept keeps it running beside its own.
TEST(Entries, IntoSlaveSetAnElectionTimer) {
  for (const Row& row : kRows) {
    if (!leads_into(row, S::slave)) continue;
    const bool keeps = row.from == S::accept && *row.on.begin() == E::accept_timeout;
    EXPECT_NE(keeps, does(row, table::start(T::election)) || does(row, Verb::election_soon))
        << name_of(row.from) << " on " << name_of(*row.on.begin());
  }
}

TEST(Entries, StartTheTimerOfTheState) {
  for (const Row& row : kRows) {
    if (leads_into(row, S::startup)) {
      EXPECT_TRUE(does(row, Verb::begin));
    }
    if (leads_into(row, S::no_master)) {
      EXPECT_TRUE(does(row, table::start(T::no_master)));
    }
    if (leads_into(row, S::conflict)) {
      EXPECT_TRUE(does(row, table::start(T::conflict)));
    }
    if (leads_into(row, S::consistency)) {
      EXPECT_TRUE(does(row, table::start(T::consistency)));
      EXPECT_TRUE(does(row, Verb::remember_first));
    }
  }
}

// --- stops ---

TEST(Stop, EndsEveryStateWithoutLeavingIt) {
  for (std::size_t i = 0; i < kStates; ++i) {
    const auto state = static_cast<State>(i);
    const Row* row = MasterTable::row_of(state, E::stop);
    ASSERT_NE(row, nullptr) << name_of(state);
    EXPECT_EQ(row->to, state);
    EXPECT_TRUE(does(*row, Verb::end)) << name_of(state);
    const bool rules = state == S::master || state == S::conflict;
    EXPECT_EQ(does(*row, table::broadcast(M::masterdown)), rules) << name_of(state);
  }
  for (const Row& row : kRows)
    if (does(row, Verb::end)) {
      EXPECT_EQ(row.on.size, 1U);
      EXPECT_EQ(*row.on.begin(), E::stop);
    }
}

// --- single properties ---

TEST(Actions, OccurInTheExpectedStates) {
  const auto states_that = [](Verb verb) {
    std::set<State> states;
    for (const Row& row : kRows)
      if (does(row, verb)) states.insert(row.from);
    return states;
  };
  EXPECT_THAT(states_that(Verb::quit_election), UnorderedElementsAre(S::master, S::conflict));
  EXPECT_THAT(states_that(Verb::quit_master), UnorderedElementsAre(S::master, S::conflict));
  EXPECT_THAT(states_that(Verb::back_off), UnorderedElementsAre(S::candidate));
  EXPECT_THAT(states_that(Verb::prolong), UnorderedElementsAre(S::candidate));
  EXPECT_THAT(states_that(Verb::adjtime_round), UnorderedElementsAre(S::master));
  EXPECT_THAT(states_that(Verb::conflict_to_first), UnorderedElementsAre(S::consistency));
  EXPECT_THAT(states_that(Verb::note_rival), UnorderedElementsAre(S::startup));
  EXPECT_THAT(states_that(Verb::give_up_for_now), UnorderedElementsAre(S::slave));
  EXPECT_THAT(states_that(Verb::add_sender),
              UnorderedElementsAre(S::master, S::candidate, S::conflict));
  EXPECT_THAT(states_that(Verb::apply),
              UnorderedElementsAre(S::startup, S::no_master, S::slave, S::candidate, S::accept,
                                   S::consistency));
}

// A master answers a master of a lower epoch with Quit; any other node answers with Stale.
TEST(Actions, AnswerAMasterOfALowerEpochInEveryState) {
  for (std::size_t i = 0; i < kStates; ++i) {
    const auto state = static_cast<State>(i);
    const Row* row = MasterTable::row_of(state, E::lower);
    ASSERT_NE(row, nullptr) << name_of(state);
    EXPECT_EQ(row->to, state);
    const bool rules = state == S::master || state == S::conflict;
    EXPECT_EQ(does(*row, Verb::quit_master), rules) << name_of(state);
    EXPECT_EQ(does(*row, table::reply(M::stale)), !rules) << name_of(state);
  }
}

TEST(Actions, AnswerNoElectionBeforeAMasterWasFollowed) {
  for (const State state : {S::startup, S::no_master}) {
    const Row* row = MasterTable::row_of(state, E::election);
    ASSERT_NE(row, nullptr);
    EXPECT_FALSE(does(*row, Verb::reply));
  }
}

// --- names ---

template <class Enum>
void expect_unique_names(std::size_t first, std::size_t end) {
  std::set<std::string> names;
  for (std::size_t i = first; i < end; ++i) {
    const std::string name{name_of(static_cast<Enum>(i))};
    EXPECT_FALSE(name.empty()) << i;
    EXPECT_TRUE(names.insert(name).second) << name << " names two things";
  }
}

TEST(Names, AreUnique) {
  expect_unique_names<State>(0, kStates);
  expect_unique_names<Kind>(0, kKinds);
  expect_unique_names<Timer>(0, static_cast<std::size_t>(Timer::count));
  expect_unique_names<Event>(0, kEvents);
  expect_unique_names<Verb>(0, static_cast<std::size_t>(Verb::end) + 1);
}

// Names early and late in each list, to detect a shifted list.
TEST(Names, AreThoseOfTheEnumerators) {
  EXPECT_EQ(name_of(State::no_master), "no_master");
  EXPECT_EQ(name_of(State::consistency), "consistency");
  EXPECT_EQ(name_of(Kind::masterreq), "masterreq");
  EXPECT_EQ(name_of(Kind::resolve), "resolve");
  EXPECT_EQ(name_of(Kind::masterdown), "masterdown");
  EXPECT_EQ(name_of(Timer::candidate), "candidate");
  EXPECT_EQ(name_of(Timer::retransmit), "retransmit");
  EXPECT_EQ(name_of(Event::election_older), "election_older");
  EXPECT_EQ(name_of(Event::lower_rival), "lower_rival");
  EXPECT_EQ(name_of(Event::stop), "stop");
  EXPECT_EQ(name_of(Verb::note_rival), "note_rival");
  EXPECT_EQ(name_of(Verb::quit_master), "quit_master");
  EXPECT_EQ(name_of(Verb::end), "end");
}

TEST(Names, AreAllUsed) {
  std::set<Verb> used;
  for (const Row& row : kRows)
    for (const Action& action : row.actions) used.insert(action.verb);
  for (std::size_t i = 0; i <= static_cast<std::size_t>(Verb::end); ++i)
    EXPECT_TRUE(used.contains(static_cast<Verb>(i))) << name_of(static_cast<Verb>(i));
  std::set<Event> occurring;
  for (std::size_t i = 0; i < kStates; ++i)
    for (std::size_t j = 0; j < kEvents; ++j)
      if (MasterTable::possible(static_cast<State>(i), static_cast<Event>(j)))
        occurring.insert(static_cast<Event>(j));
  EXPECT_EQ(occurring.size(), kEvents);
}

}  // namespace
}  // namespace tempo::election
