// The locks of the daemon: drives the machine locks::LockService for network, disk, events and the
// control server.
//
// Records are written by the parent, because a write may take long; without a parent they are
// written here. Outputs that follow a record wait until it is on disk. With the etcd back end
// clients are served over the connection to tempo-etcd instead.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "daemon/daemon_identity.h"
#include "daemon/etcd_line.h"
#include "daemon/links.h"
#include "daemon/parent_line.h"
#include "machine/write_queue.h"
#include "protocol/lock/lock_service.h"
#include "protocol/wire/codec.h"

namespace tempo::daemon {

// The lock record is one file in the state directory, replaced atomically.
std::string lock_record_path(const std::string& state_dir);
// Unset: there is none, it is damaged, or it belongs to another host.
std::optional<locks::LockRecord> read_lock_record(const std::string& state_dir, HostId host);

class LockDriver {
 public:
  // All must outlive the driver. Without a parent, records are written here.
  struct Parts {
    const DaemonIdentity* identity = nullptr;
    wire::Codec* codec = nullptr;
    Links* links = nullptr;
    Draw* draw = nullptr;
    const ParentLine* parent = nullptr;
    sys::Loop* loop = nullptr;
  };
  explicit LockDriver(const Parts& parts) : parts_(parts) {}

  using EmitEvent = std::function<void(std::string what, std::string details)>;
  void start(EmitEvent emit_event);

  void receive(NodeId from, const wire::LockBody& body);
  void receive(NodeId from, const wire::VoterSetBody& body);
  void receive(NodeId from, const wire::MutexBody& body);
  void receive(NodeId from, const wire::BeatBody& body);
  void receive_written(std::string_view number);  // the parent has written this record

  std::optional<Nanos> due_in() const;  // unset: no deadline
  void on_timer();
  void each_second();

  // --- for the control server ---
  using OnUpdate = std::function<void(locks::ClientId client, const locks::LockUpdate& update)>;
  void on_update(OnUpdate on_update) { on_update_ = std::move(on_update); }
  void on_group_update(OnUpdate on_update) { on_group_update_ = std::move(on_update); }
  // The outcome comes through `on_update`, perhaps before this returns. The error says why the
  // client cannot wait.
  Result<void> acquire(const locks::Acquire& request);
  // True if a request takes only a few datagrams; etcd takes longer.
  bool answers_quickly() const { return !etcd_; }
  void release(locks::ClientId client);
  std::vector<locks::Known> known() const;

  // Gives a machine, named by name or id, a vote or takes it away. Returns the number of the change
  // for `change_result`, or a sentence if it is impossible. One change at a time.
  Result<std::uint64_t> change_voters(std::string_view machine, bool votes);
  // Unset: still in progress.
  std::optional<Result<void>> change_result(std::uint64_t number) const;

  // One sentence for users: the voters and which of them may fail, or why there are no locks.
  std::string status() const;
  // How silent locks are decided now, and why, in one sentence; empty: unused.
  std::string silent_mode() const;
  bool serves() const;
  bool configured() const;  // the settings enable locks
  HostId self() const { return parts_.identity->host; }

  static constexpr std::string_view kWrite = "@write";      // message to the parent: number, text
  static constexpr std::string_view kWritten = "@written";  // message from the parent: number

 private:
  using Service = locks::LockService;

  static constexpr std::size_t kMaxHeld = 4096;  // outputs that wait for a write

  template <class Do>
  void step(Do todo);
  void receive_message(NodeId from, const Service::Message& message);
  void command(const Service::Command& command);
  void carry_out(const Output<Service>& output);
  void on_notice(const locks::LockUpdate& update);
  void on_notice(const Service::VotersAgreed& agreed);
  void on_notice(const Service::VotersChanged& changed);
  void on_notice(const Service::Split& split);
  void on_notice(const Service::ChangeEnded& change);
  void notify(locks::ClientId client, const locks::LockUpdate& update);
  void write();
  void finish_writes(std::uint64_t number);
  std::size_t voters_found() const;
  std::int64_t seconds_until_served() const;

  // The voters (lock_driver_voters.cpp).
  Result<HostId> find_host(std::string_view text, bool among_voters) const;
  std::string names_of_voters() const;
  std::string name_of(HostId host) const;
  Result<void> result_of(const Service::ChangeEnded& change) const;

  Parts parts_;
  EmitEvent emit_event_;
  OnUpdate on_update_;
  OnUpdate on_group_update_;
  std::optional<Service> service_;  // unset: locks are not configured
  Outbox<Service> outbox_;
  WriteQueue<Service> writes_;                // records that are being written
  std::optional<locks::ClientId> asking_;     // client of the request in progress
  std::optional<std::string> refused_;        // why that request is refused
  std::uint64_t changes_ = 0;                 // number of the last change of the voters
  std::optional<Result<void>> change_ended_;  // its result; unset: in progress
  std::optional<EtcdLine> etcd_;              // set with the etcd back end
};

}  // namespace tempo::daemon
