#include "tempo/lock_c.h"

#include <chrono>
#include <utility>

#include "client/c_error.h"
#include "tempo/lock.h"

struct tempo_locks {
  tempo::Locks locks;
};
struct tempo_lock {
  tempo::Lock lock;
};
struct tempo_pending_lock {
  tempo::PendingLock pending;
};

namespace {

tempo::Expected<tempo::LockKind, tempo::Error> kind_of(tempo_lock_kind kind) {
  switch (kind) {
    case TEMPO_LOCK_LEASE:
      return tempo::LockKind::lease;
    case TEMPO_LOCK_SILENT:
      return tempo::LockKind::silent;
    case TEMPO_LOCK_EXPLICIT:
      return tempo::LockKind::explicit_replies;
  }
  return tempo::Unexpected{
      tempo::Error{tempo::ErrorCode::refused,
                   "unknown lock kind; start from tempo_acquire_default_options() and use "
                   "TEMPO_LOCK_LEASE, TEMPO_LOCK_SILENT or TEMPO_LOCK_EXPLICIT"}};
}

tempo::Expected<tempo::AcquireOptions, tempo::Error> options_of(
    const tempo_acquire_options* given) {
  tempo::AcquireOptions options;
  if (given == nullptr) return options;
  const auto kind = kind_of(given->kind);
  if (!kind) return tempo::Unexpected{kind.error()};
  options.kind = *kind;
  options.lease = std::chrono::nanoseconds{given->lease_ns};
  options.shared = given->shared != 0;
  options.cancel = given->cancel;
  if (given->wait_ns >= 0) options.wait = std::chrono::nanoseconds{given->wait_ns};
  return options;
}

}  // namespace

extern "C" {

tempo_locks* tempo_locks_connect(const char* socket, tempo_error* error, char* message,
                                 unsigned size) {
  auto locks = tempo::Locks::connect(socket == nullptr ? tempo::kDefaultControlSocket : socket);
  if (locks) return new tempo_locks{*std::move(locks)};
  tempo::copy_error(locks.error(), error, message, size);
  return nullptr;
}

void tempo_locks_close(tempo_locks* locks) { delete locks; }
int tempo_locks_descriptor(const tempo_locks* locks) { return locks->locks.descriptor(); }

tempo_acquire_options tempo_acquire_default_options(void) {
  return {.shared = 0, .wait_ns = -1, .cancel = -1, .kind = TEMPO_LOCK_LEASE, .lease_ns = 0};
}

tempo_lock* tempo_lock_acquire(tempo_locks* locks, const char* name,
                               const tempo_acquire_options* options, tempo_error* error,
                               char* message, unsigned size) {
  const auto acquire_options = options_of(options);
  auto lock = acquire_options ? locks->locks.acquire(name, *acquire_options)
                              : tempo::Unexpected{acquire_options.error()};
  if (lock) return new tempo_lock{*std::move(lock)};
  tempo::copy_error(lock.error(), error, message, size);
  return nullptr;
}

std::uint64_t tempo_lock_token(const tempo_lock* lock) { return lock->lock.token(); }
std::int64_t tempo_lock_remaining_ns(tempo_lock* lock) { return lock->lock.remaining().count(); }
std::int64_t tempo_lock_deadline_ns(tempo_lock* lock) { return lock->lock.deadline().count(); }
void tempo_lock_release(tempo_lock* lock) { delete lock; }

tempo_pending_lock* tempo_lock_acquire_async(tempo_locks* locks, const char* name,
                                             const tempo_acquire_options* options,
                                             tempo_error* error, char* message, unsigned size) {
  const auto acquire_options = options_of(options);
  auto pending = acquire_options ? locks->locks.acquire_async(name, *acquire_options)
                                 : tempo::Unexpected{acquire_options.error()};
  if (pending) return new tempo_pending_lock{*std::move(pending)};
  tempo::copy_error(pending.error(), error, message, size);
  return nullptr;
}

int tempo_pending_lock_poll(tempo_pending_lock* pending, tempo_lock** lock, tempo_error* error,
                            char* message, unsigned size) {
  *lock = nullptr;
  auto polled = pending->pending.poll();
  if (!polled) {
    tempo::copy_error(polled.error(), error, message, size);
    return 0;
  }
  if (*polled) *lock = new tempo_lock{**std::move(polled)};
  return 1;
}

std::int64_t tempo_pending_lock_timeout_ns(const tempo_pending_lock* pending) {
  return pending->pending.timeout().count();
}
void tempo_pending_lock_close(tempo_pending_lock* pending) { delete pending; }

}  // extern "C"
