// libtempo for C: leading a group, one machine at a time. The C face of election.h, which explains
// it. Instead of callbacks there is the term: look at it after every dispatch.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tempo_election;  // a candidate, for one thread at a time

// Stands for the group; the candidate with the largest capacity (not below 0) is proposed.
// criterion: what it measures, "weight" if NULL: all candidates must say the same. socket: NULL for
// the default. NULL on failure; then `trouble`, if not NULL, holds a sentence, cut to `size` bytes
// with its end.
struct tempo_election* tempo_election_stand(const char* group, int64_t capacity,
                                            const char* criterion, int64_t min_stay_ns,
                                            const char* socket, char* trouble, unsigned size);
// Withdraws.
void tempo_election_close(struct tempo_election* election);

// Can be read when dispatch has something to do.
int tempo_election_descriptor(const struct tempo_election* election);
// Takes in what has come, or comes within wait_ns. 0; or -1: tempod is gone, nothing comes any
// more.
int tempo_election_dispatch(struct tempo_election* election, int64_t wait_ns);

// Of this program's leadership; 0: it does not lead. When it becomes 0, stop acting and then say
// so: the lease is let go only after that.
uint64_t tempo_election_term(const struct tempo_election* election);
void tempo_election_stopped(struct tempo_election* election);
// How long this program certainly leads; 0: it does not.
int64_t tempo_election_remaining_ns(const struct tempo_election* election);

void tempo_election_offer(struct tempo_election* election, int64_t capacity);

#ifdef __cplusplus
}
#endif
