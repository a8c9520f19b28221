#include "daemon/group_driver.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "daemon/control/daemon_view.h"
#include "platform/clocks/boot_clock.h"

namespace tempo::daemon {

void GroupDriver::start(EmitEvent emit_event) {
  emit_event_ = std::move(emit_event);
  if (!parts_.locks->configured()) return;
  service_.emplace(
      groups::Service::Start{
          .self = parts_.codec->self(),
          .life = parts_.identity->incarnation,
          .hosts = {[this](HostId host) { return parts_.codec->number_of(host); },
                    [this](NodeId node) { return parts_.codec->directory().host_of(node); }},
          .rules = {.lease = parts_.identity->settings.lock_lease},
          .node_keys = parts_.identity->node_keys.get()},
      *parts_.draw, static_cast<groups::Driver&>(*this));
  parts_.locks->on_group_update([this](locks::ClientId client, const locks::LockUpdate& update) {
    lock_updates_.emplace_back(client, update);
  });
}

// --- time ---

groups::Moment GroupDriver::moment() {
  const node::Reading reading = parts_.reading();
  using Status = node::Reading::Status;
  const bool known = reading.status == Status::synchronized || reading.status == Status::leads;
  return {.now = sys::boot_clock(),
          .network = Instant{reading.time.time_since_epoch()},
          .trusted = known && reading.latest - reading.time <= service_->bounds().largest_error()};
}

std::optional<Nanos> GroupDriver::due_in() {
  if (!service_) return std::nullopt;
  if (!lock_updates_.empty()) return Nanos{0};
  return service_->due_in(moment());
}

void GroupDriver::on_timer() {
  if (!service_) return;
  receive_locks();
  const groups::Moment now = moment();
  if (const auto due = service_->due_in(now); due && *due <= Nanos{0}) service_->on_timer(now);
  receive_locks();
}

// An update may make a group request its lock, which may be granted immediately.
bool GroupDriver::receive_locks() {
  for (int i = 0; i < kMaxLockUpdates && !lock_updates_.empty(); ++i) {
    const auto [client, update] = lock_updates_.front();
    lock_updates_.pop_front();
    service_->receive_lock(moment(), client, update);
  }
  return lock_updates_.empty();
}

void GroupDriver::receive(NodeId from, const wire::GroupBody& body) {
  if (service_) service_->receive(moment(), parts_.codec->directory().host_of(from), body);
}

// --- outputs of the service ---

void GroupDriver::broadcast(const wire::GroupBody& body) {
  std::array<std::byte, wire::kMaxBytes> buffer;
  const std::span<const std::byte> bytes{buffer.data(), parts_.codec->encode(body, buffer)};
  for (std::uint8_t i = 0; i < parts_.links->count(); ++i)
    if (parts_.links->here(i)) parts_.links->broadcast(i, bytes);
}

void GroupDriver::send(HostId to, const wire::GroupBody& body) {
  const wire::Directory::Host* host = parts_.codec->directory().find(to);
  if (host == nullptr) return;
  std::array<std::byte, wire::kMaxBytes> buffer;
  parts_.links->send_anywhere(host->node, {buffer.data(), parts_.codec->encode(body, buffer)});
}

Result<void> GroupDriver::acquire(locks::ClientId client, const std::string& name) {
  const auto network = moment().network.time_since_epoch();
  return parts_.locks->acquire({.client = client,
                                .name = name,
                                .network_us = static_cast<std::uint64_t>(
                                    std::max<std::int64_t>(network.count() / 1000, 0))});
}

void GroupDriver::release(locks::ClientId client) { parts_.locks->release(client); }

void GroupDriver::notify(groups::UserId user, const groups::LeadershipUpdate& update) {
  if (on_update_) on_update_(user, update);
}

void GroupDriver::changed(const std::string& group) {
  const auto known = service_->known(group);
  const wire::Directory::Host* leader =
      known ? parts_.codec->directory().find(known->leader) : nullptr;
  if (leader != nullptr && known->leader != kNoHost)
    emit_event_("leader-changed", fmt::format("{}: {} leads, term {}", group,
                                              name_of_node(*parts_.codec, leader->node),
                                              std::to_underlying(known->term)));
  else
    emit_event_("leader-gone", fmt::format("{}: no known leader", group));
  if (on_change_) on_change_(group);
}

void GroupDriver::not_as_wanted(const std::string& group, const std::string& sentence) {
  emit_event_("election-by-c", fmt::format("{}: {}", group, sentence));
}

// --- for the control server ---

Result<void> GroupDriver::stand(const groups::Service::Candidacy& candidacy) {
  if (!service_) return std::unexpected(parts_.locks->status());
  return service_->stand(moment(), candidacy);
}

void GroupDriver::offer(groups::UserId user, groups::Capacity capacity) {
  if (service_) service_->offer(moment(), user, capacity);
}

void GroupDriver::stopped(groups::UserId user) {
  if (service_) service_->stopped(moment(), user);
}

void GroupDriver::withdraw(groups::UserId user, bool job_done) {
  if (service_) service_->withdraw(moment(), user, job_done);
}

Result<void> GroupDriver::resign(std::string_view group) {
  if (!service_) return std::unexpected(parts_.locks->status());
  return service_->resign(moment(), group);
}

std::vector<groups::Known> GroupDriver::known() const {
  return service_ ? service_->known() : std::vector<groups::Known>{};
}

std::optional<groups::Known> GroupDriver::known(std::string_view group) const {
  return service_ ? service_->known(group) : std::nullopt;
}

}  // namespace tempo::daemon
