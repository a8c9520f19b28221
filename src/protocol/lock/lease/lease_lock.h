// One lock of a member: its clients, the lease they share, and how the member asks for it, extends,
// serves, hands over and ends it (sections 4 to 6). Section numbers are those of the lock's
// specification, summarized in doc/internals/lease.md.
//
// The idea: a member that wants the lock asks all voters for a lease; each grantor promises to
// grant nothing in conflict for a while. Promises of a majority are a lease. Its holder serves its
// own clients at once and hands the lease over to the member whose client has waited longest. It
// extends the lease while a client uses it. The holder counts every span from before it asked, and
// the grantors from after they received the ASK, so a lease ends at its holder before any promise
// ends.
//
// The lock stores deadlines instead of past instants: a multicast is remembered until L after it
// was sent.
//
// A client may ask for a lease of another length. Each ASK states the wanted length: the longest
// that a client inside wants, or with no client inside the length that the next client wants. A
// grantor keeps its promise for the length in that ASK, and a grant counts by the length in the ASK
// that it answers, so members need not agree on a length.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "machine/machine.h"
#include "protocol/lock/lease/lease_grantor.h"
#include "protocol/lock/lease/lease_member_state.h"
#include "protocol/lock/lease/lease_message.h"
#include "protocol/lock/lease/lease_peers.h"

namespace tempo::lock::lease {

class Member;

inline constexpr std::size_t kMaxClients = 32;  // of one lock at one member; more: refused
inline constexpr std::size_t kMaxSent = 32;     // multicasts whose sending time is remembered

// Context of a step of a lock.
struct Scope {
  Turn<Member>& turn;
  MemberState& state;
  LockId lock;

  BootTime now() const;
  const Rules& rules() const { return state.rules; }
  NodeId self() const { return state.self; }
};

struct Client {
  ClientId id{};
  Mode mode = Mode::exclusive;
  std::uint64_t ticket = 0;
  Nanos length{0};  // length of the lease it wants
  bool inside = false;
  Insider insider{};     // its session; inside: the sub of its token, if it has a session
  bool no_wait = false;  // it does not wait for another client

  static constexpr auto fields(auto list) {
    using M = Client;
    return list(field<&M::id>("id"), field<&M::mode>("mode"), field<&M::ticket>("ticket"),
                field<&M::length>("length"), field<&M::inside>("inside"),
                field<&M::insider>("insider"), field<&M::no_wait>("no_wait"));
  }
};

// A client that an earlier incarnation let in, until it is inside again or its deadline passes.
struct Returning {
  Client client{};
  Ballot ballot{};
  BootTime deadline{};
  Voters in_favour = 0;
  Voters confirmed = 0;  // those of them that know that the client is inside
  BootTime again_at{};   // when RESUME is sent again

  static constexpr auto fields(auto list) {
    using M = Returning;
    return list(field<&M::client>("client"), field<&M::ballot>("ballot"),
                field<&M::deadline>("deadline"), field<&M::in_favour>("in_favour"),
                field<&M::confirmed>("confirmed"), field<&M::again_at>("again_at"));
  }
};

struct Attempt {
  Ballot ballot{};
  Mode mode = Mode::exclusive;
  bool answered = false;  // since the last ASK for it
  bool alone = false;     // no answer came: with `available`, the own vote is enough

  static constexpr auto fields(auto list) {
    using M = Attempt;
    return list(field<&M::ballot>("ballot"), field<&M::mode>("mode"),
                field<&M::answered>("answered"), field<&M::alone>("alone"));
  }
};

struct Lease {
  Ballot ballot{};
  Mode mode = Mode::exclusive;
  std::uint32_t sub = 0;
  BootTime until{};  // V
  // An earlier incarnation granted it. It serves no further client and is never handed over, and as
  // a shared lease it is not freed while clients of that incarnation may still come back.
  bool resumed = false;

  Held held() const { return {ballot.count, sub}; }

