// Signals that end a wait, or that tempo passes on to the command it runs.
#pragma once

namespace tempo::cli {

// From now on SIGINT, SIGTERM and SIGHUP are only recorded.
void note_signals();

// The last signal since the previous call; 0: none.
int noted_signal();

}  // namespace tempo::cli
