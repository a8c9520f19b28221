// The groups of one host: names, hosts and users on one side, leadership and elections on the
// other, and the lock service beside them.
//
// It is pure, as machines are: whoever drives it brings what was heard, what users want, what the
// lock says and what time it is, and carries out what it wants done. A group is known here from
// when somebody on this host stands for it, or a word about it is heard, until nobody takes part.
//
// On one host one user at a time stands for a group.
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

// Sentences say what is wrong with a name; nothing is.
std::optional<std::string> wrong_with_name(std::string_view name);
std::string lock_of(std::string_view group);  // "@group/NAME"

// What a user is told.
struct LeadershipUpdate {
  enum class Kind : std::uint8_t {
    leads,        // in this term, until `deadline`
    extended,     // until a later one
    stop,         // acting, and say so; until `deadline` there is time
    lost,         // acts no more
    follows,      // `host` leads
    no_majority,  // too few answer for anybody to lead
    job_done,     // by `host`; the user stands no more
  };
  Kind kind = Kind::follows;
  Token term = kNoToken;
  Instant deadline{};
  HostId host = kNoHost;
};

// What the service wants done.
class Driver {
 public:
  virtual ~Driver() = default;
  virtual void broadcast(const wire::GroupBody& body) = 0;
  virtual void send(HostId to, const wire::GroupBody& body) = 0;
  // A lock of the lock service. Its news come back by `hear_lock`, not before this returns.
  virtual Result<void> acquire(locks::ClientId client, const std::string& name) = 0;
  virtual void release(locks::ClientId client) = 0;
  virtual void notify(UserId user, const LeadershipUpdate& news) = 0;
  // A group here has another leader, or none; an election is held otherwise than was wanted.
  virtual void changed(const std::string& group) = 0;
  virtual void not_as_wanted(const std::string& group, const std::string& sentence) = 0;
};

// A group as it is known here.
struct Known {
  std::string name;
  Terms terms{};
  HostId leader = kNoHost;
  Token term = kNoToken;
  bool here = false;    // this host leads
  bool stands = false;  // somebody here is a candidate
  std::string_view state{};
  std::optional<Algorithm> held{};  // which decided the last election; nothing: what was known did
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
    const auth::NodeKeys* node_keys = nullptr;  // of machines that sign; none: no B.2
  };
  Service(Start start, Draw& draw, Driver& driver);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  struct Candidacy {
    UserId user{};  // not there already
    std::string_view group;
    Terms terms{};
    Capacity capacity = 0;
    Nanos min_stay{0};
    bool once = false;
  };
  // A sentence says why it cannot stand.
  Result<void> stand(const Moment& moment, const Candidacy& candidacy);
  // Of a user that is not there these are no mistake.
  void offer(const Moment& moment, UserId user, Capacity capacity);
  void stopped(const Moment& moment, UserId user);
  void withdraw(const Moment& moment, UserId user, bool job_done = false);
  Result<void> resign(const Moment& moment, std::string_view group);

  void receive(const Moment& moment, HostId from, const wire::GroupBody& body);
  void receive_lock(const Moment& moment, locks::ClientId client, const locks::LockUpdate& news);
  void on_timer(const Moment& moment);
  std::optional<Nanos> due_in(const Moment& moment) const;  // nothing: nothing is due

  std::vector<Known> known() const;
  std::optional<Known> known(std::string_view group) const;
  const ElectionBounds& bounds() const { return bounds_; }
  std::uint64_t dropped() const { return dropped_; }
  const char* check() const;

 private:
  static constexpr std::size_t kMaxGroups = 256;
  static bool can_sign(const Start& start) {
    return start.node_keys != nullptr && start.node_keys->members() >= kFewestMembers;
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
    std::optional<SignedElections> signs{};   // where machines sign
    Terms terms{};                            // of the candidate here, or as last heard
    std::optional<UserId> user{};             // who stands
    std::optional<locks::ClientId> client{};  // of the lock, while it is asked for or held
    Instant deadline{};                       // of the lease, while it is held
    bool by_c = false;                        // the last election was held otherwise than wanted
    std::optional<Algorithm> held{};          // which decided it; nothing: what was known did
  };
  using Place = std::map<std::string, Group, std::less<>>::iterator;

  // Nothing: too many.
  std::optional<Place> find_or_make(Instant now, std::string_view name);
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
  void ask(Place place);
  void drop(Group& group);
  void notify(const Group& group, const LeadershipUpdate& news);
  void forget_idle(Instant now);
  Known portrait(const std::string& name, const Group& group) const;

  Start start_;
  ElectionBounds bounds_;
  Draw* draw_;
  Driver* driver_;
  std::map<std::string, Group, std::less<>> groups_;  // at most kMaxGroups
  std::uint32_t last_client_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace tempo::groups
