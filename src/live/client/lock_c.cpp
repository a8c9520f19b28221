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
struct tempo_wish {
  tempo::Wish wish;
};

namespace {

tempo::TakeOptions options_of(const tempo_lock_options* given) {
  tempo::TakeOptions options;
  if (given == nullptr) return options;
  options.shared = given->shared != 0;
  options.cancel = given->cancel;
  if (given->wait_ns >= 0) options.wait = std::chrono::nanoseconds{given->wait_ns};
  return options;
}

}  // namespace

extern "C" {

tempo_locks* tempo_locks_connect(const char* socket, char* trouble, unsigned size) {
  auto locks = tempo::Locks::connect(socket == nullptr ? tempo::kDefaultControlSocket : socket);
  if (locks) return new tempo_locks{*std::move(locks)};
  tempo::copy_sentence(locks.error().sentence, trouble, size);
  return nullptr;
}

void tempo_locks_close(tempo_locks* locks) { delete locks; }
int tempo_locks_descriptor(const tempo_locks* locks) { return locks->locks.descriptor(); }

tempo_lock_options tempo_lock_default_options(void) {
  return {.shared = 0, .wait_ns = -1, .cancel = -1};
}

tempo_lock* tempo_lock_take(tempo_locks* locks, const char* name, const tempo_lock_options* options,
                            tempo_trouble* why, char* trouble, unsigned size) {
  auto lock = locks->locks.take(name, options_of(options));
  if (lock) return new tempo_lock{*std::move(lock)};
  tempo::copy_failure(lock.error(), why, trouble, size);
  return nullptr;
}

std::uint64_t tempo_lock_token(const tempo_lock* lock) { return lock->lock.token(); }
std::int64_t tempo_lock_remaining_ns(tempo_lock* lock) { return lock->lock.remaining().count(); }
std::int64_t tempo_lock_deadline_ns(tempo_lock* lock) { return lock->lock.deadline().count(); }
void tempo_lock_release(tempo_lock* lock) { delete lock; }

tempo_wish* tempo_lock_want(tempo_locks* locks, const char* name, const tempo_lock_options* options,
                            tempo_trouble* why, char* trouble, unsigned size) {
  auto wish = locks->locks.want(name, options_of(options));
  if (wish) return new tempo_wish{*std::move(wish)};
  tempo::copy_failure(wish.error(), why, trouble, size);
  return nullptr;
}

int tempo_wish_look(tempo_wish* wish, tempo_lock** lock, tempo_trouble* why, char* trouble,
                    unsigned size) {
  *lock = nullptr;
  auto looked = wish->wish.look();
  if (!looked) {
    tempo::copy_failure(looked.error(), why, trouble, size);
    return 0;
  }
  if (*looked) *lock = new tempo_lock{**std::move(looked)};
  return 1;
}

std::int64_t tempo_wish_patience_ns(const tempo_wish* wish) {
  return wish->wish.patience().count();
}
void tempo_wish_drop(tempo_wish* wish) { delete wish; }

}  // extern "C"
