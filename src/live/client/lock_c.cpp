#include "live/client/lock_c.h"

#include <chrono>
#include <utility>

#include "live/client/lock.h"
#include "live/client/sentence_c.h"

struct tempo_locks {
  tempo::Locks locks;
};
struct tempo_lock {
  tempo::Lock lock;
};

extern "C" {

tempo_locks* tempo_locks_connect(const char* socket, char* trouble, unsigned size) {
  auto locks = tempo::Locks::connect(socket == nullptr ? tempo::kDefaultControlSocket : socket);
  if (!locks) {
    tempo::copy_sentence(locks.error().sentence, trouble, size);
    return nullptr;
  }
  return new tempo_locks{std::move(*locks)};
}

void tempo_locks_close(tempo_locks* locks) { delete locks; }

tempo_lock* tempo_lock_take(tempo_locks* locks, const char* name, int shared, std::int64_t wait_ns,
                            tempo_lock_trouble* why, char* trouble, unsigned size) {
  tempo::TakeOptions options{.shared = shared != 0};
  if (wait_ns >= 0) options.wait = std::chrono::nanoseconds{wait_ns};
  auto lock = locks->locks.take(name, options);
  if (!lock) {
    tempo::copy_sentence(lock.error().sentence, trouble, size);
    if (why != nullptr) *why = static_cast<tempo_lock_trouble>(lock.error().trouble);
    return nullptr;
  }
  return new tempo_lock{std::move(*lock)};
}

std::uint64_t tempo_lock_token(const tempo_lock* lock) { return lock->lock.token(); }
std::int64_t tempo_lock_remaining_ns(tempo_lock* lock) { return lock->lock.remaining().count(); }
void tempo_lock_release(tempo_lock* lock) { delete lock; }

}  // extern "C"
