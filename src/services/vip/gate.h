// The gate of a group's addresses: nftables rules that drop their packets unless the kernel's own
// clock says that this machine may answer.
//
// Two slots, each with two sets: `armed`, whose elements the kernel removes after a timeout, and
// `granted`. A packet passes if one slot is armed and granted. Arming opens nothing; the caller
// grants a slot only after it has checked, with the kernel's answer in hand, that the timeout of
// this slot ends before the lease. So a process that stops between any two steps leaves a gate that
// closes in time (decision 047). The slot in use is never touched.
//
// The rules exist twice: a plain table outlives this process, and an owned one survives `nft flush
// ruleset`. Both drop, so one of them is enough. They cover ARP, IP and neighbour discovery, also
// of packet sockets. The gate is closed from its first moment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "services/vip/address_prefix.h"
#include "services/vip/netlink.h"

namespace tempo::vip {

// Prefix of the names of all tables.
inline constexpr const char* kTablePrefix = "tempo-vip-";
// The kernel refuses or misreads shorter timeouts.
inline constexpr Nanos kShortestTimeout = 20ms;

// Removes the tables that earlier processes left. Call it when their addresses are gone.
Result<void> remove_gates(NetlinkSocket& netfilter);

class Gate {
 public:
  // `netfilter` must outlive the gate and stay the same socket: it owns the second tables.
  Gate(NetlinkSocket& netfilter, std::string group, std::string interface,
       std::vector<AddressPrefix> addresses)
      : netfilter_(&netfilter),
        group_(std::move(group)),
        interface_(std::move(interface)),
        addresses_(std::move(addresses)) {}

  // Each is one transaction of the kernel: all of it or nothing.
  Result<void> create();  // closed
  Result<void> arm(int slot, Nanos timeout);
  Result<void> grant(int slot);
  Result<void> close();
  void remove();  // the addresses must be gone

  // Whether all rules are in place. Cheap while nobody else changes rules of this namespace.
  bool intact();

  // For people: the names of its tables.
  std::string text() const;

 private:
  struct Table {
    std::uint8_t family;
    std::string name;
    bool owned;
  };
  std::vector<Table> tables() const;
  void append_table(MessageBuilder& batch, const Table& table) const;
  void append_rules(MessageBuilder& batch, const Table& table) const;
  Result<void> commit(MessageBuilder& batch, const char* what);
  std::uint32_t generation();
  std::size_t count_rules();

  NetlinkSocket* netfilter_;
  std::string group_;
  std::string interface_;
  std::vector<AddressPrefix> addresses_;
  std::size_t rules_ = 0;         // of all tables, when they were complete
  std::uint32_t generation_ = 0;  // of the kernel's rule set, when `rules_` was last confirmed
};

}  // namespace tempo::vip
