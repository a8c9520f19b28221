// Lock requests of the control server: its clients, the locks that they hold or wait for, and
// changes of the voters.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "api/control_protocol.h"
#include "daemon/control/connection.h"
#include "daemon/worker.h"

namespace tempo::daemon {

class LockClients {
 public:
  explicit LockClients(Worker& worker);
  ~LockClients();
  LockClients(const LockClients&) = delete;
  LockClients& operator=(const LockClients&) = delete;

  // The reply to a request; empty: it follows later.
  std::string lock(Connection& client, const ipc::Request& request);
  std::string unlock(Connection& client, const ipc::Request& request);
  std::string change_voters(Connection& client, const ipc::Request& request);
  std::string give_back(Connection& client, const ipc::Request& request);
  std::string list() const;
  // A client loses its locks with its connection.
  void disconnect(Connection& client);

 private:
  static constexpr std::size_t kMaxLocks = 1024;  // per connection

  struct Claim {
    Connection* client = nullptr;
    std::int64_t id = 0;  // of the lock, chosen by the client
    std::string name{};
    bool shared = false;
    bool held = false;
    BootTime asked{};  // time of the request
  };

  void forget(locks::ClientId holder);
  bool held_here(const std::string& name) const;
  bool would_wait_for_itself(Connection& client, const ipc::Request& request) const;
  void notify(const locks::LockUpdate& update);
  ipc::LockView view_of(const locks::Known& known) const;

  Worker* worker_;
  std::map<locks::ClientId, Claim> claims_;
  std::map<Connection*, std::map<std::int64_t, locks::ClientId>> holders_;
  std::uint32_t last_client_ = 0;
};

}  // namespace tempo::daemon
