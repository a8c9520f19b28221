// Messages between members of a lease lock (section 3), commands to a member, and its notices.
//
// ASK, FREE and PASS go to all members and carry the sender's multicast number `k`, its waiting
// clients and its ballots that have ended. A sender with more waiters than a list holds announces
// its oldest.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

#include "base/ids.h"
#include "base/inline_vector.h"
#include "base/units.h"
#include "machine/fields.h"
#include "protocol/lock/lease/lease_rules.h"
#include "protocol/lock/mode.h"

namespace tempo::lock::lease {

inline constexpr LockId kViewLock{0xffffffff};  // "@view": its holder may change the view
enum class ClientId : std::uint32_t {};
enum class Boot : std::uint32_t {};  // one incarnation of a daemon; later ones are larger

// Random number of a member's record, drawn when the record is first written; 0: none.
enum class RecordId : std::uint64_t {};

inline constexpr std::size_t kMaxAnnounced = 4;  // waiters of one member in a message
inline constexpr std::size_t kMaxStandings = 6;  // other members in a message
inline constexpr std::size_t kMaxEnds = 3;       // ended ballots in a message
inline constexpr std::size_t kMaxInsiders = 8;   // clients inside in a message, and in a promise

// An attempt to get the lease, and the lease if the attempt succeeds. Ballots are ordered by count
// alone; no two ballots with the same count are both held.
struct Ballot {
  std::uint64_t count = 0;  // 0: none
  NodeId origin = kNobody;

  bool operator==(const Ballot&) const = default;

  static constexpr auto fields(auto list) {
    return list(field<&Ballot::count>("count"), field<&Ballot::origin>("origin"));
  }
};

// One grant of a ballot; a hand-over counts as one too.
struct Held {
  std::uint64_t count = 0;
  std::uint32_t sub = 0;
  auto operator<=>(const Held&) const = default;

  static constexpr int kSubBits = 24;
  Token token() const { return Token{count << kSubBits | sub}; }
  static Held of(Token token) {
    const auto all = static_cast<std::uint64_t>(token);
    return {all >> kSubBits, static_cast<std::uint32_t>(all & ((1U << kSubBits) - 1))};
  }

  static constexpr auto fields(auto list) {
    return list(field<&Held::count>("count"), field<&Held::sub>("sub"));
  }
};

// What a client shows to resume its grant after a restart of its daemon. It is never on disk.
struct Session {
  std::uint64_t number = 0;   // random, of one request; 0: the client cannot resume
  std::uint64_t process = 0;  // the client's process: its number and its start time

  bool operator==(const Session&) const = default;

  static constexpr auto fields(auto list) {
    return list(field<&Session::number>("number"), field<&Session::process>("process"));
  }
};

// A client inside that may resume, and the sub of its token.
struct Insider {
  std::uint32_t sub = 0;
  Session session{};

  bool operator==(const Insider&) const = default;

  static constexpr auto fields(auto list) {
    return list(field<&Insider::sub>("sub"), field<&Insider::session>("session"));
  }
};
using Insiders = InlineVector<Insider, kMaxInsiders>;

struct Waiter {
  std::uint64_t ticket = 0;
  Mode mode = Mode::exclusive;

  static constexpr auto fields(auto list) {
    return list(field<&Waiter::ticket>("ticket"), field<&Waiter::mode>("mode"));
  }
};
using Waiting = InlineVector<Waiter, kMaxAnnounced>;  // ordered by ticket

// The waiters of one member, as another member knows them.
struct Standing {
  NodeId member = kNobody;
  Boot boot{};
  std::uint32_t k = 0;  // of the member's multicast that announced them
  Waiting waiting{};

  static constexpr auto fields(auto list) {
    using M = Standing;
    return list(field<&M::member, role::about>("member"), field<&M::boot>("boot"),
                field<&M::k, role::their_call>("k"), field<&M::waiting>("waiting"));
  }
};
using Standings = InlineVector<Standing, kMaxStandings>;

enum class Kind : std::uint8_t {
  ask,
  grant,
  refuse,
  free,
  pass,
  query,
  record,
  propose,
  accept,
  resume
};
inline constexpr std::size_t kKinds = 10;
std::string_view name_of(Kind kind);

enum class Why : std::uint8_t { none, low, busy, queue, abstain, ended };
std::string_view name_of(Why why);

// A view that shall follow the current one, and the count of the ballot under which it was
// proposed.
struct Proposal {
  std::uint64_t count = 0;  // 0: none
  View view{};

