/* A lock from C, of any kind: hold [SOCKET [lease|silent|explicit]].
   cc hold.c $(pkg-config --cflags --libs tempo) */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <tempo/lock_c.h>

static enum tempo_lock_kind kind_of(const char* word) {
  if (strcmp(word, "silent") == 0) return TEMPO_SILENT;
  return strcmp(word, "explicit") == 0 ? TEMPO_EXPLICIT : TEMPO_LEASE;
}

int main(int argc, char** argv) {
  char code[200];
  struct tempo_locks* locks =
      tempo_locks_connect(argc > 1 ? argv[1] : NULL, code, sizeof code);
  if (locks == NULL) {
    fprintf(stderr, "hold: %s\n", code);
    return 1;
  }
  struct tempo_lock_options options = tempo_lock_default_options();
  options.wait_ns = 10000000000;
  options.kind = kind_of(argc > 2 ? argv[2] : "lease");
  const char* name =
      options.kind == TEMPO_LEASE ? "held" : "held-without-token"; /* a kind, a name */
  struct tempo_lock* lock = tempo_lock_take(locks, name, &options, NULL, code, sizeof code);
  if (lock == NULL) {
    fprintf(stderr, "hold: %s\n", code);
    return 1;
  }
  printf("token %" PRIu64 ", ours for %" PRId64 " ms\n", tempo_lock_token(lock),
         tempo_lock_remaining_ns(lock) / 1000000);
  tempo_lock_release(lock);
  tempo_locks_close(locks);
  return 0;
}
