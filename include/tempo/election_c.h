// libtempo for C: leading a group, one machine at a time. The C face of election.h, which explains
// it, with its rules for threads and forks. Instead of callbacks there is the term: look at it
// after every dispatch.
#pragma once

#include <stdint.h>

#include "tempo/error_c.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tempo_election;  // a candidate, for one thread at a time

struct tempo_candidate_options {
  int64_t capacity;       // the largest is proposed; not below 0
  const char* criterion;  // what it measures: all candidates must say the same
  const char* algorithm;
  int64_t min_stay_ns;  // nobody is unseated by a better one sooner
  int once;             // 1: for one job, over when one has done it
  int cancel;           // a descriptor: when it can be read, standing waits no longer; -1: none
};
// Capacity 0, "weight", "b1", 30 seconds, not once, no descriptor.
struct tempo_candidate_options tempo_candidate_default_options(void);

// Stands for the group. options: NULL for the default ones; socket: NULL for the default. NULL on
// failure; then `trouble`, if not NULL, holds a sentence, cut to `size` bytes with its end, and
// `why`, if not NULL, says which failure it is.
struct tempo_election* tempo_election_stand(const char* group,
                                            const struct tempo_candidate_options* options,
                                            const char* socket, enum tempo_error* why, char* code,
                                            unsigned size);
// Withdraws.
void tempo_election_close(struct tempo_election* election);

// Can be read when dispatch has something to do.
int tempo_election_descriptor(const struct tempo_election* election);
// Takes in what has come, or comes within wait_ns and before the descriptor `cancel`, -1 for none,
// can be read. 0; or -1: tempod is gone, nothing comes any more.
int tempo_election_dispatch(struct tempo_election* election, int64_t wait_ns, int cancel);

// Of this program's leadership; 0: it does not lead. When it becomes 0, stop acting and then say
// so: the lease is let go only after that.
uint64_t tempo_election_term(const struct tempo_election* election);
void tempo_election_stopped(struct tempo_election* election);
// How long this program certainly leads; 0: it does not.
int64_t tempo_election_remaining_ns(const struct tempo_election* election);
// 1 until it has withdrawn; 0 also when another has done the one job of its group.
int tempo_election_stands(const struct tempo_election* election);

void tempo_election_offer(struct tempo_election* election, int64_t capacity);
// job_done: 1 if the one job of the group is done.
void tempo_election_withdraw(struct tempo_election* election, int job_done);

#ifdef __cplusplus
}
#endif
