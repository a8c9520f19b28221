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
constexpr nanoseconds kResumeEvery = std::chrono::milliseconds{20};

ipc::Request request_of(ipc::Verb verb) {
  ipc::Request request{.verb = verb, .by_ns = {}, .to_ns = {}};
  request.id = kId;
  return request;
}

Error cancelled() { return {ErrorCode::cancelled, "the wait was cancelled"}; }

}  // namespace

ElectionConnection::ElectionConnection(client::Client client, std::string socket)
    : ElectionConnection(std::move(client), boot_clock) {
  socket_ = std::move(socket);
}
ElectionConnection::ElectionConnection(client::Client client, Clock clock)
    : client_(std::move(client)),
      clock_(std::move(clock)),
      events_(client_.descriptor()),
      owner_(getpid()) {}

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
  // A lease that is kept until its end belongs to no connection.
  request.resumable = !socket_.empty() && !options.keeps_lease;
  candidacy_ = request;
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
    if (lost_) reconnect();
    while (!closed_ && !lost_ && handle_one()) handled = true;
    if (closed_) return Unexpected{*closed_};
    const nanoseconds left = end - boot_clock();
    if (handled || left <= nanoseconds{0}) return handled;
    if (!wait_readable(descriptor(), left, cancel)) return Unexpected{cancelled()};
  }
}

bool ElectionConnection::handle_one() {
  const auto reply = client_.next_or_refusal(nanoseconds{0});
  if (!reply) lose(public_error(reply.error()));
  if (!reply || !*reply) return false;
  if ((*reply)->refusal) {
    const ipc::Refusal& refusal = *(*reply)->refusal;
    const Error error{public_code(refusal.code), refusal.message};
    // tempod does not know the voters yet, or the lead is another process's.
    if (resuming_ && refusal.code == ipc::Code::unavailable)
      lose(error);
    else
      closed_ = error;
    return false;
  }
  if (const auto update = ipc::election_of(**reply); update && update->id == kId) receive(*update);
  return true;
}

// --- connecting again ---

bool ElectionConnection::can_resume() const {
  return !socket_.empty() && !session_.empty() && lead_term_ != 0 && until_ > clock_();
}

void ElectionConnection::lose(const Error& error) {
  events_.forget(client_.descriptor());
  if (!can_resume()) {
    closed_ = error;
    return;
  }
  // At once if the connection was good; a daemon that refuses is asked again later.
  again_at_ = resuming_ ? clock_() + kResumeEvery : clock_();
  events_.wake_at(again_at_);
  lost_ = error;
}

void ElectionConnection::reconnect() {
  if (clock_() < again_at_) return;
  if (!can_resume()) {
    closed_ = std::exchange(lost_, std::nullopt);
    events_.do_not_wake();
    return;
  }
  if (connect_again()) return;
  again_at_ = clock_() + kResumeEvery;
  events_.wake_at(again_at_);
}

bool ElectionConnection::connect_again() {
  auto again = client::Client::connect(socket_, kResumeEvery);
  if (!again) return false;
  client_ = *std::move(again);
  ipc::Request request = candidacy_;
  request.token = lead_term_;
  request.session = session_;
  request.until_ns = until_.count();
  if (const auto sent = client_.send(request); !sent) return false;
  events_.do_not_wake();
  events_.watch(client_.descriptor());
  lost_.reset();
  resuming_ = true;
  return true;
}

// The lead is over for this program: tempod must hear of it even if the connection broke.
void ElectionConnection::send_last(const ipc::Request& request) {
  if (closed_ || in_child()) return;
  if (!lost_ && client_.send(request)) return;
  if (can_resume() && connect_again()) send(request);
}

void ElectionConnection::receive(const ipc::LeadershipUpdate& update) {
  using State = ipc::LeadershipUpdate::State;
  switch (update.state) {
    case State::stands:
      is_candidate_ = true;
      break;
    case State::leads:
      if (update.term != lead_term_) {
        term_ = 0;
        until_ = nanoseconds{0};
        elected_ = lead_term_ = update.term;
      }
      session_ = update.session;
      until_ = std::max(until_, nanoseconds{update.until_ns});
      resuming_ = false;
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
      end_lead();
      resuming_ = false;
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
  if (closed_ || lost_ || in_child()) return;
  if (const auto sent = client_.send(request); !sent) lose(public_error(sent.error()));
}

void ElectionConnection::set_capacity(std::int64_t capacity) {
  ipc::Request request = request_of(ipc::Verb::offer);
  candidacy_.capacity = request.capacity = std::max<std::int64_t>(capacity, 0);
  if (is_candidate_) send(request);
}

void ElectionConnection::confirm_stopped() {
  send_last(request_of(ipc::Verb::stopped));
  end_lead();
}

void ElectionConnection::end_lead() {
  until_ = nanoseconds{0};
  lead_term_ = 0;
  session_.clear();
}

void ElectionConnection::withdraw(bool job_done) {
  if (!is_candidate_ || in_child()) return;
  is_candidate_ = false;
  ipc::Request request = request_of(ipc::Verb::withdraw);
  request.once = job_done;
  send_last(request);
  end_lead();
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
  return stand_on(std::make_unique<ElectionConnection>(*std::move(client), socket), group, options,
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
int Election::socket() const { return connection_->socket(); }
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