  bool operator==(const Proposal&) const = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    auto& [count, view] = self;
    visit("count", count);
    if (count != 0) visit("view", view);
  }
};

// One record of a member, and one incarnation with it.
struct Life {
  RecordId record{};
  Boot boot{};

  bool operator==(const Life&) const = default;

  static constexpr auto fields(auto list) {
    return list(field<&Life::record>("record"), field<&Life::boot>("boot"));
  }
};

// A voter that voters confirmed with another record than before (section 8): its messages with a
// lower boot are void.
struct Claim {
  NodeId member = kNobody;
  Life life{};

  bool operator==(const Claim&) const = default;

  static constexpr auto fields(auto list) {
    return list(field<&Claim::member, role::about>("member"), field<&Claim::life>("life"));
  }
};
using Claims = InlineVector<Claim, kMaxVoters>;  // at most one for each voter

struct Message {
  Kind kind = Kind::ask;
  LockId lock{};
  std::uint32_t view = 0;
  Boot boot{};  // the sender's; QUERY: the boot that a sender without a record claims; 0: none
  RecordId record{};  // the sender's
  // Random number of the process that sent it, as the transport knows it; 0: not known. It is not
  // part of the datagram's body.
  std::uint64_t process = 0;

  // ASK, FREE, PASS, RESUME
  std::uint32_t k = 0;
  Waiting waiting{};
  InlineVector<Ballot, kMaxEnds> ends{};

  Ballot ballot{};              // all but QUERY and RECORD
  Mode mode = Mode::exclusive;  // ASK, RESUME
  bool held = false;  // ASK, RESUME: extend the lease of this ballot; REFUSE: the sender holds the
                      // lease and cannot give it up now
  bool resumed = false;    // ASK: that lease was resumed
  bool confirmed = false;  // GRANT of a RESUME: the sender knows that the client is inside
  bool no_wait = false;    // ASK: for a client that does not wait
  Nanos length{0};         // ASK, FREE, PASS, RESUME: length of the wanted lease; 0: L
  Voters named = 0;        // ASK: voters that shall answer
  Nanos over_at{0};        // ASK: A, the network time at which the lease is over; 0: unknown

  Boot to_boot{};          // GRANT, REFUSE, PASS: boot of the addressed member
  std::uint32_t to_k = 0;  // GRANT, REFUSE, PASS: the multicast of that member that this answers
  std::uint64_t top = 0;   // REFUSE: largest count seen; RECORD: first count of the sender
  Why why = Why::none;     // REFUSE

  NodeId target = kNobody;  // PASS
  // PASS; ASK with `inside`: sub of the newest grant; RESUME and answers to it: of the client's
  // token
  std::uint32_t sub = 0;
  Nanos left{0};             // PASS: d
  std::uint64_t ticket = 0;  // PASS: ticket of the served waiter
  Standings standings{};     // PASS
  Insiders inside{};         // ASK: clients inside that may resume; RESUME: the client, alone

  std::uint64_t nonce = 0;    // QUERY, RECORD
  std::uint64_t reserve = 0;  // RECORD, ACCEPT: the sender's reserve; 0: it has no record
  View set{};                 // RECORD: the view with the number `view`
  Proposal next{};  // PROPOSE: the proposal; RECORD and GRANT of @view: the proposal that the
                    // sender accepted
  Claims claims{};  // GRANT, ACCEPT, RECORD: those that the sender confirmed

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    auto& [kind, lock, view, boot, record, process, k, waiting, ends, ballot, mode, held, resumed,
           confirmed, no_wait, length, named, over_at, to_boot, to_k, top, why, target, sub, left,
           ticket, standings, inside, nonce, reserve, set, next, claims] = self;
    visit("kind", kind);
    visit("lock", lock);
    visit("view", view);
    visit("boot", boot);
    visit("record", record);
    visit("process", process);
    visit_as<role::call>(visit, "k", k);
    visit("waiting", waiting);
    visit("ends", ends);
    visit("ballot", ballot);
    visit("mode", mode);
    visit("held", held);
    visit("length", length);
    visit("named", named);
    visit("over_at", over_at);
    visit("to_boot", to_boot);
    visit_as<role::about>(visit, "target", target);
    visit_as<role::their_call>(visit, "to_k", to_k);
    visit("top", top);
    visit("why", why);
    visit("sub", sub);
    visit("left", left);
    visit("ticket", ticket);
    visit("standings", standings);
    visit("resumed", resumed);
    visit("confirmed", confirmed);
    visit("no_wait", no_wait);
    visit("inside", inside);
    visit("nonce", nonce);
    visit("reserve", reserve);
    if (kind == Kind::record) visit("set", set);
    visit("next", next);
    visit("claims", claims);
  }
};

