// The names of everything in the master election, as people and scripts read them.
#include <array>

#include "base/check.h"
#include "protocol/election/master_table.h"

namespace tempo::election {
namespace {

constexpr std::array<std::string_view, kStates> kStateNames{
    "startup", "no_master", "master", "slave", "candidate", "accept", "conflict", "consistency"};

constexpr std::array<std::string_view, kKinds> kKindNames{
    "masterreq", "masterack", "masterup", "slaveup", "election", "accept", "refuse", "conflict",
    "resolve",   "quit",      "ack",      "adjtime", "settime",  "loop",   "stale",  "masterdown"};

constexpr std::array<std::string_view, static_cast<std::size_t>(Timer::count)> kTimerNames{
    "startup", "no_master", "sync",        "loop",   "election",  "candidate",
    "accept",  "conflict",  "consistency", "repeat", "retransmit"};

constexpr std::array<std::string_view, kEvents> kEventNames{"masterreq",
                                                            "masterreq_younger",
                                                            "masterack",
                                                            "masterup",
                                                            "slaveup",
                                                            "election",
                                                            "election_again",
                                                            "election_older",
                                                            "election_newer",
                                                            "election_duplicate",
                                                            "accept",
                                                            "refuse",
                                                            "conflict",
                                                            "resolve",
                                                            "resolve_new",
                                                            "resolve_smaller",
                                                            "quit",
                                                            "quit_new",
                                                            "quit_lower",
                                                            "adjtime",
                                                            "settime",
                                                            "loop",
                                                            "loop_new",
                                                            "loop_larger",
                                                            "loop_given_up",
                                                            "stale_newer",
                                                            "stale_own",
                                                            "masterdown",
                                                            "masterdown_heir",
                                                            "higher",
                                                            "lower",
                                                            "rival",
                                                            "lower_rival",
                                                            "startup_timeout",
                                                            "startup_timeout_rival",
                                                            "no_master_timeout",
                                                            "no_master_overdue",
                                                            "sync_timeout",
                                                            "loop_timeout",
                                                            "election_timeout",
                                                            "election_timeout_idle",
                                                            "candidate_timeout",
                                                            "candidate_overdue",
                                                            "accept_timeout",
                                                            "conflict_timeout",
                                                            "consistency_timeout",
                                                            "stand",
                                                            "resign",
                                                            "claim",
                                                            "stop"};

constexpr std::array<std::string_view, static_cast<std::size_t>(Verb::end) + 1> kVerbNames{
    "broadcast",
    "reply",
    "start",
    "remember_first",
    "remember_candidate",
    "note_rival",
    "begin",
    "stand",
    "reign",
    "reign_on",
    "add_sender",
    "prolong",
    "back_off",
    "apply",
    "slaveup",
    "slaveup_was_master",
    "slaveup_if_followed",
    "slaveup_if_overlooked",
    "adjtime_round",
    "settime_once",
    "settime_if_not_set",
    "loop_at_once",
    "loop_if_was_master",
    "quit_election",
    "quit_master",
    "quit_rival",
    "conflict_to_first",
    "follow_epoch",
    "give_up_for_now",
    "wait_for_heir",
    "election_soon",
    "end"};

template <class Names, class Enum>
constexpr std::string_view look_up(const Names& names, Enum value) {
  const auto place = static_cast<std::size_t>(value);
  CHECK(place < names.size());
  return names[place];
}

}  // namespace

std::string_view name_of(State state) { return look_up(kStateNames, state); }
std::string_view name_of(Kind kind) { return look_up(kKindNames, kind); }
std::string_view name_of(Timer timer) { return look_up(kTimerNames, timer); }
std::string_view name_of(Event event) { return look_up(kEventNames, event); }
std::string_view name_of(Verb verb) { return look_up(kVerbNames, verb); }

}  // namespace tempo::election
