/* The same page, from C. cc now.c $(pkg-config --cflags --libs tempo) */
#include <inttypes.h>
#include <stdio.h>

#include <tempo/time_c.h>

int main(int argc, char** argv) {
  char code[200];
  struct tempo_page* page = tempo_open(argc > 1 ? argv[1] : NULL, code, sizeof code);
  if (page == NULL) {
    fprintf(stderr, "now: %s\n", code);
    return 1;
  }
  const struct tempo_now now = tempo_read(page);
  if (now.status == TEMPO_UNSYNCHRONIZED)
    puts("the network's time is not known");
  else
    printf("%" PRId64 " to %" PRId64 " ns since 1970\n", now.earliest_ns, now.latest_ns);
  tempo_close(page);
  return 0;
}
