// One sentence for users about the voters of a view: how many there are, and which of them may
// fail.
#pragma once

#include <functional>
#include <string>

#include "base/ids.h"
#include "protocol/lock/lease/lease_rules.h"

namespace tempo::locks {

// For example "3 voters; locks survive the loss of 1".
std::string lock_status(const lock::lease::View& view,
                        const std::function<std::string(NodeId)>& name_of);

}  // namespace tempo::locks
