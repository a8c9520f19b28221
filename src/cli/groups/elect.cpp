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

#include "api/group_requests.h"
#include "cli/common/exit_codes.h"
#include "cli/common/noted_signals.h"
#include "cli/common/output.h"
#include "cli/common/periodic_request.h"
#include "cli/common/terminal.h"
#include "cli/groups/capacity_meter.h"
#include "cli/locks/guard.h"
#include "client/boot_clock.h"
#include "platform/notify.h"
#include "tempo/election.h"

namespace tempo::cli {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kMeasureEvery = std::chrono::seconds{5};
constexpr nanoseconds kRejoinAfter = std::chrono::milliseconds{500};

int candidacy_exit(const Error& error) {
  return error.code == ErrorCode::no_daemon ? kLockNoDaemon : kLockRefused;
}

// A candidate; runs the command each time this machine is elected.
class Candidacy {
 public:
  Candidacy(const ElectArguments& arguments, CandidateOptions options, nanoseconds timeout,
            CapacityMeter meter)
      : arguments_(&arguments),
        options_(std::move(options)),
        timeout_(timeout),
        meter_(std::move(meter)),
        line_(!arguments.json),
        groups_(arguments.socket, ipc::Verb::groups, line_.active()) {}

  int run() {
    if (const auto stood = stand(); !stood)
      return print_error(candidacy_exit(stood.error()), stood.error().message);
    note_signals();
    while (!exit_) step();
    line_.clear();
    return *exit_;
  }

 private:
  std::expected<void, Error> stand() {
    options_.capacity = meter_.capacity();
    auto election = Election::stand(arguments_->group, options_, arguments_->socket, timeout_);
    if (!election) return std::unexpected(election.error());
    election_.emplace(*std::move(election));
    election_->require_stop_confirmation();  // the guard releases the lease, after the command
    election_->on_lead([this](std::uint64_t term) { lead(term); });
    election_->on_stop([this] { stop_command(); });
    election_->on_no_majority([this] {
      majority_ = false;
      notifier_.status("no majority: too few machines answer");
    });
    election_->on_follow([this](const std::string& leader) {
      majority_ = true;
      notifier_.status(leader.empty() ? "no leader yet"
                                      : fmt::format("{} leads, not this machine", leader));
    });
    election_->on_job_done([this](const std::string& by) {
      print_state(state("stopped").add("job_done_by", by));
      line_.clear();
      if (!arguments_->json)
        print_error("tempo: {} has done the job of group '{}'\n", by, arguments_->group);
      exit_ = kDone;
    });
    print_state(state("candidate")
                    .add("criterion", options_.criterion)
                    .add("capacity", fmt::format("{}", meter_.capacity())));
    majority_ = true;
    notifier_.ready("candidate; no leader yet");
    return {};
  }

  Json state(const char* name) const {
    return Json::object().add("state", name).add("group", arguments_->group);
  }
  void print_state(const Json& json) const {
    if (arguments_->json) print_json_error_line(json);
  }
  // While this machine does not lead: "candidate for group 'web' (load 37%); node2 leads".
  void show(const std::string& situation) {
    if (guard_) return;
    const bool measured = meter_.changes() || options_.criterion == "weight";
    line_.show(fmt::format(
        "candidate for group '{}'{}; {}", arguments_->group,
        measured ? fmt::format(" ({})", capacity_text(options_.criterion, meter_.capacity())) : "",
        situation));
  }

  void step() {
    std::array<pollfd, 4> ends{{{guard_ ? guard_->descriptor() : -1, POLLIN, 0},
                                {election_ ? election_->descriptor() : -1, POLLIN, 0},
                                {meter_.descriptor(), POLLIN, 0},
                                {guard_ ? -1 : groups_.descriptor(), POLLIN, 0}}};
    nanoseconds wait = kMeasureEvery;
    if (line_.active() && !guard_) wait = std::min<nanoseconds>(wait, groups_.timeout());
    if (meter_.changes()) wait = std::min(wait, measure_at_ - boot_clock());
    if (!election_ && !guard_) wait = std::min(wait, rejoin_at_ - boot_clock());
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(std::max(wait, nanoseconds{0}));
    poll(ends.data(), ends.size(), static_cast<int>(ms.count()));
    if (const int number = noted_signal()) take_signal(number);
    if (guard_)
      if (const auto end = guard_->ended(meter_.process())) return end_of_command(*end);
    if (guard_)
      if (const auto left = guard_->left()) report_left(*left);
    if (election_ && ends[1].revents != 0) receive();
    if (ends[2].revents != 0) take_measurement();
    if (boot_clock() >= measure_at_ && meter_.changes()) {
      measure_at_ = boot_clock() + kMeasureEvery;
      if (meter_.measure()) offer();
    }
    if (!election_ && !guard_ && boot_clock() >= rejoin_at_) rejoin();
    if (!guard_ && !exit_) show_leader();
  }

  // The other machines may have elected a leader before this one became a candidate: tempod reports
  // only changes to a candidate, so that the line asks for the group itself.
  void show_leader() {
    const auto reply = groups_.update();
    if (!reply || !election_) return;
    const auto list = ipc::groups_of(*reply);
    if (!list) return;
    std::string leader;
    for (const ipc::GroupView& group : *list)
      if (group.name == arguments_->group) leader = group.leader;
    show(!leader.empty() ? leader + " leads"
         : majority_     ? "no leader yet"
                         : "no majority: too few machines answer");
  }

