// The control protocol: requests of programs to tempod and its replies, one JSON object per line.
//
// doc/reference/control-protocol.md specifies it. Requests are parsed strictly, with limits: tempod
// refuses an invalid request with a message that says what is valid, and does nothing. Replies are
// parsed leniently: unknown members are ignored. Nothing here reads or writes sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace tempo::ipc {

inline constexpr std::int64_t kVersion = 1;
inline constexpr std::size_t kMaxRequest = 4096;   // bytes of a line
inline constexpr std::size_t kMaxReply = 4 << 20;  // bytes of a line; some thousand members
inline constexpr int kMaxStatusesPerSecond = 4;    // of `watch`
inline constexpr std::size_t kMaxVoters = 8;       // of locks

enum class Verb : std::uint8_t {
  status,           // one snapshot
  members,          // its members only
  now,              // network time with its bounds
  watch,            // a stream of snapshots
  events,           // a stream of events
  reelect,          // the master resigns and a new election starts; any member accepts it
  set_time,         // by_ns or to_ns
  trace,            // on
  trace_follow,     // a stream of trace lines
  doctor,           // problems that the daemon finds
  keys,             // one snapshot, after all other members were asked to answer
  invite,           // a token for a newcomer
  lock,             // name, id, shared, kind, lease_ns: requests a lock for this connection
  unlock,           // id: releases the lock, or cancels the request
  resume,           // name, id, shared, lease_ns, token, session, until_ns: continues a held lock
  locks,            // the locks known on this host
  forget,           // host: removes its vote on locks
  admit,            // host: gives it a vote on locks
  nominate_voters,  // hosts: makes them the first voters on locks
  bootstrap_again,  // above: forgets the voters and agrees on new ones
  give_back,        // name: asks the holders on this host to give the lock back
  // groups (group_requests.h)
  elect,         // makes this connection a candidate
  offer,         // sets its capacity
  stopped,       // confirms that it has stopped leading
  withdraw,      // ends its candidacy
  resign_group,  // the leader on this host steps down
  groups,        // the groups known on this host
  watch_group,   // a stream: one group at every change
  count
};
std::string_view name_of(Verb verb);  // as in a request: "set-time"
bool streams(Verb verb);              // whether the reply is a stream of lines
// Privileged requests.
bool changes(Verb verb);  // changes the state of the daemon
bool locks(Verb verb);    // acquires or releases locks
bool votes(Verb verb);    // changes the voters of locks
bool elects(Verb verb);   // is about leading a group
// Can be asked of another member, which answers through the network.
bool asks_others(Verb verb);
// Has an effect that outlives its connection: tempod carries it out only for a client that is still
// there.
bool orders(Verb verb);

// Protocol of a lock: doc/internals/lock.md. All clients of one name must use `lease`, or all must
// use the other two.
enum class LockKind : std::uint8_t { lease, silent, explicit_replies, count };
std::string_view name_of(LockKind kind);  // "lease", "silent", "explicit"

struct Request {
  Verb verb = Verb::status;
  std::optional<std::int64_t> by_ns;  // set_time: exactly one of the two
  std::optional<std::int64_t> to_ns;
  bool on = false;                  // trace
  bool all = false;                 // doctor: also the findings of other members
  std::string name{};               // lock; elect, resign_group, watch_group: name of the group
  bool shared = false;              // lock
  LockKind kind = LockKind::lease;  // lock
  std::int64_t lease_ns = 0;        // lock: requested lease time; 0: the default
  bool resumable = false;           // lock, elect: the client can resume on another connection
  std::int64_t waited_ns = 0;       // lock: time that it waited for the lock on another connection
  bool no_wait = false;             // lock: refuse it at once if another client is inside
  std::uint64_t token = 0;          // resume: of the lock; elect: term to resume; 0: none
  std::string session{};            // resume, elect: as granted
  std::int64_t until_ns = 0;        // resume, elect: end of the lease as the client knows it
  std::int64_t id = 0;      // lock, unlock, elect, ...: chosen by the client, per connection
  std::uint64_t above = 0;  // bootstrap_again: tokens begin above this one; 0: none given
  // forget, admit: name or id of a machine; status, members, locks, doctor, now: the member to ask,
  // empty: this one.
  std::string host{};
  std::vector<std::string> hosts{};  // nominate_voters: names or ids of machines
  std::int64_t capacity = 0;         // elect, offer
  std::string criterion{};           // elect
  std::string algorithm{};           // elect
  std::int64_t min_stay_ns = 0;      // elect
  bool once = false;                 // elect: group for one job; withdraw: the job is done
  bool keeps_lease = false;          // elect: the lease of a lost connection is not released early

