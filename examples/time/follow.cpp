// Says who is master, now and at every change, for some seconds.
//
//   follow_example SECONDS [SOCKET]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <tempo/daemon.h>

int main(int count, char** words) {
  if (count < 2) {
    std::fputs("follow_example SECONDS [SOCKET]\n", stderr);
    return 2;
  }
  auto daemon = tempo::Daemon::connect(count > 2 ? words[2] : tempo::kDefaultControlSocket);
  if (!daemon) {
    std::fprintf(stderr, "follow_example: %s\n", daemon.error().sentence.c_str());
    return 1;
  }
  auto watch = daemon->watch();
  if (!watch) {
    std::fprintf(stderr, "follow_example: %s\n", watch.error().sentence.c_str());
    return 1;
  }
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds{std::atoi(words[1])};
  std::string master = "?";
  for (;;) {
    const auto news = watch->next(end - Clock::now());
    if (!news) return news.error().code == tempo::ErrorCode::too_late ? 0 : 1;
    if (news->event) std::printf("%s\n", news->event->text.c_str());
    if (news->status && news->status->master != master) {
      master = news->status->master;
      std::printf("master: %s, %zu members\n", master.empty() ? "none" : master.c_str(),
                  news->status->members.size());
    }
  }
}
