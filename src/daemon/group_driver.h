// Connects the group service to locks, network and control server.
//
// Groups require locks. Updates of locks reach a group in the next `on_timer`, which the worker
// calls at the end of every round.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "daemon/daemon_identity.h"
#include "daemon/links.h"
#include "daemon/lock_driver.h"
#include "protocol/group/service.h"
#include "protocol/sync/sync.h"
#include "protocol/wire/codec.h"

namespace tempo::daemon {

class GroupDriver final : private groups::Driver {
 public:
  // All must outlive the driver.
  struct Parts {
    const DaemonIdentity* identity = nullptr;
    wire::Codec* codec = nullptr;
    Links* links = nullptr;
    Draw* draw = nullptr;
    LockDriver* locks = nullptr;
    std::function<node::Reading()> reading{};  // reads network time
  };
  explicit GroupDriver(Parts parts) : parts_(std::move(parts)) {}

  using EmitEvent = std::function<void(std::string what, std::string details)>;
  void start(EmitEvent emit_event);

  void receive(NodeId from, const wire::GroupBody& body);
  std::optional<Nanos> due_in();  // unset: no deadline
  void on_timer();

  // --- for the control server ---
  using OnUpdate = std::function<void(groups::UserId user, const groups::LeadershipUpdate& update)>;
  using OnChange = std::function<void(const std::string& group)>;
  void on_update(OnUpdate on_update) { on_update_ = std::move(on_update); }
  void on_change(OnChange on_change) { on_change_ = std::move(on_change); }
  Result<void> stand(const groups::Service::Candidacy& candidacy);
  void offer(groups::UserId user, groups::Capacity capacity);
  void stopped(groups::UserId user);
  void withdraw(groups::UserId user, bool job_done = false);
  Result<void> resign(std::string_view group);
  std::vector<groups::Known> known() const;
  std::optional<groups::Known> known(std::string_view group) const;
  HostId self() const { return parts_.identity->host; }

 private:
  void broadcast(const wire::GroupBody& body) override;
  void send(HostId to, const wire::GroupBody& body) override;
  Result<void> acquire(locks::ClientId client, const std::string& name) override;
  void release(locks::ClientId client) override;
  void notify(groups::UserId user, const groups::LeadershipUpdate& update) override;
  void changed(const std::string& group) override;
  void not_as_wanted(const std::string& group, const std::string& sentence) override;

  groups::Moment moment();
  bool receive_locks();

  static constexpr int kMaxLockUpdates = 16;  // most lock updates handled in one round

  Parts parts_;
  EmitEvent emit_event_;
  OnUpdate on_update_;
  OnChange on_change_;
  std::deque<std::pair<locks::ClientId, locks::LockUpdate>> lock_updates_;  // a few per local group
  std::optional<groups::Service> service_;
};

}  // namespace tempo::daemon
