#include "tempo/daemon_c.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "client/sentence_c.h"
#include "tempo/daemon.h"

struct tempo_daemon {
  tempo::Daemon daemon;
};
struct tempo_watch {
  tempo::Watch watch;
};
struct tempo_picture {
  tempo::Status status;
};

namespace {

std::int64_t since_1970(tempo::NetworkTime time) { return time.time_since_epoch().count(); }

}  // namespace

extern "C" {

tempo_daemon* tempo_daemon_connect(const char* socket, char* code, unsigned size) {
  auto daemon = tempo::Daemon::connect(socket == nullptr ? tempo::kDefaultControlSocket : socket);
  if (daemon) return new tempo_daemon{*std::move(daemon)};
  tempo::copy_sentence(daemon.error().sentence, code, size);
  return nullptr;
}

void tempo_daemon_close(tempo_daemon* daemon) { delete daemon; }

tempo_picture* tempo_daemon_status(tempo_daemon* daemon, tempo_error* why, char* code,
                                   unsigned size) {
  auto status = daemon->daemon.status();
  if (status) return new tempo_picture{*std::move(status)};
  tempo::copy_failure(status.error(), why, code, size);
  return nullptr;
}

tempo_watch* tempo_daemon_watch(tempo_daemon* daemon, tempo_error* why, char* code, unsigned size) {
  auto watch = daemon->daemon.watch();
  if (watch) return new tempo_watch{*std::move(watch)};
  tempo::copy_failure(watch.error(), why, code, size);
  return nullptr;
}

tempo_picture* tempo_watch_next(tempo_watch* watch, std::int64_t wait_ns, int cancel,
                                tempo_error* why, char* code, unsigned size) {
  using Clock = std::chrono::steady_clock;
  const std::chrono::nanoseconds wait{wait_ns};
  const Clock::time_point begin = Clock::now();
  for (;;) {
    const std::chrono::nanoseconds left = wait - (Clock::now() - begin);
    auto news = watch->watch.next(std::max(left, left.zero()), cancel);
    if (!news) {
      tempo::copy_failure(news.error(), why, code, size);
      return nullptr;
    }
    if (news->status) return new tempo_picture{*std::move(news->status)};
  }
}

int tempo_watch_descriptor(const tempo_watch* watch) { return watch->watch.descriptor(); }
void tempo_watch_close(tempo_watch* watch) { delete watch; }

const char* tempo_picture_name(const tempo_picture* picture) {
  return picture->status.name.c_str();
}
const char* tempo_picture_master(const tempo_picture* picture) {
  return picture->status.master.c_str();
}
const char* tempo_picture_locks(const tempo_picture* picture) {
  return picture->status.locks.c_str();
}
const char* tempo_picture_json(const tempo_picture* picture) {
  return picture->status.json.c_str();
}

tempo_now tempo_picture_now(const tempo_picture* picture) {
  const tempo::Now& now = picture->status.now;
  return {.earliest_ns = since_1970(now.earliest),
          .latest_ns = since_1970(now.latest),
          .time_ns = since_1970(now.time),
          .status = static_cast<tempo_status>(now.status)};
}

void tempo_picture_free(tempo_picture* picture) { delete picture; }

}  // extern "C"
