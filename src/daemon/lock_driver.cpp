#include "daemon/lock_driver.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include <fmt/core.h>

#include "base/number_text.h"
#include "daemon/control/daemon_view.h"
#include "daemon/log.h"
#include "platform/clocks/boot_clock.h"
#include "platform/whole_file.h"
#include "protocol/lock/lock_status.h"

namespace tempo::daemon {
namespace {

constexpr std::size_t kMaxRecordBytes = 4096;
constexpr const char* kOff =
    "no locks: set 'expect = N' under [locks] in tempo.toml on every machine, where N is the "
    "number of voters";

lock::lease::Rules rules_of(const config::Settings& settings) {
  return {.lease = settings.lock_lease,
          .longest = settings.longest_lease(),
          .drift = Ppb{1'000'000},  // the system clock may be slewed by half of it
          .suppress_replies = true};
}

locks::BoundsMonitor::Rules bounds_of(const config::Settings& settings) {
  return {.delay_max = settings.lock_delay_max};
}

lock::lease::TwoNode policy_of(config::LockPolicy policy) {
  using lock::lease::TwoNode;
  switch (policy) {
    case config::LockPolicy::strict:
      return TwoNode::strict;
    case config::LockPolicy::witness:
      return TwoNode::witness;
    case config::LockPolicy::preferred:
      return TwoNode::preferred;
    case config::LockPolicy::available:
      return TwoNode::available;
  }
  return TwoNode::strict;
}

// A lost message is sent again; without an extension the client stops at its deadline.
bool may_be_lost(const Output<locks::LockService>& output) {
  if (output.kind == OutputKind::persist) return false;
  if (output.kind != OutputKind::notice) return true;
  const auto* update = std::get_if<locks::LockUpdate>(&output.notice);
  return update != nullptr && update->kind == locks::LockUpdate::Kind::extended;
}

}  // namespace

std::string lock_record_path(const std::string& state_dir) { return state_dir + "/locks"; }

std::optional<locks::LockRecord> read_lock_record(const std::string& state_dir, HostId host) {
  const auto record =
      locks::parse_lock_record(sys::read_file(lock_record_path(state_dir), kMaxRecordBytes));
  if (!record || record->host != host) return std::nullopt;
  return record;
}

void LockDriver::start(EmitEvent emit_event) {
  emit_event_ = std::move(emit_event);
  const config::Settings& settings = parts_.identity->settings;
  if (settings.lock_back_end == config::LockBackEnd::etcd)
    etcd_.emplace(*parts_.loop, settings.etcd_socket,
                  [this](locks::ClientId client, const locks::LockUpdate& update) {
                    this->notify(client, update);
                  });
  if (settings.lock_expect == 0) return;
  service_.emplace(
      Service::Start{.self = parts_.identity->host,
                     .life = parts_.identity->incarnation,
                     .hosts = &parts_.codec->directory(),
                     .expected = settings.lock_expect,
                     .rules = rules_of(settings),
                     .bounds = bounds_of(settings),
                     .policy = policy_of(settings.lock_policy),
                     .policy_host = settings.lock_policy_host,
                     .is_policy_host = settings.lock_policy_host == parts_.identity->name,
                     .kernel = sys::kernel_boot_id(),
                     .record = read_lock_record(settings.state_dir, parts_.identity->host)});
  step([](Service& service, Turn<Service>& turn) { service.start(turn); });
}

// --- inputs ---

template <class Do>
void LockDriver::step(Do todo) {
  if (!service_) return;
  outbox_.clear();
  Turn<Service> turn{sys::boot_clock(), *parts_.draw, outbox_};
  todo(*service_, turn);
  bool writes = false;
  for (const Output<Service>& output : outbox_) {
    if (writes_.held() >= kMaxHeld && may_be_lost(output)) continue;
    if (writes_.pass(output)) carry_out(output);
    writes |= output.kind == OutputKind::persist;
  }
  if (writes) write();
}

void LockDriver::command(const Service::Command& command) {
  step([&](Service& service, Turn<Service>& turn) { service.command(turn, command); });
}

void LockDriver::receive_message(NodeId from, const Service::Message& message) {
  step([&](Service& service, Turn<Service>& turn) { service.receive(turn, from, message); });
}

void LockDriver::receive(NodeId from, const wire::LockBody& body) { receive_message(from, body); }

void LockDriver::receive(NodeId from, const wire::VoterSetBody& body) {
  receive_message(from, body);
}

void LockDriver::receive(NodeId from, const wire::MutexBody& body) {
  const Incarnation sender = parts_.codec->directory().find(from)->incarnation;
  receive_message(from, locks::BoundedDelayLocks::Message{sender, body});
}

void LockDriver::receive(NodeId from, const wire::BeatBody& body) {
  const Incarnation sender = parts_.codec->directory().find(from)->incarnation;
  receive_message(from, locks::BoundedDelayLocks::Message{sender, body});
}

std::optional<Nanos> LockDriver::due_in() const {
  const Instant due = service_ ? service_->timers().first() : kNever;
  if (due == kNever) return std::nullopt;
  return std::max(due - sys::boot_clock(), Nanos{0});
}

void LockDriver::on_timer() {
  if (!service_ || service_->timers().first() > sys::boot_clock()) return;
  step([](Service& service, Turn<Service>& turn) {
    service.on_timer(turn, service.timers().first_name());
  });
}

void LockDriver::each_second() {
  if (!writes_.empty()) write();  // the message to the parent may have been lost
  if (etcd_) etcd_->each_second();
}

// --- disk ---

// The newest record replaces those before it.
void LockDriver::write() {
  const auto& newest = writes_.newest();
  const std::string text = newest.record.text();
  if (parts_.parent != nullptr) {
    parts_.parent->send(fmt::format("{}\t{}\t{}", kWrite, newest.number, text));
    return;
  }
  const auto done = sys::replace_file(lock_record_path(parts_.identity->settings.state_dir), text);
  if (!done)
    return log_error(fmt::format("no locks: cannot save the lock record: {}", done.error()));
  finish_writes(newest.number);
}

void LockDriver::receive_written(std::string_view number) {
  if (const auto written = parse_number<std::uint64_t>(number)) finish_writes(*written);
}

void LockDriver::finish_writes(std::uint64_t number) {
  while (const auto done = writes_.finish(number)) {
    for (const Output<Service>& output : done->held) carry_out(output);
    command(Service::persisted(done->record));
  }
}

// --- outputs ---

void LockDriver::carry_out(const Output<Service>& output) {
  if (output.kind == OutputKind::notice)
    return std::visit([this](const auto& notice) { on_notice(notice); }, output.notice);
  std::array<std::byte, wire::kMaxBytes> buffer;
  const auto encode = [&](const auto& body) { return parts_.codec->encode(body, buffer); };
  std::size_t size = 0;
  if (const auto* voters = std::get_if<wire::VoterSetBody>(&output.message))
    size = encode(*voters);
  else if (const auto* lock = std::get_if<wire::LockBody>(&output.message))
    size = encode(*lock);
  else
    size = std::visit(encode, std::get<locks::BoundedDelayLocks::Message>(output.message).body);
  const std::span<const std::byte> bytes{buffer.data(), size};
  if (output.kind == OutputKind::send) {
    parts_.links->send_anywhere(output.to, bytes);
    return;
  }
  // One datagram on all networks: a host on several of them accepts it once.
  for (std::uint8_t i = 0; i < parts_.links->count(); ++i)
    if (parts_.links->here(i)) parts_.links->broadcast(i, bytes);
}

void LockDriver::on_notice(const locks::LockUpdate& update) {
  if (update.kind != locks::LockUpdate::Kind::refused) return notify(update.client, update);
  locks::LockUpdate refused = update;
  refused.sentence = update.refusal == locks::Refusal::no_voters
                         ? status()
                         : locks::refusal_text(update.refusal, update.lock,
                                               parts_.identity->settings.longest_lease());
  if (asking_ == update.client && !refused.sentence.empty())
    refused_ = refused.sentence;
  else
    notify(update.client, refused);
}

void LockDriver::on_notice(const Service::VotersAgreed& agreed) {
  emit_event_("locks-founded",
              fmt::format("voters agreed: {} machines vote on locks", agreed.voters));
}

void LockDriver::on_notice(const Service::VotersChanged& /*changed*/) {
  emit_event_("locks-voters", fmt::format("voters are now {}: {}", names_of_voters(), status()));
}

void LockDriver::on_notice(const Service::Split& /*split*/) {
  emit_event_("locks-split",
              "another part of this network has different voters; set the same 'expect', more than "
              "half of all machines, on every machine, and remove the file 'locks' from the state "
              "directories of one part");
}

void LockDriver::notify(locks::ClientId client, const locks::LockUpdate& update) {
  const OnUpdate& receiver = locks::is_group(client) ? on_group_update_ : on_update_;
  if (receiver) receiver(client, update);
}

// --- for the control server ---

Result<void> LockDriver::acquire(const locks::Acquire& request) {
  if (etcd_) {
    if (request.kind != locks::LockKind::lease)
      return std::unexpected("back-end = \"etcd\" supports only locks of kind lease");
    if (request.lease != Nanos{0})
      return std::unexpected(
          "back-end = \"etcd\" uses 'lease-ms' for all leases; do not request another lease time");
    return etcd_->acquire(request);
  }
  if (!service_) return std::unexpected(status());
  asking_ = request.client;
  command(request);
  asking_.reset();
  if (auto refused = std::exchange(refused_, std::nullopt)) return std::unexpected(*refused);
  return {};
}

void LockDriver::release(locks::ClientId client) {
  if (etcd_) etcd_->release(client);
  command(locks::Release{client});
}

std::vector<locks::Known> LockDriver::known() const {
  if (etcd_) return etcd_->known(self());
  return service_ ? service_->known(sys::boot_clock()) : std::vector<locks::Known>{};
}

bool LockDriver::configured() const { return etcd_ || parts_.identity->settings.lock_expect > 0; }

bool LockDriver::serves() const { return service_ && service_->serves(sys::boot_clock()); }

std::size_t LockDriver::voters_found() const {
  return static_cast<std::size_t>(std::ranges::count_if(service_->view().slots, [&](NodeId voter) {
    const wire::Directory::Host* host = parts_.codec->directory().find(voter);
    return voter != kNobody && (voter == parts_.codec->self() || (host != nullptr && host->heard));
  }));
}

// The longest wait is a lease that was granted just before the restart.
std::int64_t LockDriver::seconds_until_served() const {
  const Instant now = sys::boot_clock();
  const auto most =
      std::chrono::ceil<std::chrono::seconds>(2 * parts_.identity->settings.longest_lease());
  std::int64_t seconds = 1;
  while (seconds < most.count() && !service_->serves(now + std::chrono::seconds{seconds}))
    ++seconds;
  return seconds;
}

std::string LockDriver::status() const {
  if (etcd_) return etcd_->status();
  if (!service_) return kOff;
  if (service_->split())
    return "locks are not safe: another part of this network has different voters";
  if (!service_->committed())
    return fmt::format("waiting for voters: {} of {} found", service_->heard() + 1,
                       parts_.identity->settings.lock_expect);
  const lock::lease::View& view = service_->view();
  if (!service_->running())
    return fmt::format("waiting for voters: {} of {} found", voters_found(),
                       std::popcount(view.voters()));
  if (!serves())
    return fmt::format(
        "no locks for another {} s: leases granted before the restart may still be valid",
        seconds_until_served());
  return locks::lock_status(view, name_of_node(*parts_.codec, locks::needed_voter(view)));
}

std::string LockDriver::silent_mode() const {
  const locks::BoundedDelayLocks* silent = service_ ? service_->bounded_delay() : nullptr;
  const auto why = silent != nullptr ? silent->why() : std::nullopt;
  if (!why) return "";
  return locks::silent_mode_text(*why, bounds_of(parts_.identity->settings),
                                 name_of(silent->member(*why)));
}

}  // namespace tempo::daemon
