// The worker process: the host (host::Host) connected to sockets, clocks, the disk of its parent
// and local clients.
//
// One thread and one loop. All received datagrams go to the host before its timers run; the outputs
// of a step are carried out before the next step. Nothing here may block. The parts do the work;
// the worker connects them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/control_protocol.h"
#include "api/snapshot.h"
#include "daemon/control/reelect_driver.h"
#include "daemon/control/remote_diagnosis.h"
#include "daemon/control/remote_queries.h"
#include "daemon/daemon_identity.h"
#include "daemon/drivers/announcer.h"
#include "daemon/drivers/clock_driver.h"
#include "daemon/drivers/election_events.h"
#include "daemon/drivers/event_log.h"
#include "daemon/drivers/host_clock.h"
#include "daemon/drivers/instruments.h"
#include "daemon/drivers/local_groups.h"
#include "daemon/drivers/lock_backend.h"
#include "daemon/drivers/membership_file.h"
#include "daemon/drivers/transport.h"
#include "daemon/incompatible_peers.h"
#include "daemon/parent_line.h"
#include "daemon/refused_peers.h"
#include "platform/host.h"
#include "platform/loop.h"
#include "platform/notify.h"
#include "protocol/auth/invitation.h"

namespace tempo::daemon {

inline constexpr int kPriority = 20;  // SCHED_FIFO priority of parent and worker
inline constexpr int kSuspended =
    3;  // exit status of the worker after a suspension: restart it at once
inline constexpr int kBeginsAgain =
    5;  // the same after an order of an operator to begin the lock record again

class Worker {
 public:
  // `parent` may be null: then no hooks run, settings are not reloaded, and records are written
  // here.
  static Result<std::unique_ptr<Worker>> create(const DaemonIdentity& identity,
                                                const ParentLine* parent);
  static Result<std::unique_ptr<Worker>> create(const DaemonIdentity& identity,
                                                Instruments instruments, const ParentLine* parent);

  // Publishes the time in this page. Without a page, clients ask for the time on the control
  // socket.
  void publish_to(page::Writer page) { clock_.publish_to(std::move(page)); }
  void carry_utc_of(UtcDoor door) { clock_.carry_utc_of(std::move(door)); }
  // Publishes it there too.
  void publish_to(Doors doors) { clock_.publish_to(std::move(doors)); }

  // Runs until a signal or `stop`: returns 0, or kBeginsAgain. After a suspension of the machine it
  // returns kSuspended: everything known about the time is invalid then (decision 031).
  int run();
  void stop() { stopping_ = true; }

  // --- for the control server ---
  obs::Snapshot snapshot();
  std::vector<ipc::Finding> findings();
  node::Reading reading() const { return clock_.reading(); }
  std::uint32_t timescale_generation() const {
    return host_.machine().node().sync().timescale_generation();
  }
  Instant now() { return instruments_.oscillator->now(); }
  sys::Loop& loop() { return loop_; }
  EventLog& events() { return events_; }
  LiveTrace& trace() { return transport_.trace(); }
  LockBackend& locks() { return locks_; }
  LocalGroups& groups() { return groups_; }
  ReelectDriver& reelections() { return reelect_; }
  HostId self() const { return identity_.host; }
  const config::Settings& settings() const { return identity_.settings; }
  std::string name_of(HostId host) const { return transport_.name_of(host); }
  Result<void> set_time(Nanos by);  // the error is a sentence for users
  Result<ipc::Invited> invite();    // the same
  // Begins the lock record again, above this count, and restarts the worker; the same.
  Result<void> begin_locks_again(std::uint64_t above);
  // Asks all other members for their findings. `member_findings` is complete when
  // `members_answered`.
  void ask_members();
  // The same; each member names its keys, also if it has just answered another host.
  void ask_keys();
  bool members_answered();
  std::vector<ipc::MemberFindings> member_findings() const;
  // Asks one member, named by name or id, what it would answer a local client; returns the number
  // of the question. The error is a sentence for users.
  Result<std::uint32_t> ask_member(std::string_view host, ipc::Verb verb);
  std::optional<Result<std::string>> member_answer(std::uint32_t question) {
    return remote_queries_.result(now(), question);
  }
  void withdraw_question(std::uint32_t question) { remote_queries_.withdraw(question); }
  // `line` makes the answers to such questions of other members.
  void answer_members_with(std::function<std::string(ipc::Verb)> line) {
    line_for_members_ = std::move(line);
  }
  // Called after every round of the loop, at least four times a second.
  void each_round(std::function<void()> callback) { each_round_ = std::move(callback); }

