// The requests of the control protocol: one table with the privilege and the handler of each verb.
#pragma once

#include <string>

#include "api/control_protocol.h"
#include "daemon/control/connection.h"
#include "daemon/control/control_server.h"
#include "daemon/control/group_clients.h"
#include "daemon/control/lock_clients.h"
#include "daemon/control/streams.h"
#include "daemon/worker.h"

namespace tempo::daemon {

class Requests : public Answers {
 public:
  explicit Requests(Worker& worker);

  std::string answer(Connection& client, const std::string& line) override;
  // Writes pending answers and the lines of streams; ends the locks and leads of clients that did
  // not connect again in time.
  void serve_streams() override {
    locks_.release_late();
    streams_.serve();
    groups_.withdraw_lost();
  }
  void disconnect(Connection& client) override;

 private:
  using Handler = std::string (Requests::*)(Connection& client, const ipc::Request& request);
  struct Entry {
    Privilege privilege = Privilege::change;
    Handler handler = nullptr;
  };
  static Entry entry_of(ipc::Verb verb);

  std::string ask_other(Connection& client, const ipc::Request& request);
  std::string status(Connection& client, const ipc::Request& request);
  std::string members(Connection& client, const ipc::Request& request);
  std::string now_line();
  std::string now(Connection& client, const ipc::Request& request);
  std::string stream(Connection& client, const ipc::Request& request);
  std::string reelect(Connection& client, const ipc::Request& request);
  std::string set_time(Connection& client, const ipc::Request& request);
  std::string trace(Connection& client, const ipc::Request& request);
  std::string doctor(Connection& client, const ipc::Request& request);
  std::string keys(Connection& client, const ipc::Request& request);
  std::string bootstrap_again(Connection& client, const ipc::Request& request);
  std::string invite(Connection& client, const ipc::Request& request);
  std::string lock(Connection& client, const ipc::Request& request) {
    return locks_.lock(client, request);
  }
  std::string unlock(Connection& client, const ipc::Request& request) {
    return locks_.unlock(client, request);
  }
  std::string resume(Connection& client, const ipc::Request& request) {
    return locks_.resume(client, request);
  }
  std::string list_locks(Connection& /*client*/, const ipc::Request& /*request*/) {
    return locks_.list();
  }
  std::string give_back(Connection& client, const ipc::Request& request) {
    return locks_.give_back(client, request);
  }
  std::string nominate_voters(Connection& client, const ipc::Request& request) {
    return locks_.nominate_voters(client, request);
  }
  std::string change_voters(Connection& client, const ipc::Request& request) {
    return locks_.change_voters(client, request);
  }
  std::string group(Connection& client, const ipc::Request& request) {
    return groups_.answer(client, request);
  }

  Worker* worker_;
  LockClients locks_;
  GroupClients groups_;
  Streams streams_;
};

}  // namespace tempo::daemon
