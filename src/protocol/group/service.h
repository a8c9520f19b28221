// The groups of one host: maps names, hosts and users to leadership and elections, and uses the
// lock service for the leases.
//
// It is pure, like a machine: the driver passes in received messages, users' requests, updates of
// the lock service and the time, and carries out the outputs. The service knows a group from the
// first candidate on this host or the first message about it, until no host takes part.
//
// At most one user of a host stands for a group at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "machine/machine.h"
#include "protocol/group/elections.h"
#include "protocol/group/group_mail.h"
#include "protocol/group/leadership.h"
#include "protocol/group/ring_elections.h"
#include "protocol/group/signed_elections.h"
#include "protocol/lock/lock_service.h"
#include "protocol/wire/group_body.h"

namespace tempo::groups {

enum class UserId : std::uint32_t {};

// The defect of a group name, as a sentence; unset: the name is valid.
std::optional<std::string> wrong_with_name(std::string_view name);
std::string lock_of(std::string_view group);  // "@group/NAME"

// A message to a user about its group.
struct LeadershipUpdate {
  enum class Kind : std::uint8_t {
    leads,        // in this term, until `deadline`
    extended,     // until a later deadline
    stop,         // stop acting, and confirm; there is time until `deadline`
    lost,         // the user must no longer act
    follows,      // `host` leads
    no_majority,  // too few voters answer for any host to lead
    job_done,     // by `host`; the user no longer stands
  };
  Kind kind = Kind::follows;
  Token term = kNoToken;
  Instant deadline{};
  HostId host = kNoHost;
};

// Carries out the outputs of the service.
class Driver {
 public:
  virtual ~Driver() = default;
  virtual void broadcast(const wire::GroupBody& body) = 0;
  virtual void send(HostId to, const wire::GroupBody& body) = 0;
  // Acquires a lock of the lock service. Its updates come through `receive_lock`, not before this
  // returns.
  virtual Result<void> acquire(locks::ClientId client, const std::string& name) = 0;
  virtual void release(locks::ClientId client) = 0;
  virtual void notify(UserId user, const LeadershipUpdate& update) = 0;
  // A group of this host has another leader, or none. `not_as_wanted`: the group uses another
  // algorithm than configured; the sentence says why.
  virtual void changed(const std::string& group) = 0;
  virtual void not_as_wanted(const std::string& group, const std::string& sentence) = 0;
};

// State of a group on this host.
struct Known {
  std::string name;
  Terms terms{};
  HostId leader = kNoHost;
  Token term = kNoToken;
  bool here = false;    // this host leads
  bool stands = false;  // this host has a candidate
  std::string_view state{};
  // Algorithm that decided the last election; unset: the known candidates decided.
  std::optional<Algorithm> held{};
  Capacity capacity = kNotCandidate;  // of this host's candidate
  struct Candidate {
    HostId host = kNoHost;
    Capacity capacity = kNotCandidate;
  };
  std::vector<Candidate> candidates{};  // of other hosts
};

class Service {
 public:
  struct Start {
    NodeId self = kNobody;
    Incarnation life{};
    Numbering hosts{};
    Rules rules{};
    const auth::NodeKeys* node_keys = nullptr;  // keys of the signing machines; null: no B.2
  };
  Service(Start start, Draw& draw, Driver& driver);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  struct Candidacy {
    UserId user{};  // must not be a candidate already
    std::string_view group;
    Terms terms{};
    Capacity capacity = 0;
    Nanos min_stay{0};
    bool once = false;
  };
  // The error says why the user cannot stand.
  Result<void> stand(const Moment& moment, const Candidacy& candidacy);
  // These ignore a user that does not stand.
  void offer(const Moment& moment, UserId user, Capacity capacity);
  void stopped(const Moment& moment, UserId user);
  void withdraw(const Moment& moment, UserId user, bool job_done = false);
  Result<void> resign(const Moment& moment, std::string_view group);

  void receive(const Moment& moment, HostId from, const wire::GroupBody& body);
  void receive_lock(const Moment& moment, locks::ClientId client, const locks::LockUpdate& update);
  void on_timer(const Moment& moment);
  std::optional<Nanos> due_in(const Moment& moment) const;  // unset: nothing is due

  std::vector<Known> known() const;
  std::optional<Known> known(std::string_view group) const;
  const ElectionBounds& bounds() const { return bounds_; }
  std::uint64_t dropped() const { return dropped_; }
  const char* check() const;

 private:
  static constexpr std::size_t kMaxGroups = 256;
  static bool can_sign(const Start& start) {
    return start.node_keys != nullptr && start.node_keys->members() >= kMinMembers;
  }

  struct Group {
    Group(std::string_view name, const Start& start, const ElectionBounds& bounds)
        : leadership(start.self, start.rules),
          elections(start.self, start.life, bounds),
          rings(start.self, start.life, start.rules.lease) {
      if (can_sign(start)) signs.emplace(name, start.life, start.rules.lease, *start.node_keys);
    }
    Leadership leadership;
    Elections elections;
    RingElections rings;
    std::optional<SignedElections> signs{};   // set if machines sign
    Terms terms{};                            // of the candidate here, or as last received
    std::optional<UserId> user{};             // the candidate
    std::optional<locks::ClientId> client{};  // at the lock, while it is requested or held
    Instant deadline{};                       // of the lease, while it is held
    bool by_c = false;                // the last election used another algorithm than configured
    std::optional<Algorithm> held{};  // algorithm of the last result; unset: none
  };
  using Place = std::map<std::string, Group, std::less<>>::iterator;

  // Unset: too many groups.
  std::optional<Place> find_or_create(Instant now, std::string_view name);
  Place of(UserId user);
  template <class Do>
  void step(const Moment& moment, Place place, Do todo);
  void command(const Moment& moment, Place place, const Command& command);
  void carry_out(const Moment& moment, Place place, const Outbox<Leadership>& outbox);
  void on_notice(const Moment& moment, Place place, const Notice& notice);
  template <class Do>
  void run_election(const Moment& moment, Place place, Do todo);
  template <class Do>
  void run_ring(const Moment& moment, Place place, Do todo);
  Ring ring_of(const Group& group) const;
  template <class Do>
  void run_signed(const Moment& moment, Place place, Do todo);
  std::optional<std::string> wrong_with_terms(const Terms& terms) const;
  void hold(const Moment& moment, Place place);
  void request_lease(Place place);
  void release_lease(Group& group);
  void notify(const Group& group, const LeadershipUpdate& update);
  void forget_idle(Instant now);
  Known snapshot_of(const std::string& name, const Group& group) const;

  Start start_;
  ElectionBounds bounds_;
  Draw* draw_;
  Driver* driver_;
  std::map<std::string, Group, std::less<>> groups_;  // at most kMaxGroups
  std::uint32_t last_client_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace tempo::groups
