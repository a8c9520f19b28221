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
// their leases end and cannot be extended. Both are for one thread at a time; a forked child must
// not use them.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>

namespace tempo {

inline constexpr const char* kDefaultControlSocket = "/run/tempo/tempod.sock";

enum class LockTrouble : std::uint8_t {
  no_daemon,    // tempod cannot be reached, or is gone
  not_allowed,  // this user may not take locks
  refused,      // the name is bad, there are no locks here, too many wait
  too_late,     // somebody else had it for as long as we were to wait
  cancelled,
};

struct LockFailure {
  LockTrouble trouble = LockTrouble::no_daemon;
  std::string sentence;  // with the cure
};

struct TakeOptions {
  bool shared = false;  // together with others that take it shared
  // How long to wait; 0: only if it can be had at once, as far as members answer within a moment.
  std::chrono::nanoseconds wait = std::chrono::hours{24 * 365};
  int cancel = -1;  // a descriptor: when it can be read, the waiting ends
};

class LockConnection;

class Lock {
 public:
  ~Lock();  // releases it
  Lock(Lock&&) noexcept;
  Lock& operator=(Lock&&) noexcept;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  // Of all grants of this lock that were exclusive, later ones have larger tokens.
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

class Locks {
 public:
  static std::expected<Locks, LockFailure> connect(
      const std::string& socket = kDefaultControlSocket,
      std::chrono::nanoseconds patience = std::chrono::seconds{5});
  ~Locks();
  Locks(Locks&&) noexcept;
  Locks& operator=(Locks&&) noexcept;
  Locks(const Locks&) = delete;
  Locks& operator=(const Locks&) = delete;

  std::expected<Lock, LockFailure> take(const std::string& name, const TakeOptions& options = {});

  // Can be read when there is news of a lock, which `remaining` takes in.
  int descriptor() const;

 private:
  explicit Locks(std::shared_ptr<LockConnection> connection);
  std::shared_ptr<LockConnection> connection_;
};

}  // namespace tempo
