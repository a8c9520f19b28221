// Interactive exploration of the states of an election: choose the next step, go back, draw.
#pragma once

#include "lab/check/space.h"
#include "lab/studies/election/election_model.h"

namespace tempo::cli {

// Reads choices from standard input until its end or `q`.
int explore_interactively(check::Space<check::ElectionModel>& space);

}  // namespace tempo::cli
