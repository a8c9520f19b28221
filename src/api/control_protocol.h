// What programs say to tempod over its unix socket, and what it answers: JSON, one object a line.
//
// doc/reference/control-protocol.md specifies it for other languages. Requests are read strictly,
// with bounds: a request that is not exactly right is refused with a sentence that says what would
// be, and nothing is done. Replies are read leniently: members that are not known are passed over.
// Sockets are the caller's affair; nothing here reads or writes one.
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

enum class Verb : std::uint8_t {
  status,        // one snapshot
  members,       // its members only
  now,           // time with its bounds
  watch,         // a stream of snapshots
  events,        // a stream of events
  reelect,       // the master resigns and another election is held
  resign,        // this machine gives the mastership away
  set_time,      // by_ns or to_ns
  trace,         // on
  trace_follow,  // a stream of lines of the trace
  doctor,        // what the daemon itself finds wrong
  lock,          // name, id, shared, kind, lease_ns: the connection waits for a lock
  unlock,        // id: it waits no longer, or is done
  locks,         // what is known of locks here
  forget,        // host: it has no vote on locks any more
  admit,         // host: it gets one
  // of groups (groups.h)
  elect,         // the connection stands as a candidate
  offer,         // with another capacity
  stopped,       // it acts no more, as it was told
  withdraw,      // it stands no more
  resign_group,  // this host's leader makes room
  groups,        // what is known of groups here
  watch_group,   // a stream: one group whenever it changes
  count
};
std::string_view name_of(Verb verb);  // as in a request: "set-time"
bool streams(Verb verb);              // whether more than one line answers it
// Not everybody may ask for these.
bool changes(Verb verb);  // whether it changes anything
bool locks(Verb verb);    // whether it takes locks
bool votes(Verb verb);    // whether it changes who votes on locks
bool elects(Verb verb);   // whether it is about leading a group

// How a lock is agreed on: doc/internals/lock.md. All who take a lock take it by one of lease and
// the others.
enum class LockKind : std::uint8_t { lease, silent, explicit_replies, count };
std::string_view name_of(LockKind kind);  // "lease", "silent", "explicit"

struct Request {
  Verb verb = Verb::status;
  std::optional<std::int64_t> by_ns;  // of set_time: exactly one of the two
  std::optional<std::int64_t> to_ns;
  bool on = false;                  // of trace
  bool all = false;                 // of doctor: what every member finds, too
  std::string name{};               // of lock; of elect, resign_group, watch_group: the group's
  bool shared = false;              // of lock
  LockKind kind = LockKind::lease;  // of lock
  std::int64_t lease_ns = 0;        // of lock: how long its lease is to be; 0: as long as others
  std::int64_t id = 0;  // of lock, unlock, elect ...: the client's own number, on this connection
  std::string host{};   // of forget, admit: a machine's name or id
  std::int64_t capacity = 0;  // of elect, offer
  std::string criterion{};    // of elect
  std::string algorithm{};
  std::int64_t min_stay_ns = 0;
  bool once = false;  // of elect: for one job; of withdraw: it is done

  bool operator==(const Request&) const = default;
};

enum class Code : std::uint8_t {
  bad_request,    // not JSON, a member too many or too few, of the wrong type
  wrong_version,  // "v" is not ours
  unknown_verb,
  not_allowed,  // for root and tempod's own group
  not_master,   // only the master can do it
  no_master,    // there is none now
  unavailable,  // not here, not now; the sentence says why
  count
};
std::string_view name_of(Code code);

struct Refusal {
  Code code = Code::bad_request;
  std::string message;               // cause and cure
  std::optional<std::int64_t> id{};  // of lock, unlock: which

  bool operator==(const Refusal&) const = default;
};

// --- the daemon's side ---

Result<Request, Refusal> parse_request(std::string_view line);

