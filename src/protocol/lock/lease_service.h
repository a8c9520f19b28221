// The leases of one host: maps names, clients and hosts to the lease machine and back.
//
// Times are boot time (BootTime), which continues while the host is suspended.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "machine/compose.h"
#include "protocol/lock/lease/lease_member.h"
#include "protocol/lock/lock_client.h"
#include "protocol/lock/lock_names.h"
#include "protocol/lock/member_map.h"
#include "protocol/wire/lock_body.h"

namespace tempo::locks {

// State kept on disk between two incarnations: a lease record with hosts instead of members.
struct Saved {
  lock::lease::Boot boot{};
  std::uint64_t reserve = 0;
  wire::LockVoters view{};
  wire::LockVoters next{};
  wire::RecordId record = wire::kNoRecord;  // drawn when the record is first written
  wire::LockClaims claims{};                // confirmed

  bool operator==(const Saved&) const = default;
};

class LeaseService {
 public:
  using Message = wire::LockBody;
  using Time = BootTime;
  using Record = Saved;
  using Parts = PartList<lock::lease::Member>;

  // Gives a host this number of votes, one more or one less than it has now.
  struct ChangeVotes {
    HostId host = kNoHost;
    std::uint8_t votes = 0;
  };
  struct GiveUpChange {};  // a proposal already sent may still succeed
  // Asks a host whether it takes part in locks.
  struct AskRecord {
    HostId host = kNoHost;
  };
  struct Persisted {
    Saved record{};
  };
  struct Retire {};  // another machine has the identity of this host
  using Command = std::variant<Acquire, Resume, Release, ChangeVotes, GiveUpChange, AskRecord,
                               Retire, Persisted>;
  static Command persisted(const Saved& record) { return Persisted{record}; }

  struct VotersChanged {};
  // Another change is in progress, no voter would remain, the policy 'available' forbids it, or the
  // host cannot be numbered.
  struct ChangeRefused {};
  // This host has a record of its locks.
  struct TakesPart {
    HostId host = kNoHost;
  };
  // The voters have confirmed another record of this host: it votes no more.
  struct Retired {};
  using Notice = std::variant<LockUpdate, VotersChanged, ChangeRefused, TakesPart, Retired>;

  struct Start {
    HostId self = kNoHost;
    std::vector<HostId> voters{};      // in their order; used only by a host without saved state
    wire::Directory* hosts = nullptr;  // numbers the hosts; must outlive the machine
    lock::lease::Rules rules{};
    std::optional<Saved> saved{};
    bool lost = false;        // there was saved state, and it cannot be used or is a copy
    std::uint64_t first = 0;  // without saved state, counts begin above this one
    bool available = false;  // two voters: each grants alone when the other does not answer, UNSAFE
    bool rebooted = false;
  };
  explicit LeaseService(const Start& start);

  void start(Turn<LeaseService>& turn);
  void receive(Turn<LeaseService>& turn, NodeId from, const Message& body);
  void on_timer(Turn<LeaseService>& turn, TimerId timer);
  void command(Turn<LeaseService>& turn, const Command& command);

  OneTimer<Time> timers() const { return member_.timers(); }
  const char* check() const { return member_.check(); }

  std::vector<Known> known(BootTime now) const;
  // Whether any member holds, wants or was promised a lease of this name, as far as this host
  // knows. An unused lease counts until it is given back.
  bool uses(BootTime now, std::string_view name) const;
  const lock::lease::View& view() const { return member_.state().view(); }
  bool running() const { return member_.state().running; }
  bool speaks(BootTime now) const { return member_.state().speaks(now); }
  bool retired() const { return member_.state().retired; }
  // Whether promises of this host, also of an earlier incarnation, may still be valid.
  bool may_have_promised(BootTime now) const;
  // Messages dropped because they name a host or lock without a number, or a lease that is too
  // long.
  std::uint64_t dropped() const { return dropped_; }

 private:
  static constexpr std::size_t kMaxClientsHere = 4096;

  struct Client {
    lock::LockId lock{};
    Mode mode = Mode::exclusive;
    bool inside = false;
    BootTime since{};
    Token token = lock::kNoToken;
  };

  // The newest holder of a lock that a message named. A lease that is handed over keeps its ballot,
  // so the ballot of a promise does not name its holder.
  struct Holder {
    lock::lease::Held held{};
    NodeId member = kNobody;
  };

  template <class Do>
  void step(Turn<LeaseService>& turn, Do todo);
  void learn_holder(NodeId sender, const lock::lease::Message& message);
  // Unset: no message has named the holder of this ballot; it is the host that asked for it.
  std::optional<NodeId> named_holder(lock::LockId id, const lock::lease::Ballot& ballot) const;
  void command_member(Turn<LeaseService>& turn, const lock::lease::Command& command);
  void carry_out(Turn<LeaseService>& turn, const Output<lock::lease::Member>& output);
  void on_notice(Turn<LeaseService>& turn, const lock::lease::Notice& notice);
  void on_command(Turn<LeaseService>& turn, const Acquire& request);
  void on_command(Turn<LeaseService>& turn, const Resume& request);
  void on_command(Turn<LeaseService>& turn, const Release& release);
  void on_command(Turn<LeaseService>& turn, const ChangeVotes& change);
  void on_command(Turn<LeaseService>& turn, const GiveUpChange& give_up);
  void on_command(Turn<LeaseService>& turn, const AskRecord& ask);
  void on_command(Turn<LeaseService>& turn, const Retire& retire);
  void on_command(Turn<LeaseService>& turn, const Persisted& persisted);
  std::optional<Refusal> admit(Turn<LeaseService>& turn, const Acquire& request);
  std::optional<Refusal> admit(Turn<LeaseService>& turn, const Resume& request);
  template <class Request>
  void admit_or_refuse(Turn<LeaseService>& turn, const Request& request);
  std::optional<lock::lease::Record> record_of(const Saved& saved) const;
  lock::lease::Member::Start member_start(const Start& start) const;
  std::optional<lock::LockId> number(Turn<LeaseService>& turn, std::string_view name);

  wire::Directory* hosts_;
  lock::lease::Rules rules_;
  lock::lease::Member member_;
  Names names_;
  std::map<ClientId, Client> clients_;      // at most kMaxClientsHere
  std::map<lock::LockId, Holder> holders_;  // at most one for each name
  std::uint64_t dropped_ = 0;
};

}  // namespace tempo::locks
