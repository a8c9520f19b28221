// libtempo: locks that are exclusive across all machines of the cluster.
//
//   auto locks = tempo::Locks::connect();
//   if (!locks) return print_error(locks.error().message);
//   auto lock = locks->acquire("printer");           // waits until this program holds the lock
//   if (!lock) return print_error(lock.error().message);
//   while (work_left && lock->remaining() > step) store.write(data, lock->token());
//
// A program holds a lock for as long as its lease lasts. tempod extends the lease while it can, and
// no other client gets the lock before the lease ends. `remaining` returns the time that is left:
// call it before every step, and start no step that takes longer. There is no function "do I hold
// it": its answer could be outdated before the program reads it. A program can also be stopped
// between the check and the step (by a debugger, or by a migration of its virtual machine). Only
// the resource can protect against that: pass it the token, and let it refuse a token smaller than
// the largest one it has seen.
//
// A Locks is a connection to tempod, on which its Lock objects depend. When tempod restarts, a
// Locks connects again by itself: held leases are resumed with the same token if tempod is back
// before they end, and requests that wait keep their place. This happens in the calls `remaining`,
// `deadline`, `poll` and `acquire`; poll the descriptor, or call `remaining` often. Threads: one
// thread at a time uses a Locks with its locks and pending locks; different Locks are independent.
// Forks: objects made before a fork belong to the parent. In the child nothing is held (`remaining`
// is 0), every call fails, and no destructor releases a lock of the parent; a child that needs
// locks opens its own connection. A child that neither ends nor calls exec keeps the inherited
// connection open: if the parent dies, its locks then last until their leases end or the child
// does.
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

// Protocol of a lock. All clients of one name must use `lease`, or all must use the other two.
enum class LockKind : std::uint8_t {
  lease,             // a lease from a majority of the voters, with a fencing token
  silent,            // silence is consent, while delays stay within locks.delay-max-ms; no token
  explicit_replies,  // every voter must reply; no token
};

struct AcquireOptions {
  bool shared = false;  // held together with other shared holders
  // Longest time to wait; 0: only as long as members need to answer.
  std::chrono::nanoseconds wait = std::chrono::hours{24 * 365};
  LockKind kind = LockKind::lease;
  // Lease time of a lock of kind `lease`; 0: locks.lease-ms. With a longer lease the lock survives
  // longer failures of tempod and the network, and others wait longer if this machine dies.
  std::chrono::nanoseconds lease{0};
  int cancel = -1;  // a descriptor; the wait ends when it is readable; -1: none
};

class LockConnection;

// A held lock: exclusive, or, acquired with `shared`, held together with other shared holders.
class Lock {
 public:
  ~Lock();  // releases the lock
  Lock(Lock&&) noexcept;
  Lock& operator=(Lock&&) noexcept;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  // Fencing token: rises from one exclusive grant of this lock to the next; 0: not a lease.
  std::uint64_t token() const { return token_; }
  // Time for which this program certainly holds the lock; 0: no longer. Reads the updates that
  // have arrived from tempod and does not wait.
  std::chrono::nanoseconds remaining();
  // End of that time, if tempod does not extend the lease again, on CLOCK_BOOTTIME; 0: not held.
  std::chrono::nanoseconds deadline();
  // An operator asks for the lock ('tempo unlock'): finish soon and release it. Reads the updates
  // that have arrived.
  bool is_wanted();
  void release();

 private:
  friend class LockConnection;
  Lock(std::shared_ptr<LockConnection> connection, std::int64_t id, std::uint64_t token);

  std::shared_ptr<LockConnection> connection_;  // null: released
  std::int64_t id_ = 0;
  std::uint64_t token_ = 0;
};

// A lock that was acquired with `shared`, for interfaces whose types should say so.
class SharedLock : public Lock {
 private:
  friend class Locks;
  explicit SharedLock(Lock lock) : Lock(std::move(lock)) {}
};

// A request for a lock that does not block: wait for the descriptor of its Locks with poll(2), then
// call `poll`. The destructor cancels the request.
class PendingLock {
 public:
  ~PendingLock();
  PendingLock(PendingLock&&) noexcept;
  PendingLock& operator=(PendingLock&&) noexcept;
  PendingLock(const PendingLock&) = delete;
  PendingLock& operator=(const PendingLock&) = delete;

  // Reads the updates that have arrived. Returns the lock, once; nullopt while it is not granted;
  // `timed_out` when `timeout` is 0 and it was not granted. After the lock or an error the request
  // is over.
  Expected<std::optional<Lock>, Error> poll();
  // Time until the request times out, for the timeout of poll(2); 0: call `poll` now.
  std::chrono::nanoseconds timeout() const;

 private:
  friend class LockConnection;
  PendingLock(std::shared_ptr<LockConnection> connection, std::int64_t id);

  std::shared_ptr<LockConnection> connection_;  // null: the request is over
  std::int64_t id_ = 0;
};

class Locks {
 public:
  // `timeout`: longest wait for the connection and for tempod to read a request.
  static Expected<Locks, Error> connect(const std::string& socket = kDefaultControlSocket,
                                        std::chrono::nanoseconds timeout = std::chrono::seconds{5});
  ~Locks();
  Locks(Locks&&) noexcept;
  Locks& operator=(Locks&&) noexcept;
  Locks(const Locks&) = delete;
  Locks& operator=(const Locks&) = delete;

  // Waits until this program holds the lock, `options.wait` is over, or `options.cancel` is
  // readable.
  Expected<Lock, Error> acquire(const std::string& name, const AcquireOptions& options = {});
  Expected<SharedLock, Error> acquire_shared(const std::string& name, AcquireOptions options = {});
  // Waits only as long as members need to answer; `timed_out` if the lock is held.
  Expected<Lock, Error> try_acquire(const std::string& name);
  Expected<SharedLock, Error> try_acquire_shared(const std::string& name);
  // Does not wait. Ignores `options.cancel`: destroy the PendingLock to cancel.
  Expected<PendingLock, Error> acquire_async(const std::string& name,
                                             const AcquireOptions& options = {});

  // Readable when an update has arrived; Lock::remaining and PendingLock::poll read it.
  int descriptor() const;
  // The connection to tempod, which changes when tempod restarts. A process that has a copy of it
  // keeps the locks held when this program dies; shutting it down gives them back then.
  int socket() const;

 private:
  friend class FakeNetwork;
  explicit Locks(std::shared_ptr<LockConnection> connection);
  std::shared_ptr<LockConnection> connection_;
};

}  // namespace tempo
