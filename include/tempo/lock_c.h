// libtempo for C: locks that are one for the whole network. The C face of lock.h, which explains
// it, with its rules for threads and forks.
#pragma once

#include <stdint.h>

#include "tempo/error_c.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tempo_locks;  // a connection to tempod, for one thread at a time
struct tempo_lock;   // a lock that is held
struct tempo_wish;   // a lock that is waited for without waiting

// socket: NULL for the default. NULL on failure; then `trouble`, if not NULL, holds a sentence, cut
// to `size` bytes with its end. So everywhere below; `why`, if not NULL, says which failure it is.
struct tempo_locks* tempo_locks_connect(const char* socket, char* code, unsigned size);
// Locks that are still held are released.
void tempo_locks_close(struct tempo_locks* locks);
// Can be read when there is news of a lock: look at wishes, ask for what remains.
int tempo_locks_descriptor(const struct tempo_locks* locks);

// How a lock is agreed on; all who use a name use a lease, or all do not.
enum tempo_lock_kind {
  TEMPO_LEASE = 0,  // a majority's lease, with a fencing token
  TEMPO_SILENT,     // silence is consent, while delays are as tempod's settings say; no token
  TEMPO_EXPLICIT,   // every machine that votes has to reply; no token
};

struct tempo_lock_options {
  int shared;       // 1: together with others that take it shared
  int64_t wait_ns;  // how long to wait; 0: only if it can be had at once, negative: for ever
  int cancel;       // a descriptor: when it can be read, the waiting ends; -1: none
  enum tempo_lock_kind kind;  // one that is none of them is refused
  int64_t lease_ns;           // of a lease: how long it is; 0: as long as the network's
};
// Exclusive, for ever, no descriptor, a lease as long as the network's.
struct tempo_lock_options tempo_lock_default_options(void);

// options: NULL for the default ones.
struct tempo_lock* tempo_lock_take(struct tempo_locks* locks, const char* name,
                                   const struct tempo_lock_options* options, enum tempo_error* why,
                                   char* code, unsigned size);
uint64_t tempo_lock_token(const struct tempo_lock* lock);  // 0: it is not a lease
// How long the lock is certainly this program's; 0: not any more.
int64_t tempo_lock_remaining_ns(struct tempo_lock* lock);
// When that ends if tempod extends it no more, on CLOCK_BOOTTIME.
int64_t tempo_lock_deadline_ns(struct tempo_lock* lock);
// Before its connection is closed; the lock is then gone.
void tempo_lock_release(struct tempo_lock* lock);

struct tempo_wish* tempo_lock_want(struct tempo_locks* locks, const char* name,
                                   const struct tempo_lock_options* options, enum tempo_error* why,
                                   char* code, unsigned size);
// 1, with the lock if there is one yet, or NULL; 0 on failure. After a lock or a failure the wish
// is over, and only to be dropped.
int tempo_wish_look(struct tempo_wish* pending, struct tempo_lock** lock, enum tempo_error* why,
                    char* code, unsigned size);
int64_t tempo_wish_patience_ns(const struct tempo_wish* pending);  // for the timeout of a poll
void tempo_wish_drop(struct tempo_wish* pending);  // before its connection is closed

#ifdef __cplusplus
}
#endif
