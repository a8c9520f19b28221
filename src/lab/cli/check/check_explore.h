// Walking through the states of an election by hand: choose what happens next, go back, look.
#pragma once

#include "lab/check/space.h"
#include "lab/studies/election/election_model.h"

namespace tempo::cli {

// Reads choices from standard input until it ends or `q`.
int explore_by_hand(check::Space<check::ElectionModel>& space);

}  // namespace tempo::cli
