// The locks that the machines of the network vote on (locks::LockService), for the clients of this
// host: requests go to the machine, its notices become updates, events and sentences for users.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/control_protocol.h"
#include "base/result.h"
#include "daemon/control/findings.h"
#include "daemon/daemon_identity.h"
#include "daemon/drivers/announcer.h"
#include "daemon/drivers/event_log.h"
#include "daemon/drivers/host_clock.h"
#include "daemon/drivers/transport.h"
#include "protocol/lock/lock_service.h"
#include "protocol/lock/lock_status.h"

namespace tempo::daemon {

// The locks of a host by its settings and its record on disk; unset: no native locks.
std::optional<locks::LockService> make_lock_service(const DaemonIdentity& identity,
                                                    wire::Directory& directory);

class NativeLocks {
 public:
  // All must outlive the locks.
  struct Parts {
    const DaemonIdentity* identity = nullptr;
    const Transport* transport = nullptr;
    HostRuntime* host = nullptr;
    EventLog* events = nullptr;
    const Announcer* announcer = nullptr;
  };
  explicit NativeLocks(const Parts& parts) : parts_(parts) {}

  static constexpr bool kAnswersQuickly = true;  // a request takes only a few datagrams

  // An error is a sentence for the client; otherwise updates follow.
  static constexpr bool kResumes = true;
  Result<void> acquire(const locks::Acquire& request);
  Result<void> resume(const locks::Resume& request);
  void release(locks::ClientId client);
  std::vector<locks::Known> known() const;
  // There are voters, or the settings ask for some.
  bool configured() const { return service() != nullptr && !service()->idle(); }
  // What an operator has to know about the voters beside the status.
  std::vector<std::string> warnings() const;
  // Whether the lock record may begin again: the error says why it must not now.
  Result<void> may_begin_again() const;
  // Another machine has the identity of this host.
  void retire();
  // One sentence for users: the voters and which of them may fail, or why there are no locks.
  std::string status() const;
  // The state of locks without the locks themselves.
  ipc::LocksView view() const;
  // Why the record cannot be written; empty: it can.
  void set_record_error(std::string error) { record_error_ = std::move(error); }
  LockHealth health() const;
  // How silent locks are decided now, and why, in one sentence; empty: unused.
  std::string silent_mode() const;

  // Gives a machine, named by name or id, a vote or takes it away. Returns the number of the change
  // for `change_result`, or a sentence if it is impossible. One change at a time.
  Result<std::uint64_t> change_voters(std::string_view machine, bool votes);
  // The same for these machines, this one among them, as the first voters.
  Result<std::uint64_t> nominate_voters(const std::vector<std::string>& machines);
  // Unset: still in progress.
  std::optional<Result<void>> change_result(std::uint64_t number) const;
  // Withdraws the change unless it has ended.
  void cancel_change(std::uint64_t number);

  // Returns the update for a client, with the sentence of a refusal; unset: the notice is for
  // others.
  std::optional<locks::LockUpdate> on_notice(const locks::LockService::Notice& notice);
  static void each_second() {}

 private:
  using Service = locks::LockService;

  const Service* service() const { return parts_.host->machine().locks(); }
  locks::LockUpdate with_sentence(locks::LockUpdate update) const;
  ipc::LockObstacle obstacle() const;
  bool serves() const;
  std::vector<ipc::VoterView> voters() const;
  std::vector<locks::VoterSight> voter_sights() const;
  std::size_t voters_found() const;
  std::int64_t seconds_until_served() const;
  Result<HostId> find_host(std::string_view text, bool among_voters) const;
  Result<void> may_nominate() const;
  std::string names_of_voters() const;
  std::string two_sets_text(HostId host) const;
  std::string clone_text(HostId host) const;
  std::string retired_text() const;
  std::string name_of(HostId host) const;
  Result<void> result_of(const Service::ChangeEnded& change) const;
  Result<void> result_of_nomination(locks::ChangeOutcome outcome) const;

  Parts parts_;
  std::string record_error_;                  // empty: the record can be written
  std::uint64_t changes_ = 0;                 // number of the last change of the voters
  std::optional<Result<void>> change_ended_;  // its result; unset: in progress
};

}  // namespace tempo::daemon
