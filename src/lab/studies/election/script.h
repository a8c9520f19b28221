// Elections as text: a comment, commands, four dashes, the resulting trace.
//
//     # Two daemons start a second apart.
//     nodes 2
//     delay 1ms
//     start 1
//     run 1s
//     ----
//     0 1->* masterreq
//     ...
//
// A file is a sequence of such blocks, separated by blank lines; they share one network. Settings
// come before the first act: nodes, profile, variant, repeats, seed, delay, loss, duplicate,
// reorder, lateness, election-timer (a..b), hide (messages not shown, comma-separated). Then follow
// acts, as in fault.h, `start all`, and
//
//     run SPAN     lets time pass
//     settle SPAN  waits at most SPAN for one master, then until all nodes must be listed, and
//                  checks the properties of a network without faults
//     states       shows every node's state, its master and its list
//     counts       shows how many messages of each kind were sent since the last `counts`
//     promises     shows the violated properties, or that there are none
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "lab/studies/election/scenario.h"

namespace tempo::sim::election {

// The script with the answers of this run; an error names the line.
Result<std::string> answered(std::string_view script);

// A script that repeats the experiment, with its answers.
Result<std::string> script_of(const Experiment& experiment, std::string_view counterexample);

}  // namespace tempo::sim::election
