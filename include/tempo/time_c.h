// libtempo for C: network time with its bound. The C interface of time.h, which has the rules.
#pragma once

#include <stdint.h>

#include "tempo/error_c.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tempo_time_status {
  TEMPO_TIME_UNSYNCHRONIZED = 0,  // network time is unknown; earliest and latest are no bound
  TEMPO_TIME_HOLDOVER = 1,        // no master corrects the clock; the bound widens
  TEMPO_TIME_SYNCHRONIZED = 2,    // the master corrects the clock
  TEMPO_TIME_LEADS = 3,           // this host is the master; its clock is network time
  TEMPO_TIME_MINORITY = 4,        // cut off from the main part of the network; the bound widens
  TEMPO_TIME_ALONE = 5            // no other machine was ever heard; the clock of this machine
};

struct tempo_now {
  int64_t earliest_ns;  // nanoseconds since 1970, as the two below
  int64_t latest_ns;
  int64_t time_ns;  // best single reading, between the two
  enum tempo_time_status status;
  uint32_t generation;  // of the time scale; bounds of different generations do not compare
};

struct tempo_time_page;

// path: NULL for the default. Returns NULL on failure (error_c.h).
struct tempo_time_page* tempo_time_page_open(const char* path, enum tempo_error* error,
                                             char* message, unsigned size);
void tempo_time_page_close(struct tempo_time_page* page);

struct tempo_now tempo_time_page_now(const struct tempo_time_page* page);

// Returns 1 when instant_ns has certainly passed on every machine; 0 if that takes longer than
// limit_ns, or if the descriptor `cancel` is readable first (-1: none).
int tempo_time_page_wait_until_after(const struct tempo_time_page* page, int64_t instant_ns,
                                     int64_t limit_ns, int cancel);

// Returns a timestamp in nanoseconds since 1970: at least latest_ns, and larger than every earlier
// one of this page; 0: network time is unknown.
int64_t tempo_time_page_timestamp(struct tempo_time_page* page);

#ifdef __cplusplus
}
#endif
