// The connection behind a Locks: its held and pending locks and their state.
//
// It belongs to the process that made it; a forked child cannot use it. Its clock is
// CLOCK_BOOTTIME, or the clock of a fake network (fake.h).
//
// If the connection breaks, because tempod restarts, this connects again and continues: held locks
// are resumed until their deadlines, pending requests are repeated with the time they have waited.
// Between attempts the descriptor becomes readable when the next one is due.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

#include "client/client.h"
#include "client/wake_descriptor.h"
#include "tempo/lock.h"

namespace tempo {

class LockConnection {
 public:
  using Clock = std::function<std::chrono::nanoseconds()>;

  // Connects again to this socket.
  LockConnection(client::Client client, std::string socket, std::chrono::nanoseconds timeout);
  // Does not connect again.
  LockConnection(client::Client client, Clock clock);

  // `self` is this connection; the returned objects share its ownership.
  using Self = const std::shared_ptr<LockConnection>&;
  Expected<Lock, Error> acquire(Self self, const std::string& name, const AcquireOptions& options);
  Expected<PendingLock, Error> acquire_async(Self self, const std::string& name,
                                             const AcquireOptions& options);
  Expected<std::optional<Lock>, Error> poll(Self self, std::int64_t id);
  std::chrono::nanoseconds timeout(std::int64_t id) const;
  void release(std::int64_t id);
  std::chrono::nanoseconds deadline(std::int64_t id);
  bool is_wanted(std::int64_t id);
  std::chrono::nanoseconds now() const { return clock_(); }
  int descriptor() const { return events_.number(); }
  int socket() const { return client_.descriptor(); }

 private:
  struct Request {
    std::string name{};
    bool shared = false;
    ipc::LockKind kind = ipc::LockKind::lease;
    std::int64_t lease_ns = 0;
    std::chrono::nanoseconds asked{0};     // when it was made
    std::chrono::nanoseconds wait{0};      // as requested
    std::chrono::nanoseconds wait_end{0};  // when the request times out
    std::optional<std::uint64_t> token{};  // unset: not granted yet
    std::string session{};                 // empty: tempod cannot resume it
    std::chrono::nanoseconds until{0};     // end of the lease; 0: not held
    bool resuming = false;                 // held, and to be resumed on this connection
    bool wanted = false;                   // an operator asks for it
    std::optional<Error> error{};          // why tempod refused it
  };

  // Reads the replies that have arrived, or that arrive within `wait`. Returns false when the
  // connection is unusable.
  bool read_replies(std::chrono::nanoseconds wait);
  void receive(const ipc::Reply& reply);
  void receive_update(Request& request, const ipc::LockUpdate& update);
  bool in_child() const;  // this process is a forked child of the owner
  const Error& closed_error();

  // The connection broke.
  void lose(const Error& error);
  bool worth_reconnecting() const;
  void reconnect();
  void repeat_requests();
  void send_resumes();
  ipc::Request lock_request(std::int64_t id, const Request& request) const;
  ipc::Request resume_request(std::int64_t id, const Request& request) const;

  client::Client client_;
  Clock clock_;
  std::string socket_{};  // empty: does not connect again
  std::chrono::nanoseconds timeout_{0};
  client::WakeDescriptor events_;
  pid_t owner_;
  std::map<std::int64_t, Request> requests_;  // by id; tempod limits their number
  std::int64_t last_id_ = 0;
  std::optional<Error> final_error_;  // the last refusal without an id: tempod may close after it
  std::optional<Error> closed_;       // set: the connection is unusable
  bool broken_ = false;               // it broke, and the next attempt to connect is due later
  bool resumes_wait_ = false;         // locks are to be resumed
  std::chrono::nanoseconds tried_at_{0};  // last attempt to connect again; 0: none
  std::chrono::nanoseconds again_at_{0};  // broken, or resumes wait: time of the next attempt
};

}  // namespace tempo
