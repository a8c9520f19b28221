// Drives the group service: gives it messages, requests and the answers of locks, and carries out
// its outputs.
//
// Groups require locks. Answers of locks reach the service in the next `on_timer`, which the worker
// calls at the end of every round.
#pragma once

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

class GroupDriver {
 public:
  using Service = groups::GroupService;

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
  using OnUpdate = std::function<void(const groups::LeadershipUpdate& update)>;
  using OnChange = std::function<void(const std::string& group)>;
  void on_update(OnUpdate on_update) { on_update_ = std::move(on_update); }
  void on_change(OnChange on_change) { on_change_ = std::move(on_change); }
  void command(const Service::Command& command);
  // A command that the service may refuse; the error says why.
  Result<void> request(const Service::Command& command);
  std::vector<groups::Known> known() const;
  std::optional<groups::Known> known(std::string_view group) const;
  HostId self() const { return parts_.identity->host; }

 private:
  template <class Do>
  void step(Do todo);
  void carry_out(const Output<Service>& output);
  void on_notice(const groups::LeadershipUpdate& update);
  void on_notice(const Service::Acquire& acquire);
  void on_notice(const Service::Release& release);
  void on_notice(const Service::LeaderChanged& changed);
  void on_notice(const groups::AlgorithmReplaced& replaced);
  void on_notice(const groups::Refused& refused);
  groups::NetworkClock clock(Instant now) const;
  void receive_locks();

  static constexpr int kMaxLockAnswers = 16;  // most answers of locks handled in one round

  Parts parts_;
  EmitEvent emit_event_;
  OnUpdate on_update_;
  OnChange on_change_;
  std::deque<Service::Command> lock_answers_;  // a few per local group
  std::optional<groups::Refused> refused_;     // set if the service refused the last request
  Outbox<Service> out_;
  std::optional<Service> service_;  // set if locks are configured
};

}  // namespace tempo::daemon
