#include "daemon/control/lock_clients.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <poll.h>

#include "daemon/control/replies.h"
#include "platform/clocks/boot_clock.h"
#include "platform/host.h"
#include "protocol/lock/lock_client.h"

namespace tempo::daemon {
namespace {

constexpr Nanos kSoon{100us};  // a free lease is granted within this time

constexpr std::size_t kSessionPart = 16;  // hexadecimal digits of a session's number and origin

// The session of a grant as its client keeps it: its number, and the origin of its ballot.
std::string session_text(std::uint64_t number, HostId origin) {
  return fmt::format("{:016x}{:016x}", number, std::to_underlying(origin));
}

std::optional<std::uint64_t> hex_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

struct SessionText {
  std::uint64_t number = 0;
  HostId origin = kNoHost;
};
std::optional<SessionText> session_of(std::string_view text) {
  if (text.size() != 2 * kSessionPart) return std::nullopt;
  const auto number = hex_number(text.substr(0, kSessionPart));
  const auto origin = hex_number(text.substr(kSessionPart));
  if (!number || !origin || *number == 0) return std::nullopt;
  return SessionText{*number, HostId{*origin}};
}

double seconds_of(Nanos span) { return std::chrono::duration<double>(span).count(); }

}  // namespace

LockClients::LockClients(Worker& worker) : worker_(&worker) {
  worker_->locks().on_update([this](const locks::LockUpdate& update) { notify(update); });
}

LockClients::~LockClients() {
  worker_->locks().on_update({});
  for (const auto& [holder, claim] : claims_)
    if (claim.client == nullptr) worker_->loop().forget(claim.watched->descriptor());
}

locks::ClientId LockClients::add_claim(Connection& client, std::int64_t id) {
  const locks::ClientId holder{++last_client_ & ~locks::kGroupBit};
  holders_[&client][id] = holder;
  claims_[holder] = Claim{.client = &client, .id = id, .process = client.process()};
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
  const locks::ClientId holder = add_claim(client, request.id);
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
       .waited = Nanos{request.waited_ns}});
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
    return found->second.inside ? ipc::lock_line(granted(found->second)) : "";
  }
  const locks::ClientId holder = add_claim(client, request.id);
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
  if (!change) return done_line(std::unexpected(change.error()));
  client.defer(
      [this, number = *change]() -> std::optional<std::string> {
        const auto ended = worker_->locks().change_result(number);
        return ended ? std::optional(done_line(*ended)) : std::nullopt;
      },
      [this, number = *change] { worker_->locks().cancel_change(number); });
  return "";
}

void LockClients::disconnect(Connection& client) {
  const auto own = holders_.extract(&client);
  if (own.empty()) return;
  std::vector<locks::ClientId> ended;
  for (const auto& [id, holder] : own.mapped()) {
    Claim& claim = claims_[holder];
    claim.client = nullptr;
    ++unconnected_;
    const bool may_act = claim.inside || claim.told_until != BootTime{};
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
  if (claim.session.number != 0) message.session = session_text(claim.session.number, claim.origin);
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
      claim.inside = true;
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
      message.state = NewState::refused;
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
  std::vector<ipc::LockView> views;
  for (const locks::Known& known : worker_->locks().known()) views.push_back(view_of(known));
  return ipc::locks_line(worker_->locks().status(), views);
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
  view.left_s = known.holder == kNoHost ? 0 : seconds_of(known.until - now);
  for (const locks::Known::Waiter& waiter : known.elsewhere)
    view.elsewhere.push_back(
        {.host = worker_->name_of(waiter.host),
         .shared = waiter.mode == locks::Mode::shared,
         .since_s =
             std::max(seconds_of(network_time - std::chrono::microseconds(waiter.ticket)), 0.0)});
  for (const locks::Known::Client& client : known.clients) {
    const auto claim = claims_.find(client.id);
    const pid_t process = claim == claims_.end() ? 0 : claim->second.process;
    view.clients.push_back({.pid = static_cast<std::uint32_t>(process),
                            .shared = client.mode == locks::Mode::shared,
                            .inside = client.inside,
                            .since_s = seconds_of(now - client.since),
                            .token = std::to_underlying(client.token)});
  }
  return view;
}

}  // namespace tempo::daemon
