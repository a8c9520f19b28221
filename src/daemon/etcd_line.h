// The line to tempo-etcd, for a daemon whose locks are kept by an etcd
// (doc/internals/decisions/024).
//
// It speaks what programs speak to tempod itself (doc/reference/control-protocol.md), for all of
// them over one connection; a client's number is the id. Nothing here waits: without a line what is
// wanted is refused with a sentence, and what was had is lost, as nobody extends it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/control_protocol.h"
#include "base/result.h"
#include "platform/loop.h"
#include "platform/unix_socket.h"
#include "protocol/lock/lock_service.h"

namespace tempo::daemon {

class EtcdLine {
 public:
  using OnUpdate = std::function<void(locks::ClientId client, const locks::LockUpdate& update)>;
  // The loop must outlive it.
  EtcdLine(sys::Loop& loop, std::string path, OnUpdate on_update);
  ~EtcdLine();
  EtcdLine(const EtcdLine&) = delete;
  EtcdLine& operator=(const EtcdLine&) = delete;

  // As locks::Service has them.
  Result<void> acquire(const locks::Service::LockRequest& request);
  void release(locks::ClientId client);
  std::vector<locks::Known> known(HostId self) const;  // of this host's clients alone

  std::string status() const;  // one sentence for users
  void each_second();

 private:
  struct Client {
    std::string name{};
    locks::Mode mode = locks::Mode::exclusive;
    bool inside = false;
    Instant since{};
    locks::Token token = lock::kNoToken;
    Instant until{};
  };

  bool connect();
  void receive();
  void receive_line(const std::string& line);
  void receive_news(const ipc::LockUpdate& update);
  void send(const ipc::Request& request);
  void forget(locks::ClientId client, const locks::LockUpdate& update);
  void break_off();
  void settle();

  sys::Loop* loop_;
  std::string path_;
  OnUpdate on_update_;
  std::unique_ptr<sys::LineConnection> line_;  // null: there is none
  std::string status_;                         // last status of tempo-etcd
  std::map<locks::ClientId, Client> clients_;  // the door bounds them
};

}  // namespace tempo::daemon
