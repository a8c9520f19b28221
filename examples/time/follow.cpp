// Prints the master, now and at every change, for some seconds.
//
//   follow_example SECONDS [SOCKET]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <tempo/daemon.h>

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("follow_example SECONDS [SOCKET]\n", stderr);
    return 2;
  }
  auto daemon = tempo::Daemon::connect(argc > 2 ? argv[2] : tempo::kDefaultControlSocket);
  if (!daemon) {
    std::fprintf(stderr, "follow_example: %s\n", daemon.error().message.c_str());
    return 1;
  }
  auto watch = daemon->watch();
  if (!watch) {
    std::fprintf(stderr, "follow_example: %s\n", watch.error().message.c_str());
    return 1;
  }
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds{std::atoi(argv[1])};
  std::string master = "?";
  for (;;) {
    const auto update = watch->next(end - Clock::now());
    if (!update) return update.error().code == tempo::ErrorCode::timed_out ? 0 : 1;
    if (update->event) std::printf("%s\n", update->event->text.c_str());
    if (update->status && update->status->master != master) {
      master = update->status->master;
      std::printf("master: %s, %zu members\n", master.empty() ? "none" : master.c_str(),
                  update->status->members.size());
    }
  }
}
