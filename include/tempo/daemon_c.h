// libtempo for C: tempod's status. The C interface of daemon.h, which has the rules.
#pragma once

#include <stdint.h>

#include "tempo/error_c.h"
#include "tempo/time_c.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tempo_daemon;  // a connection to tempod, for one thread at a time
struct tempo_watch;   // a connection that receives a stream of snapshots
struct tempo_status;  // one snapshot

// socket: NULL for the default. Returns NULL on failure (error_c.h); so do the functions below.
struct tempo_daemon* tempo_daemon_connect(const char* socket, enum tempo_error* error,
                                          char* message, unsigned size);
void tempo_daemon_close(struct tempo_daemon* daemon);
struct tempo_status* tempo_daemon_status(struct tempo_daemon* daemon, enum tempo_error* error,
                                         char* message, unsigned size);
struct tempo_watch* tempo_daemon_watch(struct tempo_daemon* daemon, enum tempo_error* error,
                                       char* message, unsigned size);

// Returns the next snapshot and skips events. Waits at most wait_ns nanoseconds, or until the
// descriptor `cancel` is readable (-1: none).
struct tempo_status* tempo_watch_next(struct tempo_watch* watch, int64_t wait_ns, int cancel,
                                      enum tempo_error* error, char* message, unsigned size);
// Readable when more data has arrived. Call tempo_watch_next with a wait of 0 until it times out
// before polling it.
int tempo_watch_descriptor(const struct tempo_watch* watch);
void tempo_watch_close(struct tempo_watch* watch);

// The strings are valid until tempo_status_free.
const char* tempo_status_name(const struct tempo_status* status);    // of this host
const char* tempo_status_master(const struct tempo_status* status);  // "": none
const char* tempo_status_locks(const struct tempo_status* status);   // "": not configured
const char* tempo_status_json(
    const struct tempo_status* status);  // complete: doc/reference/control-protocol.md
struct tempo_now tempo_status_now(const struct tempo_status* status);
void tempo_status_free(struct tempo_status* status);

#ifdef __cplusplus
}
#endif
