/* Prints tempod's status from C. cc status.c $(pkg-config --cflags --libs tempo) */
#include <stdio.h>
#include <tempo/daemon_c.h>

int main(int argc, char** argv) {
  char message[200];
  struct tempo_daemon* daemon =
      tempo_daemon_connect(argc > 1 ? argv[1] : NULL, NULL, message, sizeof message);
  struct tempo_status* status =
      daemon == NULL ? NULL : tempo_daemon_status(daemon, NULL, message, sizeof message);
  if (status == NULL) {
    fprintf(stderr, "status: %s\n", message);
    return 1;
  }
  printf("%s: master %s; %s\n", tempo_status_name(status), tempo_status_master(status),
         tempo_status_locks(status));
  tempo_status_free(status);
  tempo_daemon_close(daemon);
  return 0;
}