  void offer() {
    if (election_) election_->set_capacity(meter_.capacity());
  }

  // A command that fails keeps its last value; the error is printed once in a row.
  void take_measurement() {
    const auto measured = meter_.take();
    if (measured && *measured) {
      failing_ = false;
      offer();
    }
    if (measured || std::exchange(failing_, true)) return;
    line_.clear();
    const std::string message =
        fmt::format("{}; keeping its last value, {}", measured.error(), meter_.capacity());
    if (arguments_->json)
      print_state(state("warning").add("message", message));
    else
      print_error("tempo: {}\n", message);
  }

  // Without tempod the command runs until its lease ends; then the guard stops it.
  void receive() {
    const auto alive = election_->dispatch();
    const bool restarted = election_->socket() != connection_;
    if (guard_ && election_->term() != 0 && (restarted || election_->deadline() != deadline_)) {
      deadline_ = election_->deadline();
      connection_ = election_->socket();
      guard_->extend(deadline_, restarted ? connection_ : -1);
    }
    if (!alive || not_started_) leave();
  }

  void leave() {
    election_.reset();
    not_started_ = false;
    rejoin_at_ = boot_clock() + kRejoinAfter;
  }

  void rejoin() {
    const auto stood = stand();
    if (stood) return;
    rejoin_at_ = boot_clock() + kRejoinAfter;
    if (stood.error().code == ErrorCode::no_daemon)
      show("tempod is not reachable; retrying");
    else
      exit_ = print_error(kLockRefused, stood.error().message);
  }

  // The connection holds the lease, and a guard closes it: while a guard still stops a command, no
  // other command may start. Nor may one start on the rest of a lease that is almost over.
  void lead(std::uint64_t term) {
    const auto margin = Guard::margin_of(election_->remaining());
    if (guard_ || !margin) {
      not_started_ = true;
      return;
    }
    line_.clear();
    print_state(state("leading").add("term", fmt::format("{}", term)));
    notifier_.status(fmt::format("this machine leads, term {}", term));
    deadline_ = election_->deadline();
    connection_ = election_->socket();
    auto guard = Guard::start({.command = arguments_->command,
                               .environment = {{"TEMPO_LEADER_TOKEN", fmt::format("{}", term)},
                                               {"TEMPO_GROUP", arguments_->group}},
                               .connection = connection_,
                               .deadline = deadline_,
                               .margin = *margin});
    if (!guard) {
      exit_ = print_error(kLockRefused, guard.error());
      return;
    }
    guard_.emplace(*std::move(guard));
  }

  // The guard stops the command, then closes the connection.
  void stop_command() const {
    if (guard_) guard_->stop();
  }

  // This machine leads until these processes have ended.
  void report_left(const Guard::Left& left) const {
    if (arguments_->json)
      print_state(state(left.killed ? "not_stopped" : "outlived")
                      .add("processes", static_cast<std::int64_t>(left.processes.size())));
    else
      print_error("tempo: {}; this machine leads group '{}' meanwhile\n", left_text(left),
                  arguments_->group);
  }

  void end_of_command(const Guard::End& end) {
    guard_.reset();
    if (end.stopped) {  // another machine shall lead; this one stands again
      print_state(state("stopped"));
      if (end.left.empty() && end.ran_on.empty()) {
        // The guard has closed the connection, but tempod keeps the lead while this process lives.
        // On a new connection it ends, and this machine remains a candidate.
        if (!election_) return leave();
        return election_->confirm_stopped();
      }
      exit_ = print_error(kRanOn, fmt::format("the lead of group '{}' was lost, and {}",
                                              arguments_->group, ran_on_text(end)));
      return;
    }
    if (election_) election_->withdraw(options_.once);
    exit_ = exit_status_of(end);
    print_state(state("stopped").add("exit_status", std::int64_t{*exit_}));
    if (!end.error.empty()) print_error(*exit_, end.error);
  }

  void take_signal(int number) {
    if (guard_)
      guard_->signal(number);
    else
      exit_ = number == SIGINT ? kInterrupted : 128 + number;
  }

  const ElectArguments* arguments_;
  CandidateOptions options_;
  nanoseconds timeout_;
  CapacityMeter meter_;
  std::optional<Election> election_;
  std::optional<Guard> guard_;
  WaitLine line_;
  PeriodicRequest groups_;  // for `line_`
  // For `systemctl status`, which says why the command does not run here.
  sys::Notifier notifier_ = sys::Notifier::from_environment();
  bool majority_ = true;     // tempod has not reported that too few machines answer
  nanoseconds deadline_{0};  // of the guard
  int connection_ = -1;      // the guard's, to tempod
  nanoseconds measure_at_ = boot_clock() + kMeasureEvery;
  nanoseconds rejoin_at_{0};
  bool not_started_ = false;  // elected too early or too late to start the command; stands again
  bool failing_ = false;      // the last run of the criterion's command failed
  std::optional<int> exit_;   // nullopt: go on
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
