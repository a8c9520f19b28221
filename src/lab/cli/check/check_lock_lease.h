// Lease locks by the words of `tempo check lock`.
#pragma once

#include "lab/cli/check/check_lock.h"

namespace tempo::cli {

int check_lease(const CheckLockArguments& arguments);

}  // namespace tempo::cli
