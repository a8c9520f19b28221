// Signals that end a wait, or go on to a command that is run for somebody.
#pragma once

namespace tempo::cli {

// From now on SIGINT, SIGTERM and SIGHUP end nothing by themselves.
void note_signals();

// The last that came since this was asked; 0: none did.
int noted_signal();

}  // namespace tempo::cli
