#include "tempo/lock_c.h"

#include <chrono>
#include <utility>

#include "client/sentence_c.h"
#include "tempo/lock.h"

struct tempo_locks {
  tempo::Locks locks;
};
struct tempo_lock {
  tempo::Lock lock;
};
struct tempo_wish {
  tempo::PendingLock pending;
};

namespace {

tempo::Expected<tempo::LockKind, tempo::Error> kind_of(tempo_lock_kind kind) {
  switch (kind) {
    case TEMPO_LEASE:
      return tempo::LockKind::lease;
    case TEMPO_SILENT:
      return tempo::LockKind::silent;
    case TEMPO_EXPLICIT:
      return tempo::LockKind::explicit_replies;
  }
  return tempo::Unexpected{
      tempo::Error{tempo::ErrorCode::refused,
                   "a lock's kind is TEMPO_LEASE, TEMPO_SILENT or TEMPO_EXPLICIT; set "
                   "tempo_lock_default_options() first"}};
}

tempo::Expected<tempo::AcquireOptions, tempo::Error> options_of(const tempo_lock_options* given) {
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

tempo_locks* tempo_locks_connect(const char* socket, char* code, unsigned size) {
  auto locks = tempo::Locks::connect(socket == nullptr ? tempo::kDefaultControlSocket : socket);
  if (locks) return new tempo_locks{*std::move(locks)};
  tempo::copy_sentence(locks.error().sentence, code, size);
  return nullptr;
}

void tempo_locks_close(tempo_locks* locks) { delete locks; }
int tempo_locks_descriptor(const tempo_locks* locks) { return locks->locks.descriptor(); }

tempo_lock_options tempo_lock_default_options(void) {
  return {.shared = 0, .wait_ns = -1, .cancel = -1, .kind = TEMPO_LEASE, .lease_ns = 0};
}

tempo_lock* tempo_lock_take(tempo_locks* locks, const char* name, const tempo_lock_options* options,
                            tempo_error* why, char* code, unsigned size) {
  const auto how = options_of(options);
  auto lock = how ? locks->locks.acquire(name, *how) : tempo::Unexpected{how.error()};
  if (lock) return new tempo_lock{*std::move(lock)};
  tempo::copy_failure(lock.error(), why, code, size);
  return nullptr;
}

std::uint64_t tempo_lock_token(const tempo_lock* lock) { return lock->lock.token(); }
std::int64_t tempo_lock_remaining_ns(tempo_lock* lock) { return lock->lock.remaining().count(); }
std::int64_t tempo_lock_deadline_ns(tempo_lock* lock) { return lock->lock.deadline().count(); }
void tempo_lock_release(tempo_lock* lock) { delete lock; }

tempo_wish* tempo_lock_want(tempo_locks* locks, const char* name, const tempo_lock_options* options,
                            tempo_error* why, char* code, unsigned size) {
  const auto how = options_of(options);
  auto pending = how ? locks->locks.acquire_async(name, *how) : tempo::Unexpected{how.error()};
  if (pending) return new tempo_wish{*std::move(pending)};
  tempo::copy_failure(pending.error(), why, code, size);
  return nullptr;
}

int tempo_wish_look(tempo_wish* pending, tempo_lock** lock, tempo_error* why, char* code,
                    unsigned size) {
  *lock = nullptr;
  auto looked = pending->pending.look();
  if (!looked) {
    tempo::copy_failure(looked.error(), why, code, size);
    return 0;
  }
  if (*looked) *lock = new tempo_lock{**std::move(looked)};
  return 1;
}

std::int64_t tempo_wish_patience_ns(const tempo_wish* pending) {
  return pending->pending.timeout().count();
}
void tempo_wish_drop(tempo_wish* pending) { delete pending; }

}  // extern "C"
