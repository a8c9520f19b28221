// libtempo: locks that are one for the whole network.
//
//   auto locks = tempo::Locks::connect();
//   if (!locks) return complain(locks.error().sentence);
//   auto lock = locks->take("printer");              // waits until it is this program's
//   if (!lock) return complain(lock.error().sentence);
//   while (work_left && lock->remaining() > step) store.write(data, lock->token());
//
// A lock is held for as long as its lease lasts; tempod extends the lease while all is well, and
// nobody else has the lock before it ends. `remaining` says how long that is: ask before every
// step, and plan no step that takes longer. There is no "do I have it", for the answer could be old
// before it is read. Against being stopped between the asking and the step (by a debugger, a host
// that moves a virtual machine) only the resource can help: give it the token, and let it refuse
// one that is smaller than the largest it has seen.
//
// A Locks is a connection to tempod and its Lock's live on it; when tempod is gone, they last until
// their leases end and cannot be extended. Threads: a Locks, its locks and its wishes are for one
// thread at a time; different Locks do not know of each other. Forks: what was made before a fork
// belongs to the parent. In the child nothing is held (`remaining` is 0), every call fails with a
// sentence, and no destructor releases what the parent has; a child that wants locks connects anew.
// A child that neither ends nor calls exec keeps the connection open: if the parent dies, its locks
// then last until their leases end, or the child does.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tempo/error.h"
#include "tempo/expected.h"

namespace tempo {

// How a lock is agreed on; all who use a name use a lease, or all do not.
enum class LockKind : std::uint8_t {
  lease,             // a majority's lease, with a fencing token
  silent,            // silence is consent, while delays are as tempod's settings say; no token
  explicit_replies,  // every machine that votes has to reply; no token
};

struct AcquireOptions {
  bool shared = false;  // together with others that take it shared
  // How long to wait; 0: only if it can be had at once, as far as members answer within a moment.
  std::chrono::nanoseconds wait = std::chrono::hours{24 * 365};
  LockKind kind = LockKind::lease;
  // Of a lease: how long it is, 0: as long as the network's. A longer one outlasts longer troubles
  // of tempod and the network, and whoever waits for a machine that dies waits longer.
  std::chrono::nanoseconds lease{0};
  int cancel = -1;  // a descriptor: when it can be read, the waiting ends
};

class LockConnection;

// A lock that is held: by nobody else, or, taken with `shared`, by others that took it so.
class Lock {
 public:
  ~Lock();  // releases it
  Lock(Lock&&) noexcept;
  Lock& operator=(Lock&&) noexcept;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  // Of all grants of this lock that were exclusive, later ones have larger tokens; 0: it is not a
  // lease, and has none.
  std::uint64_t token() const { return token_; }
  // How long the lock is certainly this program's; 0: not any more. Never more than before without
  // asking tempod: it reads what has come from it, and waits for nothing.
  std::chrono::nanoseconds remaining();
  // When that ends if tempod extends it no more, on CLOCK_BOOTTIME.
  std::chrono::nanoseconds deadline();
  void release();

 private:
  friend class LockConnection;
  Lock(std::shared_ptr<LockConnection> connection, std::int64_t id, std::uint64_t token);

  std::shared_ptr<LockConnection> connection_;  // null: released
  std::int64_t id_ = 0;
  std::uint64_t token_ = 0;
};

// One that is certainly held shared, where the type is to say so.
class SharedLock : public Lock {
 private:
  friend class Locks;
  explicit SharedLock(Lock lock) : Lock(std::move(lock)) {}
};

// A lock that is waited for without waiting: poll the descriptor of its Locks, and look. Whoever
// drops it waits no longer.
class PendingLock {
 public:
  ~PendingLock();
  PendingLock(PendingLock&&) noexcept;
  PendingLock& operator=(PendingLock&&) noexcept;
  PendingLock(const PendingLock&) = delete;
  PendingLock& operator=(const PendingLock&) = delete;

  // Takes in what has come. The lock, once; nothing, as long as there is none. Too late when
  // `patience` is 0 and there was none, or after a failure: then the wish is over.
  Expected<std::optional<Lock>, Error> look();
  // How much longer it is worth to wait, for the timeout of a poll; 0: look now.
  std::chrono::nanoseconds timeout() const;

 private:
  friend class LockConnection;
  PendingLock(std::shared_ptr<LockConnection> connection, std::int64_t id);

  std::shared_ptr<LockConnection> connection_;  // null: it is over
  std::int64_t id_ = 0;
};

class Locks {
 public:
  static Expected<Locks, Error> connect(const std::string& socket = kDefaultControlSocket,
                                        std::chrono::nanoseconds timeout = std::chrono::seconds{5});
  ~Locks();
  Locks(Locks&&) noexcept;
  Locks& operator=(Locks&&) noexcept;
  Locks(const Locks&) = delete;
  Locks& operator=(const Locks&) = delete;

  // Waits until it is had, `options.wait` is over, or `options.cancel` can be read.
  Expected<Lock, Error> acquire(const std::string& name, const AcquireOptions& options = {});
  Expected<SharedLock, Error> acquire_shared(const std::string& name, AcquireOptions options = {});
  // Only if it can be had at once: too late otherwise.
  Expected<Lock, Error> try_acquire(const std::string& name);
  Expected<SharedLock, Error> try_acquire_shared(const std::string& name);
  // Waits for nothing; `options.cancel` is not looked at, dropping the wish does it.
  Expected<PendingLock, Error> acquire_async(const std::string& name,
                                             const AcquireOptions& options = {});

  // Can be read when there is news of a lock, which `remaining` and `look` take in.
  int descriptor() const;

 private:
  friend class FakeNetwork;
  explicit Locks(std::shared_ptr<LockConnection> connection);
  std::shared_ptr<LockConnection> connection_;
};

}  // namespace tempo