std::string done_line();  // of reelect, resign, set_time, trace, forget, admit
std::string refusal_line(const Refusal& refusal);
std::string status_line(std::string_view snapshot_json);  // of status and watch; obs::to_json
std::string members_line(std::string_view members_json);  // obs::members_json

struct Now {
  std::int64_t time_ns = 0;
  std::int64_t earliest_ns = 0;
  std::int64_t latest_ns = 0;
  std::string status;  // as in the snapshot; without network time there are no bounds to trust

  bool operator==(const Now&) const = default;
};
std::string now_line(const Now& now);

struct Event {
  std::string name;        // "became-master", "lost-master", "two-masters", ...
  std::int64_t at_ns = 0;  // of the steered clock
  std::string text;        // a sentence

  bool operator==(const Event&) const = default;
};
std::string event_line(const Event& event);
std::string trace_line(std::string_view trace);

struct Finding {
  std::string level;  // "ok", "note", "problem"
  std::string what;   // a sentence
  std::string cure;   // what to do; empty if nothing is

  bool operator==(const Finding&) const = default;
};
// What another member has found, as far as it has answered.
struct MemberFindings {
  std::string name{};
  std::string id{};
  bool answered = false;
  std::size_t missing = 0;  // findings that were lost on the way
  std::vector<Finding> findings{};

  bool operator==(const MemberFindings&) const = default;
};
std::string findings_line(const std::vector<Finding>& findings);
std::string findings_line(const std::vector<Finding>& findings,
                          const std::vector<MemberFindings>& members);

// What becomes of a lock that a connection waits for or has.
struct LockUpdate {
  enum class State : std::uint8_t { granted, extended, released, lost, refused, count };

  std::int64_t id = 0;
  State state = State::granted;
  std::uint64_t token = 0;    // granted; 0: this kind of lock has none
  std::int64_t until_ns = 0;  // granted, extended: on CLOCK_BOOTTIME; not inside from then on

  bool operator==(const LockUpdate&) const = default;
};
std::string_view name_of(LockUpdate::State state);
std::string lock_line(const LockUpdate& news);

// A lock that something is known of on this host.
struct LockView {
  struct Client {
    std::uint32_t pid = 0;
    bool shared = false;
    bool inside = false;
    double since_s = 0;  // inside, or waiting
    std::uint64_t token = 0;

    bool operator==(const Client&) const = default;
  };
  std::string name;
  LockKind kind = LockKind::lease;  // silent and explicit: as it is in force
  bool shared = false;              // the lease
  std::string holder;               // the host that has the lease; empty: none is known
  bool here = false;                // this host has it
  double left_s = 0;                // of the lease, if it is not extended
  std::vector<Client> clients;
  struct Waiter {
    std::string host;
    bool shared = false;
    double since_s = 0;  // by network time

    bool operator==(const Waiter&) const = default;
  };
  std::vector<Waiter> elsewhere{};  // who waits on other hosts, as far as it is known here

  bool operator==(const LockView&) const = default;
};
std::string locks_line(const std::string& promise, const std::vector<LockView>& locks);

// --- the client's side ---

std::string request_line(const Request& request);

// A reply that is not a refusal, still as JSON: `status`, `members`, `now`, `event`, `trace`,
// `findings` are its members.
struct Reply {
  std::optional<Refusal> refusal;
  std::string unknown_code;  // of a refusal by a newer daemon; then `refusal->code` is unavailable
  Json body = Json::object();
};
Result<Reply> parse_reply(std::string_view line);

Result<Now> now_of(const Reply& reply);
Result<Event> event_of(const Reply& reply);
Result<std::string> trace_of(const Reply& reply);
Result<std::vector<Finding>> findings_of(const Reply& reply);
Result<std::vector<MemberFindings>> members_findings_of(const Reply& reply);
Result<LockUpdate> lock_of(const Reply& reply);
Result<std::vector<LockView>> locks_of(const Reply& reply);

}  // namespace tempo::ipc
