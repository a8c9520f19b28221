// The part of the control protocol (control_protocol.h) that is about groups.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/control_protocol.h"
#include "base/json.h"
#include "base/result.h"

namespace tempo::ipc {

// A change in the state of a candidate.
struct LeadershipUpdate {
  enum class State : std::uint8_t {
    stands,       // it is a candidate
    leads,        // in `term`, until `until_ns`
    extended,     // the lease ends at a later `until_ns`
    stop,         // it must stop leading and send `stopped`
    lost,         // it does not lead any more
    follows,      // `leader` leads; empty: no leader known
    no_majority,  // too few machines answer; no machine can lead
    job_done,     // `leader` has done the job; the candidacy is over
    withdrawn,    // after `withdraw`
    count
  };

  std::int64_t id = 0;
  State state = State::stands;
  std::uint64_t term = 0;     // leads, follows
  std::int64_t until_ns = 0;  // leads, extended, stop: on CLOCK_BOOTTIME
  std::string leader{};       // follows, job_done
  std::string session{};      // leads: for `elect` after a restart; empty: it cannot resume

  bool operator==(const LeadershipUpdate&) const = default;
};
std::string_view name_of(LeadershipUpdate::State state);
std::string election_line(const LeadershipUpdate& update);
Result<LeadershipUpdate> election_of(const Reply& reply);

// A group as known on this host.
struct GroupView {
  struct Candidate {
    std::string host;
    std::int64_t capacity = 0;
    bool here = false;

    bool operator==(const Candidate&) const = default;
  };
  std::string name{};
  std::string leader{};  // name of the leader; empty: none known
  std::uint64_t term = 0;
  bool here = false;  // this host leads
  std::string criterion{};
  std::string algorithm{};
  std::string held{};   // algorithm that decided last; empty: decided without an election
  std::string state{};  // of this host in the group: watch, follow, elect, stand-by, ask, lead ...
  std::vector<Candidate> candidates{};

  bool operator==(const GroupView&) const = default;
};
std::string groups_line(const std::vector<GroupView>& groups);
std::string group_line(const GroupView& group);  // watch-group
Result<std::vector<GroupView>> groups_of(const Reply& reply);
Result<GroupView> group_of(const Reply& reply);

// Used by parse_request and request_line.
// JSON members of a request; empty: the verb is not about groups.
std::vector<std::string_view> group_members(Verb verb);
Result<void, Refusal> read_group_request(const Json& json, Request& request);
void write_group_request(const Request& request, Json& json);

}  // namespace tempo::ipc
