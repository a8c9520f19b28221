// The locks of the daemon: from the bootstrap of the voters to the clients of the control server.
//
// Until the voters are known it runs lock::Bootstrap, then the lock service. Records are written by
// the parent, because a write may take long; without a parent they are written here. With the etcd
// back end none of this runs, and clients are served over the connection to tempo-etcd.
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
#include "daemon/lock_record.h"
#include "daemon/parent_line.h"
#include "machine/write_queue.h"
#include "protocol/lock/bootstrap.h"
#include "protocol/lock/bounded_delay_locks.h"
#include "protocol/lock/lock_service.h"
#include "protocol/wire/codec.h"

namespace tempo::daemon {

class LockDriver final : private locks::Driver, private locks::BoundedDelayDriver {
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
  Result<void> acquire(const locks::Service::LockRequest& request,
                       locks::LockKind kind = locks::LockKind::lease);
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
  std::string silent_mode() const { return bounded_delay_ ? bounded_delay_->mode() : ""; }
  bool serves() const;
  bool configured() const;  // the settings enable locks
  HostId self() const { return parts_.identity->host; }

  static constexpr std::string_view kWrite = "@write";      // message to the parent: number, text
  static constexpr std::string_view kWritten = "@written";  // message from the parent: number

 private:
  struct Writing {
    std::uint64_t number = 0;
    std::string text{};
  };

  void broadcast(const wire::LockBody& body) override;
  void send(HostId to, const wire::LockBody& body) override;
  void broadcast(const wire::MutexBody& body) override;
  void broadcast(const wire::BeatBody& body) override;
  void send(HostId to, const wire::MutexBody& body) override;
  void write(const locks::Saved& saved) override;
  void notify(locks::ClientId client, const locks::LockUpdate& update) override;
  void voters_changed() override;

  template <class Body>
  void broadcast_body(const Body& body);
  template <class Body>
  void send_body(HostId to, const Body& body);
  void broadcast_bytes(std::span<const std::byte> bytes);
  template <class Do>
  void step_bootstrap(Do todo);
  void carry_out(const Output<lock::Bootstrap>& output);
  void on_committed(const lock::Bootstrap::VoterProposal& proposal);
  void save();
  void ask_parent();
  void saved();
  wire::VoterSetBody body_of(const lock::Bootstrap::VoterProposal& proposal) const;
  std::optional<lock::Bootstrap::VoterProposal> proposal_of(LockRecord::Stage stage,
                                                            std::span<const HostId> voters);
  std::size_t voters_found() const;
  std::int64_t seconds_until_served() const;

  // A change of the voters (lock_driver_voters.cpp).
  struct Change {
    std::uint64_t number = 0;
    HostId host = kNoHost;
    bool votes = false;       // true: gains a vote; false: loses it
    bool takes_part = false;  // it has answered that it takes part in locks
    Instant until{};          // deadline of the change
    std::optional<Result<void>> ended{};
  };
  void follow_voters();
  Result<HostId> find_host(std::string_view text, bool among_voters) const;
  std::string names_of_voters() const;
  std::string name_of(HostId host) const;
  std::uint8_t votes_of(HostId host) const;
  Instant change_deadline() const;
  void advance_change();
  void ask_again();
  void end_change(Result<void> result);
  void prefer();
  bool is_witness() const;

  Parts parts_;
  EmitEvent emit_event_;
  OnUpdate on_update_;
  OnUpdate on_group_update_;
  LockRecord record_;  // contents of the file on disk, or being written
  std::optional<Writing> writing_;
  std::uint64_t writes_ = 0;
  bool rebooted_ = false;
  bool split_ = false;                        // another part of the network has different voters
  std::optional<lock::Bootstrap> bootstrap_;  // unset: locks are not configured
  WriteQueue<lock::Bootstrap> proposals_;     // being written to disk
  std::optional<locks::Saved> pending_lease_;  // being written to disk
  std::optional<locks::Service> service_;      // set once the voters are known
  std::optional<locks::BoundedDelayLocks>
      bounded_delay_;             // set with the service: silent and explicit locks
  Change change_;                 // last change; `ended` is unset while it is in progress
  std::optional<EtcdLine> etcd_;  // set with the etcd back end
};

}  // namespace tempo::daemon
