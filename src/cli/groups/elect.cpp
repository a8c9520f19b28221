#include "cli/groups/elect.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <poll.h>

#include "cli/common/exit_codes.h"
#include "cli/common/noted_signals.h"
#include "cli/groups/capacity_meter.h"
#include "cli/locks/guard.h"
#include "client/boot_clock.h"
#include "tempo/election.h"

namespace tempo::cli {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kMeasureEvery = std::chrono::seconds{5};
constexpr nanoseconds kComeBackAfter = std::chrono::milliseconds{500};

int exit_of(const Error& error) {
  return error.code == ErrorCode::no_daemon ? kLockNoDaemon : kLockRefused;
}

// A candidate and its command, as often as it is elected.
class Candidacy {
 public:
  Candidacy(const ElectArguments& arguments, CandidateOptions options, nanoseconds timeout,
            CapacityMeter meter)
      : arguments_(&arguments),
        options_(std::move(options)),
        patience_(timeout),
        meter_(std::move(meter)) {}

  int run() {
    if (const auto stood = stand(); !stood)
      return print_error(exit_of(stood.error()), stood.error().message);
    note_signals();
    while (!exit_) step();
    return *exit_;
  }

 private:
  std::expected<void, Error> stand() {
    options_.capacity = meter_.capacity();
    auto election = Election::stand(arguments_->group, options_, arguments_->socket, patience_);
    if (!election) return std::unexpected(election.error());
    election_.emplace(*std::move(election));
    election_->require_stop_confirmation();  // letting go is the guard's, when the command is gone
    election_->on_lead([this](std::uint64_t term) { lead(term); });
    election_->on_stop([this] { stop_command(); });
    election_->on_job_done([this](const std::string& by) {
      fmt::print(stderr, "tempo: the job of '{}' was done by {}\n", arguments_->group, by);
      exit_ = kDone;
    });
    return {};
  }

  void step() {
    std::array<pollfd, 3> ends{{{guard_ ? guard_->descriptor() : -1, POLLIN, 0},
                                {election_ ? election_->descriptor() : -1, POLLIN, 0},
                                {meter_.descriptor(), POLLIN, 0}}};
    nanoseconds wait = kMeasureEvery;
    if (meter_.changes()) wait = std::min(wait, measure_at_ - boot_clock());
    if (!election_ && !guard_) wait = std::min(wait, come_back_at_ - boot_clock());
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(std::max(wait, nanoseconds{0}));
    poll(ends.data(), ends.size(), static_cast<int>(ms.count()));
    if (const int number = noted_signal()) take_signal(number);
    if (guard_)
      if (const auto end = guard_->ended()) return end_of_command(*end);
    if (election_ && ends[1].revents != 0) receive();
    if (ends[2].revents != 0 && meter_.take()) offer();
    if (boot_clock() >= measure_at_ && meter_.changes()) {
      measure_at_ = boot_clock() + kMeasureEvery;
      if (meter_.measure()) offer();
    }
    if (!election_ && !guard_ && boot_clock() >= come_back_at_) come_back();
  }

  void offer() {
    if (election_) election_->set_capacity(meter_.capacity());
  }

  // Without tempod a command goes on until its lease ends, and is stopped then.
  void receive() {
    const auto alive = election_->dispatch();
    if (guard_ && election_->term() != 0 && election_->deadline() != deadline_) {
      deadline_ = election_->deadline();
      guard_->extend(deadline_);
    }
    if (!alive || not_started_) leave();
  }

  void leave() {
    election_.reset();
    not_started_ = false;
    come_back_at_ = boot_clock() + kComeBackAfter;
  }

  void come_back() {
    const auto stood = stand();
    if (stood) return;
    come_back_at_ = boot_clock() + kComeBackAfter;
    if (stood.error().code != ErrorCode::no_daemon)
      exit_ = print_error(kLockRefused, stood.error().message);
  }

  // The connection holds the lease and a guard closes it: while one still stops a command no other
  // may begin on it. Nor on what is left of a lease when this was stopped meanwhile.
  void lead(std::uint64_t term) {
    const auto margin = Guard::margin_of(election_->remaining());
    if (guard_ || !margin) {
      not_started_ = true;
      return;
    }
    deadline_ = election_->deadline();
    margin_ = *margin;
    auto guard = Guard::start({.command = arguments_->command,
                               .environment = {{"TEMPO_LEADER_TOKEN", fmt::format("{}", term)},
                                               {"TEMPO_GROUP", arguments_->group}},
                               .connection = election_->descriptor(),
                               .deadline = deadline_,
                               .margin = margin_});
    if (!guard) {
      exit_ = print_error(kLockRefused, guard.error());
      return;
    }
    guard_.emplace(*std::move(guard));
  }

  // The guard's time has come as it were: it stops the command, then closes the connection.
  void stop_command() const {
    if (guard_) guard_->extend(std::min(deadline_, boot_clock() + margin_));
  }

  void end_of_command(const Guard::End& end) {
    guard_.reset();
    if (end.stopped) return leave();  // another is to lead; it stands again
    if (election_) election_->withdraw(options_.once);
    exit_ = exit_status_of(end);
  }

  void take_signal(int number) {
    if (guard_)
      guard_->signal(number);
    else
      exit_ = number == SIGINT ? kInterrupted : 128 + number;
  }

  const ElectArguments* arguments_;
  CandidateOptions options_;
  nanoseconds patience_;
  CapacityMeter meter_;
  std::optional<Election> election_;
  std::optional<Guard> guard_;
  nanoseconds deadline_{0};  // as the guard knows it
  nanoseconds margin_{0};
  nanoseconds measure_at_ = boot_clock() + kMeasureEvery;
  nanoseconds come_back_at_{0};
  bool not_started_ = false;  // elected too soon or too late to start the command; stands again
  std::optional<int> exit_;
};

}  // namespace

int elect(const ElectArguments& arguments) {
  const auto timeout = span_of(arguments.timeout, "--timeout");
  if (!timeout) return timeout.error();
  const auto min_stay = span_of(arguments.min_stay, "--min-stay");
  if (!min_stay) return min_stay.error();
  const bool on_ring = arguments.algorithm.starts_with("ring");
  const std::string criterion = !arguments.criterion.empty() ? arguments.criterion
                                : on_ring                    ? "random"
                                                             : "load";
  const char* const proc = std::getenv("TEMPO_PROC");
  auto meter = CapacityMeter::create(
      criterion, {.socket = arguments.socket, .proc = proc == nullptr ? "/proc" : proc});
  if (!meter) return print_error(kBadUsage, meter.error());
  const CandidateOptions options{.criterion = meter->criterion(),
                                 .algorithm = arguments.algorithm,
                                 .min_stay = *min_stay,
                                 .once = arguments.once};
  return Candidacy(arguments, options, *timeout, *std::move(meter)).run();
}

}  // namespace tempo::cli
