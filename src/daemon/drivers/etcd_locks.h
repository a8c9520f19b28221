// The locks of a daemon that keeps them in etcd: a connection to tempo-etcd.
//
// It uses the control protocol (doc/reference/control-protocol.md), one connection for all clients;
// the number of a client is the id of its lock. No call waits. Without a connection, requests are
// refused with a sentence and held locks are lost, because nothing extends them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/control_protocol.h"
#include "base/result.h"
#include "platform/loop.h"
#include "platform/unix_socket.h"
#include "protocol/lock/lock_client.h"

namespace tempo::daemon {

class EtcdLocks {
 public:
  using OnUpdate = std::function<void(const locks::LockUpdate& update)>;
  // `loop` must outlive this object.
  EtcdLocks(sys::Loop& loop, std::string path, HostId self, OnUpdate on_update);
  ~EtcdLocks();
  EtcdLocks(const EtcdLocks&) = delete;
  EtcdLocks& operator=(const EtcdLocks&) = delete;

  // Same contract as NativeLocks.
  static constexpr bool kAnswersQuickly = false;
  static constexpr bool kResumes = false;
  Result<void> acquire(const locks::Acquire& request);
  static Result<void> resume(const locks::Resume& request);
  void release(locks::ClientId client);
  std::vector<locks::Known> known() const;  // only locks of clients on this host
  static bool configured() { return true; }
  std::string status() const;
  static std::string silent_mode() { return ""; }
  static std::vector<std::string> warnings() { return {}; }
  static void retire() {}
  static Result<void> may_begin_again();
  static Result<std::uint64_t> change_voters(std::string_view machine, bool votes);
  static Result<std::uint64_t> nominate_voters(const std::vector<std::string>& machines);
  static std::optional<Result<void>> change_result(std::uint64_t /*number*/) {
    return Result<void>{};
  }
  static void cancel_change(std::uint64_t /*number*/) {}
  void each_second();

 private:
  struct Client {
    std::string name{};
    locks::Mode mode = locks::Mode::exclusive;
    bool inside = false;
    BootTime since{};
    locks::Token token = lock::kNoToken;
    BootTime until{};
  };

  bool connect();
  void receive();
  void receive_line(const std::string& line);
  void receive_update(const ipc::LockUpdate& update);
  void send(const ipc::Request& request);
  void forget(const locks::LockUpdate& update);
  void disconnect();
  void settle();

  sys::Loop* loop_;
  std::string path_;
  HostId self_;
  OnUpdate on_update_;
  std::unique_ptr<sys::LineConnection> line_;  // null: not connected
  std::string status_;                         // last status of tempo-etcd
  std::map<locks::ClientId, Client> clients_;  // bounded by the control server
};

}  // namespace tempo::daemon
