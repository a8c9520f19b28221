// Sentences for users about the voters of a view: how many there are, which of them may fail, and
// which of them a host reaches.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "protocol/lock/lease/lease_rules.h"

namespace tempo::locks {

// The voter that every quorum needs; kNobody: there is none.
NodeId needed_voter(const lock::lease::View& view);

// For example "3 voters; locks survive the loss of 1". `needed` is the name of the needed voter.
std::string lock_status(const lock::lease::View& view, std::string_view needed);

// A voter as one host sees it.
struct VoterSight {
  std::string name{};
  unsigned votes = 1;
  bool reachable = false;
  std::string silence{};  // of a voter that is not reachable: "stopped", "silent for 12 s"
};

// Votes that a grant needs.
unsigned votes_needed(const lock::lease::View& view);
// How many more voters may fail, whichever they are; unset: those that are reachable grant nothing.
std::optional<unsigned> losses_survived(const lock::lease::View& view,
                                        std::span<const VoterSight> voters);
// Why nothing is granted, for example "no locks: 1 of 3 voters reachable, 2 needed; host1 stopped,
// host2 silent for 12 s". Empty: enough voters are reachable.
std::string no_majority_text(const lock::lease::View& view, std::span<const VoterSight> voters);

}  // namespace tempo::locks
