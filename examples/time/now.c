/* Reads network time from C. cc now.c $(pkg-config --cflags --libs tempo) */
#include <inttypes.h>
#include <stdio.h>
#include <tempo/time_c.h>

int main(int argc, char** argv) {
  char message[200];
  struct tempo_time_page* page =
      tempo_time_page_open(argc > 1 ? argv[1] : NULL, NULL, message, sizeof message);
  if (page == NULL) {
    fprintf(stderr, "now: %s\n", message);
    return 1;
  }
  const struct tempo_now now = tempo_time_page_now(page);
  if (now.status == TEMPO_TIME_UNSYNCHRONIZED)
    puts("network time is unknown");
  else
    printf("%" PRId64 " to %" PRId64 " ns since 1970\n", now.earliest_ns, now.latest_ns);
  tempo_time_page_close(page);
  return 0;
}
