// The groups of one host: maps names and users to leadership and elections.
//
// The lease of a group is a lock of the lock service: the notices Acquire and Release ask for it,
// the commands LeaseUpdate and LeaseRefused answer. The service knows a group from the first
// candidate on this host or the first message about it, until no host takes part. At most one user
// of a host stands for a group at a time.
//
// The machine runs on boot time, the clock of the locks. The driver gives it the NetworkClock
// before every other input.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "machine/compose.h"
#include "machine/machine.h"
#include "machine/one_timer.h"
#include "protocol/group/elections.h"
#include "protocol/group/group_mail.h"
#include "protocol/group/leadership.h"
#include "protocol/group/ring_elections.h"
#include "protocol/group/signed_elections.h"
#include "protocol/lock/lock_client.h"
#include "protocol/wire/directory.h"
#include "protocol/wire/group_body.h"

namespace tempo::groups {

enum class UserId : std::uint32_t {};

std::string lock_of(std::string_view group);  // "@group/NAME"

// Notice: a message to a user about its group.
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
  UserId user{};
  Kind kind = Kind::follows;
  Token term = kNoToken;
  BootTime deadline{};
  HostId host = kNoHost;
  HostId origin = kNoHost;  // leads: of the lease, for Lead
};

// The lead of a user under an earlier incarnation of this host's daemon.
struct Lead {
  Token term = kNoToken;
  HostId origin = kNoHost;
  BootTime deadline{};  // the last one that the user knows
};

enum class Reason : std::uint8_t {
  name_length,
  name_characters,
  too_many_groups,
  second_candidate,  // this host has a candidate of the group
  other_criterion,   // the group's candidates are compared by another criterion
  ring_criterion,    // an election on a ring does not compare candidates
  no_node_key,       // algorithm b2 without a signing key
  too_few_keys,      // algorithm b2 with a short key list
  not_leader,        // only a leader can resign
};

// Notice: the service refuses Stand or Resign.
struct Refused {
  std::optional<UserId> user{};  // of Stand; unset: of Resign
  std::string group{};
  Reason reason = Reason::not_leader;
  Criterion criterion{};      // other_criterion: the group's; ring_criterion: the user's
  std::uint32_t members = 0;  // too_few_keys: length of the key list
};

// Notice: the group uses another algorithm than configured.
struct AlgorithmReplaced {
  std::string group{};
  Algorithm wanted = Algorithm::c;
  Algorithm held = Algorithm::c;
};

// Sentences for users.
std::string sentence_of(const Refused& refused);
std::string sentence_of(const AlgorithmReplaced& replaced);

// The defect of a group name; unset: the name is valid.
std::optional<Reason> wrong_with_name(std::string_view name);

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

class GroupService {
 public:
  // --- commands; those of a user that does not stand have no effect ---
  struct Stand {
    UserId user{};  // must not be a candidate already
    std::string group{};
    Terms terms{};
    Capacity capacity = 0;
    Nanos min_stay{0};
    bool once = false;
    lock::lease::Session session{};  // number 0: the user cannot resume its lead
    std::optional<Lead> lead{};      // the user leads since before a restart
  };
  struct Offer {
    UserId user{};
    Capacity capacity = 0;
  };
  struct Stopped {
    UserId user{};
  };
  struct Withdraw {
    UserId user{};
    bool job_done = false;
  };
  struct Resign {
    std::string group{};
  };
  struct LeaseUpdate {
    locks::ClientId client{};
    locks::LockUpdate update{};
  };
  struct LeaseRefused {  // the answer to Acquire: this host has no locks now
    locks::ClientId client{};
  };
  // --- notices ---
  struct Acquire {
    locks::ClientId client{};
    std::string lock{};
    lock::lease::Session session{};
  };
  struct Resume {
    locks::ClientId client{};
    std::string lock{};
    lock::lease::Session session{};
    Lead lead{};
  };
  struct Release {
    locks::ClientId client{};
  };
  struct LeaderChanged {  // another host leads, or none
    std::string group{};
  };

  using Message = wire::GroupBody;
  using Time = BootTime;
  using Command = std::variant<Stand, Offer, Stopped, Withdraw, Resign, LeaseUpdate, LeaseRefused,
                               NetworkClock>;
  using Notice = std::variant<LeadershipUpdate, Acquire, Resume, Release, LeaderChanged,
                              AlgorithmReplaced, Refused>;
  using Parts = PartList<Leadership, Elections, RingElections, SignedElections>;

