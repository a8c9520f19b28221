/* Acquires a lock of any kind from C: hold [SOCKET [lease|silent|explicit]].
   cc hold.c $(pkg-config --cflags --libs tempo) */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <tempo/lock_c.h>

static enum tempo_lock_kind kind_of(const char* name) {
  if (strcmp(name, "silent") == 0) return TEMPO_LOCK_SILENT;
  return strcmp(name, "explicit") == 0 ? TEMPO_LOCK_EXPLICIT : TEMPO_LOCK_LEASE;
}

int main(int argc, char** argv) {
  char message[200];
  struct tempo_locks* locks =
      tempo_locks_connect(argc > 1 ? argv[1] : NULL, NULL, message, sizeof message);
  if (locks == NULL) {
    fprintf(stderr, "hold: %s\n", message);
    return 1;
  }
  struct tempo_acquire_options options = tempo_acquire_default_options();
  options.wait_ns = 10000000000;
  options.kind = kind_of(argc > 2 ? argv[2] : "lease");
  const char* name =
      options.kind == TEMPO_LOCK_LEASE ? "held" : "held-without-token"; /* one kind per name */
  struct tempo_lock* lock =
      tempo_lock_acquire(locks, name, &options, NULL, message, sizeof message);
  if (lock == NULL) {
    fprintf(stderr, "hold: %s\n", message);
    return 1;
  }
  printf("token %" PRIu64 ", %" PRId64 " ms remaining\n", tempo_lock_token(lock),
         tempo_lock_remaining_ns(lock) / 1000000);
  tempo_lock_release(lock);
  tempo_locks_close(locks);
  return 0;
}
