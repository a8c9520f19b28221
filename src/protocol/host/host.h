// Everything one host runs, as one machine: the node (elections and the clock), its locks and its
// groups. The daemon drives it with sockets, a disk and clients; the simulator runs it as shipped.
//
// The parts meet here and nowhere else: groups get their leases from the locks, requests for locks
// are ordered by network time, and elections by capacity run on network time while it is accurate
// enough.
//
// The node runs on raw time, which is `turn.now`; locks and groups run on boot time. No other
// machine knows both. The driver gives the command BootClock before every other input. A deadline
// in boot time is shown in raw time as of that command: the driver may wake the host slightly
// early, which is harmless.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "machine/compose.h"
#include "machine/machine.h"
#include "protocol/group/service.h"
#include "protocol/lock/lock_service.h"
#include "protocol/sync/node.h"

namespace tempo::host {

class Host {
 public:
  using Locks = locks::LockService;
  using Groups = groups::GroupService;

  struct BootClock {
    BootTime now{};
  };

  using Message = std::variant<node::Node::Message, Locks::Message, Groups::Message>;
  using Command = std::variant<BootClock, node::Node::Command, Locks::Command, Groups::Command>;
  using Notice = std::variant<node::Node::Notice, Locks::Notice, Groups::Notice>;
  using Record = Locks::Record;
  using Parts = PartList<node::Node, Locks, Groups>;

  static Command persisted(const Record& record) { return Locks::persisted(record); }

  // Without locks the host may have groups: their requests for leases become notices, and the
  // driver answers with the commands LeaseUpdate and LeaseRefused.
  Host(node::Node node, std::optional<Locks> locks, std::optional<Groups> groups);

  void start(Turn<Host>& turn);
  void receive(Turn<Host>& turn, NodeId from, const Message& message);
  void on_timer(Turn<Host>& turn, TimerId timer);
  void command(Turn<Host>& turn, const Command& command);

  // The timers of the node, then one of the locks, then one of the groups.
  auto timers() const {
    return JoinedTimers(node_.timers(), OneTimer{raw(locks_due_)}, OneTimer{raw(groups_due_)});
  }
  const char* check() const;

  // The parts that were stepped since the last BootClock. The others have not changed.
  struct Stepped {
    bool node = false;
    bool locks = false;
    bool groups = false;
  };
  Stepped stepped() const { return stepped_; }
  const char* check_stepped() const;  // like check(), of these parts only

  // The node does not depend on the record: its outputs need not wait for the disk.
  static bool waits_for_record(const Output<Host>& output) {
    return output.kind == OutputKind::notice ? output.notice.index() != 0
                                             : output.message.index() != 0;
  }

  // A driver whose disk is too slow may lose these outputs: the host sends a message again, and a
  // client whose lease is not extended stops at its deadline.
  static bool may_be_lost(const Output<Host>& output);

  const node::Node& node() const { return node_; }
  const Locks* locks() const { return locks_ ? &*locks_ : nullptr; }
  const Groups* groups() const { return groups_ ? &*groups_ : nullptr; }
  BootTime boot(Instant raw_time) const { return on_clock<BootTime>(raw_time, boot_minus_raw_); }

 private:
  Instant raw(BootTime boot_time) const { return on_clock<Instant>(boot_time, -boot_minus_raw_); }
  template <class Step>
  void step_node(Turn<Host>& turn, Step step);
  template <class Step>
  void step_locks(Turn<Host>& turn, Step step);
  template <class Step>
  void step_groups(Turn<Host>& turn, Step step);
  const char* check(const Stepped& parts) const;
  void on_lock_notice(Turn<Host>& turn, const Locks::Notice& notice);
  void on_group_notice(Turn<Host>& turn, const Groups::Notice& notice);
  void command_locks(Turn<Host>& turn, Locks::Command command);
  groups::NetworkClock network_clock(Instant raw_now) const;
  std::uint64_t network_us(Instant raw_now) const;

  node::Node node_;
  std::optional<Locks> locks_;
  std::optional<Groups> groups_;
  Nanos boot_minus_raw_{0};       // boot time minus raw time, as of the last BootClock
  BootTime locks_due_ = kNever;   // first timer of the locks
  BootTime groups_due_ = kNever;  // first timer of the groups
  Stepped stepped_{};
};

}  // namespace tempo::host
