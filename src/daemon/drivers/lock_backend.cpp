#include "daemon/drivers/lock_backend.h"

namespace tempo::daemon {

using groups::GroupService;

void LockBackend::use_etcd(sys::Loop& loop, const std::string& socket, HostId self) {
  used_.emplace<EtcdLocks>(loop, socket, self,
                           [this](const locks::LockUpdate& update) { deliver(update); });
}

void LockBackend::on_notice(const locks::LockService::Notice& notice) {
  auto* native = std::get_if<NativeLocks>(&used_);
  if (native == nullptr) return;
  if (const auto update = native->on_notice(notice)) deliver(*update);
}

// A group of a host without native locks wants its lease.
void LockBackend::on_notice(const GroupService::Acquire& acquire) {
  if (!this->acquire({.client = acquire.client, .name = acquire.lock}))
    host_->command(GroupService::Command{GroupService::LeaseRefused{acquire.client}});
}

// Such locks have no sessions.
void LockBackend::on_notice(const GroupService::Resume& resume) {
  host_->command(GroupService::Command{GroupService::LeaseRefused{resume.client}});
}

void LockBackend::deliver(const locks::LockUpdate& update) {
  using Kind = locks::LockUpdate::Kind;
  counts_.granted += update.kind == Kind::granted ? 1 : 0;
  counts_.lost += update.kind == Kind::lost ? 1 : 0;
  if (update.kind == Kind::refused) {
    ++counts_.refused;
    ++counts_.refused_for[std::to_underlying(update.refusal)];
  }
  if (locks::is_group(update.client))
    host_->command(GroupService::Command{GroupService::LeaseUpdate{update.client, update}});
  else if (on_update_)
    on_update_(update);
}

ipc::LocksView LockBackend::view() const {
  ipc::LocksView view;
  if (const auto* native = std::get_if<NativeLocks>(&used_)) view = native->view();
  view.guarantee = status();
  return view;
}

void LockBackend::set_record_error(const std::string& error) {
  if (auto* native = std::get_if<NativeLocks>(&used_)) native->set_record_error(error);
}

std::string LockBackend::status() const {
  return std::visit(
      [](const auto& used) {
        const std::string mode = used.silent_mode();
        return mode.empty() ? used.status() : used.status() + "; " + mode;
      },
      used_);
}

}  // namespace tempo::daemon
