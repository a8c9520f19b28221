// Group requests of the control server: candidates and watches of its clients.
//
// A leader that can resume its lead outlives its connection until its deadline, as a lock does
// (lock_clients.h): its process may still act.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "api/group_requests.h"
#include "daemon/control/client_process.h"
#include "daemon/control/connection.h"
#include "daemon/worker.h"

namespace tempo::daemon {

class GroupClients {
 public:
  explicit GroupClients(Worker& worker);
  ~GroupClients();
  GroupClients(const GroupClients&) = delete;
  GroupClients& operator=(const GroupClients&) = delete;

  // The reply to a group request; empty: it follows later.
  std::string answer(Connection& client, const ipc::Request& request);
  // A client loses its candidates with its connection, but not a lead that it can resume. One that
  // keeps its lease loses it at the last deadline that was reported to it.
  void disconnect(Connection& client);
  // Withdraws the candidates of lost connections whose deadline is over; call it in every round.
  void withdraw_lost();

 private:
  static constexpr std::size_t kMaxElections = 64;  // per connection

  struct Claim {
    Connection* client = nullptr;  // null: the connection is closed, and the process lives
    std::int64_t id = 0;
    std::string group{};
    bool keeps_lease = false;
    lock::lease::Session session{};          // number 0: the client cannot resume
    std::optional<ClientProcess> watched{};  // set with a session
    // Of a lead, for the same client on another connection; term kNoToken: it does not lead.
    groups::Token term = groups::kNoToken;
    HostId origin = kNoHost;
    BootTime until{};       // deadline of the lease, as last reported; over: none
    BootTime told_until{};  // connection closed: the last deadline that the client may know
    bool stops = false;     // it has to stop leading

    void end_lead() {
      term = groups::kNoToken;
      told_until = {};
      if (!keeps_lease) until = {};
      stops = false;
    }
  };

  std::string elect(Connection& client, const ipc::Request& request);
  std::string stand(Connection& client, const ipc::Request& request,
                    const groups::GroupService::Stand& stand, Claim claim);
  std::string resume(Connection& client, const ipc::Request& request,
                     groups::GroupService::Stand stand);
  static ipc::LeadershipUpdate leads(const Claim& claim);
  void withdraw_user(groups::UserId user);
  std::string withdraw(Connection& client, const ipc::Request& request);
  void notify(const groups::LeadershipUpdate& update);
  void notify_change(const std::string& group);
  ipc::GroupView view_of(const groups::Known& known) const;
  ipc::GroupView view_of(const std::string& group) const;
  std::map<groups::UserId, Claim>::iterator find(const Connection& client, std::int64_t id);

  Worker* worker_;
  std::map<groups::UserId, Claim> claims_;
  std::map<Connection*, std::string> watches_;  // name of the watched group
  std::map<groups::UserId, BootTime> lost_;     // candidates of lost connections: withdrawn then
  std::uint32_t last_user_ = 0;
};

}  // namespace tempo::daemon
