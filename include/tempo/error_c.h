// libtempo for C: error codes. The C interface of error.h.
//
// Every function that can fail takes two optional outputs: `error` receives the code (NULL: not
// wanted) and `message` a text of at most `size` bytes with its terminating 0 (NULL: not wanted).
// Both are written on failure only.
#pragma once

enum tempo_error {
  TEMPO_ERROR_NO_DAEMON = 0,    // tempod or its page cannot be used, or the connection is closed
  TEMPO_ERROR_NOT_ALLOWED = 1,  // this user lacks the permission
  TEMPO_ERROR_REFUSED = 2,      // tempod refused the request: locks not configured, ...
  TEMPO_ERROR_TIMED_OUT = 3,    // the wait time is over
  TEMPO_ERROR_CANCELLED = 4,    // the caller's cancel descriptor became readable
  TEMPO_ERROR_BAD_REQUEST = 5   // an argument is wrong: bad name, unknown criterion, ...
};
