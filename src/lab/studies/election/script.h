// Elections told as text: a story, commands, four dashes, what happened.
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
// A file is a row of such blocks, separated by blank lines; the network lives through all of them.
// Settings come before the first act: nodes, profile, variant, repeats, seed, delay, loss,
// duplicate, reorder, lateness, election-timer (a..b), hide (messages not shown, comma-separated).
// Then acts, as in fault.h, `start all`, and
//
//     run SPAN     lets time pass
//     settle SPAN  waits at most so long for one master, then for peace, and judges what is
//                  promised then
//     states       shows every node's state, whom it follows and its list
//     counts       shows how many messages of each kind were sent since the last `counts`
//     promises     shows which promises were broken so far, or that they are kept
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "lab/studies/election/scenario.h"

namespace tempo::sim::election {

// The same script with the answers that this run gives; a failure names the line.
Result<std::string> answered(std::string_view script);

// A script that repeats the experiment; its answers are filled in.
Result<std::string> script_of(const Experiment& experiment, std::string_view counterexample);

}  // namespace tempo::sim::election
