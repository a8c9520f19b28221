// What is promised of locks under a view, in one sentence for people.
#pragma once

#include <functional>
#include <string>

#include "base/ids.h"
#include "protocol/lock/lease/lease_rules.h"

namespace tempo::locks {

std::string promise_of(const lock::lease::View& view,
                       const std::function<std::string(NodeId)>& name_of);

}  // namespace tempo::locks
