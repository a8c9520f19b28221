// The locks of a fake network (fake.h): who has them and who waits, in the order of asking, and
// whoever has them elsewhere because the test says so.
//
// It knows no sockets and no threads: callers are told through a function, times are the network's.
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
  using Caller = const void*;
  struct Options {
    std::chrono::nanoseconds lease{0};
    std::function<std::chrono::nanoseconds()> now;
    std::function<void(Caller, const ipc::LockUpdate&)> notify;
  };
  explicit FakeLocks(Options options) : options_(std::move(options)) {}

  void lock(Caller caller, const ipc::Request& request);
  void unlock(Caller caller, std::int64_t id);
  // Its locks are free.
  void leave(Caller caller);
  // The daemon ends: what the caller has lasts until its deadline.
  void outlive(Caller caller);

  void extend_all(std::chrono::nanoseconds now);
  // Leases that have run out are over, also those of callers that are gone.
  void let_go_of_old();

  void take_elsewhere(const std::string& name, bool shared);
  void free_elsewhere(const std::string& name);
  void lose(const std::string& name);
  // Callers that have it, or that wait for it.
  std::size_t count(const std::string& name, bool inside) const;

 private:
  struct Claim {
    Caller caller = nullptr;  // null: another machine, or one of before a restart
    std::int64_t id = 0;
    bool shared = false;
    bool has_token = true;              // a lease has
    std::chrono::nanoseconds lease{0};  // how long it lasts; 0: as the network's do
    bool inside = false;
    std::uint64_t token = 0;
    std::chrono::nanoseconds until{0};  // inside
    bool elsewhere = false;
  };

  void grant(const std::string& name);
  void end(const Claim& claim) const;
  std::chrono::nanoseconds lease_of(const Claim& claim) const;

  Options options_;
  std::map<std::string, std::vector<Claim>> claims_;  // as many as the test and its programs make
  std::uint64_t last_token_ = 0;
};

}  // namespace tempo
