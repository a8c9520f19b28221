// The locks of this host for its clients: native or in etcd, chosen once by the settings.
//
// Clients are programs, served by the control server, and groups, whose leases come from here.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "api/metrics/lock_waits.h"
#include "daemon/drivers/etcd_locks.h"
#include "daemon/drivers/native_locks.h"

namespace tempo::daemon {

class LockBackend {
 public:
  explicit LockBackend(const NativeLocks::Parts& parts)
      : host_(parts.host), used_(std::in_place_type<NativeLocks>, parts) {}

  // Replaces the native locks. `loop` must outlive this object.
  void use_etcd(sys::Loop& loop, const std::string& socket, HostId self);

  using OnUpdate = std::function<void(const locks::LockUpdate& update)>;
  void on_update(OnUpdate on_update) { on_update_ = std::move(on_update); }
  void on_notice(const locks::LockService::Notice& notice);
  void on_notice(const groups::GroupService::Acquire& acquire);
  void on_notice(const groups::GroupService::Resume& resume);
  void on_notice(const groups::GroupService::Release& release) { this->release(release.client); }

  // Updates follow, perhaps before this returns. The error says why the client cannot wait.
  Result<void> acquire(const locks::Acquire& request) {
    ++counts_.requested;
    return std::visit([&](auto& used) { return used.acquire(request); }, used_);
  }
  // A client is inside since before a restart; updates follow.
  Result<void> resume(const locks::Resume& request) {
    return std::visit([&](auto& used) { return used.resume(request); }, used_);
  }
  // Whether clients can resume their locks after a restart.
  bool resumes() const {
    return std::visit([](const auto& used) { return used.kResumes; }, used_);
  }
  void release(locks::ClientId client) {
    std::visit([&](auto& used) { used.release(client); }, used_);
  }
  bool answers_quickly() const {
    return std::visit([](const auto& used) { return used.kAnswersQuickly; }, used_);
  }
  std::vector<locks::Known> known() const {
    return std::visit([](const auto& used) { return used.known(); }, used_);
  }
  // Updates to the clients of this host, groups included.
  struct Counts {
    std::uint64_t requested = 0;
    std::uint64_t granted = 0;
    std::uint64_t lost = 0;
    std::uint64_t refused = 0;
    std::array<std::uint64_t, std::to_underlying(locks::Refusal::count)> refused_for{};
    obs::LockWaits waits{};  // of programs
  };
  const Counts& counts() const { return counts_; }
  void record_wait(Nanos wait) { counts_.waits.record(wait); }
  bool configured() const {
    return std::visit([](const auto& used) { return used.configured(); }, used_);
  }
  // For `tempo doctor`; etcd has doctors of its own.
  LockHealth health() const {
    const auto* native = std::get_if<NativeLocks>(&used_);
    return native != nullptr ? native->health() : LockHealth{};
  }
  // In one or two sentences; includes how silent locks are decided if they are used.
  std::string status() const;
  // The state of locks without the locks themselves.
  ipc::LocksView view() const;
  // Why the lock record cannot be written; empty: it can.
  void set_record_error(const std::string& error);

  // As in NativeLocks.
  std::vector<std::string> warnings() const {
    return std::visit([](const auto& used) { return used.warnings(); }, used_);
  }
  Result<void> may_begin_again() const {
    return std::visit([](const auto& used) { return used.may_begin_again(); }, used_);
  }
  void retire() {
    std::visit([](auto& used) { used.retire(); }, used_);
  }
  Result<std::uint64_t> change_voters(std::string_view machine, bool votes) {
    return std::visit([&](auto& used) { return used.change_voters(machine, votes); }, used_);
  }
  Result<std::uint64_t> nominate_voters(const std::vector<std::string>& machines) {
    return std::visit([&](auto& used) { return used.nominate_voters(machines); }, used_);
  }
  std::optional<Result<void>> change_result(std::uint64_t number) const {
    return std::visit([&](const auto& used) { return used.change_result(number); }, used_);
  }
  void cancel_change(std::uint64_t number) {
    std::visit([&](auto& used) { used.cancel_change(number); }, used_);
  }
  void each_second() {
    std::visit([](auto& used) { used.each_second(); }, used_);
  }

 private:
  void deliver(const locks::LockUpdate& update);

  HostRuntime* host_;
  OnUpdate on_update_;
  Counts counts_;
  std::variant<NativeLocks, EtcdLocks> used_;
};

}  // namespace tempo::daemon