  bool operator==(const Request&) const = default;
};

enum class Code : std::uint8_t {
  bad_request,    // not JSON, or a member is missing, unknown or of the wrong type
  wrong_version,  // "v" is not kVersion
  unknown_verb,
  not_allowed,  // needs root or tempod's group
  not_master,   // only the master can do this
  no_master,    // there is no master
  unavailable,  // not possible now; the message says why
  count
};
std::string_view name_of(Code code);

struct Refusal {
  Code code = Code::bad_request;
  std::string message;               // cause and cure
  std::optional<std::int64_t> id{};  // id of the refused request, if it has one

  bool operator==(const Refusal&) const = default;
};

// --- daemon side ---

Result<Request, Refusal> parse_request(std::string_view line);

std::string done_line();  // set_time, trace, forget, admit, nominate_voters, bootstrap_again
std::string refusal_line(const Refusal& refusal);
std::string status_line(std::string_view snapshot_json);  // status, watch, keys; obs::to_json
std::string members_line(std::string_view members_json);  // obs::members_json

struct Now {
  std::int64_t time_ns = 0;
  std::int64_t earliest_ns = 0;
  std::int64_t latest_ns = 0;
  std::string status;            // as in the snapshot; "unsynchronized": the bounds are not valid
  std::uint32_t generation = 0;  // of the time scale; 0 as well if a former tempod does not say it

  bool operator==(const Now&) const = default;
};
std::string now_line(const Now& now);

struct Event {
  std::string name;        // "became-master", "lost-master", "two-masters", ...
  std::int64_t at_ns = 0;  // on the steered clock, since 1970
  std::string text;        // a sentence for people

  bool operator==(const Event&) const = default;
};
std::string event_line(const Event& event);

struct Reelected {
  std::string master;   // host that has resigned
  std::string network;  // its network; several: separated by ", "

  bool operator==(const Reelected&) const = default;
};
std::string reelected_line(const Reelected& reelected);

struct Invited {
  std::string token;          // with addresses of the member
  std::uint32_t valid_s = 0;  // seconds that it is valid
  std::string cluster;        // name of the cluster
  std::uint16_t port = 0;     // UDP port of the members

  bool operator==(const Invited&) const = default;
};
std::string invited_line(const Invited& invited);

std::string trace_line(std::string_view trace);

struct Finding {
  std::string level;       // "ok", "note", "problem"
  std::string what;        // a sentence for people
  std::string cure;        // what to do; empty: nothing
  std::string code{};      // of a note or problem (api/finding_codes.h); empty: it has none
  std::string evidence{};  // what tempod or tempo has seen; empty: `what` says it

  bool operator==(const Finding&) const = default;
};
// Findings of another member.
struct MemberFindings {
  std::string name{};
  std::string id{};
  bool answered = false;
  std::size_t missing = 0;  // findings that were lost in transit
  std::vector<Finding> findings{};

  bool operator==(const MemberFindings&) const = default;
};
std::string findings_line(const std::vector<Finding>& findings);
std::string findings_line(const std::vector<Finding>& findings,
                          const std::vector<MemberFindings>& members);

// A change of a lock that a connection holds or waits for.
struct LockUpdate {
  enum class State : std::uint8_t {
    granted,
    extended,
    released,
    lost,
    refused,
    wanted,
    busy,
    count
  };

