// Lock requests of the control server: its clients, the locks that they hold or wait for, and
// changes of the voters.
//
// A lock whose client can resume it (it has a session) outlives its connection: the client may
// connect again until its deadline, also to a later tempod. It ends with the process of the client,
// because a process that lives may still use the lock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/control_protocol.h"
#include "daemon/control/client_process.h"
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
  std::string resume(Connection& client, const ipc::Request& request);
  std::string unlock(Connection& client, const ipc::Request& request);
  std::string change_voters(Connection& client, const ipc::Request& request);
  std::string nominate_voters(Connection& client, const ipc::Request& request);
  std::string give_back(Connection& client, const ipc::Request& request);
  std::string list() const;
  // A client without sessions loses its locks with its connection.
  void disconnect(Connection& client);
  // Releases the locks of clients that have not connected again before their deadlines.
  void release_late();

 private:
  // Answers when that change of the voters has ended.
  std::string answer_when_ended(Connection& client, const Result<std::uint64_t>& change);

  static constexpr std::size_t kMaxLocks = 1024;  // per connection

  struct Claim {
    Connection* client = nullptr;  // null: the connection is closed, and the process lives
    std::int64_t id = 0;           // of the lock, chosen by the client
    std::string name{};
    bool shared = false;
    pid_t process = 0;
    lock::lease::Session session{};          // number 0: the client cannot resume
    std::optional<ClientProcess> watched{};  // set with a session
    bool held = false;
    BootTime asked{};     // time of the request
    bool wanted = false;  // an operator asks for it
    // Of a lock that is held, for the same client on another connection.
    locks::Token token = lock::kNoToken;
    HostId origin = kNoHost;
    BootTime until{};
    BootTime told_until{};  // connection closed: the last deadline that the client may know
  };
  using Claims = std::map<locks::ClientId, Claim>;

  locks::ClientId add_claim(Connection& client, const ipc::Request& request);
  static ipc::LockUpdate granted(const Claim& claim);
  Claims::iterator find_session(const lock::lease::Session& session);
  void keep_without_connection(locks::ClientId holder, Claim& claim);
  void move_claim(Claims::iterator found, Connection& client, std::int64_t id);
  void release(locks::ClientId holder);
  void forget(locks::ClientId holder);
  bool held_here(const std::string& name) const;
  bool would_wait_for_itself(Connection& client, const ipc::Request& request) const;
  void notify(const locks::LockUpdate& update);
  ipc::LockView view_of(const locks::Known& known) const;

  Worker* worker_;
  Claims claims_;
  std::map<Connection*, std::map<std::int64_t, locks::ClientId>> holders_;
  std::uint32_t last_client_ = 0;
  std::size_t unconnected_ = 0;  // claims without a connection
};

}  // namespace tempo::daemon
