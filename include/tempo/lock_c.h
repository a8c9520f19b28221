// libtempo for C: locks that are exclusive across all machines of the cluster. The C interface of
// lock.h, which has the rules for leases, threads and forks.
#pragma once

#include <stdint.h>

#include "tempo/error_c.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tempo_locks;         // a connection to tempod, for one thread at a time
struct tempo_lock;          // a held lock
struct tempo_pending_lock;  // a request for a lock that does not block

// socket: NULL for the default. Returns NULL on failure (error_c.h); so do the functions below.
struct tempo_locks* tempo_locks_connect(const char* socket, enum tempo_error* error, char* message,
                                        unsigned size);
// Releases the locks that are still held.
void tempo_locks_close(struct tempo_locks* locks);
// Readable when an update of a lock has arrived: poll pending locks, read remaining times.
int tempo_locks_descriptor(const struct tempo_locks* locks);

// Protocol of a lock. All clients of one name must use the lease, or all must use the other two.
enum tempo_lock_kind {
  TEMPO_LOCK_LEASE = 0,  // a lease from a majority of the voters, with a fencing token
  TEMPO_LOCK_SILENT,    // silence is consent, while delays stay within locks.delay-max-ms; no token
  TEMPO_LOCK_EXPLICIT,  // every voter must reply; no token
};

struct tempo_acquire_options {
  int shared;                 // 1: held together with other shared holders
  int64_t wait_ns;            // longest time to wait; 0: do not wait; negative: no limit
  int cancel;                 // a descriptor; the wait ends when it is readable; -1: none
  enum tempo_lock_kind kind;  // any other value is refused
  int64_t lease_ns;           // lease time of a lease; 0: locks.lease-ms
};
// Exclusive, no limit of the wait, no descriptor, a lease of locks.lease-ms.
struct tempo_acquire_options tempo_acquire_default_options(void);

// options: NULL for the defaults.
struct tempo_lock* tempo_lock_acquire(struct tempo_locks* locks, const char* name,
                                      const struct tempo_acquire_options* options,
                                      enum tempo_error* error, char* message, unsigned size);
uint64_t tempo_lock_token(const struct tempo_lock* lock);  // 0: not a lease
// Time for which this program certainly holds the lock; 0: no longer.
int64_t tempo_lock_remaining_ns(struct tempo_lock* lock);
// End of that time, if tempod does not extend the lease again, on CLOCK_BOOTTIME; 0: not held.
int64_t tempo_lock_deadline_ns(struct tempo_lock* lock);
// Releases the lock and frees it. Call it before tempo_locks_close.
void tempo_lock_release(struct tempo_lock* lock);

struct tempo_pending_lock* tempo_lock_acquire_async(struct tempo_locks* locks, const char* name,
                                                    const struct tempo_acquire_options* options,
                                                    enum tempo_error* error, char* message,
                                                    unsigned size);
// Returns 1 and sets *lock to the lock, or to NULL while it is not granted; 0 on failure. After a
// lock or a failure the request is over: close it.
int tempo_pending_lock_poll(struct tempo_pending_lock* pending, struct tempo_lock** lock,
                            enum tempo_error* error, char* message, unsigned size);
// Time until the request times out, for the timeout of poll(2).
int64_t tempo_pending_lock_timeout_ns(const struct tempo_pending_lock* pending);
// Cancels the request, unless it is over, and frees it. Call it before tempo_locks_close.
void tempo_pending_lock_close(struct tempo_pending_lock* pending);

#ifdef __cplusplus
}
#endif