  std::int64_t id = 0;
  // wanted: an operator asks the holder to give the lock back; busy: refused, because another
  // client is inside and this one does not wait
  State state = State::granted;
  std::uint64_t token = 0;    // granted; 0: this kind of lock has none
  std::int64_t until_ns = 0;  // granted, extended: end of the lease on CLOCK_BOOTTIME
  std::string session{};      // granted: for `resume`; empty: the client cannot resume

  bool operator==(const LockUpdate&) const = default;
};
std::string_view name_of(LockUpdate::State state);
std::string lock_line(const LockUpdate& update);

// A lock as known on this host.
struct LockView {
  struct Client {
    std::uint32_t pid = 0;
    bool shared = false;
    bool inside = false;  // holds the lock; false: waits
    double since_s = 0;   // seconds since it holds or waits
    std::uint64_t token = 0;

    bool operator==(const Client&) const = default;
  };
  std::string name;
  LockKind kind = LockKind::lease;  // silent, explicit: the mode in force
  bool shared = false;              // the lease is shared
  std::string holder;               // host with the lease; empty: none known
  bool here = false;                // this host has the lease
  double left_s = 0;                // seconds left of the lease, unless it is extended
  std::vector<Client> clients;
  struct Waiter {
    std::string host;
    bool shared = false;
    double since_s = 0;  // seconds, by network time

    bool operator==(const Waiter&) const = default;
  };
  std::vector<Waiter> elsewhere{};  // waiters on other hosts, as known here

  bool operator==(const LockView&) const = default;
};

// Why no lock is granted on this host.
enum class LockObstacle : std::uint8_t {
  none,
  off,                // locks are not configured
  no_voters,          // the machines have not agreed on the first voters
  no_majority,        // too few voters are reachable
  abstaining,         // leases granted before a restart may still be valid
  unwritable,         // the lock record cannot be written
  record_lost,        // the lock record was lost, and the voters have not confirmed a new one
  other_voters,       // another part of the network has different voters
  clone,              // another machine has the identity of this host
  too_many_machines,  // they could agree on two sets of voters
  count
};
std::string_view name_of(LockObstacle obstacle);  // none: ""

// A voter as this host sees it.
struct VoterView {
  std::string host;
  std::uint32_t votes = 1;
  bool reachable = false;
  std::string state;       // "this machine", "up", "silent", "stopped", "gone" or "unknown"
  double heard_ago_s = 0;  // seconds; 0 for this machine and for one that was never heard

  bool operator==(const VoterView&) const = default;
};
// "stopped", "silent for 12 s" or "not heard yet", of a voter that is not reachable.
std::string silence_text(const VoterView& voter);

struct LocksView {
  std::string guarantee;  // in force now, one sentence
  LockObstacle obstacle = LockObstacle::none;
  std::vector<VoterView> voters{};  // empty: they are not known
  std::uint32_t votes_needed = 0;
  std::optional<std::uint32_t> losses_survived{};  // unset: too few voters are reachable
  std::vector<LockView> locks{};

  bool operator==(const LocksView&) const = default;
};
std::string locks_line(const LocksView& view);

// --- client side ---

std::string request_line(const Request& request);

// A parsed reply. `body` is the whole object, with members such as `status`, `members`, `now`,
// `event`, `trace` and `findings`.
struct Reply {
  std::optional<Refusal> refusal;
  std::string unknown_code;  // code of a newer daemon; then `refusal->code` is unavailable
  Json body = Json::object();
};
Result<Reply> parse_reply(std::string_view line);

Result<Now> now_of(const Reply& reply);
Result<Event> event_of(const Reply& reply);
Result<Reelected> reelected_of(const Reply& reply);
Result<Invited> invited_of(const Reply& reply);
Result<std::string> trace_of(const Reply& reply);
Result<std::vector<Finding>> findings_of(const Reply& reply);
Result<std::vector<MemberFindings>> members_findings_of(const Reply& reply);
Result<LockUpdate> lock_of(const Reply& reply);
Result<std::vector<LockView>> locks_of(const Reply& reply);
Result<LocksView> locks_view_of(const Reply& reply);

}  // namespace tempo::ipc
