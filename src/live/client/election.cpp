#include "live/client/election.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "live/client/boot_clock.h"
#include "live/client/client.h"
#include "live/client/public_failure.h"
#include "live/ipc/groups.h"

namespace tempo {
namespace {

using std::chrono::nanoseconds;

constexpr std::int64_t kId = 1;  // one candidate on a connection

ipc::Request request_of(ipc::Verb verb) {
  ipc::Request request{.verb = verb, .by_ns = {}, .to_ns = {}};
  request.id = kId;
  return request;
}

}  // namespace

class Election::Candidate {
 public:
  explicit Candidate(client::Client client) : client_(std::move(client)) {}

  Expected<bool, Failure> dispatch(nanoseconds wait) {
    for (bool came = false; !gone_; came = true) {
      const auto reply = client_.next(wait);
      if (!reply) {
        gone_ = public_failure(reply.error());
        break;
      }
      if (!*reply) return came;
      if (const auto news = ipc::election_of(**reply); news && news->id == kId) hear(*news);
      wait = nanoseconds{0};
    }
    return Unexpected{*gone_};
  }

  void say(const ipc::Request& request) {
    if (gone_) return;
    if (const auto sent = client_.send(request); !sent) gone_ = public_failure(sent.error());
  }

  int descriptor() const { return client_.descriptor(); }

  std::function<void(std::uint64_t)> on_lead;
  std::function<void()> on_stop;
  std::function<void(const std::string&)> on_follow;
  std::function<void(const std::string&)> on_job_done;
  std::function<void()> on_no_majority;
  bool stops_later = false;
  bool stands = true;
  std::uint64_t term = 0;
  nanoseconds until{0};

 private:
  void hear(const ipc::ElectionNews& news) {
    using State = ipc::ElectionNews::State;
    switch (news.state) {
      case State::leads:
        term = news.term;
        until = nanoseconds{news.until_ns};
        if (on_lead) on_lead(term);
        break;
      case State::extended:
        if (term != 0) until = std::max(until, nanoseconds{news.until_ns});
        break;
      case State::stop:
        stop();
        if (!stops_later) say(request_of(ipc::Verb::stopped));
        break;
      case State::lost:
        until = nanoseconds{0};
        stop();
        break;
      case State::follows:
        if (on_follow) on_follow(news.leader);
        break;
      case State::no_majority:
        if (on_no_majority) on_no_majority();
        break;
      case State::job_done:
        stands = false;
        if (on_job_done) on_job_done(news.leader);
        break;
      case State::stands:
      case State::withdrawn:
      case State::count:
        break;
    }
  }
  // Told once for each leadership.
  void stop() {
    if (std::exchange(term, 0) != 0 && on_stop) on_stop();
    if (!stops_later) until = nanoseconds{0};
  }

  client::Client client_;
  std::optional<Failure> gone_;
};

Election::Election(std::unique_ptr<Candidate> candidate) : candidate_(std::move(candidate)) {}
Election::Election(Election&&) noexcept = default;
Election& Election::operator=(Election&&) noexcept = default;
Election::~Election() {
  if (candidate_ != nullptr) withdraw();
}

Expected<Election, Failure> Election::stand(const std::string& group,
                                            const CandidateOptions& options,
                                            const std::string& socket, nanoseconds patience) {
  auto client = client::Client::connect(socket, patience);
  if (!client) return Unexpected{public_failure(client.error())};
  ipc::Request request = request_of(ipc::Verb::elect);
  request.name = group;
  request.capacity = options.capacity;
  request.criterion = options.criterion;
  request.algorithm = options.algorithm;
  request.min_stay_ns = options.min_stay.count();
  request.once = options.once;
  // The first that comes says that it stands, or why it cannot.
  if (const auto reply = client->ask(request); !reply)
    return Unexpected{public_failure(reply.error())};
  return Election(std::make_unique<Candidate>(*std::move(client)));
}

void Election::on_lead(std::function<void(std::uint64_t)> call) {
  candidate_->on_lead = std::move(call);
}
void Election::on_stop(std::function<void()> call) { candidate_->on_stop = std::move(call); }
void Election::stops_later() { candidate_->stops_later = true; }
void Election::stopped() {
  candidate_->until = nanoseconds{0};
  candidate_->say(request_of(ipc::Verb::stopped));
}
void Election::on_follow(std::function<void(const std::string&)> call) {
  candidate_->on_follow = std::move(call);
}
void Election::on_job_done(std::function<void(const std::string&)> call) {
  candidate_->on_job_done = std::move(call);
}
void Election::on_no_majority(std::function<void()> call) {
  candidate_->on_no_majority = std::move(call);
}

int Election::descriptor() const { return candidate_->descriptor(); }
Expected<bool, Failure> Election::dispatch(nanoseconds wait) { return candidate_->dispatch(wait); }

nanoseconds Election::deadline() const { return candidate_->until; }
nanoseconds Election::remaining() const {
  return std::max(candidate_->until - boot_clock(), nanoseconds{0});
}
std::uint64_t Election::term() const { return candidate_->term; }

void Election::offer(std::int64_t capacity) {
  ipc::Request request = request_of(ipc::Verb::offer);
  request.capacity = std::max<std::int64_t>(capacity, 0);
  if (candidate_->stands) candidate_->say(request);
}

void Election::withdraw(bool job_done) {
  if (!std::exchange(candidate_->stands, false)) return;
  candidate_->until = nanoseconds{0};
  ipc::Request request = request_of(ipc::Verb::withdraw);
  request.once = job_done;
  candidate_->say(request);
}

}  // namespace tempo
