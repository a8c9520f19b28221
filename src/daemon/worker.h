// The daemon's work: one node, tied to the sockets, the clock and the programs on this host.
//
// One thread and one loop. Everything that has arrived is given to the node before a timer is
// woken; what the node wants done is done before the next step. Work that could block is not done
// here.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/control_protocol.h"
#include "api/snapshot.h"
#include "daemon/control/publisher.h"
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

inline constexpr int kPriority = 20;  // of both processes, where real-time ones are allowed
inline constexpr int kSlept = 3;      // the worker's exit status: start another one at once

// Something that happened, for hooks, logs and whoever watches.
struct Event {
  std::string what;        // became-master, lost-master, master-changed, two-masters, slept, ...
  std::string details;     // a sentence
  std::int64_t at_ns = 0;  // of the steered clock
};

class Worker {
 public:
  static constexpr std::string_view kKeepRate = "@rate";  // to the parent: see rate_text

  // Without a parent nobody hears of events, and settings stay as they are.
  static Result<std::unique_ptr<Worker>> create(const DaemonIdentity& identity,
                                                const ParentLine* parent);
  static Result<std::unique_ptr<Worker>> create(const DaemonIdentity& identity,
                                                Instruments instruments, const ParentLine* parent);

  // Once, after `create` and before `run`: gives up what is not needed. Sentences say what could
  // not be done.
  std::vector<std::string> confine();

  // The page that programs on this host read the time from; without one they ask at the door.
  void publish_to(page::Writer page) { publisher_.emplace(std::move(page)); }

  // Until a signal or `stop`: 0. Or until the machine has slept: kSlept, and whatever was known of
  // the time is known no more (decision 031).
  int run();
  void stop() { stopping_ = true; }

  // --- for the door (programs on this host) ---
  obs::Snapshot snapshot();
  node::Reading reading();
  Instant now() { return oscillator_->now(); }
  LiveTrace& trace() { return trace_; }
  LockDriver& locks() { return locks_; }
  std::string lock_status()
      const;  // one sentence for users; includes the mode of silent locks in use
  GroupDriver& groups() { return groups_; }
  std::string name_of(HostId host) const;  // as people are told; empty: nobody
  // Sentences say why not.
  Result<void> reelect();
  Result<void> resign();
  Result<void> set_time(Nanos by);
  sys::Loop& loop() { return loop_; }
  // Asks all other members what ails them; their answers are there when `members_answered`.
  void ask_members();
  bool members_answered();
  std::vector<ipc::MemberFindings> what_members_find() const;
  const std::deque<Event>& events() const { return events_; }
  std::uint64_t events_so_far() const { return event_count_; }
  // Called after every round of the loop; there are four a second at least.
  void each_round(std::function<void()> callback) { each_round_ = std::move(callback); }

 private:
  static constexpr std::size_t kMaxEvents = 64;

  Worker(const DaemonIdentity& identity, Instruments instruments, const ParentLine* parent);

  void look_for_networks(bool other_settings = false);
  void join(std::uint8_t number);
  void ready(std::uint8_t number);
  void receive_incompatible(const sys::Address& from);
  void receive_other(std::uint8_t number, const node::Codec::Received& received);
  void receive_word(std::uint8_t number, NodeId from, const wire::DiagnosticBody& word);
  void read_departures(std::uint8_t number);
  template <class Do>
  void step(Do todo);
  void carry_out();
  void transmit(const Output<node::Node>& output);
  void on_notice(const node::Node::Notice& notice);
  void follow_clock(bool stepped);
  void publish();
  void carry_utc();
  void wake_timers();
  void note_states();
  void emit_event(std::string what, std::string details);
  void take_order();
  void set_leadership(std::uint8_t number);
  void keep_rate();
  void keep_rate_now_and_then();
  void check_id();
  void stop_in_order();
  void stop_after_sleep(Nanos span);
  void do_chores();
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
  node::Codec codec_;
  node::Node node_;
  Outbox<node::Node> outbox_;
  Links links_;
  std::array<std::string_view, node::kMaxNetworks> states_;  // of the elections, as last told
  sys::Notifier notifier_ = sys::Notifier::from_environment();
  std::deque<Event> events_;
  std::uint64_t event_count_ = 0;
  std::function<void()> each_round_;
  Instant started_;
  LiveTrace trace_;
  LockDriver locks_;
  GroupDriver groups_;
  RemoteDiagnosis remote_diagnosis_;
  IncompatiblePeers incompatible_peers_;
  Instant next_chore_;
  Instant next_keeping_;  // of the rate
  std::uint64_t stalls_ = 0;
  std::uint64_t unsent_ = 0;  // messages for hosts whose address is not known
  bool stays_out_ = false;
  bool alarmed_ = false;  // the bound exceeds what the settings allow
  bool stopping_ = false;
  std::optional<Publisher> publisher_;
  std::unique_ptr<sys::KernelClock> utc_source_;  // null: this machine carries no UTC
  clock::LeapSmear leaps_;
  bool utc_kept_ = true;       // somebody keeps the kernel's clock, as last told
  std::string clock_trouble_;  // the last failure of the kernel's clock, told once
};

template <class Do>
void Worker::step(Do todo) {
  outbox_.clear();
  Turn<node::Node> turn{oscillator_->now(), draw_, outbox_};
  todo(turn);
  carry_out();
}

}  // namespace tempo::daemon
