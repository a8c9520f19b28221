// The worker process: one node connected to sockets, clock and local clients.
//
// One thread and one loop. All received datagrams go to the node before its timers run; the outputs
// of a step are carried out before the next step. Nothing here may block.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/control_protocol.h"
#include "api/snapshot.h"
#include "daemon/control/publisher.h"
#include "daemon/control/reelection.h"
#include "daemon/control/remote_diagnosis.h"
#include "daemon/daemon_identity.h"
#include "daemon/group_driver.h"
#include "daemon/incompatible_peers.h"
#include "daemon/instruments.h"
#include "daemon/links.h"
#include "daemon/live_trace.h"
#include "daemon/lock_driver.h"
#include "daemon/parent_line.h"
#include "machine/machine.h"
#include "platform/clocks/discipline.h"
#include "platform/host.h"
#include "platform/loop.h"
#include "platform/notify.h"
#include "protocol/clock/utc.h"
#include "protocol/sync/node.h"
#include "protocol/wire/codec.h"

namespace tempo::daemon {

inline constexpr int kPriority = 20;  // SCHED_FIFO priority of parent and worker
inline constexpr int kSuspended =
    3;  // exit status of the worker after a suspension: restart it at once

// An event for hooks, the log and clients.
struct Event {
  std::string what;        // became-master, lost-master, master-changed, two-masters, slept, ...
  std::string details;     // one sentence for users
  std::int64_t at_ns = 0;  // time of the steered clock
};

class Worker {
 public:
  static constexpr std::string_view kSaveRate =
      "@rate";  // message to the parent: save this rate (see rate_text)

  // `parent` may be null: then no hooks run and settings are not reloaded.
  static Result<std::unique_ptr<Worker>> create(const DaemonIdentity& identity,
                                                const ParentLine* parent);
  static Result<std::unique_ptr<Worker>> create(const DaemonIdentity& identity,
                                                Instruments instruments, const ParentLine* parent);

  // Drops privileges. Call it once, after `create` and before `run`. Returns one sentence for each
  // step that failed.
  std::vector<std::string> confine();

  // Publishes the time in this page. Without a page, clients ask for the time on the control
  // socket.
  void publish_to(page::Writer page) { publisher_.emplace(std::move(page)); }

  // Runs until a signal or `stop`: returns 0. After a suspension of the machine it returns
  // kSuspended: everything known about the time is invalid then (decision 031).
  int run();
  void stop() { stopping_ = true; }

  // --- for the control server ---
  obs::Snapshot snapshot();
  node::Reading reading();
  Instant now() { return oscillator_->now(); }
  LiveTrace& trace() { return trace_; }
  LockDriver& locks() { return locks_; }
  std::string lock_status()
      const;  // one sentence for users; includes the mode of silent locks in use
  GroupDriver& groups() { return groups_; }
  std::string name_of(HostId host) const;  // name for users; empty: no host
  Result<void> set_time(Nanos by);         // the error is a sentence for users
  // Resigns if this host is master, else asks the master to. A number: the master has been asked,
  // and `reelect_result` returns the result later; unset: not yet.
  using ReelectResult = Result<ipc::Reelected, ipc::Refusal>;
  std::variant<ReelectResult, std::uint32_t> reelect();
  std::optional<ReelectResult> reelect_result(std::uint32_t number) const;
  sys::Loop& loop() { return loop_; }
  // Asks all other members for their findings. `member_findings` is complete when
  // `members_answered`.
  void ask_members();
  bool members_answered();
  std::vector<ipc::MemberFindings> member_findings() const;
  const std::deque<Event>& events() const { return events_; }
  std::uint64_t events_so_far() const { return event_count_; }
  // Called after every round of the loop, at least four times a second.
  void each_round(std::function<void()> callback) { each_round_ = std::move(callback); }

 private:
  static constexpr std::size_t kMaxEvents = 64;

  Worker(const DaemonIdentity& identity, Instruments instruments, const ParentLine* parent);

  void update_networks(bool other_settings = false);
  void join(std::uint8_t number);
  void ready(std::uint8_t number);
  void receive_incompatible(const sys::Address& from);
  void receive(Instant now, std::uint8_t number, NodeId from, const node::Node::Message& message);
  void receive_diagnostic(std::uint8_t number, NodeId from, const wire::DiagnosticBody& body);
  void receive_reelect(std::uint8_t number, NodeId from, const wire::DiagnosticBody& body);
  void send_reelect();
  bool leads(std::uint8_t number) const;
  void resign(std::uint8_t number, const std::string& asker);
  void read_departures(std::uint8_t number);
  template <class Do>
  void step(Do todo);
  void carry_out();
  void transmit(const Output<node::Node>& output);
  void on_notice(const node::Node::Notice& notice);
  void on_election_notice(std::uint8_t number, const election::Notice& notice);
  void on_clock_notice(const node::SyncNotice& notice);
  void follow_clock(bool stepped);
  void publish();
  void carry_utc();
  void wake_timers();
  void report_states();
  void emit_event(std::string what, std::string details);
  void receive_from_parent();
  void set_leadership(std::uint8_t number);
  void save_rate();
  void save_rate_if_due();
  void check_id();
  void stop_cleanly();
  void stop_after_suspension(Nanos span);
  void housekeeping();
  void watch_bound();
  std::string name_of(NodeId node) const;

  DaemonIdentity identity_;
  election::Rules rules_;
  node::SyncRules sync_rules_;
  std::unique_ptr<sys::Oscillator> oscillator_;
  std::unique_ptr<sys::Clock> clock_;
  const ParentLine* parent_;  // may be null
  sys::Loop loop_;
  sys::KernelDraw draw_;
  wire::Codec codec_;
  node::Node node_;
  Outbox<node::Node> outbox_;
  Links links_;
  std::array<std::string_view, node::kMaxNetworks>
      states_;  // election state per network, as last reported
  sys::Notifier notifier_ = sys::Notifier::from_environment();
  std::deque<Event> events_;
  std::uint64_t event_count_ = 0;
  std::function<void()> each_round_;
  Instant started_;
  LiveTrace trace_;
  LockDriver locks_;
  GroupDriver groups_;
  RemoteDiagnosis remote_diagnosis_;
  ReelectRequest reelect_request_;
  ReelectLimiter reelect_limiter_;
  IncompatiblePeers incompatible_peers_;
  Instant next_housekeeping_;
  Instant next_rate_save_;  // when the rate is saved next
  std::uint64_t stalls_ = 0;
  std::uint64_t unsent_ = 0;   // messages to hosts whose address is unknown
  bool duplicate_id_ = false;  // another machine has the id of this host: do not lead
  bool alarmed_ = false;       // the bound exceeds bound-alarm-us
  bool stopping_ = false;
  std::optional<Publisher> publisher_;
  std::unique_ptr<sys::KernelClock> utc_source_;  // null: this machine does not carry UTC
  clock::LeapSmear leaps_;
  bool utc_synchronized_ = true;  // another program synchronizes the system clock, as last reported
  std::string clock_error_;       // last error of the system clock, logged once; empty: none
};

template <class Do>
void Worker::step(Do todo) {
  outbox_.clear();
  Turn<node::Node> turn{oscillator_->now(), draw_, outbox_};
  todo(turn);
  carry_out();
}

}  // namespace tempo::daemon
