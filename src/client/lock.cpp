#include "tempo/lock.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "base/span_text.h"
#include "client/boot_clock.h"
#include "client/lock_connection.h"
#include "client/news_wait.h"
#include "client/public_error.h"

namespace tempo {
namespace {

using std::chrono::nanoseconds;

// Enough for members to answer; who wants a lock at once does not wait longer.
constexpr nanoseconds kMoment = std::chrono::milliseconds{100};
constexpr const char* kOver = "this wish is over; make another";

}  // namespace

LockConnection::LockConnection(client::Client client)
    : LockConnection(std::move(client), boot_clock) {}
LockConnection::LockConnection(client::Client client, Clock clock)
    : client_(std::move(client)), clock_(std::move(clock)), owner_(getpid()) {}

bool LockConnection::foreign() const { return getpid() != owner_; }

const Error& LockConnection::why_gone() {
  if (foreign())
    gone_ = Error{ErrorCode::refused,
                  "these locks belong to the process that forked this one; connect anew"};
  return *gone_;
}

bool LockConnection::listen(nanoseconds wait) {
  if (foreign()) return false;
  while (!gone_) {
    const auto reply = client_.next_of_any_kind(wait);
    if (!reply) {
      gone_ = farewell_.value_or(public_error(reply.error()));
      break;
    }
    if (!*reply) return true;
    receive(**reply);
    wait = nanoseconds{0};
  }
  return false;
}

void LockConnection::receive(const ipc::Reply& reply) {
  if (reply.refusal) {
    const Error error{
        reply.refusal->code == ipc::Code::not_allowed ? ErrorCode::not_allowed : ErrorCode::refused,
        reply.refusal->sentence};
    // One that names none is for what is waited for, a request so wrong that its id was not read;
    // or for the whole connection, which ends then.
    if (!reply.refusal->id) farewell_ = error;
    for (auto& [id, known] : known_)
      if (reply.refusal->id ? id == *reply.refusal->id : !known.token) known.error = error;
    return;
  }
  const auto news = ipc::lock_of(reply);
  if (!news) return;
  const auto found = known_.find(news->id);
  if (found == known_.end()) return;
  Known& known = found->second;
  using State = ipc::LockUpdate::State;
  switch (news->state) {
    case State::granted:
      known.token = news->token;
      known.until = nanoseconds{news->until_ns};
      break;
    case State::extended:
      known.until = std::max(known.until, nanoseconds{news->until_ns});
      break;
    case State::lost:
      known.until = nanoseconds{0};
      break;
    case State::refused:
      known.error =
          Error{ErrorCode::refused, "too many programs on this host wait for this lock; try later"};
      break;
    case State::released:
    case State::count:
      break;
  }
}

Expected<PendingLock, Error> LockConnection::acquire_async(Self self, const std::string& name,
                                                           const AcquireOptions& options) {
  if (!listen(nanoseconds{0})) return Unexpected{why_gone()};
  const std::int64_t id = ++last_id_;
  ipc::Request request{.verb = ipc::Verb::lock, .by_ns = {}, .to_ns = {}};
  request.name = name;
  request.shared = options.shared;
  request.kind = static_cast<ipc::LockKind>(options.kind);
  request.lease_ns = options.lease.count();
  request.id = id;
  if (const auto sent = client_.send(request); !sent)
    return Unexpected{*(gone_ = public_error(sent.error()))};
  known_[id] = {.name = name,
                .wait = std::max(options.wait, nanoseconds{0}),
                .last = clock_() + std::max(options.wait, kMoment)};
  return PendingLock(self, id);
}

Expected<std::optional<Lock>, Error> LockConnection::look(Self self, std::int64_t id) {
  const bool connected = listen(nanoseconds{0});
  const auto found = known_.find(id);
  if (foreign()) return Unexpected{why_gone()};
  if (found == known_.end()) return Unexpected{Error{ErrorCode::refused, kOver}};
  const Known& known = found->second;
  if (known.token) return std::optional(Lock(self, id, *known.token));
  std::optional<Error> error = known.error;
  if (error) {
    known_.erase(found);
  } else if (!connected) {
    error = why_gone();
    known_.erase(found);
  } else if (timeout(id) <= nanoseconds{0}) {
    error = Error{ErrorCode::too_late,
                  fmt::format("'{}' was not to be had within {}; 'tempo locks' says who has it",
                              known.name, span_text(known.wait))};
    release(id);
  }
  if (error) return Unexpected{*std::move(error)};
  return std::optional<Lock>();
}

nanoseconds LockConnection::timeout(std::int64_t id) const {
  const auto found = known_.find(id);
  if (found == known_.end()) return nanoseconds{0};
  return std::max(found->second.last - clock_(), nanoseconds{0});
}

Expected<Lock, Error> LockConnection::acquire(Self self, const std::string& name,
                                              const AcquireOptions& options) {
  auto pending = acquire_async(self, name, options);
  if (!pending) return Unexpected{pending.error()};
  for (;;) {
    if (!wait_for_news(descriptor(), pending->timeout(), options.cancel))
      return Unexpected{Error{ErrorCode::cancelled, "the waiting was cancelled"}};
    auto lock = pending->look();
    if (!lock) return Unexpected{lock.error()};
    if (*lock) return **std::move(lock);
  }
}

void LockConnection::release(std::int64_t id) {
  if (foreign() || known_.erase(id) == 0 || gone_) return;
  ipc::Request request{.verb = ipc::Verb::unlock, .by_ns = {}, .to_ns = {}};
  request.id = id;
  if (const auto sent = client_.send(request); !sent) gone_ = public_error(sent.error());
}

nanoseconds LockConnection::deadline(std::int64_t id) {
  listen(nanoseconds{0});
  const auto found = known_.find(id);
  return found == known_.end() || foreign() ? nanoseconds{0} : found->second.until;
}

// --- a lock that is held ---

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

nanoseconds Lock::remaining() {
  const nanoseconds until = deadline();
  return connection_ == nullptr ? nanoseconds{0}
                                : std::max(until - connection_->now(), nanoseconds{0});
}

// --- a lock that is waited for ---

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

Expected<std::optional<Lock>, Error> PendingLock::look() {
  if (connection_ == nullptr) return Unexpected{Error{ErrorCode::refused, kOver}};
  auto lock = connection_->look(connection_, id_);
  if (!lock || *lock) connection_.reset();  // what it was is the lock's now, or nothing
  return lock;
}

nanoseconds PendingLock::timeout() const {
  return connection_ == nullptr ? nanoseconds{0} : connection_->timeout(id_);
}

// --- the connection ---

Locks::Locks(std::shared_ptr<LockConnection> connection) : connection_(std::move(connection)) {}
Locks::~Locks() = default;
Locks::Locks(Locks&&) noexcept = default;
Locks& Locks::operator=(Locks&&) noexcept = default;

Expected<Locks, Error> Locks::connect(const std::string& socket, nanoseconds timeout) {
  auto client = client::Client::connect(socket, timeout);
  if (!client) return Unexpected{public_error(client.error())};
  return Locks(std::make_shared<LockConnection>(*std::move(client)));
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

}  // namespace tempo
