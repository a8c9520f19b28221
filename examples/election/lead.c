/* Leading a group from C. cc lead.c $(pkg-config --cflags --libs tempo) */
#include <inttypes.h>
#include <stdio.h>

#include <tempo/election_c.h>

int main(int argc, char** argv) {
  char trouble[200];
  struct tempo_election* election = tempo_election_stand(
      "example-c", 1, NULL, 5000000000, argc > 1 ? argv[1] : NULL, trouble, sizeof trouble);
  if (election == NULL) {
    fprintf(stderr, "lead: %s\n", trouble);
    return 1;
  }
  while (tempo_election_term(election) == 0)
    if (tempo_election_dispatch(election, 1000000000) != 0) return 1;
  printf("term %" PRIu64 ", ours for %" PRId64 " ms\n", tempo_election_term(election),
         tempo_election_remaining_ns(election) / 1000000);
  tempo_election_close(election);
  return 0;
}
