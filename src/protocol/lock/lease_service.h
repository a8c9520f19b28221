// The leases of one host: maps names, clients and hosts to the lease machine and back.
//
// It is pure, like a machine: the driver passes in received messages, client requests and the time,
// and carries out the outputs. Times are of a clock that keeps running while the host is suspended
// (CLOCK_BOOTTIME).
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

// State kept on disk between two incarnations: a lease record with hosts instead of members.
struct Saved {
  lock::lease::Boot boot{};
  std::uint64_t reserve = 0;
  wire::LockVoters view{};
  wire::LockVoters next{};

  bool operator==(const Saved&) const = default;
};

// A client with this bit is a group of this host, not a program.
inline constexpr std::uint32_t kGroupBit = 0x8000'0000;
inline bool is_group(ClientId client) { return (std::to_underlying(client) & kGroupBit) != 0; }

// The defect of a lock name, as a sentence; unset: the name is valid.
std::optional<std::string> wrong_with_name(std::string_view name);

// A message to a client about its lock.
struct LockUpdate {
  enum class Kind : std::uint8_t {
    granted,   // the client is inside until `deadline`
    extended,  // the client is inside until a later `deadline`
    lost,      // the client is no longer inside and has to acquire the lock again
    refused,   // too many clients of this host wait for this lock, unless `sentence` says otherwise
  };
  Kind kind = Kind::granted;
  Token token = lock::kNoToken;  // valid for granted
  Instant deadline{};            // valid for granted and extended
  std::string sentence{};        // refused: the reason, if it is another one; empty: none
};

// Carries out the outputs of the service.
class Driver {
 public:
  virtual ~Driver() = default;
  virtual void broadcast(const wire::LockBody& body) = 0;
  virtual void send(HostId to, const wire::LockBody& body) = 0;
  virtual void write(const Saved& saved) = 0;  // to disk; then call Service::written
  virtual void notify(ClientId client, const LockUpdate& update) = 0;
  virtual void voters_changed() {}
};

// How the members agree on a lock (doc/internals/lock.md).
enum class LockKind : std::uint8_t { lease, silent, explicit_replies };

// A lock that this host has state about.
struct Known {
  std::string name;
  LockKind kind = LockKind::lease;
  Mode mode = Mode::exclusive;   // of the lease that is held or promised
  HostId holder = kNoHost;       // holder of the lease, as far as this host knows; kNoHost: unknown
  bool held_here = false;        // a client of this host is or was inside under the current lease
  Token token = lock::kNoToken;  // of the newest grant; valid if held here
  Instant until{};               // end of the lease or of the promise
  struct Client {
    ClientId id{};
    Mode mode = Mode::exclusive;
    bool inside = false;
    Instant since{};  // time of entry, or of the request while it waits
    Token token = lock::kNoToken;
  };
  std::vector<Client> clients;  // clients of this host
  struct Waiter {
    HostId host = kNoHost;
    Mode mode = Mode::exclusive;
    std::uint64_t ticket = 0;  // network time of the request, in microseconds, or slightly later
  };
  std::vector<Waiter> elsewhere;  // recently announced by other hosts; each host's oldest
};

class Service {
 public:
  struct Start {
    HostId self = kNoHost;
    std::vector<HostId> voters;  // in their order; used only by a host without saved state
    Numbering hosts{};
    lock::lease::Rules rules{};
    std::optional<Saved> saved{};
    bool available = false;  // two voters: each grants alone when the other does not answer, UNSAFE
    bool rebooted = false;
  };
  Service(Start start, Draw& draw, Driver& driver);

  void start(Instant now);
  void receive(Instant now, HostId from, const wire::LockBody& body);
  void on_timer(Instant now);
  void written(Instant now, const Saved& saved);
  Instant due() const { return member_.timers().first(); }

  // Adds a client to the waiters for a lock. `network_us` orders waiters of different hosts.
  struct LockRequest {
    ClientId client{};  // must not hold or wait for a lock already
    std::string_view name;
    Mode mode = Mode::exclusive;
    std::uint64_t network_us = 0;
    Nanos lease{0};  // lease length, kShortestLease to Rules::longest; 0: Rules::lease
  };
  static constexpr Nanos kShortestLease = 40ms;
  // The outcome comes through Driver::notify, perhaps before this returns. The error says why the
  // client cannot wait.
  Result<void> acquire(Instant now, const LockRequest& request);
  // The client has finished, no longer waits, or died. An unknown client is not an error.
  void release(Instant now, ClientId client);

  // Gives a host this number of votes, which must be one more or one less than it has now.
  // Driver::voters_changed reports success later. The error says why the change is impossible.
  Result<void> change(Instant now, HostId host, std::uint8_t votes);
  void give_up_change(Instant now);
  // Asks a host whether it takes part in locks; if it does, `last_record` names it later.
  void ask_record(HostId host);
  HostId last_record() const { return last_record_; }

  std::vector<Known> known(Instant now) const;
  // Whether any member holds, wants or was promised a lease of this name, as far as this host
  // knows. An unused lease counts until it is given back.
  bool uses(Instant now, std::string_view name) const;
  const lock::lease::View& view() const { return member_.state().view(); }
  bool running() const { return member_.state().running; }
  bool speaks(Instant now) const { return member_.state().speaks(now); }
  const MemberMap& members() const { return members_; }
  const char* check() const { return member_.check(); }  // null, or the broken invariant
  // Messages dropped because they name a host or lock without a number, or a lease that is too
  // long.
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
  bool refused_ = false;  // the last requested change of the voters was refused
};

}  // namespace tempo::locks
