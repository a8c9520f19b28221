#include "services/vip/gate.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>
#include <span>

#include <arpa/inet.h>
#include <fmt/core.h>
#include <linux/if_ether.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter_arp.h>
#include <linux/netlink.h>
#include <netinet/in.h>

#include "platform/descriptor.h"

namespace tempo::vip {
namespace {

constexpr std::uint32_t kEtherType = 10;  // nft's number of the type, for its listings
constexpr int kBefore = -450;             // before connection tracking and address translation
constexpr int kAfter = 450;
constexpr std::array<std::uint8_t, 3> kFamilies{NFPROTO_NETDEV, NFPROTO_INET, NFPROTO_ARP};
constexpr std::array<std::uint16_t, 3> kProtocols{ETH_P_IP, ETH_P_ARP, ETH_P_IPV6};

nfgenmsg head_of(std::uint8_t family) {
  return {.nfgen_family = family, .version = NFNETLINK_V0, .res_id = 0};
}

std::uint16_t type_of(int message) {
  return static_cast<std::uint16_t>((NFNL_SUBSYS_NFTABLES << 8) | message);
}

MessageBuilder begin_batch() {
  MessageBuilder batch;
  nfgenmsg head = head_of(AF_UNSPEC);
  head.res_id = htons(NFNL_SUBSYS_NFTABLES);
  batch.begin(NFNL_MSG_BATCH_BEGIN, 0, head);
  return batch;
}

void end_batch(MessageBuilder& batch) {
  batch.request_answer();
  nfgenmsg head = head_of(AF_UNSPEC);
  head.res_id = htons(NFNL_SUBSYS_NFTABLES);
  batch.begin(NFNL_MSG_BATCH_END, 0, head);
}

std::string set_name(const char* kind, int slot) { return fmt::format("{}{}", kind, slot); }

// --- rules ---

class Rule {
 public:
  Rule(MessageBuilder& batch, std::uint8_t family, const std::string& table,
       const std::string& chain, const std::function<void(Rule&)>& body)
      : batch_(&batch) {
    batch.begin(type_of(NFT_MSG_NEWRULE), NLM_F_CREATE | NLM_F_APPEND, head_of(family));
    batch.add_text(NFTA_RULE_TABLE, table);
    batch.add_text(NFTA_RULE_CHAIN, chain);
    batch.nest(NFTA_RULE_EXPRESSIONS, [&] { body(*this); });
  }

