// Group requests of the control server: candidates and watches of its clients.
//
// A ClientConnection identifies a connection of the control server; lines for it go through
// `write`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "api/group_requests.h"
#include "daemon/group_driver.h"

namespace tempo::daemon {

class GroupClients {
 public:
  using ClientConnection = const void*;
  using Write = std::function<void(ClientConnection client, const std::string& line)>;
  using NameOf = std::function<std::string(HostId host)>;
  GroupClients(GroupDriver& driver, Write write, NameOf name_of);
  ~GroupClients();
  GroupClients(const GroupClients&) = delete;
  GroupClients& operator=(const GroupClients&) = delete;

  // The reply to a group request; empty: it follows later.
  std::string answer(ClientConnection client, const ipc::Request& request);
  // A client loses its candidates with its connection.
  void disconnect(ClientConnection client);

 private:
  static constexpr std::size_t kMaxElections = 64;  // per connection

  struct Claim {
    ClientConnection client = nullptr;
    std::int64_t id = 0;
  };

  std::string elect(ClientConnection client, const ipc::Request& request);
  std::string withdraw(ClientConnection client, const ipc::Request& request);
  void notify(const groups::LeadershipUpdate& update);
  void notify_change(const std::string& group);
  ipc::GroupView view_of(const groups::Known& known) const;
  ipc::GroupView view_of(const std::string& group) const;
  std::map<groups::UserId, Claim>::iterator find(ClientConnection client, std::int64_t id);

  GroupDriver* driver_;
  Write write_;
  NameOf name_of_;
  std::map<groups::UserId, Claim> claims_;
  std::map<ClientConnection, std::string> watches_;  // name of the watched group
  std::uint32_t last_user_ = 0;
};

}  // namespace tempo::daemon
