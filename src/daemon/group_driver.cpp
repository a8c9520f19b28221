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
  service_.emplace(Service::Start{.self = parts_.codec->self(),
                                  .life = parts_.identity->incarnation,
                                  .hosts = &parts_.codec->directory(),
                                  .rules = {.lease = parts_.identity->settings.lock_lease},
                                  .node_keys = parts_.identity->node_keys.get()});
  parts_.locks->on_group_update([this](locks::ClientId client, const locks::LockUpdate& update) {
    lock_answers_.emplace_back(Service::LeaseUpdate{client, update});
  });
  step([](Service& service, auto& turn) { service.start(turn); });
}

// --- inputs ---

template <class Do>
void GroupDriver::step(Do todo) {
  const Instant now = sys::boot_clock();
  out_.clear();
  Turn<Service> turn{now, *parts_.draw, out_};
  service_->command(turn, clock(now));
  todo(*service_, turn);
  for (const Output<Service>& output : out_) carry_out(output);
}

groups::NetworkClock GroupDriver::clock(Instant now) const {
  const node::Reading reading = parts_.reading();
  using Status = node::Reading::Status;
  const bool known = reading.status == Status::synchronized || reading.status == Status::leads;
  return {.offset = reading.time.time_since_epoch() - now.time_since_epoch(),
          .trusted = known && reading.latest - reading.time <= service_->bounds().largest_error()};
}

void GroupDriver::receive(NodeId from, const wire::GroupBody& body) {
  if (service_) step([&](Service& service, auto& turn) { service.receive(turn, from, body); });
}

std::optional<Nanos> GroupDriver::due_in() {
  if (!service_) return std::nullopt;
  if (!lock_answers_.empty()) return Nanos{0};
  const Instant due = service_->timers().first();
  if (due == kNever) return std::nullopt;
  return std::max(due - sys::boot_clock(), Nanos{0});
}

void GroupDriver::on_timer() {
  if (!service_) return;
  receive_locks();
  if (const auto due = first_due(service_->timers(), sys::boot_clock()))
    step([&](Service& service, auto& turn) { service.on_timer(turn, *due); });
  receive_locks();
}

// An answer may make a group request its lock, which may be granted immediately.
void GroupDriver::receive_locks() {
  for (int i = 0; i < kMaxLockAnswers && !lock_answers_.empty(); ++i) {
    const Service::Command answer = std::move(lock_answers_.front());
    lock_answers_.pop_front();
    command(answer);
  }
}

// --- outputs of the service ---

void GroupDriver::carry_out(const Output<Service>& output) {
  if (output.kind == OutputKind::notice)
    return std::visit([this](const auto& notice) { on_notice(notice); }, output.notice);
  std::array<std::byte, wire::kMaxBytes> buffer;
  const std::span<const std::byte> bytes{buffer.data(),
                                         parts_.codec->encode(output.message, buffer)};
  if (output.kind == OutputKind::send) {
    parts_.links->send_anywhere(output.to, bytes);
    return;
  }
  for (std::uint8_t i = 0; i < parts_.links->count(); ++i)
    if (parts_.links->here(i)) parts_.links->broadcast(i, bytes);
}

void GroupDriver::on_notice(const groups::LeadershipUpdate& update) {
  if (on_update_) on_update_(update);
}

void GroupDriver::on_notice(const Service::Acquire& acquire) {
  const Nanos network = parts_.reading().time.time_since_epoch();
  const auto requested =
      parts_.locks->acquire({.client = acquire.client,
                             .name = acquire.lock,
                             .network_us = static_cast<std::uint64_t>(
                                 std::max<std::int64_t>(network.count() / 1000, 0))});
  if (!requested) lock_answers_.emplace_back(Service::LeaseRefused{acquire.client});
}

void GroupDriver::on_notice(const Service::Release& release) {
  parts_.locks->release(release.client);
}

void GroupDriver::on_notice(const Service::LeaderChanged& changed) {
  const auto known = service_->known(changed.group);
  const wire::Directory::Host* leader =
      known ? parts_.codec->directory().find(known->leader) : nullptr;
  if (leader != nullptr)
    emit_event_("leader-changed", fmt::format("{}: {} leads, term {}", changed.group,
                                              name_of_node(*parts_.codec, leader->node),
                                              std::to_underlying(known->term)));
  else
    emit_event_("leader-gone", fmt::format("{}: no known leader", changed.group));
  if (on_change_) on_change_(changed.group);
}

void GroupDriver::on_notice(const groups::AlgorithmReplaced& replaced) {
  emit_event_("election-by-c",
              fmt::format("{}: {}", replaced.group, groups::sentence_of(replaced)));
}

void GroupDriver::on_notice(const groups::Refused& refused) { refused_ = refused; }

// --- for the control server ---

void GroupDriver::command(const Service::Command& command) {
  if (service_) step([&](Service& service, auto& turn) { service.command(turn, command); });
}

Result<void> GroupDriver::request(const Service::Command& command) {
  if (!service_) return std::unexpected(parts_.locks->status());
  refused_.reset();
  this->command(command);
  if (refused_) return std::unexpected(groups::sentence_of(*refused_));
  return {};
}

std::vector<groups::Known> GroupDriver::known() const {
  return service_ ? service_->known() : std::vector<groups::Known>{};
}

std::optional<groups::Known> GroupDriver::known(std::string_view group) const {
  return service_ ? service_->known(group) : std::nullopt;
}

}  // namespace tempo::daemon
