#include "live/client/lock.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/core.h>
#include <poll.h>
#include <time.h>

#include "base/span_text.h"
#include "live/client/client.h"

namespace tempo {
namespace {

using std::chrono::nanoseconds;

// Enough for members to answer; who wants a lock at once does not wait longer.
constexpr nanoseconds kMoment = std::chrono::milliseconds{100};
// While a lock is waited for, a descriptor that cancels is looked at as often.
constexpr nanoseconds kLongestPoll = std::chrono::seconds{3600};

nanoseconds boot_clock() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds{now.tv_sec} + nanoseconds{now.tv_nsec};
}

LockFailure failure_of(const client::Failure& failure) {
  using client::Trouble;
  switch (failure.trouble) {
    case Trouble::not_allowed:
      return {LockTrouble::not_allowed, failure.sentence};
    case Trouble::refused:
      return {LockTrouble::refused, failure.sentence};
    case Trouble::not_running:
    case Trouble::no_answer:
    case Trouble::nonsense:
      break;
  }
  return {LockTrouble::no_daemon, failure.sentence};
}

}  // namespace

// The connection, and what is known of its locks.
class LockConnection {
 public:
  explicit LockConnection(client::Client client) : client_(std::move(client)) {}

  std::expected<Lock, LockFailure> take(const std::shared_ptr<LockConnection>& self,
                                        const std::string& name, const TakeOptions& options);
  void release(std::int64_t id);
  nanoseconds deadline(std::int64_t id);
  int descriptor() const { return client_.descriptor(); }

 private:
  struct Held {
    std::optional<std::uint64_t> token{};  // nothing: it is waited for
    nanoseconds until{0};
    std::optional<LockFailure> failure{};
  };

  // Takes in what has come, or comes within `wait`. False: the connection is gone.
  bool listen(nanoseconds wait);
  void hear(const ipc::Reply& reply);
  bool wait_for_news(nanoseconds wait, int cancel) const;  // false: cancelled

  client::Client client_;
  std::map<std::int64_t, Held> held_;
  std::int64_t last_id_ = 0;
  std::optional<LockFailure> farewell_;  // the last that was said of the connection
  std::optional<LockFailure> gone_;
};

bool LockConnection::listen(nanoseconds wait) {
  while (!gone_) {
    const auto reply = client_.next_of_any_kind(wait);
    if (!reply) {
      gone_ = farewell_.value_or(failure_of(reply.error()));
      break;
    }
    if (!*reply) return true;
    hear(**reply);
    wait = nanoseconds{0};
  }
  return false;
}

void LockConnection::hear(const ipc::Reply& reply) {
  if (reply.refusal) {
    const LockFailure failure{reply.refusal->code == ipc::Code::not_allowed
                                  ? LockTrouble::not_allowed
                                  : LockTrouble::refused,
                              reply.refusal->sentence};
    // One that names none is for what is waited for, a request so wrong that its id was not read;
    // or for the whole connection, which ends then.
    if (!reply.refusal->id) farewell_ = failure;
    for (auto& [id, held] : held_)
      if (reply.refusal->id ? id == *reply.refusal->id : !held.token) held.failure = failure;
    return;
  }
  const auto news = ipc::lock_of(reply);
  if (!news) return;
  const auto found = held_.find(news->id);
  if (found == held_.end()) return;
  Held& held = found->second;
  using State = ipc::LockNews::State;
  switch (news->state) {
    case State::granted:
      held.token = news->token;
      held.until = nanoseconds{news->until_ns};
      break;
    case State::extended:
      held.until = std::max(held.until, nanoseconds{news->until_ns});
      break;
    case State::lost:
      held.until = nanoseconds{0};
      break;
    case State::refused:
      held.failure = LockFailure{LockTrouble::refused,
                                 "too many programs on this host wait for this lock; try later"};
      break;
    case State::released:
    case State::count:
      break;
  }
}

bool LockConnection::wait_for_news(nanoseconds wait, int cancel) const {
  pollfd ends[2] = {{client_.descriptor(), POLLIN, 0}, {cancel, POLLIN, 0}};
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(std::min(wait, kLongestPoll));
  poll(ends, cancel < 0 ? 1 : 2, static_cast<int>(std::max<std::int64_t>(ms.count(), 0)));
  return cancel < 0 || (ends[1].revents & (POLLIN | POLLHUP)) == 0;
}

std::expected<Lock, LockFailure> LockConnection::take(const std::shared_ptr<LockConnection>& self,
                                                      const std::string& name,
                                                      const TakeOptions& options) {
  if (!listen(nanoseconds{0})) return std::unexpected(*gone_);
  const std::int64_t id = ++last_id_;
  ipc::Request request{.verb = ipc::Verb::lock, .by_ns = {}, .to_ns = {}};
  request.name = name;
  request.shared = options.shared;
  request.id = id;
  if (const auto sent = client_.send(request); !sent)
    return std::unexpected(*(gone_ = failure_of(sent.error())));
  Held& held = held_[id];
  const nanoseconds wait = std::max(options.wait, kMoment);
  const nanoseconds start = boot_clock();
  while (!held.token && !held.failure) {
    const nanoseconds left = wait - (boot_clock() - start);
    if (left <= nanoseconds{0}) {
      release(id);
      return std::unexpected(
          LockFailure{LockTrouble::too_late,
                      fmt::format("'{}' was not to be had within {}; 'tempo locks' says who has it",
                                  name, span_text(std::max(options.wait, nanoseconds{0})))});
    }
    // With a descriptor that cancels, both are waited for; else the connection alone.
    if (options.cancel >= 0 && !wait_for_news(left, options.cancel)) {
      release(id);
      return std::unexpected(LockFailure{LockTrouble::cancelled, "the waiting was cancelled"});
    }
    if (!listen(options.cancel >= 0 ? nanoseconds{0} : std::min(left, kLongestPoll))) {
      held_.erase(id);
      return std::unexpected(*gone_);
    }
  }
  if (held.failure) {
    const LockFailure failure = *std::move(held.failure);
    held_.erase(id);
    return std::unexpected(failure);
  }
  return Lock(self, id, *held.token);
}

void LockConnection::release(std::int64_t id) {
  held_.erase(id);
  if (gone_) return;
  ipc::Request request{.verb = ipc::Verb::unlock, .by_ns = {}, .to_ns = {}};
  request.id = id;
  if (const auto sent = client_.send(request); !sent) gone_ = failure_of(sent.error());
}

nanoseconds LockConnection::deadline(std::int64_t id) {
  listen(nanoseconds{0});
  const auto found = held_.find(id);
  return found == held_.end() ? nanoseconds{0} : found->second.until;
}

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

nanoseconds Lock::remaining() { return std::max(deadline() - boot_clock(), nanoseconds{0}); }

Locks::Locks(std::shared_ptr<LockConnection> connection) : connection_(std::move(connection)) {}
Locks::~Locks() = default;
Locks::Locks(Locks&&) noexcept = default;
Locks& Locks::operator=(Locks&&) noexcept = default;

std::expected<Locks, LockFailure> Locks::connect(const std::string& socket, nanoseconds patience) {
  auto client = client::Client::connect(socket, patience);
  if (!client) return std::unexpected(failure_of(client.error()));
  return Locks(std::make_shared<LockConnection>(*std::move(client)));
}

std::expected<Lock, LockFailure> Locks::take(const std::string& name, const TakeOptions& options) {
  return connection_->take(connection_, name, options);
}

int Locks::descriptor() const { return connection_->descriptor(); }

}  // namespace tempo
