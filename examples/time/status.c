/* What tempod knows, from C. cc status.c $(pkg-config --cflags --libs tempo) */
#include <stdio.h>
#include <tempo/daemon_c.h>

int main(int argc, char** argv) {
  char trouble[200];
  struct tempo_daemon* daemon =
      tempo_daemon_connect(argc > 1 ? argv[1] : NULL, trouble, sizeof trouble);
  struct tempo_picture* picture =
      daemon == NULL ? NULL : tempo_daemon_status(daemon, NULL, trouble, sizeof trouble);
  if (picture == NULL) {
    fprintf(stderr, "status: %s\n", trouble);
    return 1;
  }
  printf("%s: master %s; %s\n", tempo_picture_name(picture), tempo_picture_master(picture),
         tempo_picture_locks(picture));
  tempo_picture_free(picture);
  tempo_daemon_close(daemon);
  return 0;
}