  struct Start {
    NodeId self = kNobody;
    Incarnation life{};
    wire::Directory* hosts = nullptr;  // must outlive the service
    Rules rules{};
    const auth::NodeKeys* node_keys = nullptr;  // keys of the signing machines; null: no B.2
  };
  explicit GroupService(const Start& start);

  void start(Turn<GroupService>& /*turn*/) {}
  void receive(Turn<GroupService>& turn, NodeId from, const Message& body);
  void on_timer(Turn<GroupService>& turn, TimerId timer);
  void command(Turn<GroupService>& turn, const Command& command);

  OneTimer<Time> timers() const;  // the first of all groups
  const char* check() const;

  std::vector<Known> known() const;
  std::optional<Known> known(std::string_view group) const;
  const ElectionBounds& bounds() const { return *bounds_; }
  std::uint64_t dropped() const { return dropped_; }

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
      if (can_sign(start))
        signs.emplace(SignedElections::Start{.self = start.self,
                                             .group = name,
                                             .incarnation = start.life,
                                             .lease = start.rules.lease},
                      *start.node_keys);
    }
    Leadership leadership;
    Elections elections;
    RingElections rings;
    std::optional<SignedElections> signs{};   // set if machines sign
    Terms terms{};                            // of the candidate here, or as last received
    std::optional<UserId> user{};             // the candidate
    lock::lease::Session session{};           // its session; number 0: none
    bool resuming = false;                    // `client` resumes the lead of an earlier incarnation
    HostId origin = kNoHost;                  // of the lease, while it is held
    std::optional<locks::ClientId> client{};  // at the lock, while it is requested or held
    BootTime deadline{};                      // of the lease, while it is held
    bool replaced = false;            // the last election used another algorithm than configured
    std::optional<Algorithm> held{};  // algorithm of the last result; unset: none
  };
  using Place = std::map<std::string, Group, std::less<>>::iterator;

  void on_command(Turn<GroupService>& turn, const Stand& stand);
  void on_command(Turn<GroupService>& turn, const Offer& offer);
  void on_command(Turn<GroupService>& turn, const Stopped& stopped);
  void on_command(Turn<GroupService>& turn, const Withdraw& withdraw);
  void on_command(Turn<GroupService>& turn, const Resign& resign);
  void on_command(Turn<GroupService>& turn, const LeaseUpdate& lease);
  void on_command(Turn<GroupService>& turn, const LeaseRefused& refused);
  void on_command(Turn<GroupService>& turn, const NetworkClock& clock);

  void on_message(Turn<GroupService>& turn, Place place, NodeId from,
                  const ReceivedHeartbeat& received);
  void on_message(Turn<GroupService>& turn, Place place, NodeId from,
                  const ElectionMessage& message);
  void on_message(Turn<GroupService>& turn, Place place, NodeId from, const RingMessage& message);
  void on_message(Turn<GroupService>& turn, Place place, NodeId from, const SignedMessage& message);

  template <class Do>
  void step(Turn<GroupService>& turn, Place place, Do todo);
  void lead(Turn<GroupService>& turn, Place place, const Leadership::Command& command);
  void on_notice(Turn<GroupService>& turn, Place place, const Leadership::Notice& notice);
  template <class M, class Do>
  void step_elections(Turn<GroupService>& turn, Place place, M& elections, Do todo);
  template <class M>
  void command_elections(Turn<GroupService>& turn, Place place, M& elections,
                         const typename M::Command& command);
  void on_held(Turn<GroupService>& turn, Place place, Algorithm held);
  void on_result(Turn<GroupService>& turn, Place place, const ElectionNotice& result);
  void hold(Turn<GroupService>& turn, Place place);
  Ring ring_of(const Group& group) const;
  void request_lease(Turn<GroupService>& turn, Place place);
  void resume_lease(Turn<GroupService>& turn, Place place, const Lead& lead);
  static void release_lease(Turn<GroupService>& turn, Group& group);
  void end_lease(Turn<GroupService>& turn, Place place);
  static void notify(Turn<GroupService>& turn, const Group& group, LeadershipUpdate update);

  // The end of the map: too many groups.
  Place find_or_create(BootTime now, std::string_view name);
  Place find(UserId user);
  Place find(locks::ClientId client);
  void forget_idle(BootTime now);
  Known snapshot_of(const std::string& name, const Group& group) const;

  Start start_;
  std::unique_ptr<const ElectionBounds> bounds_;  // machines keep its address
  NetworkClock clock_;
  std::map<std::string, Group, std::less<>> groups_;  // at most kMaxGroups
  std::uint32_t last_client_ = 0;
  std::uint64_t dropped_ = 0;
};

static_assert(Machine<GroupService> && std::movable<GroupService>);

}  // namespace tempo::groups
