// Every mutation of the bounded-delay lock, in which silence is consent, and the check that must
// fail because of it.
#include <string>

#include <gtest/gtest.h>

#include "lab/check/explore.h"
#include "lab/studies/lock/lock_model.h"
#include "lab/studies/lock/mutex_run.h"
#include "machine/machine_harness.h"
#include "mutation_suite.h"
#include "protocol/lock/mutex.h"
#include "protocol/lock/mutex_mutation.h"

namespace tempo::sim::lock {
namespace {

using tempo::lock::mutex::Mutation;

constexpr std::size_t kMemory = std::size_t{256} << 20;  // for a search that would not terminate

bool safe(Setup setup, std::uint64_t seeds) {
  for (setup.seed = 1; setup.seed <= seeds; ++setup.seed) {
    const Outcome outcome = run(setup);
    if (outcome.tally.violations > 0 || outcome.tally.deadlocks > 0) return false;
  }
  return true;
}

// --- checks: true if no property is violated ---

bool safe_in_a_quiet_network() { return safe({.entries = 1'000}, 4); }
// Handlers that take long compared with messages.
Setup busy() {
  return {.entries = 1'000, .handling = {.request = 20, .reply = 20}, .delay_max = 200us};
}
bool safe_with_queued_handlers() { return safe(busy(), 8); }
bool safe_with_parallel_handlers() {
  Setup setup = busy();
  setup.serial = false;
  return safe(setup, 8);
}
bool safe_with_crashes() { return safe({.entries = 1'000, .sleep = 0, .crashes = 0.5}, 4); }
bool safe_with_clients_that_outlive_daemons() {
  return safe(
      {.entries = 1'000, .hold_outlives = true, .sleep = 0, .longest_hold = 2'000, .crashes = 0.5},
      4);
}
bool safe_for_readers_and_writers() {
  return safe({.kind = Kind::rw, .readers = 3, .entries = 1'000}, 4);
}
bool safe_when_bounds_break() { return safe({.entries = 500, .doubts = 0.5}, 6); }
bool safe_by_replies() { return safe({.kind = Kind::replies, .entries = 500}, 2); }
// Without faults no site asks again, and each refusal is withdrawn once.
bool exact_in_a_quiet_network() {
  for (const Kind kind : {Kind::mutex, Kind::rw}) {
    const Setup setup{.kind = kind, .readers = 3, .entries = 1'000};
    const Outcome outcome = run(setup);
    const Tally& tally = outcome.tally;
    if (outcome.asked_again > 0 ||
        tally.messages != tally.entries * (setup.sites - 1) + 2 * tally.refusals)
      return false;
  }
  return true;
}
// All clients read: no site has a reason to refuse.
bool readers_are_not_refused() {
  return run({.kind = Kind::rw, .readers = 5, .entries = 200}).tally.refusals == 0;
}

bool sound(const check::LockWorld& world) {
  const check::LockModel model{.rules = rules_of(world)};
  check::Space<check::LockModel> space(model, freedom_of(world), commands_of(world));
  return check::Search<check::LockModel>(space, {.memory = kMemory}).run().complete;
}
bool a_checked_lock() { return sound({.sites = 2, .hold = 2}); }
bool a_checked_lock_with_a_crash() {
  return sound({.sites = 2, .entries = 2, .hold = 2, .budget = {.crashes = 1, .restarts = 1}});
}

// Site 1 of two, driven by hand into situations that a run within the bounds does not produce.
class SingleSite : public MachineHarness<tempo::lock::Mutex> {
 public:
  using Kind = tempo::lock::mutex::Kind;

  SingleSite() {
    make(NodeId{1}, kIncarnation, kRules, tempo::lock::mutex::Birth::first);
    command({});
  }
  // Returns true if the lock produced any output.
  bool receive(Kind kind, std::uint64_t number) {
    MachineHarness::receive(NodeId{0}, {.kind = kind, .number = number, .life = kIncarnation});
    return !outputs().empty();
  }
  bool inside() const { return machine().phase() == tempo::lock::mutex::Phase::inside; }

 private:
  static constexpr Incarnation kIncarnation{1};
  static constexpr tempo::lock::mutex::Rules kRules{.bounds = tempo::lock::Bounds{.delay_max = 5ns},
                                                    .mindelay = 1};
};

bool an_old_number_is_refused() {
  SingleSite site;
  site.wake();
  site.wake();
  return site.inside() && site.receive(SingleSite::Kind::request, 0);
}
bool replies_to_an_abandoned_request_do_not_count() {
  SingleSite site;
  site.wake();
  site.receive(SingleSite::Kind::negative, 1);
  site.wake();
  site.receive(SingleSite::Kind::positive, 7);
  return !site.inside();
}

constexpr MutationRow<Mutation> kRows[] = {
    {Mutation::number_before_sleep, "number_before_sleep", safe_in_a_quiet_network},
    {Mutation::window_one_way, "window_one_way", safe_in_a_quiet_network},
    {Mutation::window_no_handlers, "window_no_handlers", safe_with_queued_handlers},
    {Mutation::window_no_replies, "window_no_replies", safe_with_parallel_handlers},
    {Mutation::window_no_queue, "window_no_queue", safe_with_queued_handlers},
    {Mutation::window_equal_steps, "window_equal_steps", safe_in_a_quiet_network},
    {Mutation::window_no_spare, "window_no_spare", a_checked_lock},
    {Mutation::window_no_hold, "window_no_hold", safe_with_clients_that_outlive_daemons},
    {Mutation::enter_refused, "enter_refused", safe_in_a_quiet_network},
    {Mutation::no_positive, "no_positive", exact_in_a_quiet_network},
    {Mutation::no_asking_again, "no_asking_again", a_checked_lock_with_a_crash},
    {Mutation::repeated_unanswered, "repeated_unanswered", safe_with_crashes},
    {Mutation::number_not_raised, "number_not_raised", safe_in_a_quiet_network},
    {Mutation::readers_not_raised, "readers_not_raised", safe_for_readers_and_writers},
    {Mutation::equals_pass, "equals_pass", safe_in_a_quiet_network},
    {Mutation::reader_passes_writer, "reader_passes_writer", safe_for_readers_and_writers},
    {Mutation::reader_refuses_reader, "reader_refuses_reader", readers_are_not_refused},
    {Mutation::inside_lets_pass, "inside_lets_pass", an_old_number_is_refused},
    {Mutation::any_number, "any_number", replies_to_an_abandoned_request_do_not_count},
    {Mutation::positive_forgotten, "positive_forgotten", exact_in_a_quiet_network},
    {Mutation::no_restart_message, "no_restart_message", safe_with_crashes},
    {Mutation::no_abstaining, "no_abstaining", safe_with_crashes},
    {Mutation::straight_on, "straight_on", safe_with_crashes},
    {Mutation::restart_frees_hold, "restart_frees_hold", safe_with_clients_that_outlive_daemons},
    {Mutation::trusts_for_ever, "trusts_for_ever", safe_when_bounds_break},
    {Mutation::explicit_at_once, "explicit_at_once", safe_by_replies},
    // Again, by the checker or with parallel message handling.
    {Mutation::window_no_handlers, "window_no_handlers_parallel", safe_with_parallel_handlers},
    {Mutation::number_before_sleep, "number_before_sleep_checked", a_checked_lock},
    {Mutation::window_one_way, "window_one_way_checked", a_checked_lock},
    {Mutation::equals_pass, "equals_pass_checked", a_checked_lock},
    {Mutation::straight_on, "straight_on_checked", a_checked_lock_with_a_crash},
};

const MutationSuite<Mutation> kSuite{"Mutex", kRows};

}  // namespace
}  // namespace tempo::sim::lock
