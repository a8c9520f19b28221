#include "daemon/lock_driver.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
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

constexpr const char* kOff =
    "no locks: set 'expect = N' under [locks] in tempo.toml on every machine, where N is the "
    "number of voters";

lock::lease::Rules rules_of(const config::Settings& settings) {
  return {.lease = settings.lock_lease,
          .longest = settings.longest_lease(),
          .drift = Ppb{1'000'000},  // the system clock may be slewed by half of it
          .suppress_replies = true};
}

}  // namespace

void LockDriver::start(EmitEvent emit_event) {
  emit_event_ = std::move(emit_event);
  const config::Settings& settings = parts_.identity->settings;
  if (settings.lock_back_end == config::LockBackEnd::etcd)
    etcd_.emplace(*parts_.loop, settings.etcd_socket,
                  [this](locks::ClientId client, const locks::LockUpdate& update) {
                    this->notify(client, update);
                  });
  if (settings.lock_expect == 0) return;
  const auto record = read_lock_record(settings.state_dir, parts_.identity->host);
  const std::string kernel = sys::kernel_boot_id();
  rebooted_ = record && record->kernel != kernel;
  record_ = record.value_or(LockRecord{.host = parts_.identity->host});
  record_.kernel = kernel;
  bootstrap_.emplace(lock::Bootstrap::Start{
      .self = parts_.codec->self(),
      .expected = settings.lock_expect,
      .saved = record ? proposal_of(record->stage, record->voters) : std::nullopt});
  step_bootstrap([](lock::Bootstrap& bootstrap, auto& turn) { bootstrap.start(turn); });
}

// --- bootstrap of the voters ---

template <class Do>
void LockDriver::step_bootstrap(Do todo) {
  if (!bootstrap_) return;
  Outbox<lock::Bootstrap> out;
  Turn<lock::Bootstrap> turn{sys::boot_clock(), *parts_.draw, out};
  todo(*bootstrap_, turn);
  bool write = false;
  for (const auto& output : out) {
    if (proposals_.pass(output)) carry_out(output);
    if (output.kind != OutputKind::persist) continue;
    const wire::VoterSetBody body = body_of(output.record);
    record_.stage = output.record.stage;
    record_.voters.assign(body.voters.begin(), body.voters.end());
    write = true;
  }
  if (write) save();
}

void LockDriver::carry_out(const Output<lock::Bootstrap>& output) {
  if (output.kind != OutputKind::notice) {
    std::array<std::byte, wire::kMaxBytes> buffer;
    const std::size_t size = parts_.codec->encode(body_of(output.message), buffer);
    if (output.kind == OutputKind::broadcast)
      broadcast_bytes({buffer.data(), size});
    else
      parts_.links->send_anywhere(output.to, {buffer.data(), size});
  } else if (output.notice.kind == lock::Bootstrap::Notice::Kind::committed) {
    on_committed(output.notice.word);
  } else if (!std::exchange(split_, true)) {
    emit_event_("locks-split",
                "another part of this network has different voters; set the same 'expect', more "
                "than half of all machines, on every machine, and remove the file 'locks' from the "
                "state directories of one part");
  }
}

void LockDriver::on_committed(const lock::Bootstrap::VoterProposal& proposal) {
  std::vector<HostId> voters;
  for (const NodeId voter : proposal.voters)
    voters.push_back(parts_.codec->directory().host_of(voter));
  if (record_.stage !=
      LockRecord::Stage::committed) {  // learned from others: this host does not vote
    record_.stage = LockRecord::Stage::committed;
    record_.voters = voters;
  }
  emit_event_("locks-founded",
              fmt::format("voters agreed: {} machines vote on locks", voters.size()));
  service_.emplace(
      locks::Service::Start{
          .self = parts_.identity->host,
          .voters = std::move(voters),
          .hosts = {[this](HostId host) { return parts_.codec->number_of(host); },
                    [this](NodeId number) { return parts_.codec->directory().host_of(number); }},
          .rules = rules_of(parts_.identity->settings),
          .saved = record_.lease,
          .available = parts_.identity->settings.lock_policy == config::LockPolicy::available,
          .rebooted = rebooted_},
      *parts_.draw, static_cast<locks::Driver&>(*this));
  service_->start(sys::boot_clock());
  bounded_delay_.emplace(
      locks::BoundedDelayLocks::Start{
          .self = parts_.identity->host,
          .life = parts_.identity->incarnation,
          .lease = rules_of(parts_.identity->settings),
          .bounds = {.delay_max = parts_.identity->settings.lock_delay_max},
          .name_of = [this](HostId host) { return name_of(host); }},
      sys::boot_clock(), *parts_.draw, static_cast<locks::BoundedDelayDriver&>(*this));
  follow_voters();
}

