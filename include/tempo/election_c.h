// libtempo for C: leading a group, one machine at a time. The C interface of election.h, which has
// the rules for leases, threads and forks. It has no callbacks: check the term after every
// dispatch.
#pragma once

#include <stdint.h>

#include "tempo/error_c.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tempo_election;  // a candidate, for one thread at a time

struct tempo_candidate_options {
  int64_t capacity;       // the largest capacity wins; at least 0
  const char* criterion;  // meaning of the capacity; must be equal on all candidates
  const char* algorithm;  // election algorithm
  int64_t min_stay_ns;    // a leader keeps its role at least this long before a better candidate
                          // may replace it
  int once;               // 1: a group for one job, over when one leader has done the job
  int cancel;             // a descriptor; standing stops waiting when it is readable; -1: none
};
// Capacity 0, "weight", "b1", 30 seconds, not once, no descriptor.
struct tempo_candidate_options tempo_candidate_default_options(void);

// Registers this program as the candidate of this host. options: NULL for the defaults; socket:
// NULL for the default. Returns NULL on failure (error_c.h).
struct tempo_election* tempo_election_stand(const char* group,
                                            const struct tempo_candidate_options* options,
                                            const char* socket, enum tempo_error* error,
                                            char* message, unsigned size);
// Withdraws the candidate and frees it.
void tempo_election_close(struct tempo_election* election);

// Readable when dispatch has work.
int tempo_election_descriptor(const struct tempo_election* election);
// Reads the updates that have arrived, or that arrive within wait_ns and before the descriptor
// `cancel` is readable (-1: none). Returns 0, or -1 when the connection to tempod is closed.
int tempo_election_dispatch(struct tempo_election* election, int64_t wait_ns, int cancel);

// Term of this program's leadership; 0: it does not lead. When the term becomes 0, stop acting as
// leader and then call tempo_election_confirm_stopped, which releases the lease.
uint64_t tempo_election_term(const struct tempo_election* election);
void tempo_election_confirm_stopped(struct tempo_election* election);
// Time for which this program certainly leads; 0: it does not lead.
int64_t tempo_election_remaining_ns(const struct tempo_election* election);
// 1; 0 after tempo_election_withdraw, and when the one job of the group is done.
int tempo_election_is_candidate(const struct tempo_election* election);

// Takes effect at most once per min_stay_ns.
void tempo_election_set_capacity(struct tempo_election* election, int64_t capacity);
// job_done: 1 if the one job of the group is done.
void tempo_election_withdraw(struct tempo_election* election, int job_done);

#ifdef __cplusplus
}
#endif
