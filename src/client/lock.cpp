#include "tempo/lock.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "base/span_text.h"
#include "client/boot_clock.h"
#include "client/lock_connection.h"
#include "client/public_error.h"
#include "client/wait_readable.h"

namespace tempo {
namespace {

using std::chrono::nanoseconds;

// Shortest wait: enough time for members to answer.
constexpr nanoseconds kMinWait = std::chrono::milliseconds{100};
constexpr nanoseconds kReconnectEvery = std::chrono::milliseconds{20};
constexpr const char* kOver = "this request is over; call acquire_async again";

std::string timeout_message(const std::string& name, nanoseconds wait) {
  if (wait == nanoseconds{0})
    return fmt::format("lock '{}' is not available (not waiting); 'tempo locks' shows the holder",
                       name);
  return fmt::format("timed out after {} waiting for lock '{}'; 'tempo locks' shows the holder",
                     span_text(wait), name);
}

}  // namespace

LockConnection::LockConnection(client::Client client, std::string socket, nanoseconds timeout)
    : LockConnection(std::move(client), boot_clock) {
  socket_ = std::move(socket);
  timeout_ = timeout;
}
LockConnection::LockConnection(client::Client client, Clock clock)
    : client_(std::move(client)),
      clock_(std::move(clock)),
      events_(client_.descriptor()),
      owner_(getpid()) {}

bool LockConnection::in_child() const { return getpid() != owner_; }

const Error& LockConnection::closed_error() {
  if (in_child())
    closed_ = Error{ErrorCode::refused,
                    "these locks belong to the parent process; open a new connection after fork()"};
  return *closed_;
}

bool LockConnection::read_replies(nanoseconds wait) {
  if (in_child()) return false;
  if (broken_) reconnect();
  while (!closed_ && !broken_) {
    const auto reply = client_.next_or_refusal(wait);
    if (!reply) {
      lose(final_error_.value_or(public_error(reply.error())));
      break;
    }
    if (!*reply) {
      if (resumes_wait_) send_resumes();
      break;
    }
    receive(**reply);
    wait = nanoseconds{0};
  }
  return !closed_;
}

// --- connecting again ---

void LockConnection::lose(const Error& error) {
  events_.forget(client_.descriptor());
  if (socket_.empty() || !worth_reconnecting()) {
    closed_ = error;
    return;
  }
  final_error_ = error;
  broken_ = true;
  // A tempod that closes every connection is not asked without a pause.
  again_at_ = std::max(clock_(), tried_at_ + kReconnectEvery);
  events_.wake_at(again_at_);
  reconnect();
}

// A lock can be resumed until its deadline, and a request can be repeated until its timeout.
bool LockConnection::worth_reconnecting() const {
  const nanoseconds now = clock_();
  return std::ranges::any_of(requests_, [&](const auto& one) {
    const Request& request = one.second;
    return request.token ? !request.session.empty() && request.until > now
                         : !request.error && request.wait_end > now;
  });
}

void LockConnection::reconnect() {
  if (clock_() < again_at_) return;
  if (!worth_reconnecting()) {
    broken_ = false;
    events_.do_not_wake();
    closed_ = final_error_;
    return;
  }
  tried_at_ = clock_();
  auto again = client::Client::connect(socket_, kReconnectEvery);
  if (!again) {
    again_at_ = clock_() + kReconnectEvery;
    events_.wake_at(again_at_);
    return;
  }
  client_ = *std::move(again);
  events_.do_not_wake();
  events_.watch(client_.descriptor());
  broken_ = false;
  final_error_.reset();
  repeat_requests();
}

void LockConnection::repeat_requests() {
  for (auto& [id, request] : requests_) {
    if (request.token) {
      request.resuming = !request.session.empty() && request.until > clock_();
    } else if (!request.error) {
      if (const auto sent = client_.send(lock_request(id, request)); !sent)
        return lose(public_error(sent.error()));
    }
  }
  again_at_ = clock_();
  resumes_wait_ = true;
  send_resumes();
}

// tempod refuses to resume a lock while it does not know the voters yet: this asks again.
void LockConnection::send_resumes() {
  if (broken_ || clock_() < again_at_) return;
  events_.do_not_wake();
  resumes_wait_ = false;
  for (auto& [id, request] : requests_) {
    if (!std::exchange(request.resuming, false) || request.until <= clock_()) continue;
    if (const auto sent = client_.send(resume_request(id, request)); !sent)
      return lose(public_error(sent.error()));
  }
}

ipc::Request LockConnection::lock_request(std::int64_t id, const Request& request) const {
  ipc::Request line{.verb = ipc::Verb::lock, .by_ns = {}, .to_ns = {}};
  line.name = request.name;
  line.shared = request.shared;
  line.kind = request.kind;
  line.lease_ns = request.lease_ns;
  line.resumable = !socket_.empty() && request.kind == ipc::LockKind::lease;
  line.no_wait = request.wait == nanoseconds{0} && request.kind == ipc::LockKind::lease;
  line.waited_ns = std::max(clock_() - request.asked, nanoseconds{0}).count();
  line.id = id;
  return line;
}

ipc::Request LockConnection::resume_request(std::int64_t id, const Request& request) const {
  ipc::Request line{.verb = ipc::Verb::resume, .by_ns = {}, .to_ns = {}};
  line.name = request.name;
  line.shared = request.shared;
  line.lease_ns = request.lease_ns;
  line.token = *request.token;
  line.session = request.session;
  line.until_ns = request.until.count();
  line.id = id;
  return line;
}

// --- replies ---

void LockConnection::receive(const ipc::Reply& reply) {
  if (reply.refusal) {
    const Error error{public_code(reply.refusal->code), reply.refusal->message};
    // A refusal without an id concerns the pending requests (tempod could not read the id), or the
    // whole connection, which tempod then closes.
    if (!reply.refusal->id) final_error_ = error;
    for (auto& [id, request] : requests_) {
      if (reply.refusal->id && id != *reply.refusal->id) continue;
      if (!request.token) request.error = error;
      if (!request.token || !reply.refusal->id) continue;
      request.resuming = reply.refusal->code == ipc::Code::unavailable;
      if (!request.resuming) continue;
      resumes_wait_ = true;
      again_at_ = clock_() + kReconnectEvery;
      events_.wake_at(again_at_);
    }
    return;
  }
  const auto update = ipc::lock_of(reply);
  if (!update) return;
  const auto found = requests_.find(update->id);
  if (found != requests_.end()) receive_update(found->second, *update);
}

void LockConnection::receive_update(Request& request, const ipc::LockUpdate& update) {
  using State = ipc::LockUpdate::State;
  switch (update.state) {
    case State::granted:
      request.token = update.token;
      request.session = update.session;
      request.until = std::max(request.until, nanoseconds{update.until_ns});
      break;
    case State::extended:
      request.until = std::max(request.until, nanoseconds{update.until_ns});
      break;
    case State::lost:
      request.until = nanoseconds{0};
      break;
    case State::refused:
      request.error =
          Error{ErrorCode::refused,
                "too many programs on this machine wait for this lock; try again later"};
      break;
    case State::busy:
      request.error = Error{ErrorCode::timed_out, timeout_message(request.name, nanoseconds{0})};
      break;
    case State::wanted:
      request.wanted = true;
      break;
    case State::released:
    case State::count:
      break;
  }
}

Expected<PendingLock, Error> LockConnection::acquire_async(Self self, const std::string& name,
                                                           const AcquireOptions& options) {
  if (!read_replies(nanoseconds{0})) return Unexpected{closed_error()};
  const std::int64_t id = ++last_id_;
  // The wait begins before the request is sent: time may pass before the send returns.
  const nanoseconds now = clock_();
  const Request& request = requests_[id] = {.name = name,
                                            .shared = options.shared,
                                            .kind = static_cast<ipc::LockKind>(options.kind),
                                            .lease_ns = options.lease.count(),
                                            .asked = now,
                                            .wait = std::max(options.wait, nanoseconds{0}),
                                            .wait_end = now + std::max(options.wait, kMinWait)};
  if (!broken_)  // otherwise the next connection sends it
    if (const auto sent = client_.send(lock_request(id, request)); !sent)
      lose(public_error(sent.error()));
  if (closed_) {
    requests_.erase(id);
    return Unexpected{*closed_};
  }
  return PendingLock(self, id);
}

Expected<std::optional<Lock>, Error> LockConnection::poll(Self self, std::int64_t id) {
  const bool connected = read_replies(nanoseconds{0});
  const auto found = requests_.find(id);
  if (in_child()) return Unexpected{closed_error()};
  if (found == requests_.end()) return Unexpected{Error{ErrorCode::refused, kOver}};
  const Request& request = found->second;
  if (request.token) return std::optional(Lock(self, id, *request.token));
  std::optional<Error> error = request.error;
  if (error) {
    requests_.erase(found);
  } else if (!connected) {
    error = closed_error();
    requests_.erase(found);
  } else if (timeout(id) <= nanoseconds{0}) {
    error = Error{ErrorCode::timed_out, timeout_message(request.name, request.wait)};
    release(id);
  }
  if (error) return Unexpected{*std::move(error)};
  return std::optional<Lock>();
}

nanoseconds LockConnection::timeout(std::int64_t id) const {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return nanoseconds{0};
  return std::max(found->second.wait_end - clock_(), nanoseconds{0});
}

Expected<Lock, Error> LockConnection::acquire(Self self, const std::string& name,
                                              const AcquireOptions& options) {
  auto pending = acquire_async(self, name, options);
  if (!pending) return Unexpected{pending.error()};
  for (;;) {
    if (!wait_readable(descriptor(), pending->timeout(), options.cancel))
      return Unexpected{Error{ErrorCode::cancelled, "the wait was cancelled"}};
    auto lock = pending->poll();
    if (!lock) return Unexpected{lock.error()};
    if (*lock) return **std::move(lock);
  }
}

void LockConnection::release(std::int64_t id) {
  if (in_child() || requests_.erase(id) == 0 || closed_ || broken_) return;
  ipc::Request request{.verb = ipc::Verb::unlock, .by_ns = {}, .to_ns = {}};
  request.id = id;
  if (const auto sent = client_.send(request); !sent) lose(public_error(sent.error()));
}

nanoseconds LockConnection::deadline(std::int64_t id) {
  read_replies(nanoseconds{0});
  const auto found = requests_.find(id);
  return found == requests_.end() || in_child() ? nanoseconds{0} : found->second.until;
}

bool LockConnection::is_wanted(std::int64_t id) {
  read_replies(nanoseconds{0});
  const auto found = requests_.find(id);
  return found != requests_.end() && !in_child() && found->second.wanted;
}

// --- held locks ---

Lock::Lock(std::shared_ptr<LockConnection> connection, std::int64_t id, std::uint64_t token)
    : connection_(std::move(connection)), id_(id), token_(token) {}
Lock::Lock(Lock&& other) noexcept = default;
Lock& Lock::operator=(Lock&& other) noexcept {
  std::swap(connection_, other.connection_);
  std::swap(id_, other.id_);
  std::swap(token_, other.token_);
  return *this;
}
Lock::~Lock() { release(); }

void Lock::release() {
  if (const auto connection = std::exchange(connection_, nullptr)) connection->release(id_);
}

nanoseconds Lock::deadline() {
  return connection_ == nullptr ? nanoseconds{0} : connection_->deadline(id_);
}

bool Lock::is_wanted() { return connection_ != nullptr && connection_->is_wanted(id_); }

nanoseconds Lock::remaining() {
  const nanoseconds until = deadline();
  return connection_ == nullptr ? nanoseconds{0}
                                : std::max(until - connection_->now(), nanoseconds{0});
}

// --- pending locks ---

PendingLock::PendingLock(std::shared_ptr<LockConnection> connection, std::int64_t id)
    : connection_(std::move(connection)), id_(id) {}
PendingLock::PendingLock(PendingLock&& other) noexcept = default;
PendingLock& PendingLock::operator=(PendingLock&& other) noexcept {
  std::swap(connection_, other.connection_);
  std::swap(id_, other.id_);
  return *this;
}
PendingLock::~PendingLock() {
  if (connection_ != nullptr) connection_->release(id_);
}

Expected<std::optional<Lock>, Error> PendingLock::poll() {
  if (connection_ == nullptr) return Unexpected{Error{ErrorCode::refused, kOver}};
  auto lock = connection_->poll(connection_, id_);
  if (!lock || *lock) connection_.reset();  // the Lock owns the request now, or it failed
  return lock;
}

nanoseconds PendingLock::timeout() const {
  return connection_ == nullptr ? nanoseconds{0} : connection_->timeout(id_);
}

// --- Locks ---

Locks::Locks(std::shared_ptr<LockConnection> connection) : connection_(std::move(connection)) {}
Locks::~Locks() = default;
Locks::Locks(Locks&&) noexcept = default;
Locks& Locks::operator=(Locks&&) noexcept = default;

Expected<Locks, Error> Locks::connect(const std::string& socket, nanoseconds timeout) {
  auto client = client::Client::connect(socket, timeout);
  if (!client) return Unexpected{public_error(client.error())};
  return Locks(std::make_shared<LockConnection>(*std::move(client), socket, timeout));
}

Expected<Lock, Error> Locks::acquire(const std::string& name, const AcquireOptions& options) {
  return connection_->acquire(connection_, name, options);
}

Expected<SharedLock, Error> Locks::acquire_shared(const std::string& name, AcquireOptions options) {
  options.shared = true;
  auto lock = acquire(name, options);
  if (!lock) return Unexpected{lock.error()};
  return SharedLock(*std::move(lock));
}

Expected<Lock, Error> Locks::try_acquire(const std::string& name) {
  AcquireOptions options;
  options.wait = nanoseconds{0};
  return acquire(name, options);
}

Expected<SharedLock, Error> Locks::try_acquire_shared(const std::string& name) {
  AcquireOptions options;
  options.wait = nanoseconds{0};
  return acquire_shared(name, options);
}

Expected<PendingLock, Error> Locks::acquire_async(const std::string& name,
                                                  const AcquireOptions& options) {
  return connection_->acquire_async(connection_, name, options);
}

int Locks::descriptor() const { return connection_->descriptor(); }
int Locks::socket() const { return connection_->socket(); }

}  // namespace tempo