  static constexpr auto fields(auto list) {
    using M = Lease;
    return list(field<&M::ballot>("ballot"), field<&M::mode>("mode"), field<&M::sub>("sub"),
                field<&M::until>("until"), field<&M::resumed>("resumed"));
  }
};

// The last hand-over, until it is known to have arrived.
struct Passed {
  NodeId target = kNobody;
  Boot boot{};
  Lease lease{};
  std::uint64_t ticket = 0;

  static constexpr auto fields(auto list) {
    using M = Passed;
    return list(field<&M::target>("target"), field<&M::boot>("boot"), field<&M::lease>("lease"),
                field<&M::ticket>("ticket"));
  }
};

struct Sent {
  std::uint32_t k = 0;
  BootTime until{};  // s_k + L
  Nanos length{0};   // length of the lease that it asked for

  static constexpr auto fields(auto list) {
    using M = Sent;
    return list(field<&M::k, role::call>("k"), field<&M::until>("until"),
                field<&M::length>("length"));
  }
};

class Lock {
 public:
  // --- inputs (section 6) ---
  void acquire(Scope& scope, const Command& command);
  void release(Scope& scope, ClientId client);
  void take_back(Scope& scope, const Command& command);
  void receive(Scope& scope, NodeId from, const Message& message);
  void on_timer(Scope& scope);
  // More counts are reserved, or the abstention is over: do the deferred work.
  void resume(Scope& scope);

  // The view changes: grants and requests for @view under the old view no longer count.
  void abandon(Scope& scope);
  void change_view(const View& before, const View& after);
  // Grants of the voter in this slot no longer count.
  void forget_grant(std::uint32_t slot);  // also those of a RESUME
  // A proposal under this ballot arrived. False: this member may have promised a larger ballot
  // since.
  bool accepts(const Ballot& ballot, std::uint64_t floor);

  // When `on_timer` is due.
  BootTime due(const Rules& rules) const;
  // No promise, lease, client or known waiter.
  bool forgettable() const;
  bool known(ClientId client) const;
  std::uint64_t top() const { return grantor_.top(); }

  const std::vector<Client>& clients() const { return clients_; }
  const std::vector<Returning>& returning() const { return returning_; }
  const std::optional<Lease>& lease() const { return lease_; }
  const std::optional<Attempt>& attempt() const { return attempt_; }
  const Grantor& grantor() const { return grantor_; }
  const Peers& peers() const { return peers_; }
  const char* check() const;

  static constexpr auto fields(auto list) {
    using M = Lock;
    return list(field<&M::grantor_>("grantor"), field<&M::peers_>("peers"),
                field<&M::clients_>("clients"), field<&M::attempt_>("attempt"),
                field<&M::repeated_>("repeated"), field<&M::sent_>("sent"),
                field<&M::granted_until_>("granted_until"), field<&M::ends_>("ends"),
                field<&M::lease_>("lease"), field<&M::seen_>("seen"), field<&M::passed_>("passed"),
                field<&M::backing_off_>("hushed"), field<&M::retry_>("retry"),
                field<&M::renew_at_>("renew_at"), field<&M::register_at_>("register_at"),
                field<&M::length_>("length"), field<&M::returning_>("returning"));
  }
  friend FieldCheck;

 private:
  struct Place {
    QueuePosition at;
    Mode mode = Mode::exclusive;
    Client* own = nullptr;  // null: a waiter of another member
  };
  // Addressee of an answer: a member, its boot, and the multicast that is answered.
  struct Address {
    NodeId member{};
    Boot boot{};
    std::uint32_t k = 0;
  };
  enum class Next : std::uint8_t { stop, go_on, again };

  // Before and after every input.
  void begin(Scope& scope);
  void finish(Scope& scope);
  void keep_lease(Scope& scope);
  void on_retry(Scope& scope);

  void admit(Scope& scope, const Command& command);
  bool occupied(Mode mode) const;
  void refuse_impatient(Scope& scope);
  void ask_or_attempt(Scope& scope);

  static bool reserve(Scope& scope, std::uint64_t count);

