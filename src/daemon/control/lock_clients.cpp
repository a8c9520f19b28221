#include "daemon/control/lock_clients.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/core.h>
#include <poll.h>

#include "daemon/control/replies.h"
#include "daemon/control/sessions.h"
#include "platform/clocks/boot_clock.h"
#include "platform/host.h"
#include "protocol/lock/lock_client.h"

namespace tempo::daemon {
namespace {

constexpr Nanos kSoon{100us};  // a free lease is granted within this time

std::string wanted_line(std::int64_t id) {
  return ipc::lock_line({.id = id, .state = ipc::LockUpdate::State::wanted});
}

}  // namespace

LockClients::LockClients(Worker& worker) : worker_(&worker) {
  worker_->locks().on_update([this](const locks::LockUpdate& update) { notify(update); });
}

LockClients::~LockClients() {
  worker_->locks().on_update({});
  for (const auto& [holder, claim] : claims_)
    if (claim.client == nullptr) worker_->loop().forget(claim.watched->descriptor());
}

locks::ClientId LockClients::add_claim(Connection& client, const ipc::Request& request) {
  const locks::ClientId holder{++last_client_ & ~locks::kGroupBit};
  holders_[&client][request.id] = holder;
  claims_[holder] = Claim{.client = &client,
                          .id = request.id,
                          .name = request.name,
                          .shared = request.shared,
                          .process = client.process(),
                          .asked = sys::boot_clock() - Nanos{request.waited_ns}};
  return holder;
}

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
  const locks::ClientId holder = add_claim(client, request);
  Claim& claim = claims_[holder];
  if (request.resumable && request.kind == ipc::LockKind::lease && worker_->locks().resumes())
    claim.watched = ClientProcess::find(client.process());
  if (claim.watched)
    claim.session = {.number = sys::kernel_random() | 1, .process = claim.watched->identity()};
  const auto asked = worker_->locks().acquire(
      {.client = holder,
       .name = request.name,
       .mode = request.shared ? locks::Mode::shared : locks::Mode::exclusive,
       .kind = static_cast<locks::LockKind>(request.kind),
       .lease = Nanos{request.lease_ns},
       .session = claim.session,
       .waited = Nanos{request.waited_ns},
       .no_wait = request.no_wait});
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

// The client held the lock on another connection: to this tempod, or to an earlier one.
std::string LockClients::resume(Connection& client, const ipc::Request& request) {
  if (holders_[&client].contains(request.id))
    return refuse(request, ipc::Code::bad_request,
                  "this connection already has a lock with that id; use another id");
  if (holders_[&client].size() >= kMaxLocks)
    return refuse(request, ipc::Code::unavailable,
                  "too many locks on this connection; release some or open another connection");
  const auto session = session_of(request.session);
  if (!session)
    return refuse(request, ipc::Code::bad_request,
                  R"("session" must be the text of the grant, unchanged)");
  const auto process = ClientProcess::find(client.process());
  if (!process)
    return refuse(request, ipc::Code::unavailable,
                  "tempod cannot observe the process of this connection; try again");
  const lock::lease::Session shown{.number = session->number, .process = process->identity()};
  if (const auto found = find_session(shown); found != claims_.end()) {
    move_claim(found, client, request.id);
    return found->second.held ? ipc::lock_line(granted(found->second)) : "";
  }
  const locks::ClientId holder = add_claim(client, request);
  Claim& claim = claims_[holder];
  claim.session = shown;
  claim.watched = ClientProcess::find(client.process());
  claim.told_until = BootTime{Nanos{request.until_ns}};
  if (!claim.watched) {
    forget(holder);
    return refuse(request, ipc::Code::unavailable,
                  "tempod cannot observe the process of this connection; try again");
  }
  const auto asked = worker_->locks().resume(
      {.client = holder,
       .name = request.name,
       .mode = request.shared ? locks::Mode::shared : locks::Mode::exclusive,
       .session = shown,
       .token = locks::Token{request.token},
       .origin = session->origin,
       .deadline = claim.told_until,
       .lease = Nanos{request.lease_ns}});
  if (asked) return "";
  forget(holder);
  return refuse(request, ipc::Code::unavailable, asked.error());
}

LockClients::Claims::iterator LockClients::find_session(const lock::lease::Session& session) {
  return std::ranges::find_if(claims_,
                              [&](const auto& one) { return one.second.session == session; });
}

void LockClients::move_claim(Claims::iterator found, Connection& client, std::int64_t id) {
  Claim& claim = found->second;
  if (claim.client != nullptr) {
    holders_[claim.client].erase(claim.id);  // tempod has not read the end of that connection yet
  } else {
    worker_->loop().forget(claim.watched->descriptor());
    --unconnected_;
  }
  claim.client = &client;
  claim.id = id;
  holders_[&client][id] = found->first;
  if (claim.wanted) client.write(wanted_line(id));
}

std::string LockClients::unlock(Connection& client, const ipc::Request& request) {
  const auto& own = holders_[&client];
  const auto found = own.find(request.id);
  if (found == own.end())
    return refuse(request, ipc::Code::bad_request, "this connection has no lock with that id");
  release(found->second);
  return ipc::lock_line({.id = request.id, .state = ipc::LockUpdate::State::released});
}

std::string LockClients::change_voters(Connection& client, const ipc::Request& request) {
  const auto change =
      worker_->locks().change_voters(request.host, request.verb == ipc::Verb::admit);
  return answer_when_ended(client, change);
}

std::string LockClients::nominate_voters(Connection& client, const ipc::Request& request) {
  return answer_when_ended(client, worker_->locks().nominate_voters(request.hosts));
}

std::string LockClients::answer_when_ended(Connection& client,
                                           const Result<std::uint64_t>& change) {
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
  for (auto& [holder, claim] : claims_) {
    if (!claim.held || claim.name != name) continue;
    claim.wanted = true;
    if (claim.client != nullptr) claim.client->write(wanted_line(claim.id));
  }
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
  std::vector<locks::ClientId> ended;
  for (const auto& [id, holder] : own.mapped()) {
    Claim& claim = claims_[holder];
    claim.client = nullptr;
    ++unconnected_;
    const bool may_act = claim.held || claim.told_until != BootTime{};
    if (claim.session.number != 0 && may_act && claim.watched->runs()) {
      keep_without_connection(holder, claim);
    } else {
      --unconnected_;
      claims_.erase(holder);
      ended.push_back(holder);
    }
  }
  for (const locks::ClientId holder : ended) worker_->locks().release(holder);
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

void LockClients::keep_without_connection(locks::ClientId holder, Claim& claim) {
  claim.told_until = std::max(claim.told_until, claim.until);
  worker_->loop().watch(claim.watched->descriptor(), POLLIN,
                        [this, holder](short) { release(holder); });
}

void LockClients::release_late() {
  if (unconnected_ == 0) return;
  const BootTime now = sys::boot_clock();
  std::vector<locks::ClientId> late;
  for (const auto& [holder, claim] : claims_)
    if (claim.client == nullptr && claim.told_until <= now) late.push_back(holder);
  for (const locks::ClientId holder : late) release(holder);
}

void LockClients::release(locks::ClientId holder) {
  forget(holder);
  worker_->locks().release(holder);
}

void LockClients::forget(locks::ClientId holder) {
  const auto found = claims_.find(holder);
  if (found == claims_.end()) return;
  const Claim& claim = found->second;
  if (claim.client != nullptr) {
    holders_[claim.client].erase(claim.id);
  } else {
    worker_->loop().forget(claim.watched->descriptor());
    --unconnected_;
  }
  claims_.erase(found);
}

ipc::LockUpdate LockClients::granted(const Claim& claim) {
  ipc::LockUpdate message{.id = claim.id,
                          .state = ipc::LockUpdate::State::granted,
                          .token = std::to_underlying(claim.token),
                          .until_ns = claim.until.time_since_epoch().count()};
  if (claim.session.number != 0)
    message.session = session_text({claim.session.number, claim.origin});
  return message;
}

void LockClients::notify(const locks::LockUpdate& update) {
  const auto found = claims_.find(update.client);
  if (found == claims_.end()) return;
  Claim& claim = found->second;
  Connection* const client = claim.client;
  using Kind = locks::LockUpdate::Kind;
  using NewState = ipc::LockUpdate::State;
  ipc::LockUpdate message{.id = claim.id};
  switch (update.kind) {
    case Kind::granted:
      if (claim.told_until == BootTime{})  // not a lock that is resumed
        worker_->locks().record_wait(sys::boot_clock() - claim.asked);
      claim.held = true;
      claim.token = update.token;
      claim.origin = update.origin;
      claim.until = update.deadline;
      message = granted(claim);
      break;
    case Kind::extended:
      claim.until = update.deadline;
      message.state = NewState::extended;
      message.until_ns = update.deadline.time_since_epoch().count();
      break;
    case Kind::lost:
      message.state = NewState::lost;
      forget(update.client);
      break;
    case Kind::refused:
      message.state = update.refusal == locks::Refusal::held ? NewState::busy : NewState::refused;
      forget(update.client);
      break;
  }
  if (client == nullptr) return;
  client->write(update.sentence.empty() ? ipc::lock_line(message)
                                        : ipc::refusal_line({.code = ipc::Code::unavailable,
                                                             .message = update.sentence,
                                                             .id = message.id}));
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
    const pid_t process = claim == claims_.end() ? 0 : claim->second.process;
    view.clients.push_back({.pid = static_cast<std::uint32_t>(process),
                            .shared = client.mode == locks::Mode::shared,
                            .inside = client.inside,
                            .since_s = in_seconds(now - client.since),
                            .token = std::to_underlying(client.token)});
  }
  return view;
}

}  // namespace tempo::daemon