std::string_view name_of(const Message& message);

// The record of a member on disk (section 4), for all its locks.
struct Record {
  Boot boot{};
  std::uint64_t reserve = 0;  // larger counts were neither proposed nor accepted
  View view{};
  Proposal next{};  // accepted for the view after this one; count 0: none
  RecordId id{};    // drawn when the record is first written
  Claims claims{};  // confirmed

  static constexpr auto fields(auto list) {
    using M = Record;
    return list(field<&M::boot>("boot"), field<&M::reserve>("reserve"), field<&M::view>("view"),
                field<&M::next>("next"), field<&M::id>("id"), field<&M::claims>("claims"));
  }
};

struct Command {
  enum class Kind : std::uint8_t {
    acquire,    // a client wants the lock
    resume,     // a client that an earlier incarnation let in is still inside
    release,    // the client has finished, no longer wants the lock, or died
    persisted,  // the record is durable
    change,     // give `member` `votes`, one more or one less than now
    no_change,  // withdraw the change; a proposal already sent may still succeed
    time,       // network time is now between `earliest` and `latest`
    retire,     // another machine has the identity of this member: it votes and asks no more
  };
  Kind kind = Kind::acquire;
  LockId lock{};
  ClientId client{};
  Mode mode = Mode::exclusive;
  std::uint64_t network_us = 0;  // acquire: network time, as well as it is known, in microseconds
  Nanos length{0};               // acquire, resume: length of its lease, at most Lmax; 0: L
  Session session{};             // acquire, resume; number 0: the client cannot resume
  bool no_wait = false;          // acquire: refuse it if another client is inside
  Ballot ballot{};               // resume: of the client's grant
  std::uint32_t sub = 0;         // resume: of the client's token
  BootTime deadline{};           // resume: the client's last deadline
  Record record{};               // persisted
  NodeId member = kNobody;       // change
  std::uint8_t votes = 0;        // change
  Nanos earliest{0};             // time
  Nanos latest{0};               // time

  static Command acquire(LockId lock, ClientId client, Mode mode, std::uint64_t network_us,
                         Nanos length = Nanos{0}, Session session = {}, bool no_wait = false) {
    return {.kind = Kind::acquire,
            .lock = lock,
            .client = client,
            .mode = mode,
            .network_us = network_us,
            .length = length,
            .session = session,
            .no_wait = no_wait};
  }
  static Command release(LockId lock, ClientId client) {
    return {.kind = Kind::release, .lock = lock, .client = client};
  }
  static Command persisted(const Record& record) {
    return {.kind = Kind::persisted, .record = record};
  }
  static Command change(NodeId member, std::uint8_t votes) {
    return {.kind = Kind::change, .member = member, .votes = votes};
  }
  static Command time(Nanos earliest, Nanos latest) {
    return {.kind = Kind::time, .earliest = earliest, .latest = latest};
  }
  static Command no_change() { return {.kind = Kind::no_change}; }
  static Command retire() { return {.kind = Kind::retire}; }
};

struct Notice {
  enum class Kind : std::uint8_t {
    // The client is inside until `deadline` by the local clock. A resumed client keeps its token.
    granted,
    extended,  // every client inside this lock has a later deadline
    lost,      // the client is no longer inside
    refused,   // too many clients of this lock at this member; of @view: the change is impossible
    busy,      // another client is inside, and this one does not wait
    view,      // `view` is in force at this member
    retired,   // the voters have confirmed another record of this member: it votes no more
  };
  Kind kind = Kind::granted;
  LockId lock{};
  ClientId client{};
  Mode mode = Mode::exclusive;
  Token token = kNoToken;
  NodeId origin = kNobody;  // granted: of the ballot; with the token it names the grant
  BootTime deadline{};
  View view{};
};

}  // namespace tempo::lock::lease
