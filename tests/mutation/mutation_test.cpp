// Every mutation of the election, and the check that must fail because of it.
#include "protocol/election/mutation.h"

#include <algorithm>
#include <ostream>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "checks.h"

namespace tempo::sim::election {
namespace {

using tempo::election::active_mutation;
using tempo::election::Mutation;

struct MutationRow {
  Mutation mutation;
  std::string_view name;
  std::string_view caught_by;
};
void PrintTo(const MutationRow& row, std::ostream* out) {
  *out << row.name << ", caught by " << row.caught_by;
}

constexpr MutationRow kMutations[] = {
    {Mutation::obey_lower_epoch, "obey_lower_epoch", "churn_with_loss_keeps_promises"},
    {Mutation::forget_epoch, "forget_epoch", "churn_with_loss_keeps_promises"},
    {Mutation::reuse_round, "reuse_round", "churn_with_loss_keeps_promises"},
    {Mutation::accept_two, "accept_two", "candidates_that_cannot_hear_each_other"},
    {Mutation::candidate_accepts, "candidate_accepts", "two_candidates_refuse_each_other"},
    {Mutation::ignore_refuse, "ignore_refuse", "two_candidates_refuse_each_other"},
    {Mutation::ignore_quit, "ignore_quit", "late_slave_is_told_to_quit"},
    {Mutation::unbound_answers, "unbound_answers", "late_refusal_hits_no_later_candidacy"},
    {Mutation::no_back_off, "no_back_off", "two_candidates_refuse_each_other"},
    {Mutation::no_ack, "no_ack", "one_candidate_costs_3n_1"},
    {Mutation::apply_twice, "apply_twice", "duplicates_are_applied_once"},
    {Mutation::forget_incarnation, "forget_incarnation", "restarted_master_is_obeyed"},
    {Mutation::no_retransmission, "no_retransmission", "lost_accept_is_sent_again"},
    {Mutation::master_ignores_masterreq, "master_ignores_masterreq", "newcomer_is_answered"},
    {Mutation::master_ignores_election, "master_ignores_election", "late_slave_is_told_to_quit"},
    {Mutation::master_keeps_ruling, "master_keeps_ruling", "split_network_heals_within_a_loop"},
    {Mutation::no_overlooked, "no_overlooked", "lossy_start_ends_listed"},
    {Mutation::never_give_up, "never_give_up", "deaf_master_starves_nobody"},
    {Mutation::masterreq_postpones, "masterreq_postpones", "restless_daemon_starves_nobody"},
    {Mutation::no_overdue, "no_overdue", "sleeper_does_not_rule"},
    {Mutation::hint_not_trusted, "hint_not_trusted", "heir_rules_at_once"},
    {Mutation::heir_waits, "heir_waits", "heir_rules_at_once"},
    {Mutation::no_loop_at_once, "no_loop_at_once", "first_loop_of_either_master_heals"},
    {Mutation::drop_nobody, "drop_nobody", "silent_slave_is_dropped"},
    {Mutation::no_repeats, "no_repeats", "lossy_start_has_one_master"},
};

const NamedCheck& check_named(std::string_view name) {
  const auto found = std::ranges::find(all_checks(), name, &NamedCheck::name);
  EXPECT_NE(found, all_checks().end()) << name;
  return *found;
}

class Checks : public testing::TestWithParam<NamedCheck> {};

TEST_P(Checks, HoldWithoutMutation) {
  active_mutation = Mutation::none;
  EXPECT_TRUE(GetParam().holds());
}

INSTANTIATE_TEST_SUITE_P(All, Checks, testing::ValuesIn(all_checks()),
                         [](const auto& row) { return std::string(row.param.name); });

class Mutations : public testing::TestWithParam<MutationRow> {
 protected:
  void TearDown() override { active_mutation = Mutation::none; }
};

TEST_P(Mutations, AreCaught) {
  active_mutation = GetParam().mutation;
  EXPECT_FALSE(check_named(GetParam().caught_by).holds());
}

INSTANTIATE_TEST_SUITE_P(All, Mutations, testing::ValuesIn(kMutations),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(MutationTable, HasARowForEveryMutation) {
  for (int i = 1; i < static_cast<int>(Mutation::count); ++i)
    EXPECT_EQ(std::ranges::count(kMutations, static_cast<Mutation>(i), &MutationRow::mutation), 1)
        << i;
}

}  // namespace
}  // namespace tempo::sim::election
