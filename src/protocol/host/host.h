// Everything one host runs, as one machine: the node (elections and the clock), its locks, its
// groups, and its part in the membership of the network. The daemon drives it with sockets, a disk
// and clients; the simulator runs it as shipped.
//
// The parts meet here and nowhere else: the membership asks the master that the node follows and
// tells the clock until when this host is in the main part; a master that knows network time worse
// than one of its members resigns; groups get their leases from the locks, requests for locks
// are ordered by network time, and elections by capacity run on network time while it is accurate
// enough.
//
// The node runs on raw time, which is `turn.now`; locks, groups and membership run on boot time. No
// other machine knows both. The driver gives the command BootClock before every other input. A
// deadline in boot time is shown in raw time as of that command: the driver may wake the host
// slightly early, which is harmless.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "machine/compose.h"
#include "machine/machine.h"
#include "protocol/group/service.h"
#include "protocol/lock/lock_service.h"
#include "protocol/membership/membership.h"
#include "protocol/sync/node.h"

namespace tempo::host {

// The records of the parts. A driver may keep each in a file of its own and write only those whose
// number has changed.
struct Records {
  std::optional<locks::LockRecord> locks{};        // unset: none was written
  std::optional<membership::Record> membership{};  // the same
  std::uint32_t locks_number = 0;                  // counts the records of this incarnation
  std::uint32_t membership_number = 0;

  bool operator==(const Records&) const = default;
};

class Host {
 public:
  using Locks = locks::LockService;
  using Groups = groups::GroupService;
  using Views = membership::Membership;

  struct BootClock {
    BootTime now{};
  };

  struct ViewMessage {
    Views::Message body{};
    bool waits = false;  // for the record that the membership is writing
  };
  using Record = Records;
  struct Persisted {
    Record record{};
  };

  using Message = std::variant<node::Node::Message, Locks::Message, Groups::Message, ViewMessage>;
  using Command = std::variant<BootClock, node::Node::Command, Locks::Command, Groups::Command,
                               Views::Command, Persisted>;
  using Notice = std::variant<node::Node::Notice, Locks::Notice, Groups::Notice, Views::Notice>;
  using Parts = PartList<node::Node, Locks, Groups, Views>;

  static Command persisted(const Record& record) { return Persisted{record}; }

  // Without locks the host may have groups: their requests for leases become notices, and the
  // driver answers with the commands LeaseUpdate and LeaseRefused. `saved`: what is on the disk,
  // for a driver that keeps all records in one file.
  Host(node::Node node, Views views, std::optional<Locks> locks, std::optional<Groups> groups,
       Record saved = {});

  void start(Turn<Host>& turn);
  void receive(Turn<Host>& turn, NodeId from, const Message& message);
  void on_timer(Turn<Host>& turn, TimerId timer);
  void command(Turn<Host>& turn, const Command& command);

  // The timers of the node, then one of the locks, one of the groups and one of the membership.
  auto timers() const {
    return JoinedTimers(node_.timers(), OneTimer{raw(locks_due_)}, OneTimer{raw(groups_due_)},
                        OneTimer{raw(views_due_)});
  }
  const char* check() const;

  // The parts that were stepped since the last BootClock. The others have not changed.
  struct Stepped {
    bool node = false;
    bool locks = false;
    bool groups = false;
    bool views = false;
  };
  Stepped stepped() const { return stepped_; }
  const char* check_stepped() const;  // like check(), of these parts only

  // The node does not depend on the records, and the membership only on its own: their outputs need
  // not wait for the disk.
  static bool waits_for_record(const Output<Host>& output) {
    return output.kind == OutputKind::notice ? waits_for_record(output.notice)
                                             : waits_for_record(output.message);
  }
  static bool waits_for_record(const Notice& notice);
  static bool waits_for_record(const Message& message);

  // A driver whose disk is too slow may lose these outputs: the host sends a message again, and a
  // client whose lease is not extended stops at its deadline.
  static bool may_be_lost(const Output<Host>& output);

  const node::Node& node() const { return node_; }
  const Locks* locks() const { return locks_ ? &*locks_ : nullptr; }
  const Groups* groups() const { return groups_ ? &*groups_ : nullptr; }
  const Views& views() const { return views_; }
  BootTime boot(Instant raw_time) const { return on_clock<BootTime>(raw_time, boot_minus_raw_); }

 private:
  Instant raw(BootTime boot_time) const { return on_clock<Instant>(boot_time, -boot_minus_raw_); }
  template <class Step>
  void step_node(Turn<Host>& turn, Step step);
  template <class Step>
  void step_locks(Turn<Host>& turn, Step step);
  template <class Step>
  void step_groups(Turn<Host>& turn, Step step);
  template <class Step>
  void step_views(Turn<Host>& turn, Step step);
  void persist_locks(Turn<Host>& turn, const Locks::Record& record);
  void persist_views(Turn<Host>& turn, const Views::Record& record);
  void on_persisted(Turn<Host>& turn, const Record& record);
  void follow_upstream(Turn<Host>& turn);
  void tell_clock(Turn<Host>& turn);
  void resign(Turn<Host>& turn);
  const char* check(const Stepped& parts) const;
  void on_lock_notice(Turn<Host>& turn, const Locks::Notice& notice);
  void on_group_notice(Turn<Host>& turn, const Groups::Notice& notice);
  void command_locks(Turn<Host>& turn, Locks::Command command);
  groups::NetworkClock network_clock(Instant raw_now) const;
  std::uint64_t network_us(Instant raw_now) const;

  node::Node node_;
  Views views_;
  std::optional<Locks> locks_;
  std::optional<Groups> groups_;
  Nanos boot_minus_raw_{0};          // boot time minus raw time, as of the last BootClock
  BootTime locks_due_ = kNever;      // first timer of the locks
  BootTime groups_due_ = kNever;     // first timer of the groups
  BootTime views_due_ = kNever;      // first timer of the membership
  Record record_;                    // the last one that was persisted
  std::uint32_t locks_durable_ = 0;  // numbers of the last records that are on the disk
  std::uint32_t views_durable_ = 0;
  node::MainPart told_{};  // what the clock knows of the main part
  Stepped stepped_{};
};

}  // namespace tempo::host
