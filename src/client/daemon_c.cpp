#include "tempo/daemon_c.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "client/c_error.h"
#include "client/c_now.h"
#include "tempo/daemon.h"

struct tempo_daemon {
  tempo::Daemon daemon;
};
struct tempo_watch {
  tempo::Watch watch;
};
struct tempo_status {
  tempo::Status status;
};

extern "C" {

tempo_daemon* tempo_daemon_connect(const char* socket, tempo_error* error, char* message,
                                   unsigned size) {
  auto daemon = tempo::Daemon::connect(socket == nullptr ? tempo::kDefaultControlSocket : socket);
  if (daemon) return new tempo_daemon{*std::move(daemon)};
  tempo::copy_error(daemon.error(), error, message, size);
  return nullptr;
}

void tempo_daemon_close(tempo_daemon* daemon) { delete daemon; }

tempo_status* tempo_daemon_status(tempo_daemon* daemon, tempo_error* error, char* message,
                                  unsigned size) {
  auto status = daemon->daemon.status();
  if (status) return new tempo_status{*std::move(status)};
  tempo::copy_error(status.error(), error, message, size);
  return nullptr;
}

tempo_watch* tempo_daemon_watch(tempo_daemon* daemon, tempo_error* error, char* message,
                                unsigned size) {
  auto watch = daemon->daemon.watch();
  if (watch) return new tempo_watch{*std::move(watch)};
  tempo::copy_error(watch.error(), error, message, size);
  return nullptr;
}

tempo_status* tempo_watch_next(tempo_watch* watch, std::int64_t wait_ns, int cancel,
                               tempo_error* error, char* message, unsigned size) {
  using Clock = std::chrono::steady_clock;
  const std::chrono::nanoseconds wait{wait_ns};
  const Clock::time_point begin = Clock::now();
  for (;;) {
    const std::chrono::nanoseconds left = wait - (Clock::now() - begin);
    auto update = watch->watch.next(std::max(left, left.zero()), cancel);
    if (!update) {
      tempo::copy_error(update.error(), error, message, size);
      return nullptr;
    }
    if (update->status) return new tempo_status{*std::move(update->status)};
  }
}

int tempo_watch_descriptor(const tempo_watch* watch) { return watch->watch.descriptor(); }
void tempo_watch_close(tempo_watch* watch) { delete watch; }

const char* tempo_status_name(const tempo_status* status) { return status->status.name.c_str(); }
const char* tempo_status_master(const tempo_status* status) {
  return status->status.master.c_str();
}
const char* tempo_status_locks(const tempo_status* status) { return status->status.locks.c_str(); }
const char* tempo_status_json(const tempo_status* status) { return status->status.json.c_str(); }

tempo_now tempo_status_now(const tempo_status* status) { return tempo::c_now(status->status.now); }

void tempo_status_free(tempo_status* status) { delete status; }

}  // extern "C"