  Rule& meta(std::uint32_t key) {
    return expression("meta", [&] {
      batch_->add_be32(NFTA_META_KEY, key);
      batch_->add_be32(NFTA_META_DREG, NFT_REG_1);
    });
  }
  Rule& payload(std::uint32_t base, std::uint32_t offset, std::size_t length) {
    return expression("payload", [&] {
      batch_->add_be32(NFTA_PAYLOAD_DREG, NFT_REG_1);
      batch_->add_be32(NFTA_PAYLOAD_BASE, base);
      batch_->add_be32(NFTA_PAYLOAD_OFFSET, offset);
      batch_->add_be32(NFTA_PAYLOAD_LEN, static_cast<std::uint32_t>(length));
    });
  }
  Rule& is(std::span<const std::byte> value, std::uint32_t comparison = NFT_CMP_EQ) {
    return expression("cmp", [&] {
      batch_->add_be32(NFTA_CMP_SREG, NFT_REG_1);
      batch_->add_be32(NFTA_CMP_OP, comparison);
      batch_->nest(NFTA_CMP_DATA, [&] { batch_->add(NFTA_DATA_VALUE, value); });
    });
  }
  Rule& is(std::uint8_t value) { return is(std::as_bytes(std::span{&value, 1})); }
  Rule& protocol(std::uint16_t ether_type) {
    const std::uint16_t wire = htons(ether_type);
    return meta(NFT_META_PROTOCOL).is(std::as_bytes(std::span{&wire, 1}));
  }
  Rule& in_set(const std::string& name) {
    return expression("lookup", [&] {
      batch_->add_text(NFTA_LOOKUP_SET, name);
      batch_->add_be32(NFTA_LOOKUP_SREG, NFT_REG_1);
    });
  }
  Rule& verdict(int code, const char* chain = nullptr) {
    return expression("immediate", [&] {
      batch_->add_be32(NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
      batch_->nest(NFTA_IMMEDIATE_DATA, [&] {
        batch_->nest(NFTA_DATA_VERDICT, [&] {
          batch_->add_be32(NFTA_VERDICT_CODE, static_cast<std::uint32_t>(code));
          if (chain != nullptr) batch_->add_text(NFTA_VERDICT_CHAIN, chain);
        });
      });
    });
  }
  Rule& check() { return verdict(NFT_JUMP, "check"); }

 private:
  Rule& expression(const char* name, const std::function<void()>& data) {
    batch_->nest(NFTA_LIST_ELEM, [&] {
      batch_->add_text(NFTA_EXPR_NAME, name);
      batch_->nest(NFTA_EXPR_DATA, data);
    });
    return *this;
  }

  MessageBuilder* batch_;
};

// A base chain: where in the kernel it is called.
struct Hook {
  const char* chain;
  std::uint32_t number;
  bool in;
};
std::array<Hook, 2> hooks_of(std::uint8_t family) {
  switch (family) {
    case NFPROTO_NETDEV:
      return {Hook{"in", NF_NETDEV_INGRESS, true}, Hook{"out", NF_NETDEV_EGRESS, false}};
    case NFPROTO_ARP:
      return {Hook{"in", NF_ARP_IN, true}, Hook{"out", NF_ARP_OUT, false}};
    default:
      return {Hook{"in", NF_INET_PRE_ROUTING, true}, Hook{"out", NF_INET_POST_ROUTING, false}};
  }
}

// Offsets in the network header.
constexpr std::uint32_t kArpSender = 14, kArpTarget = 24, kIpSource = 12, kIpTarget = 16,
                        kIp6Source = 8, kIp6Target = 24;
// In that of ICMPv6.
constexpr std::uint32_t kIcmpType = 0, kNeighbourTarget = 8;
constexpr std::uint8_t kSolicitation = 135, kAdvertisement = 136;

void append_set(MessageBuilder& batch, std::uint8_t family, const std::string& table,
                const std::string& name, std::uint32_t id) {
  batch.begin(type_of(NFT_MSG_NEWSET), NLM_F_CREATE | NLM_F_EXCL, head_of(family));
  batch.add_text(NFTA_SET_TABLE, table);
  batch.add_text(NFTA_SET_NAME, name);
  batch.add_be32(NFTA_SET_FLAGS, NFT_SET_TIMEOUT);
  batch.add_be32(NFTA_SET_KEY_TYPE, kEtherType);
  batch.add_be32(NFTA_SET_KEY_LEN, sizeof(std::uint16_t));
  batch.add_be32(NFTA_SET_ID, id);
}

void append_flush(MessageBuilder& batch, std::uint8_t family, const std::string& table,
                  const std::string& set) {
  batch.begin(type_of(NFT_MSG_DELSETELEM), 0, head_of(family));
  batch.add_text(NFTA_SET_ELEM_LIST_TABLE, table);
  batch.add_text(NFTA_SET_ELEM_LIST_SET, set);
}

// Without a timeout the elements stay until they are flushed.
void append_elements(MessageBuilder& batch, std::uint8_t family, const std::string& table,
                     const std::string& set, std::optional<Nanos> timeout) {
  batch.begin(type_of(NFT_MSG_NEWSETELEM), NLM_F_CREATE, head_of(family));
  batch.add_text(NFTA_SET_ELEM_LIST_TABLE, table);
  batch.add_text(NFTA_SET_ELEM_LIST_SET, set);
  batch.nest(NFTA_SET_ELEM_LIST_ELEMENTS, [&] {
    for (const std::uint16_t protocol : kProtocols)
      batch.nest(NFTA_LIST_ELEM, [&] {
        batch.nest(NFTA_SET_ELEM_KEY, [&] { batch.add_value(NFTA_DATA_VALUE, htons(protocol)); });
        if (timeout)
          batch.add_be64(
              NFTA_SET_ELEM_TIMEOUT,
              static_cast<std::uint64_t>(
                  std::chrono::duration_cast<std::chrono::milliseconds>(*timeout).count()));
      });
  });
}

void append_removal(MessageBuilder& batch, std::uint8_t family, const std::string& table) {
  batch.begin(type_of(NFT_MSG_DELTABLE), 0, head_of(family));
  batch.add_text(NFTA_TABLE_NAME, table);
}

std::string text_in(std::span<const std::byte> value) {
  const std::string_view text(reinterpret_cast<const char*>(value.data()), value.size());
  return std::string(text.substr(0, text.find('\0')));
}

}  // namespace

std::vector<Gate::Table> Gate::tables() const {
  std::vector<Table> all;
  for (const std::uint8_t family : kFamilies)
    for (const bool owned : {false, true})
      all.push_back({.family = family,
                     .name = fmt::format("{}{}{}", kTablePrefix, group_, owned ? "-own" : ""),
                     .owned = owned});
  return all;
}

void Gate::append_table(MessageBuilder& batch, const Table& table) const {
  batch.begin(type_of(NFT_MSG_NEWTABLE), NLM_F_CREATE | NLM_F_EXCL, head_of(table.family));
  batch.add_text(NFTA_TABLE_NAME, table.name);
  if (table.owned) batch.add_be32(NFTA_TABLE_FLAGS, NFT_TABLE_F_OWNER);
  std::uint32_t id = 0;
  for (const int slot : {0, 1})
    for (const char* kind : {"armed", "granted"})
      append_set(batch, table.family, table.name, set_name(kind, slot), ++id);

  batch.begin(type_of(NFT_MSG_NEWCHAIN), NLM_F_CREATE, head_of(table.family));
  batch.add_text(NFTA_CHAIN_TABLE, table.name);
  batch.add_text(NFTA_CHAIN_NAME, "check");
  for (const int slot : {0, 1})
    Rule(batch, table.family, table.name, "check", [&](Rule& rule) {
      rule.meta(NFT_META_PROTOCOL)
          .in_set(set_name("armed", slot))
          .in_set(set_name("granted", slot))
          .verdict(NFT_RETURN);
    });
  Rule(batch, table.family, table.name, "check", [](Rule& rule) { rule.verdict(NF_DROP); });

  for (const Hook& hook : hooks_of(table.family)) {
    batch.begin(type_of(NFT_MSG_NEWCHAIN), NLM_F_CREATE, head_of(table.family));
    batch.add_text(NFTA_CHAIN_TABLE, table.name);
    batch.add_text(NFTA_CHAIN_NAME, hook.chain);
    batch.nest(NFTA_CHAIN_HOOK, [&] {
      batch.add_be32(NFTA_HOOK_HOOKNUM, hook.number);
      batch.add_be32(NFTA_HOOK_PRIORITY, static_cast<std::uint32_t>(hook.in ? kBefore : kAfter));
      if (table.family == NFPROTO_NETDEV) batch.add_text(NFTA_HOOK_DEV, interface_);
    });
    batch.add_text(NFTA_CHAIN_TYPE, "filter");
    batch.add_be32(NFTA_CHAIN_POLICY, NF_ACCEPT);
  }
  append_rules(batch, table);
}

// A gratuitous ARP of another machine has the address as sender and as target: it passes, so that
// this machine learns the new place of the address too.
void Gate::append_rules(MessageBuilder& batch, const Table& table) const {
  const auto rule = [&](const char* chain, const std::function<void(Rule&)>& body) {
    Rule(batch, table.family, table.name, chain, body);
  };
  for (const AddressPrefix& one : addresses_) {
    const auto address = one.address();
    const bool four = one.family == AF_INET;
    if (four && table.family != NFPROTO_INET) {
      rule("in", [&](Rule& arp) {
        arp.protocol(ETH_P_ARP)
            .payload(NFT_PAYLOAD_NETWORK_HEADER, kArpTarget, address.size())
            .is(address)
            .payload(NFT_PAYLOAD_NETWORK_HEADER, kArpSender, address.size())
            .is(address, NFT_CMP_NEQ)
            .check();
      });
      rule("out", [&](Rule& arp) {
        arp.protocol(ETH_P_ARP)
            .payload(NFT_PAYLOAD_NETWORK_HEADER, kArpSender, address.size())
            .is(address)
            .check();
      });
    }
    if (table.family == NFPROTO_ARP) continue;
    for (const bool in : {true, false}) {
      const std::uint32_t offset =
          four ? (in ? kIpTarget : kIpSource) : (in ? kIp6Target : kIp6Source);
      rule(in ? "in" : "out", [&](Rule& ip) {
        ip.protocol(four ? ETH_P_IP : ETH_P_IPV6)
            .payload(NFT_PAYLOAD_NETWORK_HEADER, offset, address.size())
            .is(address)
            .check();
      });
      if (four) continue;
      rule(in ? "in" : "out", [&](Rule& neighbour) {
        neighbour.protocol(ETH_P_IPV6)
            .meta(NFT_META_L4PROTO)
            .is(std::uint8_t{IPPROTO_ICMPV6})
            .payload(NFT_PAYLOAD_TRANSPORT_HEADER, kIcmpType, 1)
            .is(in ? kSolicitation : kAdvertisement)
            .payload(NFT_PAYLOAD_TRANSPORT_HEADER, kNeighbourTarget, address.size())
            .is(address)
            .check();
      });
    }
  }
}

Result<void> Gate::commit(MessageBuilder& batch, const char* what) {
  end_batch(batch);
  const int error = netfilter_->send(batch);
  if (error == 0) return {};
  return sys::failure(fmt::format("{} (nftables, group '{}')", what, group_), error);
}

Result<void> Gate::create() {
  MessageBuilder batch = begin_batch();
  for (const Table& table : tables()) append_table(batch, table);
  if (auto made = commit(batch, "set up the gate"); !made) return made;
  generation_ = generation();
  rules_ = count_rules();
  return {};
}

Result<void> Gate::arm(int slot, Nanos timeout) {
  if (timeout < kShortestTimeout)
    return std::unexpected(fmt::format("a timeout of {} ns is too short", timeout.count()));
  MessageBuilder batch = begin_batch();
  for (const Table& table : tables()) {
    for (const char* kind : {"armed", "granted"})
      append_flush(batch, table.family, table.name, set_name(kind, slot));
    append_elements(batch, table.family, table.name, set_name("armed", slot), timeout);
  }
  return commit(batch, "arm the gate");
}

Result<void> Gate::grant(int slot) {
  MessageBuilder batch = begin_batch();
  for (const Table& table : tables())
    append_elements(batch, table.family, table.name, set_name("granted", slot), std::nullopt);
  return commit(batch, "open the gate");
}

Result<void> Gate::close() {
  MessageBuilder batch = begin_batch();
  for (const Table& table : tables())
    for (const int slot : {0, 1})
      append_flush(batch, table.family, table.name, set_name("granted", slot));
  return commit(batch, "close the gate");
}

// One transaction for each: a table that somebody else removed does not keep the others.
void Gate::remove() {
  for (const Table& table : tables()) {
    MessageBuilder batch = begin_batch();
    append_removal(batch, table.family, table.name);
    (void)commit(batch, "remove the gate");
  }
  rules_ = 0;
}

bool Gate::intact() {
  if (rules_ == 0) return false;
  // Own transactions count too: the rules are listed again when it differs, at most once a call.
  const std::uint32_t now = generation();
  if (now == generation_ && now != 0) return true;
  // A list that somebody's transaction interrupts may lack rules.
  if (count_rules() != rules_ && count_rules() != rules_) return false;
  generation_ = now;
  return true;
}

std::uint32_t Gate::generation() {
  MessageBuilder request;
  request.begin(type_of(NFT_MSG_GETGEN), 0, head_of(AF_UNSPEC));
  request.request_answer();
  std::uint32_t generation = 0;
  (void)netfilter_->list(request, [&](const nlmsghdr& message) {
    for_each_attribute(attributes_of(message, sizeof(nfgenmsg)),
                       [&](std::uint16_t type, std::span<const std::byte> value) {
                         if (type != NFTA_GEN_ID || value.size() != sizeof generation) return;
                         std::memcpy(&generation, value.data(), sizeof generation);
                       });
  });
  return ntohl(generation);
}

std::size_t Gate::count_rules() {
  std::size_t count = 0;
  for (const Table& table : tables()) {
    MessageBuilder request;
    request.begin(type_of(NFT_MSG_GETRULE), NLM_F_DUMP, head_of(table.family));
    request.add_text(NFTA_RULE_TABLE, table.name);
    (void)netfilter_->list(request, [&](const nlmsghdr& message) {
      if (message.nlmsg_type == type_of(NFT_MSG_NEWRULE)) ++count;
    });
  }
  return count;
}

std::string Gate::text() const { return fmt::format("{}{}", kTablePrefix, group_); }

Result<void> remove_gates(NetlinkSocket& netfilter) {
  struct Found {
    std::uint8_t family;
    std::string name;
  };
  std::vector<Found> found;
  MessageBuilder request;
  request.begin(type_of(NFT_MSG_GETTABLE), NLM_F_DUMP, head_of(AF_UNSPEC));
  const int error = netfilter.list(request, [&](const nlmsghdr& message) {
    if (message.nlmsg_type != type_of(NFT_MSG_NEWTABLE)) return;
    nfgenmsg head{};
    std::memcpy(&head, reinterpret_cast<const char*>(&message) + NLMSG_HDRLEN, sizeof head);
    for_each_attribute(attributes_of(message, sizeof head),
                       [&](std::uint16_t type, std::span<const std::byte> value) {
                         const std::string name = text_in(value);
                         if (type == NFTA_TABLE_NAME && name.starts_with(kTablePrefix))
                           found.push_back({.family = head.nfgen_family, .name = name});
                       });
  });
  if (error != 0) return sys::failure("list the tables of nftables", error);
  for (const Found& one : found) {
    MessageBuilder batch = begin_batch();
    append_removal(batch, one.family, one.name);
    end_batch(batch);
    if (const int failed = netfilter.send(batch); failed != 0 && failed != ENOENT)
      return sys::failure(fmt::format("remove the table {} of an earlier tempo-vip", one.name),
                          failed);
  }
  return {};
}

}  // namespace tempo::vip
