/* What tempod knows, from C. cc status.c $(pkg-config --cflags --libs tempo) */
#include <stdio.h>
#include <tempo/daemon_c.h>

int main(int argc, char** argv) {
  char code[200];
  struct tempo_daemon* daemon =
      tempo_daemon_connect(argc > 1 ? argv[1] : NULL, code, sizeof code);
  struct tempo_picture* picture =
      daemon == NULL ? NULL : tempo_daemon_status(daemon, NULL, code, sizeof code);
  if (picture == NULL) {
    fprintf(stderr, "status: %s\n", code);
    return 1;
  }
  printf("%s: master %s; %s\n", tempo_picture_name(picture), tempo_picture_master(picture),
         tempo_picture_locks(picture));
  tempo_picture_free(picture);
  tempo_daemon_close(daemon);
  return 0;
}
