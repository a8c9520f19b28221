// libtempo for C: the network's time, with its bound. The C face of time.h, which explains it.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tempo_status {
  TEMPO_UNSYNCHRONIZED = 0,  // earliest and latest are no bound
  TEMPO_HOLDOVER = 1,
  TEMPO_SYNCHRONIZED = 2,
  TEMPO_LEADS = 3
};

struct tempo_now {
  int64_t earliest_ns;  // since 1970
  int64_t latest_ns;
  int64_t time_ns;  // the best single reading
  enum tempo_status status;
};

struct tempo_page;

// path: NULL for the default. NULL on failure; then `trouble`, if not NULL, holds a sentence, cut
// to `size` bytes with its end.
struct tempo_page* tempo_open(const char* path, char* code, unsigned size);
void tempo_close(struct tempo_page* page);

struct tempo_now tempo_read(const struct tempo_page* page);

// 1 when `instant_ns` has certainly passed everywhere; 0 if not within `limit_ns`, or if the
// descriptor `cancel` (-1: none) can be read before.
int tempo_wait_until_after(const struct tempo_page* page, int64_t instant_ns, int64_t limit_ns,
                           int cancel);

// At least latest_ns, larger than every stamp this page has given before; 0 if not known.
int64_t tempo_timestamp(struct tempo_page* page);

#ifdef __cplusplus
}
#endif
