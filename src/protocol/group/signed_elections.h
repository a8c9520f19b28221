// The elections of one group by algorithm B.2: fewer than a third of the machines may be byzantine,
// and a message counts only if the machine that originated it has signed it.
//
// Members are the machines in the list of public keys (auth/node_keys.h), candidates or not; the
// number of tolerated byzantine members follows from their number. B.2 uses the class of atomic
// broadcast in which every machine that relays a message signs it. A message carries its
// signatures, and the receiver verifies all of them before it accepts the message.
//
// Each election has its own machines. Its name is the lease period in which it begins, counted in
// network time: hosts that begin elections at about the same time begin the same election, a
// machine that has just started knows the name, and no member can exhaust the names. Of two
// elections the later counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/inline_vector.h"
#include "machine/machine.h"
#include "protocol/auth/node_keys.h"
#include "protocol/broadcast/over.h"
#include "protocol/group/capacity_b2.h"
#include "protocol/group/elections.h"

namespace tempo::groups {

using OverB2 = broadcast::Over<election::CapacityB2>;

inline constexpr std::uint32_t kMinMembers = 4;    // fewer cannot tolerate a byzantine member
inline constexpr std::uint32_t kMaxByzantine = 2;  // a datagram has space for three signatures

struct Countersign {
  std::uint8_t member = 0;
  auth::Signature signature{};
};

// A message of a member, with the member numbers of the key list.
struct SignedMessage {
  std::uint64_t list = 0;  // id of the key list
  std::uint64_t election = 0;
  OverB2::Message message{};
  InlineVector<Countersign, kMaxByzantine + 1> signatures{};
};

// The bytes that are signed: everything except the signatures of the relaying members.
std::vector<std::byte> signed_bytes(std::string_view group, const SignedMessage& envelope);

class SignedElections {
 public:
  // `keys` must outlive this object and list at least kMinMembers members.
  SignedElections(std::string_view group, Incarnation incarnation, Nanos lease,
                  const auth::NodeKeys& keys);
  SignedElections(const SignedElections&) = delete;  // machines keep the address of their rules
  SignedElections& operator=(const SignedElections&) = delete;

  struct Results {
    std::vector<SignedMessage> messages{};  // to broadcast
    bool elected = false;                   // this host is elected
    bool defeated = false;                  // another host is elected
    bool nothing = false;                   // no host is elected
  };

  void offer(election::capacity::Capacity capacity) { offer_ = capacity; }
  // Begins an election, unless one is running. A host does not leave a running election for
  // another, because a byzantine member could otherwise begin the other when only some hosts have
  // ended the running one.
  void hold(const Moment& moment, Draw& draw, Results& results);
  void receive(const Moment& moment, Draw& draw, const SignedMessage& envelope, Results& results);
  void on_timer(const Moment& moment, Draw& draw, Results& results);
  std::optional<Nanos> due_in(const Moment& moment) const;

 private:
  Instant network(const Moment& moment);
  std::uint64_t current_election(Instant network) const;
  bool under_way(Instant network) const;
  bool is_authentic(const SignedMessage& envelope) const;
  void begin(std::uint64_t election, Instant network, Draw& draw, Results& results);
  template <class Do>
  void step(Instant network, Draw& draw, const SignedMessage* received, Results& results, Do todo);
  SignedMessage countersigned(const OverB2::Message& message, const SignedMessage* received) const;

  static constexpr int kMaxWakes = 64;  // in one step

  std::string group_;
  Incarnation incarnation_;
  Nanos lease_;
  const auth::NodeKeys* keys_;
  broadcast::Rules ordered_;
  election::capacity::Rules rules_;
  election::capacity::Capacity offer_ = election::capacity::kNotCandidate;
  std::uint32_t machines_ = 0;  // number of machines created
  std::uint64_t election_ = 0;  // the last election in which this host took part
  Instant ends_at_{};           // end of that election, in network time
  Instant last_network_{};      // latest network time; never decreases while a machine exists
  std::optional<OverB2> machine_;
};

}  // namespace tempo::groups
