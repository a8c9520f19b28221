// Every mutation of the election, the check that must fail because of it, and the expected result
// of the checker.
#include <algorithm>
#include <iterator>
#include <ostream>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "checks.h"
#include "protocol/election/master_mutation.h"
#include "worlds.h"

namespace tempo::sim::election {
namespace {

using tempo::election::Mutation;

// The expected result of the checker: the world and the property that the mutation violates in it,
// or the reason why no checked property is affected.
struct Checker {
  std::string_view world;
  std::string_view property;
  std::string_view unconcerned;
};
constexpr Checker finds(std::string_view world, std::string_view property) {
  return {world, property, {}};
}
constexpr Checker unconcerned(std::string_view why) { return {{}, {}, why}; }

struct MutationRow {
  Mutation mutation;
  std::string_view name;
  std::string_view caught_by;
  Checker checker;
};
void PrintTo(const MutationRow& row, std::ostream* out) {
  *out << row.name << ", caught by " << row.caught_by;
  if (!row.checker.world.empty()) *out << " and by the checker in " << row.checker.world;
}

constexpr MutationRow kMutations[] = {
    {Mutation::obey_lower_epoch, "obey_lower_epoch", "churn_with_loss_keeps_properties",
     finds("newcomer_to_two_masters", "obeys-newest")},
    {Mutation::forget_epoch, "forget_epoch", "churn_with_loss_keeps_properties",
     finds("two_masters_meet", "obeys-newest")},
    {Mutation::reuse_round, "reuse_round", "churn_with_loss_keeps_properties",
     finds("master_crashes", "obeys-newest")},
    {Mutation::accept_two, "accept_two", "candidates_that_cannot_hear_each_other",
     unconcerned("candidates that hear each other refuse each other in any case; two that do not "
                 "hear each other need more losses than any property tolerates")},
    {Mutation::candidate_accepts, "candidate_accepts", "two_candidates_refuse_each_other",
     unconcerned("two candidates that accept each other lose time; no property covers a "
                 "candidate with a rival")},
    {Mutation::ignore_refuse, "ignore_refuse", "two_candidates_refuse_each_other",
     finds("joint_start", "conservative")},
    {Mutation::ignore_quit, "ignore_quit", "late_slave_receives_quit",
     finds("commanded_to_stand", "conservative")},
    {Mutation::unbound_answers, "unbound_answers", "late_refusal_hits_no_later_candidacy",
     unconcerned(
         "an old Refuse requires a rival that has stood, and then the property about a sole "
         "candidate no longer applies")},
    {Mutation::no_back_off, "no_back_off", "two_candidates_refuse_each_other",
     unconcerned("it takes longer; a later draw can still succeed")},
    {Mutation::no_ack, "no_ack", "one_candidate_costs_3n_1",
     finds("newcomer", "can-always-come-good")},
    {Mutation::apply_twice, "apply_twice", "duplicates_are_applied_once",
     unconcerned("no property counts how often a correction is applied")},
    {Mutation::forget_incarnation, "forget_incarnation", "restarted_master_is_obeyed",
     unconcerned("the renaming of numbers assumes that a sender's next number is higher than all "
                 "numbers received from it, which this mutation violates")},
    {Mutation::no_retransmission, "no_retransmission", "lost_accept_is_sent_again",
     unconcerned("Loop, Slaveup and the next round repair every single loss; it takes longer")},
    {Mutation::master_ignores_masterreq, "master_ignores_masterreq", "newcomer_is_answered",
     finds("newcomer_without_loop", "conservative")},
    {Mutation::master_ignores_election, "master_ignores_election", "late_slave_receives_quit",
     finds("commanded_to_stand", "conservative")},
    {Mutation::master_keeps_ruling, "master_keeps_ruling", "split_network_heals_within_a_loop",
     finds("two_masters_meet", "can-always-come-good")},
    {Mutation::no_overlooked, "no_overlooked", "lossy_start_ends_listed",
     unconcerned(
         "the slave eventually gives up its master, stands and is listed; it takes longer")},
    {Mutation::never_give_up, "never_give_up", "deaf_master_starves_nobody",
     unconcerned("no-starvation is not checked: a deaf master is not one of the faults of the "
                 "checker")},
    {Mutation::masterreq_postpones, "masterreq_postpones", "restarting_daemon_starves_nobody",
     unconcerned("no-starvation is not checked: no node restarts without end")},
    {Mutation::no_overdue, "no_overdue", "paused_candidate_does_not_become_master",
     unconcerned("conservative does not apply to worlds with pauses")},
    {Mutation::hint_not_trusted, "hint_not_trusted", "heir_becomes_master_at_once",
     unconcerned("without the hint the election timers do the same later")},
    {Mutation::heir_waits, "heir_waits", "heir_becomes_master_at_once",
     unconcerned("another slave stands, or the heir does later")},
    {Mutation::no_loop_at_once, "no_loop_at_once", "first_loop_of_either_master_heals",
     unconcerned("the next Loop does the same later")},
    {Mutation::drop_nobody, "drop_nobody", "silent_slave_is_dropped",
     finds("master_crashes", "can-always-come-good")},
    {Mutation::no_repeats, "no_repeats", "lossy_start_has_one_master",
     finds("joint_start_with_two_losses", "conservative")},
};

const NamedCheck& check_named(std::string_view name) {
  const auto found = std::ranges::find(all_checks(), name, &NamedCheck::name);
  EXPECT_NE(found, all_checks().end()) << name;
  return *found;
}

const check::NamedWorld& world_named(std::string_view name) {
  const auto found = std::ranges::find(check::all_worlds(), name, &check::NamedWorld::name);
  EXPECT_NE(found, check::all_worlds().end()) << name;
  return *found;
}

class Checks : public testing::TestWithParam<NamedCheck> {};

TEST_P(Checks, HoldWithoutMutation) {
  active_mutation<Mutation> = Mutation::none;
  EXPECT_TRUE(GetParam().holds());
}

INSTANTIATE_TEST_SUITE_P(All, Checks, testing::ValuesIn(all_checks()),
                         [](const auto& row) { return std::string(row.param.name); });

class Mutations : public testing::TestWithParam<MutationRow> {
 protected:
  void TearDown() override { active_mutation<Mutation> = Mutation::none; }
};

TEST_P(Mutations, AreCaught) {
  active_mutation<Mutation> = GetParam().mutation;
  EXPECT_FALSE(check_named(GetParam().caught_by).holds());
}

INSTANTIATE_TEST_SUITE_P(All, Mutations, testing::ValuesIn(kMutations),
                         [](const auto& row) { return std::string(row.param.name); });

std::vector<MutationRow> concerned_rows() {
  std::vector<MutationRow> rows;
  std::ranges::copy_if(kMutations, std::back_inserter(rows),
                       [](const MutationRow& row) { return !row.checker.world.empty(); });
  return rows;
}

class CheckedMutations : public Mutations {};

TEST_P(CheckedMutations, AreFoundByTheChecker) {
  active_mutation<Mutation> = GetParam().mutation;
  EXPECT_EQ(world_named(GetParam().checker.world).broken(), GetParam().checker.property);
}

INSTANTIATE_TEST_SUITE_P(All, CheckedMutations, testing::ValuesIn(concerned_rows()),
                         [](const auto& row) { return std::string(row.param.name); });

class Worlds : public testing::TestWithParam<check::NamedWorld> {};

TEST_P(Worlds, KeepEveryPropertyWithoutMutation) {
  active_mutation<Mutation> = Mutation::none;
  EXPECT_EQ(GetParam().broken(), "nothing");
}

INSTANTIATE_TEST_SUITE_P(All, Worlds, testing::ValuesIn(check::all_worlds()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(MutationTable, HasACheckerResultForEveryMutation) {
  for (const MutationRow& row : kMutations) {
    EXPECT_NE(row.checker.world.empty(), row.checker.unconcerned.empty()) << row.name;
    EXPECT_EQ(row.checker.world.empty(), row.checker.property.empty()) << row.name;
  }
}

TEST(MutationTable, HasARowForEveryMutation) {
  for (int i = 1; i < static_cast<int>(Mutation::count); ++i)
    EXPECT_EQ(std::ranges::count(kMutations, static_cast<Mutation>(i), &MutationRow::mutation), 1)
        << i;
}

}  // namespace
}  // namespace tempo::sim::election
