// One sentence for users about the voters of a view: how many there are, and which of them may
// fail.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.h"
#include "protocol/lock/lease/lease_rules.h"

namespace tempo::locks {

// The voter that every quorum needs; kNobody: there is none.
NodeId needed_voter(const lock::lease::View& view);

// For example "3 voters; locks survive the loss of 1". `needed` is the name of the needed voter.
std::string lock_status(const lock::lease::View& view, std::string_view needed);

}  // namespace tempo::locks
