#include "daemon/drivers/etcd_locks.h"

#include <optional>

#include <fmt/core.h>

#include "platform/clocks/boot_clock.h"

namespace tempo::daemon {

using locks::ClientId;
using locks::LockUpdate;

namespace {

constexpr int kMaxLinesPerRound = 256;

std::int64_t id_of(ClientId client) {
  return static_cast<std::int64_t>(std::to_underlying(client));
}

}  // namespace

EtcdLocks::EtcdLocks(sys::Loop& loop, std::string path, HostId self, OnUpdate on_update)
    : loop_(&loop), path_(std::move(path)), self_(self), on_update_(std::move(on_update)) {
  connect();
}

EtcdLocks::~EtcdLocks() {
  if (line_ != nullptr) loop_->forget(line_->descriptor());
}

bool EtcdLocks::connect() {
  if (line_ != nullptr) return true;
  auto socket = sys::connect_unix(path_);
  if (!socket) return false;
  line_ = std::make_unique<sys::LineConnection>(*std::move(socket));
  status_ = "no locks yet: waiting for the first answer of tempo-etcd";
  loop_->watch(line_->descriptor(), POLLIN, [this](short) { receive(); });
  send({.verb = ipc::Verb::locks, .by_ns = {}, .to_ns = {}});
  return line_ != nullptr;
}

Result<void> EtcdLocks::acquire(const locks::Acquire& request) {
  if (request.kind != locks::LockKind::lease)
    return std::unexpected("back-end = \"etcd\" supports only locks of kind lease");
  if (request.lease != Nanos{0})
    return std::unexpected(
        "back-end = \"etcd\" uses 'lease-ms' for all leases; do not request another lease time");
  if (const auto defect = locks::defect_of(request.name))
    return std::unexpected(locks::refusal_text(*defect, request.name, Nanos{0}));
  if (!connect()) return std::unexpected(status());
  clients_[request.client] = {
      .name = request.name, .mode = request.mode, .since = sys::boot_clock()};
  ipc::Request line{.verb = ipc::Verb::lock, .by_ns = {}, .to_ns = {}};
  line.name = request.name;
  line.shared = request.mode == locks::Mode::shared;
  line.id = id_of(request.client);
  send(line);
  return {};
}

Result<void> EtcdLocks::resume(const locks::Resume& /*request*/) {
  return std::unexpected("a lock that etcd keeps cannot be resumed; acquire it again");
}

void EtcdLocks::release(ClientId client) {
  if (clients_.erase(client) == 0) return;
  ipc::Request request{.verb = ipc::Verb::unlock, .by_ns = {}, .to_ns = {}};
  request.id = id_of(client);
  send(request);
}

Result<void> EtcdLocks::may_begin_again() {
  return std::unexpected("the locks are in etcd, which has no lock record of this machine");
}

Result<std::uint64_t> EtcdLocks::change_voters(std::string_view /*machine*/, bool /*votes*/) {
  return std::unexpected(
      "back-end = \"etcd\" has no voters of tempo; change the members of etcd with 'etcdctl "
      "member'");
}

Result<std::uint64_t> EtcdLocks::nominate_voters(const std::vector<std::string>& /*machines*/) {
  return change_voters({}, true);
}

std::string EtcdLocks::status() const {
  if (line_ != nullptr) return status_;
  return fmt::format(
      "no locks: tempo-etcd does not run at {}; start it with 'systemctl start tempo-etcd'", path_);
}

std::vector<locks::Known> EtcdLocks::known() const {
  std::map<std::string, locks::Known> all;
  for (const auto& [id, client] : clients_) {
    locks::Known& known = all[client.name];
    known.name = client.name;
    if (client.inside) {
      known.mode = client.mode;
      known.holder = self_;
      known.held_here = true;
      known.token = client.token;
      known.until = client.until;
    }
    known.clients.push_back({.id = id,
                             .mode = client.mode,
                             .inside = client.inside,
                             .since = client.since,
                             .token = client.token});
  }
  std::vector<locks::Known> list;
  for (auto& [name, known] : all) list.push_back(std::move(known));
  return list;
}

void EtcdLocks::each_second() {
  if (!connect()) return;
  send({.verb = ipc::Verb::locks, .by_ns = {}, .to_ns = {}});
  // A lease that was not extended is lost, even if tempo-etcd is stopped and cannot report it.
  const BootTime now = sys::boot_clock();
  std::vector<ClientId> expired;
  for (const auto& [id, client] : clients_)
    if (client.inside && now >= client.until) expired.push_back(id);
  for (const ClientId id : expired) {
    release(id);
    on_update_({.client = id, .kind = LockUpdate::Kind::lost});
  }
}

// --- connection ---

void EtcdLocks::send(const ipc::Request& request) {
  if (line_ == nullptr) return;
  line_->write(ipc::request_line(request));
  settle();
}

void EtcdLocks::settle() {
  if (line_->broken() || line_->finished())
    disconnect();
  else
    loop_->expect(line_->descriptor(), line_->events());
}

void EtcdLocks::receive() {
  line_->flush();
  for (int i = 0; i < kMaxLinesPerRound && line_ != nullptr; ++i) {
    const std::optional<std::string> line = line_->line();
    if (!line) break;
    receive_line(*line);
  }
  if (line_ != nullptr) settle();
}

void EtcdLocks::receive_line(const std::string& line) {
  const auto reply = ipc::parse_reply(line);
  if (!reply) return;
  if (reply->refusal && reply->refusal->id) {
    const ClientId client{static_cast<std::uint32_t>(*reply->refusal->id)};
    forget(
        {.client = client, .kind = LockUpdate::Kind::refused, .sentence = reply->refusal->message});
  } else if (const auto update = ipc::lock_of(*reply)) {
    receive_update(*update);
  } else if (const auto status = reply->body.text_at("guarantee")) {
    status_ = *status;
  }
}

void EtcdLocks::receive_update(const ipc::LockUpdate& update) {
  const ClientId id{static_cast<std::uint32_t>(update.id)};
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Client& client = found->second;
  const BootTime until{Nanos{update.until_ns}};
  using Now = ipc::LockUpdate::State;
  switch (update.state) {
    case Now::granted:
      client.inside = true;
      client.since = sys::boot_clock();
      client.token = locks::Token{update.token};
      client.until = until;
      return on_update_({.client = id,
                         .kind = LockUpdate::Kind::granted,
                         .token = client.token,
                         .deadline = until});
    case Now::extended:
      client.until = until;
      return on_update_({.client = id, .kind = LockUpdate::Kind::extended, .deadline = until});
    case Now::lost:
      return forget({.client = id, .kind = LockUpdate::Kind::lost});
    case Now::refused:
      return forget({.client = id, .kind = LockUpdate::Kind::refused});
    case Now::released:
    case Now::wanted:
    case Now::busy:
    case Now::count:
      return;
  }
}

void EtcdLocks::forget(const LockUpdate& update) {
  if (clients_.erase(update.client) > 0) on_update_(update);
}

// Held locks are valid until their deadlines at most; waiting clients get the reason.
void EtcdLocks::disconnect() {
  loop_->forget(line_->descriptor());
  line_.reset();
  const auto all = std::exchange(clients_, {});
  for (const auto& [id, client] : all)
    on_update_(
        client.inside
            ? LockUpdate{.client = id, .kind = LockUpdate::Kind::lost}
            : LockUpdate{.client = id, .kind = LockUpdate::Kind::refused, .sentence = status()});
}

}  // namespace tempo::daemon
