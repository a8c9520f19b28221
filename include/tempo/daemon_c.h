// libtempo for C: what tempod knows. The C face of daemon.h, which explains it.
#pragma once

#include <stdint.h>

#include "tempo/error_c.h"
#include "tempo/time_c.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tempo_daemon;   // a connection to tempod, for one thread at a time
struct tempo_watch;    // another, on which pictures come
struct tempo_picture;  // what it knew at one moment

// socket: NULL for the default. NULL on failure; then `trouble`, if not NULL, holds a sentence, cut
// to `size` bytes with its end, and `why`, if not NULL, says which failure it is. So below.
struct tempo_daemon* tempo_daemon_connect(const char* socket, char* code, unsigned size);
void tempo_daemon_close(struct tempo_daemon* daemon);
struct tempo_picture* tempo_daemon_status(struct tempo_daemon* daemon, enum tempo_error* why,
                                          char* code, unsigned size);
struct tempo_watch* tempo_daemon_watch(struct tempo_daemon* daemon, enum tempo_error* why,
                                       char* code, unsigned size);

// The next picture, waited for at most so long, and not once the descriptor `cancel` (-1: none) can
// be read. Events are passed over.
struct tempo_picture* tempo_watch_next(struct tempo_watch* watch, int64_t wait_ns, int cancel,
                                       enum tempo_error* why, char* code, unsigned size);
// Can be read when there is more; what has come already is taken first, with a wait of 0.
int tempo_watch_descriptor(const struct tempo_watch* watch);
void tempo_watch_close(struct tempo_watch* watch);

// Texts live as long as their picture.
const char* tempo_picture_name(const struct tempo_picture* picture);    // this host's
const char* tempo_picture_master(const struct tempo_picture* picture);  // "": none now
const char* tempo_picture_locks(const struct tempo_picture* picture);   // what is promised of them
const char* tempo_picture_json(
    const struct tempo_picture* picture);  // everything: doc/reference/control-protocol.md
struct tempo_now tempo_picture_now(const struct tempo_picture* picture);
void tempo_picture_free(struct tempo_picture* picture);

#ifdef __cplusplus
}
#endif
