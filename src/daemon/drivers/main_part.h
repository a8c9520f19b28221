// Drives the membership of this host (protocol/membership): whether it is in the main part of its
// network, and until when. Gives readings of the clock the status that follows from it.
//
// The record 'membership' in the state directory is written by the parent, because a write may take
// long; without a parent by the worker. Without a state directory nothing is written, and the
// machine is a new member after each start.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "daemon/daemon_identity.h"
#include "daemon/drivers/runtime.h"
#include "daemon/drivers/transport.h"
#include "daemon/parent_line.h"
#include "platform/clocks/boot_clock.h"
#include "protocol/membership/membership.h"
#include "protocol/sync/sync.h"

namespace tempo::daemon {

inline constexpr std::string_view kWriteMembership = "@write-membership";      // number, text
inline constexpr std::string_view kMembershipWritten = "@membership-written";  // number

std::string membership_path(const std::string& state_dir);

// What the main part says about a reading.
struct Standing {
  BootTime now{};
  BootTime main_until = BootTime::min();  // end of the last time in the main part; min: never was
  bool in_view_with_others = false;       // the view of this machine has other members
  Nanos gap{0};  // longest time without a main part that the clock has not made up for yet
};
// The reading with the status and the bounds that it has in this standing.
node::Reading judged(node::Reading reading, const Standing& standing, Nanos forget_after);

class MainPart {
 public:
  // All must outlive this object; `parent` may be null.
  struct Parts {
    const DaemonIdentity* identity = nullptr;
    Transport* transport = nullptr;
    Draw* draw = nullptr;
    const ParentLine* parent = nullptr;
    std::function<void(const membership::Notice&)> on_notice{};
  };
  explicit MainPart(const Parts& parts);

  void start() { machine_.start(); }
  // This machine follows the master that its clock follows.
  void follow(const node::Sync& sync);
  void receive(NodeId from, const wire::MembershipBody& body);
  void wake() { machine_.wake(); }
  void stop() { machine_.command(membership::Stop{}); }
  void finish_write(std::uint64_t number) { machine_.finish_write(number); }
  void repeat_write() { machine_.repeat_write(); }
  // Time until the next timer.
  Nanos next() const;

  node::Reading judged(const node::Reading& reading, Nanos ahead = Nanos{0}) const;
  BootTime main_until() const { return machine_.machine().main_until(); }
  const membership::Membership& machine() const { return machine_.machine(); }

 private:
  struct BootClock {
    static BootTime now() { return sys::boot_clock(); }
  };
  using Machine = Runtime<membership::Membership, BootClock>;

  void write(std::uint64_t number, const membership::Record& record);
  void note_gap(const node::Sync& sync);

  Parts parts_;
  membership::Rules rules_;
  Machine machine_;
  bool leads_ = false;
  NodeId master_ = kNobody;
  Nanos gap_{0};                 // see Standing
  std::uint64_t exchanges_ = 0;  // of the clock at the end of the gap
};

wire::MembershipBody body_of(const membership::Message& message);
membership::Message message_of(const wire::MembershipBody& body);

}  // namespace tempo::daemon