  // Section 5.
  bool behind(const Scope& scope, NodeId from, QueuePosition first, Mode mode) const;
  // Unset: this member does not vote, or a durable write must come first.
  std::optional<Why> decide(Scope& scope, NodeId from, GrantRequest request, QueuePosition first);
  BootTime valid(const Scope& scope) const;
  void attempt(Scope& scope);
  void withdraw();
  Ballot give_up_attempt();
  void expire(Scope& scope);
  void serve(Scope& scope);
  bool serve_in_order(Scope& scope);
  Next serve_own(Scope& scope, const Place& place);
  Next serve_other(Scope& scope, const Place& place);
  void grant(Scope& scope, Client& client);
  Next pass(Scope& scope, const Place& place);
  Next start_new_ballot(Scope& scope);

  // Sending.
  static void notify(Scope& scope, Notice notice);
  void multicast(Scope& scope, Message message);
  void ask(Scope& scope, bool held);
  void send_free(Scope& scope, const Ballot& ballot);
  void send_pass(Scope& scope);
  void answer(Scope& scope, const Address& to, const Ballot& ballot, Why why, bool held = false);
  Voters helpers(const Scope& scope) const;

  // Receiving (section 6).
  void receive_ask(Scope& scope, NodeId from, const Message& message);
  void receive_grant(Scope& scope, NodeId from, const Message& message);
  void receive_refuse(Scope& scope, NodeId from, const Message& message);
  void receive_free(Scope& scope, NodeId from, const Message& message);
  void receive_pass(Scope& scope, NodeId from, const Message& message);
  void take_pass(Scope& scope, const Message& message);
  bool yields_to(const Scope& scope, NodeId from, const Message& message) const;
  void pass_again(Scope& scope, NodeId from, const Message& message);
  void decide_pending(Scope& scope);

  // Resuming after a restart (lease_resume.cpp).
  bool may_return(const Scope& scope, const Command& command) const;
  void admit_returning(Scope& scope, const Command& command);
  void resume_clients(Scope& scope);
  void drop_late_returns(Scope& scope);
  void send_resume(Scope& scope, Returning& client);
  void receive_resume(Scope& scope, NodeId from, const Message& message);
  void receive_resume_grant(Scope& scope, NodeId from, const Message& message);
  void settle_returned(Scope& scope, const Returning& settled);
  bool keeps_for_others(const Scope& scope) const;
  Insiders insiders() const;
  BootTime resume_due() const;

  // Getting and losing the lease.
  void count_grants(Scope& scope);
  void own_vote(Scope& scope);
  bool waits_for_other(const Scope& scope) const;
  void end_lease();
  void free_lease(Scope& scope);
  void forget_grants();

  const Client* first_waiting() const;
  QueuePosition own_place(NodeId self) const;  // after all others if no client waits
  Waiting announced() const;
  bool own_waits() const { return first_waiting() != nullptr; }
  bool inside() const;
  bool writer_inside() const;
  Nanos length(const Rules& rules) const;  // length of the lease that is wanted now
  NodeId pass_target() const;              // kNobody: no hand-over is remembered
  std::optional<Place> place_after(QueuePosition last, const Scope& scope);

  Grantor grantor_;
  Peers peers_;
  std::vector<Client> clients_;  // at most kMaxClients, in the order of their tickets
  std::optional<Attempt> attempt_;
  bool repeated_ = false;              // the attempt was sent more than once
  InlineVector<Sent, kMaxSent> sent_;  // oldest first; expired ones are removed
  // By slot, of attempt or lease: g[j] + HOLD of the length in that ASK.
  std::array<BootTime, kMaxVoters> granted_until_{};
  InlineVector<Ballot, kMaxEnds> ends_;  // own ballots that have ended, not yet announced
  std::optional<Lease> lease_;           // never together with an attempt
  Held seen_;                            // largest grant held in this incarnation
  std::optional<Passed> passed_;
  bool backing_off_ = false;       // after a FREE: asks again only when the retry timer fires
  BootTime retry_ = kNever;        // runs while clients wait without a lease, or during an attempt
  BootTime renew_at_{};            // earliest time of the next extension
  BootTime register_at_ = kNever;  // when the voters learn of new clients inside
  Nanos length_{0};                // of attempt or lease: length of the last ASK; otherwise 0
  std::vector<Returning> returning_;  // at most kMaxClients
};

}  // namespace tempo::lock::lease
