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
//
// The machine runs on boot time, the clock of the locks. The machine that embeds it gives it the
// NetworkClock before every other input.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/inline_vector.h"
#include "machine/compose.h"
#include "machine/machine.h"
#include "machine/one_timer.h"
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
  // Begins an election, unless one is running. A host does not leave a running election for
  // another, because a byzantine member could otherwise begin the other when only some hosts have
  // ended the running one.
  struct Hold {};
  using Message = SignedMessage;
  using Command = std::variant<Hold, OfferCapacity, NetworkClock>;
  using Notice = ElectionNotice;
  using Parts = PartList<OverB2>;
  using Time = BootTime;

  struct Start {
    NodeId self = kNobody;  // reported as elected; the messages use the numbers of the key list
    std::string_view group;
    Incarnation incarnation{};
    Nanos lease{0};
  };
  // `keys` must outlive this object and list at least kMinMembers members.
  SignedElections(const Start& start, const auth::NodeKeys& keys);

  void start(Turn<SignedElections>& /*turn*/) {}
  void receive(Turn<SignedElections>& turn, NodeId from, const Message& envelope);
  void on_timer(Turn<SignedElections>& turn, TimerId timer);
  void command(Turn<SignedElections>& turn, const Command& command);

  OneTimer<Time> timers() const;
  const char* check() const { return machine_ ? machine_->check() : nullptr; }

 private:
  struct Bounds {
    Bounds(Nanos lease, std::uint32_t members);
    broadcast::Rules ordered;
    election::capacity::Rules rules;
  };

  void on_command(Turn<SignedElections>& turn, const Hold& hold);
  void on_command(Turn<SignedElections>& turn, const OfferCapacity& offer);
  void on_command(Turn<SignedElections>& turn, const NetworkClock& clock);
  std::uint64_t current_election(WallTime network) const;
  bool under_way(WallTime network) const;
  bool is_authentic(const SignedMessage& envelope) const;
  void begin(Turn<SignedElections>& turn, std::uint64_t election);
  template <class Do>
  void step(Turn<SignedElections>& turn, const SignedMessage* received, Do todo);
  void on_notice(Turn<SignedElections>& turn, const election::capacity::Notice& notice) const;
  SignedMessage countersigned(const OverB2::Message& message, const SignedMessage* received) const;

  static constexpr int kMaxWakes = 64;  // in one step

  NodeId self_;
  std::string group_;
  Incarnation incarnation_;
  Nanos lease_;
  const auth::NodeKeys* keys_;
  std::unique_ptr<const Bounds> bounds_;  // the machine keeps its address
  election::capacity::Capacity offer_ = election::capacity::kNotCandidate;
  std::uint32_t machines_ = 0;  // number of machines created
  std::uint64_t election_ = 0;  // the last election in which this host took part
  WallTime ends_at_{};          // end of that election
  NetworkTime network_;         // never goes back while a machine exists
  std::optional<OverB2> machine_;
};

static_assert(Machine<SignedElections> && std::movable<SignedElections>);

}  // namespace tempo::groups
