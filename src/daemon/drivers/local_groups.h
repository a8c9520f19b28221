// The groups for the clients of this host: requests go to the machine (groups::GroupService), its
// notices become updates, events and sentences for users. Groups require locks.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "daemon/drivers/event_log.h"
#include "daemon/drivers/host_clock.h"
#include "daemon/drivers/transport.h"
#include "protocol/group/service.h"

namespace tempo::daemon {

class LocalGroups {
 public:
  using Service = groups::GroupService;

  // All must outlive the groups. `why_none` says why this host has no groups.
  struct Parts {
    const Transport* transport = nullptr;
    HostRuntime* host = nullptr;
    EventLog* events = nullptr;
    std::function<std::string()> why_none{};
  };
  explicit LocalGroups(Parts parts) : parts_(std::move(parts)) {}

  using OnUpdate = std::function<void(const groups::LeadershipUpdate& update)>;
  using OnChange = std::function<void(const std::string& group)>;
  void on_update(OnUpdate on_update) { on_update_ = std::move(on_update); }
  void on_change(OnChange on_change) { on_change_ = std::move(on_change); }

  void command(const Service::Command& command) { parts_.host->command(command); }
  // A command that the service may refuse; the error says why.
  Result<void> request(const Service::Command& command);
  std::vector<groups::Known> known() const;
  std::optional<groups::Known> known(std::string_view group) const;

  void on_notice(const groups::LeadershipUpdate& update);
  void on_notice(const Service::LeaderChanged& changed);
  void on_notice(const groups::AlgorithmReplaced& replaced);
  void on_notice(const groups::Refused& refused) { refused_ = refused; }

 private:
  const Service* service() const { return parts_.host->machine().groups(); }

  Parts parts_;
  OnUpdate on_update_;
  OnChange on_change_;
  std::optional<groups::Refused> refused_;  // set if the service refused the last request
};

}  // namespace tempo::daemon
