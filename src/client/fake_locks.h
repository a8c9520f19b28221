// The locks of a fake network (fake.h): holders and waiters in the order of their requests, and the
// holders on other machines that the test makes up.
//
// It uses no sockets and no threads: updates go out through a function, and times are those of the
// network's clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/control_protocol.h"

namespace tempo {

class FakeLocks {
 public:
  using Client = const void*;
  struct Options {
    std::chrono::nanoseconds lease{0};
    std::function<std::chrono::nanoseconds()> now;
    std::function<void(Client, const ipc::LockUpdate&)> notify;
  };
  explicit FakeLocks(Options options) : options_(std::move(options)) {}

  void lock(Client client, const ipc::Request& request);
  void unlock(Client client, std::int64_t id);
  // The client disconnected: releases its locks.
  void leave(Client client);
  // The daemon ends: the client's locks last until their deadlines.
  void outlive(Client client);

  void extend_all(std::chrono::nanoseconds now);
  // Ends expired leases, also those of disconnected clients.
  void expire();

  void acquire_elsewhere(const std::string& name, bool shared);
  void release_elsewhere(const std::string& name);
  void lose(const std::string& name);
  // Number of clients that hold the lock, or that wait for it.
  std::size_t count(const std::string& name, bool held) const;

 private:
  struct Claim {
    Client client = nullptr;  // null: on another machine, or from before a restart
    std::int64_t id = 0;
    bool shared = false;
    bool has_token = true;              // the lock is a lease
    std::chrono::nanoseconds lease{0};  // lease time; 0: the network's
    bool held = false;                  // false: it waits
    std::uint64_t token = 0;            // if held; 0: none
    std::chrono::nanoseconds until{0};  // if held: end of the lease
    bool elsewhere = false;             // on another machine, until release_elsewhere
  };

  void grant(const std::string& name);
  void end(const Claim& claim) const;
  std::chrono::nanoseconds lease_of(const Claim& claim) const;

  Options options_;
  std::map<std::string, std::vector<Claim>> claims_;  // by lock; the test bounds their number
  std::uint64_t last_token_ = 0;
};

}  // namespace tempo
