#include "tempo/election.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "base/span_text.h"
#include "client/election_connection.h"
#include "client/news_wait.h"
#include "client/public_error.h"

namespace tempo {
namespace {

using std::chrono::nanoseconds;

constexpr std::int64_t kId = 1;  // one candidate on a connection

ipc::Request request_of(ipc::Verb verb) {
  ipc::Request request{.verb = verb, .by_ns = {}, .to_ns = {}};
  request.id = kId;
  return request;
}

Error cancelled() { return {ErrorCode::cancelled, "the waiting was cancelled"}; }

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
  say(request);
  for (const nanoseconds end = boot_clock() + timeout;;) {
    // What comes after that it stands is for `dispatch`, when callbacks are there.
    while (!stands_ && !gone_ && take_one()) {
    }
    if (stands_) return std::nullopt;
    if (gone_) return gone_;
    const nanoseconds left = end - boot_clock();
    if (left <= nanoseconds{0})
      return Error{ErrorCode::no_daemon,
                   fmt::format("tempod does not answer within {}; see what it does with "
                               "'systemctl status tempod'",
                               span_text(timeout))};
    if (!wait_for_news(descriptor(), left, options.cancel)) return cancelled();
  }
}

Expected<bool, Error> ElectionConnection::dispatch(nanoseconds wait, int cancel) {
  if (foreign()) return Unexpected{why_gone()};
  for (const nanoseconds end = boot_clock() + wait;;) {
    bool came = false;
    while (!gone_ && take_one()) came = true;
    if (gone_) return Unexpected{*gone_};
    const nanoseconds left = end - boot_clock();
    if (came || left <= nanoseconds{0}) return came;
    if (!wait_for_news(descriptor(), left, cancel)) return Unexpected{cancelled()};
  }
}

bool ElectionConnection::take_one() {
  const auto reply = client_.next(nanoseconds{0});
  if (!reply) gone_ = public_error(reply.error());
  if (!reply || !*reply) return false;
  if (const auto news = ipc::election_of(**reply); news && news->id == kId) receive(*news);
  return true;
}

void ElectionConnection::receive(const ipc::LeadershipUpdate& news) {
  using State = ipc::LeadershipUpdate::State;
  switch (news.state) {
    case State::stands:
      stands_ = true;
      break;
    case State::leads:
      term_ = 0;
      elected_ = news.term;
      until_ = nanoseconds{news.until_ns};
      lead();
      break;
    case State::extended:
      if (elected_ != 0) until_ = std::max(until_, nanoseconds{news.until_ns});
      lead();
      break;
    case State::stop:
      stop();
      if (!stops_later) stopped();
      break;
    case State::lost:
      until_ = nanoseconds{0};
      stop();
      break;
    case State::follows:
      if (on_follow) on_follow(news.leader);
      break;
    case State::no_majority:
      if (on_no_majority) on_no_majority();
      break;
    case State::job_done:
      stands_ = false;
      if (on_job_done) on_job_done(news.leader);
      break;
    case State::withdrawn:
    case State::count:
      break;
  }
}

// Told once for each leadership, and only while it lasts: a program that was stopped may hear of
// one that is over.
void ElectionConnection::lead() {
  if (term_ != 0 || elected_ == 0 || until_ <= clock_()) return;
  term_ = elected_;
  if (on_lead) on_lead(term_);
}

// Told once for each leadership that it was told of.
void ElectionConnection::stop() {
  elected_ = 0;
  if (std::exchange(term_, 0) != 0 && on_stop) on_stop();
}

void ElectionConnection::say(const ipc::Request& request) {
  if (gone_ || foreign()) return;
  if (const auto sent = client_.send(request); !sent) gone_ = public_error(sent.error());
}

void ElectionConnection::offer(std::int64_t capacity) {
  ipc::Request request = request_of(ipc::Verb::offer);
  request.capacity = std::max<std::int64_t>(capacity, 0);
  if (stands_) say(request);
}

void ElectionConnection::stopped() {
  until_ = nanoseconds{0};
  say(request_of(ipc::Verb::stopped));
}

void ElectionConnection::withdraw(bool job_done) {
  if (!stands_ || foreign()) return;
  stands_ = false;
  until_ = nanoseconds{0};
  ipc::Request request = request_of(ipc::Verb::withdraw);
  request.once = job_done;
  say(request);
}

nanoseconds ElectionConnection::deadline() const { return foreign() ? nanoseconds{0} : until_; }
nanoseconds ElectionConnection::remaining() const {
  return std::max(deadline() - clock_(), nanoseconds{0});
}

bool ElectionConnection::foreign() const { return getpid() != owner_; }

const Error& ElectionConnection::why_gone() {
  if (foreign())
    gone_ = Error{ErrorCode::refused,
                  "this candidate belongs to the process that forked this one; stand anew"};
  return *gone_;
}

// --- the candidate ---

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
void Election::stops_later() { connection_->stops_later = true; }
void Election::stopped() { connection_->stopped(); }
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
bool Election::stands() const { return connection_->stands(); }
void Election::offer(std::int64_t capacity) { connection_->offer(capacity); }
void Election::withdraw(bool job_done) { connection_->withdraw(job_done); }

}  // namespace tempo
