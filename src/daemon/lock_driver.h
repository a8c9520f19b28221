// The daemon's locks: from the first words about who votes to the clients at the door.
//
// While there are no voters yet it finds them (lock::Founding); from then on it drives the lock
// service. What must be on disk is written by the parent, for a write can take long; without a
// parent it is written here. Where an etcd keeps the locks, all this rests, and clients are served
// over the line to tempo-etcd.
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
#include "protocol/lock/bootstrap.h"
#include "protocol/lock/bounded_delay_locks.h"
#include "protocol/lock/lock_service.h"
#include "protocol/wire/codec.h"

namespace tempo::daemon {

class LockDriver final : private locks::Driver, private locks::BoundedDelayDriver {
 public:
  // All must outlive the room. Without a parent, writes are done here.
  struct Parts {
    const DaemonIdentity* identity = nullptr;
    node::Codec* codec = nullptr;
    Links* links = nullptr;
    Draw* draw = nullptr;
    const ParentLine* parent = nullptr;
    sys::Loop* loop = nullptr;
  };
  explicit LockDriver(const Parts& parts) : parts_(parts) {}

  using Tell = std::function<void(std::string what, std::string details)>;
  void start(Tell tell);  // `tell` hears of events

  void receive(NodeId from, const wire::LockBody& body);
  void receive(NodeId from, const wire::VoterSetBody& body);
  void receive(NodeId from, const wire::MutexBody& body);
  void receive(NodeId from, const wire::BeatBody& body);
  void receive_written(std::string_view number);  // the parent has written that one

  std::optional<Nanos> due_in() const;  // nothing: nothing is due
  void on_timer();
  void each_second();

  // --- for the door ---
  using OnUpdate = std::function<void(locks::ClientId client, const locks::LockUpdate& update)>;
  void on_update(OnUpdate on_update) { on_update_ = std::move(on_update); }
  void on_group_news(OnUpdate on_update) { on_group_news_ = std::move(on_update); }
  Result<void> acquire(const locks::Service::LockRequest& request,
                       locks::LockKind kind = locks::LockKind::lease);
  // Whether an answer can come within a few datagrams' time: an etcd's takes longer.
  bool answers_soon() const { return !etcd_; }
  void release(locks::ClientId client);
  std::vector<locks::Known> known() const;

  // A machine, by name or id, is to have a vote, or none. The number by which its end is asked for;
  // or a sentence that says why it cannot be. One change at a time.
  Result<std::uint64_t> change_voters(std::string_view machine, bool votes);
  // Nothing: it goes on.
  std::optional<Result<void>> change_ended(std::uint64_t number) const;

  // One sentence for users: the voters and which of them may fail, or why there are no locks.
  std::string status() const;
  // How silent locks are agreed on now, and why, in a sentence; empty: nobody uses them.
  std::string quiet_mode() const { return bounded_delay_ ? bounded_delay_->mode() : ""; }
  bool serves() const;
  bool wished_for() const;  // the settings want locks
  HostId self() const { return parts_.identity->host; }

  static constexpr std::string_view kWrite = "@write";      // to the parent: number, text
  static constexpr std::string_view kWritten = "@written";  // from it: number

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
  void step_founding(Do todo);
  void found(const lock::Bootstrap::VoterProposal& word);
  void save();
  void ask_parent();
  void saved();
  wire::VoterSetBody body_of(const lock::Bootstrap::VoterProposal& word) const;
  std::optional<lock::Bootstrap::VoterProposal> word_of(LockRecord::Stage stage,
                                                        std::span<const HostId> voters);
  std::size_t voters_found() const;
  std::int64_t seconds_until_served() const;

  // Who votes, and how that is changed (lock_room_voters.cpp).
  struct Change {
    std::uint64_t number = 0;
    HostId host = kNoHost;
    bool votes = false;       // it is to have one, or none
    bool takes_part = false;  // it has said that it knows of locks
    Instant until{};          // then it is given up
    std::optional<Result<void>> ended{};
  };
  void follow_voters();
  Result<HostId> find_machine(std::string_view text, bool among_voters) const;
  std::string names_of_voters() const;
  std::string name_of(HostId host) const;
  std::uint8_t votes_of(HostId host) const;
  Instant patience() const;
  void advance_change();
  void ask_again();
  void end_change(Result<void> result);
  void prefer();
  bool is_witness() const;

  Parts parts_;
  Tell tell_;
  OnUpdate on_update_;
  OnUpdate on_group_news_;
  LockRecord record_;  // as it is, or is to be, on disk
  std::optional<Writing> writing_;
  std::uint64_t writes_ = 0;
  bool rebooted_ = false;
  bool split_ = false;                                      // somebody has other voters
  std::optional<lock::Bootstrap> bootstrap_;                // nothing: no voters are expected
  std::optional<lock::Bootstrap::VoterProposal> new_word_;  // being written
  std::optional<locks::Saved> new_record_;                  // being written
  std::optional<locks::Service> service_;  // once there are voters, at each of them
  std::optional<locks::BoundedDelayLocks>
      bounded_delay_;             // with the service: locks that are not leases
  Change change_;                 // the last; ended unless it goes on
  std::optional<EtcdLine> etcd_;  // where an etcd keeps the locks
};

}  // namespace tempo::daemon