 private:
  Worker(const DaemonIdentity& identity, Instruments instruments, const ParentLine* parent);

  HostRuntime::Hooks host_hooks();
  Transport::Handlers transport_handlers();
  void command_node(const node::Node::Command& command) { host_.command(command); }

  void update_networks(bool other_settings = false);
  void join(std::uint8_t network);
  void set_leadership(std::uint8_t network);
  void receive_diagnostic(std::uint8_t network, NodeId from, const wire::DiagnosticBody& body);
  void answer_query(NodeId from, const wire::DiagnosticBody& body);
  void receive_join(std::uint8_t network, const sys::Address& from,
                    std::span<const std::byte> request);
  void on_notice(const host::Host::Notice& notice);
  void write_records(std::uint64_t number, const host::Records& records);
  void write_locks(std::uint32_t number, const locks::LockRecord& record);
  void write_membership(std::uint32_t number, const membership::Record& record);
  void finish_writes();
  void receive_from_parent();
  void set_record_error(const std::string& error);
  void set_membership_error(const std::string& error);
  void reload(std::string_view text);
  void warn_of_keys() const;
  void check_id();
  void describe_self();
  void log_start() const;
  void note_losses();
  void housekeeping();
  void stop_cleanly();
  void stop_after_suspension(Nanos span);

  DaemonIdentity identity_;
  Instruments instruments_;
  const ParentLine* parent_;  // may be null
  sys::Loop loop_;
  sys::KernelDraw draw_;
  election::Rules rules_;
  node::SyncRules sync_rules_;
  membership::Rules view_rules_ = membership::rules_for(membership::kLease);
  Transport transport_;
  HostRuntime host_;
  EventLog events_;
  ClockDriver clock_;
  ElectionEvents elections_;
  LockBackend locks_;
  WritesInProgress writes_;
  std::uint32_t locks_written_ = 0;       // number of the last lock record on the disk
  std::uint32_t membership_written_ = 0;  // of the last membership record
  std::string record_error_;              // why the lock record cannot be written; empty: it can
  std::string membership_error_;          // the same of the membership record
  LocalGroups groups_;
  ReelectDriver reelect_;
  Announcer announcer_;
  RemoteDiagnosis remote_diagnosis_;
  RemoteQueries remote_queries_;
  std::function<std::string(ipc::Verb)> line_for_members_;  // empty: there is no control server
  IncompatiblePeers incompatible_peers_;
  RefusedPeers refused_peers_;
  auth::Invitations invitations_;
  sys::Notifier notifier_ = sys::Notifier::from_environment();
  std::function<void()> each_round_;
  Instant started_;
  Instant keys_since_;  // start, or the last change of the keys
  Instant next_housekeeping_;
  std::uint64_t stalls_ = 0;
  std::string disk_error_;     // of the parent; empty: none
  sys::Losses losses_;         // at the last housekeeping
  std::string send_error_;     // sentence about the last datagrams that were not sent
  Instant send_failed_;        // time of `send_error_`, valid unless it is empty
  bool duplicate_id_ = false;  // another machine has the id of this host: do not lead
  bool begins_again_ = false;  // the lock record: the worker ends at its next housekeeping
  bool stopping_ = false;
};

}  // namespace tempo::daemon