wire::VoterSetBody LockDriver::body_of(const lock::Bootstrap::VoterProposal& proposal) const {
  wire::VoterSetBody body{.stage = static_cast<wire::VoterSetBody::Stage>(proposal.stage)};
  for (const NodeId voter : proposal.voters)
    body.voters.push_back(parts_.codec->directory().host_of(voter));
  return body;
}

// Unset: more hosts than the directory can hold.
std::optional<lock::Bootstrap::VoterProposal> LockDriver::proposal_of(
    LockRecord::Stage stage, std::span<const HostId> voters) {
  lock::Bootstrap::VoterProposal proposal{.stage = stage};
  for (const HostId voter : voters) {
    const NodeId node = parts_.codec->number_of(voter);
    if (node == kNobody) return std::nullopt;
    proposal.voters.push_back(node);
  }
  return proposal;
}

// --- input from the network ---

void LockDriver::receive(NodeId from, const wire::LockBody& body) {
  if (!service_) return;
  service_->receive(sys::boot_clock(), parts_.codec->directory().host_of(from), body);
  advance_change();
}

void LockDriver::receive(NodeId from, const wire::MutexBody& body) {
  const wire::Directory::Host* host = parts_.codec->directory().find(from);
  if (bounded_delay_) bounded_delay_->receive(sys::boot_clock(), host->id, host->incarnation, body);
}

void LockDriver::receive(NodeId from, const wire::BeatBody& body) {
  const wire::Directory::Host* host = parts_.codec->directory().find(from);
  if (bounded_delay_) bounded_delay_->receive(sys::boot_clock(), host->id, host->incarnation, body);
}

void LockDriver::receive(NodeId from, const wire::VoterSetBody& body) {
  const auto proposal = proposal_of(static_cast<LockRecord::Stage>(body.stage),
                                    {body.voters.begin(), body.voters.end()});
  if (!proposal) return;
  step_bootstrap(
      [&](lock::Bootstrap& bootstrap, auto& turn) { bootstrap.receive(turn, from, *proposal); });
}

// --- time ---

std::optional<Nanos> LockDriver::due_in() const {
  Instant due = kNever;
  if (bootstrap_) due = std::min(due, bootstrap_->timers().first());
  if (service_) due = std::min(due, service_->due());
  if (bounded_delay_) due = std::min(due, bounded_delay_->due());
  if (due == kNever) return std::nullopt;
  return std::max(due - sys::boot_clock(), Nanos{0});
}

void LockDriver::on_timer() {
  const Instant now = sys::boot_clock();
  if (bootstrap_ && bootstrap_->timers().first() <= now)
    step_bootstrap([](lock::Bootstrap& bootstrap, auto& turn) {
      bootstrap.on_timer(turn, bootstrap.timers().first_name());
    });
  if (service_ && service_->due() <= now) service_->on_timer(now);
  if (bounded_delay_ && bounded_delay_->due() <= now) bounded_delay_->on_timer(now);
}

void LockDriver::each_second() {
  if (writing_) ask_parent();  // the message may have been lost
  prefer();
  advance_change();
  if (etcd_) etcd_->each_second();
  ask_again();
}

// --- disk ---

void LockDriver::write(const locks::Saved& saved) {
  pending_lease_ = saved;
  record_.lease = saved;
  save();
}

void LockDriver::save() {
  writing_ = {.number = ++writes_, .text = record_.text()};
  if (parts_.parent != nullptr) return ask_parent();
  const auto done =
      sys::replace_file(lock_record_path(parts_.identity->settings.state_dir), writing_->text);
  if (!done)
    return log_error(fmt::format("no locks: cannot save the lock record: {}", done.error()));
  saved();
}

void LockDriver::ask_parent() {
  parts_.parent->send(fmt::format("{}\t{}\t{}", kWrite, writing_->number, writing_->text));
}

void LockDriver::receive_written(std::string_view number) {
  if (writing_ && parse_number<std::uint64_t>(number) == writing_->number) saved();
}

void LockDriver::saved() {
  writing_.reset();
  while (!proposals_.empty()) {
    const auto done = proposals_.finish(proposals_.oldest().number);
    for (const auto& output : done->held) carry_out(output);
  }
  if (const auto record = std::exchange(pending_lease_, std::nullopt); record && service_)
    service_->written(sys::boot_clock(), *record);
  follow_voters();  // a host without record may have received other voters
}

// --- outputs of the service ---

template <class Body>
void LockDriver::broadcast_body(const Body& body) {
  std::array<std::byte, wire::kMaxBytes> buffer;
  broadcast_bytes({buffer.data(), parts_.codec->encode(body, buffer)});
}

