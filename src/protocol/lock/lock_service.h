// The locks of one host: names, clients and hosts on one side, the lease machine on the other.
//
// It is pure, as machines are: whoever drives it brings what was heard, what clients want and what
// time it is, and carries out what it wants done. Times are of a clock that goes on while the host
// sleeps (CLOCK_BOOTTIME).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "machine/machine.h"
#include "protocol/lock/lease/lease_member.h"
#include "protocol/lock/lock_names.h"
#include "protocol/lock/member_map.h"
#include "protocol/wire/lock_body.h"

namespace tempo::locks {

using lock::Mode;
using lock::Token;
using lock::lease::ClientId;
using lock::lease::Record;

// What is kept on disk from one life to the next: a record, with hosts instead of members.
struct Saved {
  lock::lease::Boot boot{};
  std::uint64_t reserve = 0;
  wire::LockVoters view{};
  wire::LockVoters next{};

  bool operator==(const Saved&) const = default;
};

// Clients with this bit are groups of this host, not programs.
inline constexpr std::uint32_t kGroupBit = 0x8000'0000;
inline bool is_group(ClientId client) { return (std::to_underlying(client) & kGroupBit) != 0; }

// Sentences say what is wrong with a name; nothing is.
std::optional<std::string> wrong_with_name(std::string_view name);

// What a client is told.
struct LockUpdate {
  enum class Kind : std::uint8_t {
    granted,   // it is inside until `deadline`
    extended,  // until a later one
    lost,      // it is inside no more, and has to ask again
    refused,   // too many clients wait for this lock here
  };
  Kind kind = Kind::granted;
  Token token = lock::kNoToken;  // granted
  Instant deadline{};            // granted, extended
  std::string sentence{};        // refused: why, if it is something else
};

// What the service wants done.
class Driver {
 public:
  virtual ~Driver() = default;
  virtual void broadcast(const wire::LockBody& body) = 0;
  virtual void send(HostId to, const wire::LockBody& body) = 0;
  virtual void write(const Saved& saved) = 0;  // on disk; then Service::written
  virtual void notify(ClientId client, const LockUpdate& update) = 0;
  virtual void voters_changed() {}
};

// How a lock is agreed on (doc/internals/lock.md).
enum class LockKind : std::uint8_t { lease, silent, explicit_replies };

// A lock that something is known of here.
struct Known {
  std::string name;
  LockKind kind = LockKind::lease;
  Mode mode = Mode::exclusive;   // of the lease that is held or promised
  HostId holder = kNoHost;       // who has the lease, as far as is known
  bool held_here = false;        // then clients of this host are or were inside
  Token token = lock::kNoToken;  // of the newest grant, if it is held here
  Instant until{};               // when the lease or the promise ends
  struct Client {
    ClientId id{};
    Mode mode = Mode::exclusive;
    bool inside = false;
    Instant since{};  // inside, or waiting
    Token token = lock::kNoToken;
  };
  std::vector<Client> clients;  // of this host
  struct Waiter {
    HostId host = kNoHost;
    Mode mode = Mode::exclusive;
    std::uint64_t ticket = 0;  // network time at which it asked, in microseconds, or a little more
  };
  std::vector<Waiter> elsewhere;  // as heard lately, each host's oldest
};

class Service {
 public:
  struct Start {
    HostId self = kNoHost;
    std::vector<HostId> voters;  // in their order: for a host that has nothing on disk
    Numbering hosts{};
    lock::lease::Rules rules{};
    std::optional<Saved> saved{};
    bool available = false;  // if two vote, each is enough where the other does not answer: UNSAFE
    bool rebooted = false;
  };
  Service(Start start, Draw& draw, Driver& driver);

  void start(Instant now);
  void receive(Instant now, HostId from, const wire::LockBody& body);
  void on_timer(Instant now);
  void written(Instant now, const Saved& saved);
  Instant due() const { return member_.timers().first(); }

  // A client waits for a lock from now on; `network_us` orders those who wait at different hosts.
  struct LockRequest {
    ClientId client{};  // not there already
    std::string_view name;
    Mode mode = Mode::exclusive;
    std::uint64_t network_us = 0;
    Nanos lease{
        0};  // how long it is to be, from kShortestLease to the longest; 0: as the rules say
  };
  static constexpr Nanos kShortestLease = 40ms;
  // What becomes of it is told, perhaps before this returns. A sentence says why it cannot wait.
  Result<void> acquire(Instant now, const LockRequest& request);
  // It is done, waits no longer, or died. A client that is not there is no mistake.
  void release(Instant now, ClientId client);

  // This host is to have so many votes, one more or one less than now; a later `voters_changed`
  // says that it has. A sentence says why it cannot be.
  Result<void> change(Instant now, HostId host, std::uint8_t votes);
  void give_up_change(Instant now);
  // Asks a host whether it takes part in locks; `last_record` is then it.
  void ask_record(HostId host);
  HostId last_record() const { return last_record_; }

  std::vector<Known> known(Instant now) const;
  // Whether somebody has, wants or was promised a lease of that name, as far as is known here; also
  // one that nobody uses until it is given back.
  bool uses(Instant now, std::string_view name) const;
  const lock::lease::View& view() const { return member_.state().view(); }
  bool running() const { return member_.state().running; }
  bool speaks(Instant now) const { return member_.state().speaks(now); }
  const MemberMap& members() const { return members_; }
  const char* check() const { return member_.check(); }  // null, or the invariant that is broken
  // Messages of hosts or locks that there is no number for, or of leases that are too long.
  std::uint64_t dropped() const { return dropped_; }

 private:
  static constexpr std::size_t kMaxClientsHere = 4096;

  struct Client {
    lock::LockId lock{};
    Mode mode = Mode::exclusive;
    bool inside = false;
    Instant since{};
    Token token = lock::kNoToken;
  };

  template <class Do>
  void step(Instant now, Do todo);
  void carry_out(Instant now);
  void on_notice(Instant now, const lock::lease::Notice& notice);
  std::optional<Record> record_of(const Saved& saved) const;
  lock::lease::Member::Start member_start(const Start& start) const;
  std::optional<lock::LockId> number(Instant now, std::string_view name);

  MemberMap members_;
  lock::lease::Rules rules_;
  Draw* draw_;
  Driver* driver_;
  lock::lease::Member member_;
  Outbox<lock::lease::Member> outbox_;
  Names names_;
  std::map<ClientId, Client> clients_;  // at most kMaxClientsHere
  std::uint64_t dropped_ = 0;
  HostId last_record_ = kNoHost;
  bool refused_ = false;  // the last change that was wanted
};

}  // namespace tempo::locks
