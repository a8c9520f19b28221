/* Leading a group from C. cc lead.c $(pkg-config --cflags --libs tempo) */
#include <inttypes.h>
#include <stdio.h>
#include <tempo/election_c.h>

int main(int argc, char** argv) {
  char message[200];
  struct tempo_candidate_options options = tempo_candidate_default_options();
  options.capacity = 1;
  options.min_stay_ns = 5000000000;
  struct tempo_election* election = tempo_election_stand(
      "example-c", &options, argc > 1 ? argv[1] : NULL, NULL, message, sizeof message);
  if (election == NULL) {
    fprintf(stderr, "lead: %s\n", message);
    return 1;
  }
  while (tempo_election_term(election) == 0)
    if (tempo_election_dispatch(election, 1000000000, -1) != 0) return 1;
  printf("term %" PRIu64 ", %" PRId64 " ms remaining\n", tempo_election_term(election),
         tempo_election_remaining_ns(election) / 1000000);
  tempo_election_close(election);
  return 0;
}
