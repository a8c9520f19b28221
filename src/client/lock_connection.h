// The connection behind Locks, its locks and its wishes, and what is known of each.
//
// It belongs to the process that made it: after a fork the child can do nothing with it. Its clock
// is the machine's, except where a test has one of its own (fake.h).
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
#include "tempo/lock.h"

namespace tempo {

class LockConnection {
 public:
  using Clock = std::function<std::chrono::nanoseconds()>;

  explicit LockConnection(client::Client client);
  LockConnection(client::Client client, Clock clock);

  // `self` is this connection, for what is to live on it.
  using Self = const std::shared_ptr<LockConnection>&;
  Expected<Lock, Error> acquire(Self self, const std::string& name, const AcquireOptions& options);
  Expected<PendingLock, Error> acquire_async(Self self, const std::string& name,
                                             const AcquireOptions& options);
  Expected<std::optional<Lock>, Error> look(Self self, std::int64_t id);
  std::chrono::nanoseconds timeout(std::int64_t id) const;
  void release(std::int64_t id);
  std::chrono::nanoseconds deadline(std::int64_t id);
  std::chrono::nanoseconds now() const { return clock_(); }
  int descriptor() const { return client_.descriptor(); }

 private:
  struct Known {
    std::string name{};
    std::chrono::nanoseconds wait{0};      // as it was asked for
    std::chrono::nanoseconds last{0};      // when waiting is over
    std::optional<std::uint64_t> token{};  // nothing: it is waited for
    std::chrono::nanoseconds until{0};
    std::optional<Error> error{};
  };

  // Takes in what has come, or comes within `wait`. False: nothing can come any more.
  bool listen(std::chrono::nanoseconds wait);
  void receive(const ipc::Reply& reply);
  bool foreign() const;  // this is a child of the process that it belongs to
  const Error& why_gone();

  client::Client client_;
  Clock clock_;
  pid_t owner_;
  std::map<std::int64_t, Known> known_;  // tempod bounds how many it grants or lets wait
  std::int64_t last_id_ = 0;
  std::optional<Error> farewell_;  // the last that was said of the connection
  std::optional<Error> gone_;
};

}  // namespace tempo
