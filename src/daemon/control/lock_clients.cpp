#include "daemon/control/lock_clients.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "daemon/control/replies.h"
#include "platform/clocks/boot_clock.h"
#include "protocol/lock/lock_client.h"

namespace tempo::daemon {
namespace {

constexpr Nanos kSoon{100us};  // a free lease is granted within this time

}  // namespace

LockClients::LockClients(Worker& worker) : worker_(&worker) {
  worker_->locks().on_update([this](const locks::LockUpdate& update) { notify(update); });
}

LockClients::~LockClients() { worker_->locks().on_update({}); }

std::string LockClients::lock(Connection& client, const ipc::Request& request) {
  auto& own = holders_[&client];
  if (own.contains(request.id))
    return refuse(request, ipc::Code::bad_request,
                  "this connection already has a lock with that id; use another id");
  if (own.size() >= kMaxLocks)
    return refuse(request, ipc::Code::unavailable,
                  "too many locks on this connection; release some or open another connection");
  if (request.name.starts_with('@'))
    return refuse(request, ipc::Code::bad_request,
                  "names that begin with '@' are reserved; use another name");
  if (const auto defect = locks::defect_of(request.name))
    return refuse(request, ipc::Code::bad_request, locks::refusal_text(*defect, request.name, 0ns));
  if (would_wait_for_itself(client, request))
    return refuse(request, ipc::Code::bad_request,
                  fmt::format("this connection already holds lock '{}'; release it first, or use "
                              "another connection",
                              request.name));
  const locks::ClientId holder{++last_client_ & ~locks::kGroupBit};
  own[request.id] = holder;
  claims_[holder] = {.client = &client,
                     .id = request.id,
                     .name = request.name,
                     .shared = request.shared,
                     .asked = sys::boot_clock()};
  const auto asked = worker_->locks().acquire(
      {.client = holder,
       .name = request.name,
       .mode = request.shared ? locks::Mode::shared : locks::Mode::exclusive,
       .kind = static_cast<locks::LockKind>(request.kind),
       .lease = Nanos{request.lease_ns}});
  if (!asked) {
    forget(holder);
    return refuse(request, ipc::Code::unavailable, asked.error());
  }
  // Only for a client that is alone with its locks: where several wait, other processes can use the
  // CPU.
  if (claims_.contains(holder) && request.kind == ipc::LockKind::lease &&
      worker_->locks().answers_quickly() && claims_.size() == own.size())
    worker_->loop().stay_awake(kSoon);
  return "";
}

std::string LockClients::unlock(Connection& client, const ipc::Request& request) {
  const auto& own = holders_[&client];
  const auto found = own.find(request.id);
  if (found == own.end())
    return refuse(request, ipc::Code::bad_request, "this connection has no lock with that id");
  const locks::ClientId holder = found->second;
  forget(holder);
  worker_->locks().release(holder);
  return ipc::lock_line({.id = request.id, .state = ipc::LockUpdate::State::released});
}

std::string LockClients::change_voters(Connection& client, const ipc::Request& request) {
  const auto change =
      worker_->locks().change_voters(request.host, request.verb == ipc::Verb::admit);
  if (!change) return done_line(std::unexpected(change.error()));
  client.defer(
      [this, number = *change]() -> std::optional<std::string> {
        const auto ended = worker_->locks().change_result(number);
        return ended ? std::optional(done_line(*ended)) : std::nullopt;
      },
      [this, number = *change] { worker_->locks().cancel_change(number); });
  return "";
}

// Nothing is taken by force: the answer follows when every holder on this host has given it back.
std::string LockClients::give_back(Connection& client, const ipc::Request& request) {
  const std::string& name = request.name;
  if (!held_here(name)) {
    for (const locks::Known& known : worker_->locks().known())
      if (known.name == name && known.holder != kNoHost && !known.held_here)
        return done_line(std::unexpected(
            fmt::format("{0} holds lock '{1}', not this machine; run 'sudo tempo unlock {1}' there",
                        worker_->name_of(known.holder), name)));
    return done_line(std::unexpected(fmt::format(
        "no program on this machine holds lock '{}'; 'tempo locks' lists the holders", name)));
  }
  for (const auto& [holder, claim] : claims_)
    if (claim.held && claim.name == name)
      claim.client->write(
          ipc::lock_line({.id = claim.id, .state = ipc::LockUpdate::State::wanted}));
  client.defer(
      [this, name]() -> std::optional<std::string> {
        return held_here(name) ? std::nullopt : std::optional(ipc::done_line());
      },
      [] {});
  return "";
}

bool LockClients::held_here(const std::string& name) const {
  return std::ranges::any_of(
      claims_, [&](const auto& one) { return one.second.held && one.second.name == name; });
}

void LockClients::disconnect(Connection& client) {
  const auto own = holders_.extract(&client);
  if (own.empty()) return;
  for (const auto& [id, holder] : own.mapped()) claims_.erase(holder);
  for (const auto& [id, holder] : own.mapped()) worker_->locks().release(holder);
}

// A connection may share a lock with itself.
bool LockClients::would_wait_for_itself(Connection& client, const ipc::Request& request) const {
  const auto own = holders_.find(&client);
  if (own == holders_.end()) return false;
  return std::ranges::any_of(own->second, [&](const auto& one) {
    const auto claim = claims_.find(one.second);
    return claim != claims_.end() && claim->second.held && claim->second.name == request.name &&
           !(claim->second.shared && request.shared);
  });
}

void LockClients::forget(locks::ClientId holder) {
  const auto claim = claims_.extract(holder);
  if (!claim.empty()) holders_[claim.mapped().client].erase(claim.mapped().id);
}

void LockClients::notify(const locks::LockUpdate& update) {
  const auto found = claims_.find(update.client);
  if (found == claims_.end()) return;
  if (update.kind == locks::LockUpdate::Kind::granted) {
    found->second.held = true;
    worker_->locks().record_wait(sys::boot_clock() - found->second.asked);
  }
  const Claim claim = found->second;
  using Kind = locks::LockUpdate::Kind;
  using NewState = ipc::LockUpdate::State;
  ipc::LockUpdate message{.id = claim.id};
  switch (update.kind) {
    case Kind::granted:
      message.token = std::to_underlying(update.token);
      message.state = NewState::granted;
      message.until_ns = update.deadline.time_since_epoch().count();
      break;
    case Kind::extended:
      message.state = NewState::extended;
      message.until_ns = update.deadline.time_since_epoch().count();
      break;
    case Kind::lost:
      message.state = NewState::lost;
      forget(update.client);
      break;
    case Kind::refused:
      message.state = NewState::refused;
      forget(update.client);
      break;
  }
  claim.client->write(update.sentence.empty() ? ipc::lock_line(message)
                                              : ipc::refusal_line({.code = ipc::Code::unavailable,
                                                                   .message = update.sentence,
                                                                   .id = claim.id}));
}

std::string LockClients::list() const {
  ipc::LocksView view = worker_->locks().view();
  for (const locks::Known& known : worker_->locks().known()) view.locks.push_back(view_of(known));
  return ipc::locks_line(view);
}

ipc::LockView LockClients::view_of(const locks::Known& known) const {
  const BootTime now = sys::boot_clock();
  const Nanos network_time = worker_->reading().time.time_since_epoch();
  ipc::LockView view;
  view.name = known.name;
  view.kind = static_cast<ipc::LockKind>(known.kind);
  view.shared = known.mode == locks::Mode::shared;
  view.holder = worker_->name_of(known.holder);
  view.here = known.held_here;
  view.left_s = known.holder == kNoHost ? 0 : in_seconds(known.until - now);
  for (const locks::Known::Waiter& waiter : known.elsewhere)
    view.elsewhere.push_back(
        {.host = worker_->name_of(waiter.host),
         .shared = waiter.mode == locks::Mode::shared,
         .since_s =
             std::max(in_seconds(network_time - std::chrono::microseconds(waiter.ticket)), 0.0)});
  for (const locks::Known::Client& client : known.clients) {
    const auto claim = claims_.find(client.id);
    const pid_t process = claim == claims_.end() ? 0 : claim->second.client->process();
    view.clients.push_back({.pid = static_cast<std::uint32_t>(process),
                            .shared = client.mode == locks::Mode::shared,
                            .inside = client.inside,
                            .since_s = in_seconds(now - client.since),
                            .token = std::to_underlying(client.token)});
  }
  return view;
}

}  // namespace tempo::daemon