void LockDriver::broadcast(const wire::LockBody& body) { broadcast_body(body); }
void LockDriver::broadcast(const wire::MutexBody& body) { broadcast_body(body); }
void LockDriver::broadcast(const wire::BeatBody& body) { broadcast_body(body); }

// One datagram on all networks: a host on several of them accepts it once.
void LockDriver::broadcast_bytes(std::span<const std::byte> bytes) {
  for (std::uint8_t i = 0; i < parts_.links->count(); ++i)
    if (parts_.links->here(i)) parts_.links->broadcast(i, bytes);
}

template <class Body>
void LockDriver::send_body(HostId to, const Body& body) {
  const wire::Directory::Host* host = parts_.codec->directory().find(to);
  if (host == nullptr) return;
  std::array<std::byte, wire::kMaxBytes> buffer;
  parts_.links->send_anywhere(host->node, {buffer.data(), parts_.codec->encode(body, buffer)});
}

void LockDriver::send(HostId to, const wire::LockBody& body) { send_body(to, body); }
void LockDriver::send(HostId to, const wire::MutexBody& body) { send_body(to, body); }

void LockDriver::notify(locks::ClientId client, const locks::LockUpdate& update) {
  const OnUpdate& receiver = locks::is_group(client) ? on_group_update_ : on_update_;
  if (receiver) receiver(client, update);
}

// --- for the control server ---

Result<void> LockDriver::acquire(const locks::Service::LockRequest& request, locks::LockKind kind) {
  if (etcd_) {
    if (kind != locks::LockKind::lease)
      return std::unexpected("back-end = \"etcd\" supports only locks of kind lease");
    if (request.lease != Nanos{0})
      return std::unexpected(
          "back-end = \"etcd\" uses 'lease-ms' for all leases; do not request another lease time");
    return etcd_->acquire(request);
  }
  if (!service_) return std::unexpected(status());
  if (is_witness())
    return std::unexpected(
        "this machine is the witness: it votes but cannot hold locks; take the lock on one of the "
        "other two");
  const Instant now = sys::boot_clock();
  const bool lease = kind == locks::LockKind::lease;
  if (lease ? bounded_delay_->uses(now, request.name) : service_->uses(now, request.name))
    return std::unexpected(fmt::format(
        "lock '{}' is in use as a {}, or was until recently; use the same kind or another name",
        request.name, lease ? "silent or explicit lock" : "lease"));
  if (lease) return service_->acquire(now, request);
  if (request.lease != Nanos{0})
    return std::unexpected("only a lease can have a lease time; use kind \"lease\"");
  return bounded_delay_->acquire(now, {.client = request.client,
                                       .name = request.name,
                                       .mode = request.mode,
                                       .silent = kind == locks::LockKind::silent});
}

void LockDriver::release(locks::ClientId client) {
  if (etcd_) etcd_->release(client);
  if (service_) service_->release(sys::boot_clock(), client);
  if (bounded_delay_) bounded_delay_->release(sys::boot_clock(), client);
}

std::vector<locks::Known> LockDriver::known() const {
  if (etcd_) return etcd_->known(self());
  if (!service_) return {};
  std::vector<locks::Known> all = service_->known(sys::boot_clock());
  std::ranges::move(bounded_delay_->known(), std::back_inserter(all));
  return all;
}

bool LockDriver::configured() const { return etcd_ || parts_.identity->settings.lock_expect > 0; }

bool LockDriver::serves() const { return service_ && service_->speaks(sys::boot_clock()); }

std::size_t LockDriver::voters_found() const {
  const lock::lease::View& view = service_->view();
  return static_cast<std::size_t>(std::ranges::count_if(view.slots, [&](NodeId voter) {
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
  while (seconds < most.count() && !service_->speaks(now + std::chrono::seconds{seconds}))
    ++seconds;
  return seconds;
}

std::string LockDriver::status() const {
  if (etcd_) return etcd_->status();
  if (!bootstrap_) return kOff;
  if (split_) return "locks are not safe: another part of this network has different voters";
  if (!service_)
    return fmt::format("waiting for voters: {} of {} found", bootstrap_->heard() + 1,
                       parts_.identity->settings.lock_expect);
  const lock::lease::View& view = service_->view();
  if (!service_->running())
    return fmt::format("waiting for voters: {} of {} found", voters_found(),
                       std::popcount(view.voters()));
  if (!serves())
    return fmt::format(
        "no locks for another {} s: leases granted before the restart may still be valid",
        seconds_until_served());
  return locks::lock_status(view,
                            [this](NodeId node) { return name_of_node(*parts_.codec, node); });
}

}  // namespace tempo::daemon
