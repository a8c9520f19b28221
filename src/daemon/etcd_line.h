// Connection to tempo-etcd, for a daemon that keeps its locks in etcd
//
// It uses the control protocol (doc/reference/control-protocol.md), one connection for all clients;
// the number of a client is the id of its lock. No call waits. Without a connection, requests are
// refused with a sentence and held locks are lost, because nothing extends them.
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
#include "protocol/lock/lock_client.h"

namespace tempo::daemon {

class EtcdLine {
 public:
  using OnUpdate = std::function<void(locks::ClientId client, const locks::LockUpdate& update)>;
  // `loop` must outlive this object.
  EtcdLine(sys::Loop& loop, std::string path, OnUpdate on_update);
  ~EtcdLine();
  EtcdLine(const EtcdLine&) = delete;
  EtcdLine& operator=(const EtcdLine&) = delete;

  // Same contract as LockDriver.
  Result<void> acquire(const locks::Acquire& request);
  void release(locks::ClientId client);
  std::vector<locks::Known> known(HostId self) const;  // only locks of clients on this host

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
  void receive_update(const ipc::LockUpdate& update);
  void send(const ipc::Request& request);
  void forget(locks::ClientId client, const locks::LockUpdate& update);
  void disconnect();
  void settle();

  sys::Loop* loop_;
  std::string path_;
  OnUpdate on_update_;
  std::unique_ptr<sys::LineConnection> line_;  // null: not connected
  std::string status_;                         // last status of tempo-etcd
  std::map<locks::ClientId, Client> clients_;  // bounded by the control server
};

}  // namespace tempo::daemon
