// The elections of one group by B.2: up to a third of the machines may do anything, and no word
// counts that is not signed by the machine whose it is.
//
// Members are the machines in the list of public keys (auth/node_keys.h), candidates or not: the
// number of those who may lie follows from their number. B.2 rides on atomic broadcast of the class
// in which every machine that hands a word on signs it; with a word come its signatures, and who
// receives it believes none of them before it has tested all.
//
// Each election has machines of its own. It is named by the lease in which it begins, counted in
// network time: who begins one at about the same time begins the same one, a machine that has just
// started knows which it is, and nobody can use the names up. Of two the later counts.
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

inline constexpr std::uint32_t kFewestMembers = 4;  // below, not even one may lie
inline constexpr std::uint32_t kMaxLiars = 2;       // a datagram has room for three signatures

struct Countersign {
  std::uint8_t member = 0;
  auth::Signature signature{};
};

// A word of a member, in the numbers of the list.
struct Signed {
  std::uint64_t list = 0;  // its id
  std::uint64_t election = 0;
  OverB2::Message message{};
  InlineVector<Countersign, kMaxLiars + 1> signatures{};
};

// What is signed: everything in it but who has handed it on.
std::vector<std::byte> signed_bytes(std::string_view group, const Signed& said);

class SignedElections {
 public:
  // The keys must outlive it, and have at least kFewestMembers.
  SignedElections(std::string_view group, Incarnation life, Nanos lease,
                  const auth::NodeKeys& keys);
  SignedElections(const SignedElections&) = delete;  // machines keep the address of their rules
  SignedElections& operator=(const SignedElections&) = delete;

  struct Results {
    std::vector<Signed> said{};  // to all
    bool elected = false;        // this host
    bool defeated = false;       // another
    bool nothing = false;        // nobody
  };

  void offer(election::capacity::Capacity capacity) { offer_ = capacity; }
  // One that is under way is this one, and is not left for another: who lies could else begin it
  // where some have ended this one and some have not.
  void hold(const Moment& moment, Draw& draw, Results& results);
  void receive(const Moment& moment, Draw& draw, const Signed& said, Results& results);
  void on_timer(const Moment& moment, Draw& draw, Results& results);
  std::optional<Nanos> due_in(const Moment& moment) const;

 private:
  Instant network(const Moment& moment);
  std::uint64_t now_called(Instant network) const;
  bool under_way(Instant network) const;
  bool genuine(const Signed& said) const;
  void begin(std::uint64_t election, Instant network, Draw& draw, Results& results);
  template <class Do>
  void step(Instant network, Draw& draw, const Signed* heard, Results& results, Do todo);
  Signed countersigned(const OverB2::Message& message, const Signed* heard) const;

  static constexpr int kMaxWakes = 64;  // in one step

  std::string group_;
  Incarnation life_;
  Nanos lease_;
  const auth::NodeKeys* keys_;
  broadcast::Rules ordered_;
  election::capacity::Rules rules_;
  election::capacity::Capacity offer_ = election::capacity::kNotCandidate;
  std::uint32_t lives_ = 0;     // of machines
  std::uint64_t election_ = 0;  // the last in which this host took part
  Instant ends_at_{};           // when its machines are done with, in network time
  Instant last_network_{};      // it does not go back for one life of these machines
  std::optional<OverB2> machine_;
};

}  // namespace tempo::groups
