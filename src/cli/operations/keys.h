// `tempo keys`: the keys of all members, and whether the next step of a key change is safe.
#pragma once

#include "api/key_report.h"
#include "cli/common/daemon.h"

namespace tempo::cli {

// Exit status 1: the next step is not safe yet.
int keys(const DaemonArguments& arguments);

// The report on a snapshot for which all members were asked.
obs::KeyReport report_on_keys(const obs::Snapshot& snapshot);

}  // namespace tempo::cli
