// libtempo for C: why something cannot be had from tempod. The C face of failure.h.
#pragma once

enum tempo_error {
  TEMPO_NO_DAEMON = 0,    // tempod cannot be reached, or is gone
  TEMPO_NOT_ALLOWED = 1,  // this user may not
  TEMPO_REFUSED = 2,      // the name is bad, there are no locks here, too many wait
  TEMPO_TOO_LATE = 3,     // it did not come about for as long as we were to wait
  TEMPO_CANCELLED = 4
};
