#include "tempo/election.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "base/span_text.h"
#include "client/election_connection.h"
#include "client/public_error.h"
#include "client/wait_readable.h"

namespace tempo {
namespace {

using std::chrono::nanoseconds;

constexpr std::int64_t kId = 1;  // a connection has one candidate

ipc::Request request_of(ipc::Verb verb) {
  ipc::Request request{.verb = verb, .by_ns = {}, .to_ns = {}};
  request.id = kId;
  return request;
}

Error cancelled() { return {ErrorCode::cancelled, "the wait was cancelled"}; }

}  // namespace

ElectionConnection::ElectionConnection(client::Client client, Clock clock)
    : client_(std::move(client)), clock_(std::move(clock)), owner_(getpid()) {}

std::optional<Error> ElectionConnection::stand(const std::string& group,
                                               const CandidateOptions& options,
                                               nanoseconds timeout) {
  ipc::Request request = request_of(ipc::Verb::elect);
  request.name = group;
  request.capacity = options.capacity;
  request.criterion = options.criterion;
  request.algorithm = options.algorithm;
  request.min_stay_ns = options.min_stay.count();
  request.once = options.once;
  request.keeps_lease = options.keeps_lease;
  send(request);
  for (const nanoseconds end = boot_clock() + timeout;;) {
    // Later updates are left for `dispatch`, when the callbacks are set.
    while (!is_candidate_ && !closed_ && handle_one()) {
    }
    if (is_candidate_) return std::nullopt;
    if (closed_) return closed_;
    const nanoseconds left = end - boot_clock();
    if (left <= nanoseconds{0})
      return Error{ErrorCode::no_daemon,
                   fmt::format("tempod did not answer within {}; check 'systemctl status tempod'",
                               span_text(timeout))};
    if (!wait_readable(descriptor(), left, options.cancel)) return cancelled();
  }
}

Expected<bool, Error> ElectionConnection::dispatch(nanoseconds wait, int cancel) {
  if (in_child()) return Unexpected{closed_error()};
  for (const nanoseconds end = boot_clock() + wait;;) {
    bool handled = false;
    while (!closed_ && handle_one()) handled = true;
    if (closed_) return Unexpected{*closed_};
    const nanoseconds left = end - boot_clock();
    if (handled || left <= nanoseconds{0}) return handled;
    if (!wait_readable(descriptor(), left, cancel)) return Unexpected{cancelled()};
  }
}

bool ElectionConnection::handle_one() {
  const auto reply = client_.next(nanoseconds{0});
  if (!reply) closed_ = public_error(reply.error());
  if (!reply || !*reply) return false;
  if (const auto update = ipc::election_of(**reply); update && update->id == kId) receive(*update);
  return true;
}

void ElectionConnection::receive(const ipc::LeadershipUpdate& update) {
  using State = ipc::LeadershipUpdate::State;
  switch (update.state) {
    case State::stands:
      is_candidate_ = true;
      break;
    case State::leads:
      term_ = 0;
      elected_ = update.term;
      until_ = nanoseconds{update.until_ns};
      lead();
      break;
    case State::extended:
      if (elected_ != 0) until_ = std::max(until_, nanoseconds{update.until_ns});
      lead();
      break;
    case State::stop:
      stop();
      if (!requires_stop_confirmation) confirm_stopped();
      break;
    case State::lost:
      until_ = nanoseconds{0};
      stop();
      break;
    case State::follows:
      if (on_follow) on_follow(update.leader);
      break;
    case State::no_majority:
      if (on_no_majority) on_no_majority();
      break;
    case State::job_done:
      is_candidate_ = false;
      if (on_job_done) on_job_done(update.leader);
      break;
    case State::withdrawn:
    case State::count:
      break;
  }
}

// Calls `on_lead` once per term, and only while the lease lasts: a program that was suspended may
// read of a term that is over.
void ElectionConnection::lead() {
  if (term_ != 0 || elected_ == 0 || until_ <= clock_()) return;
  term_ = elected_;
  if (on_lead) on_lead(term_);
}

// Calls `on_stop` once per term for which it called `on_lead`.
void ElectionConnection::stop() {
  elected_ = 0;
  if (std::exchange(term_, 0) != 0 && on_stop) on_stop();
}

void ElectionConnection::send(const ipc::Request& request) {
  if (closed_ || in_child()) return;
  if (const auto sent = client_.send(request); !sent) closed_ = public_error(sent.error());
}

void ElectionConnection::set_capacity(std::int64_t capacity) {
  ipc::Request request = request_of(ipc::Verb::offer);
  request.capacity = std::max<std::int64_t>(capacity, 0);
  if (is_candidate_) send(request);
}

void ElectionConnection::confirm_stopped() {
  until_ = nanoseconds{0};
  send(request_of(ipc::Verb::stopped));
}

void ElectionConnection::withdraw(bool job_done) {
  if (!is_candidate_ || in_child()) return;
  is_candidate_ = false;
  until_ = nanoseconds{0};
  ipc::Request request = request_of(ipc::Verb::withdraw);
  request.once = job_done;
  send(request);
}

nanoseconds ElectionConnection::deadline() const { return in_child() ? nanoseconds{0} : until_; }
nanoseconds ElectionConnection::remaining() const {
  return std::max(deadline() - clock_(), nanoseconds{0});
}

bool ElectionConnection::in_child() const { return getpid() != owner_; }

const Error& ElectionConnection::closed_error() {
  if (in_child())
    closed_ = Error{ErrorCode::refused,
                    "this candidate belongs to the parent process; call stand() after fork()"};
  return *closed_;
}

// --- Election ---

Election::Election(std::unique_ptr<ElectionConnection> connection)
    : connection_(std::move(connection)) {}
Election::Election(Election&&) noexcept = default;
Election& Election::operator=(Election&&) noexcept = default;
Election::~Election() {
  if (connection_ != nullptr) withdraw();
}

Expected<Election, Error> Election::stand(const std::string& group, const CandidateOptions& options,
                                          const std::string& socket, nanoseconds timeout) {
  auto client = client::Client::connect(socket, timeout);
  if (!client) return Unexpected{public_error(client.error())};
  return stand_on(std::make_unique<ElectionConnection>(*std::move(client)), group, options,
                  timeout);
}

Expected<Election, Error> Election::stand_on(std::unique_ptr<ElectionConnection> connection,
                                             const std::string& group,
                                             const CandidateOptions& options, nanoseconds timeout) {
  if (const auto error = connection->stand(group, options, timeout)) return Unexpected{*error};
  return Election(std::move(connection));
}

void Election::on_lead(std::function<void(std::uint64_t)> call) {
  connection_->on_lead = std::move(call);
}
void Election::on_stop(std::function<void()> call) { connection_->on_stop = std::move(call); }
void Election::require_stop_confirmation() { connection_->requires_stop_confirmation = true; }
void Election::confirm_stopped() { connection_->confirm_stopped(); }
void Election::on_follow(std::function<void(const std::string&)> call) {
  connection_->on_follow = std::move(call);
}
void Election::on_job_done(std::function<void(const std::string&)> call) {
  connection_->on_job_done = std::move(call);
}
void Election::on_no_majority(std::function<void()> call) {
  connection_->on_no_majority = std::move(call);
}

int Election::descriptor() const { return connection_->descriptor(); }
Expected<bool, Error> Election::dispatch(nanoseconds wait, int cancel) {
  return connection_->dispatch(wait, cancel);
}
nanoseconds Election::deadline() const { return connection_->deadline(); }
nanoseconds Election::remaining() const { return connection_->remaining(); }
std::uint64_t Election::term() const { return connection_->term(); }
bool Election::is_candidate() const { return connection_->is_candidate(); }
void Election::set_capacity(std::int64_t capacity) { connection_->set_capacity(capacity); }
void Election::withdraw(bool job_done) { connection_->withdraw(job_done); }

}  // namespace tempo
