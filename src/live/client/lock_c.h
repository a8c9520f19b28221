// libtempo for C: locks that are one for the whole network. The C face of lock.h, which explains
// it.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tempo_lock_trouble {
  TEMPO_LOCK_NO_DAEMON = 0,
  TEMPO_LOCK_NOT_ALLOWED = 1,
  TEMPO_LOCK_REFUSED = 2,
  TEMPO_LOCK_TOO_LATE = 3
};

struct tempo_locks;  // a connection to tempod, for one thread at a time
struct tempo_lock;

// socket: NULL for the default. NULL on failure; then `trouble`, if not NULL, holds a sentence, cut
// to `size` bytes with its end.
struct tempo_locks* tempo_locks_connect(const char* socket, char* trouble, unsigned size);
// Locks that are still held are released.
void tempo_locks_close(struct tempo_locks* locks);

// shared: 0, or 1 to hold it together with others. wait_ns: how long to wait; 0: only if it can be
// had at once, negative: for ever. NULL on failure; then `why`, if not NULL, says which.
struct tempo_lock* tempo_lock_take(struct tempo_locks* locks, const char* name, int shared,
                                   int64_t wait_ns, enum tempo_lock_trouble* why, char* trouble,
                                   unsigned size);
uint64_t tempo_lock_token(const struct tempo_lock* lock);
// How long the lock is certainly this program's; 0: not any more.
int64_t tempo_lock_remaining_ns(struct tempo_lock* lock);
// Before its connection is closed; the lock is then gone.
void tempo_lock_release(struct tempo_lock* lock);

#ifdef __cplusplus
}
#endif
