// What programs and tempod say to each other of groups: the part of protocol.h that is about them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/control_protocol.h"
#include "base/json.h"
#include "base/result.h"

namespace tempo::ipc {

// What becomes of a candidate.
struct LeadershipUpdate {
  enum class State : std::uint8_t {
    stands,       // it is a candidate
    leads,        // in this term, until `until_ns`
    extended,     // until a later time
    stop,         // acting, and say `stopped`
    lost,         // it leads no more
    follows,      // `leader` does; empty: nobody is known to
    no_majority,  // too few answer for anybody to lead
    job_done,     // by `leader`; the candidate stands no more
    withdrawn,    // as it wished
    count
  };

  std::int64_t id = 0;
  State state = State::stands;
  std::uint64_t term = 0;     // leads, follows
  std::int64_t until_ns = 0;  // leads, extended, stop: on CLOCK_BOOTTIME
  std::string leader{};       // follows, job_done

  bool operator==(const LeadershipUpdate&) const = default;
};
std::string_view name_of(LeadershipUpdate::State state);
std::string election_line(const LeadershipUpdate& news);
Result<LeadershipUpdate> election_of(const Reply& reply);

// A group as it is known on one host.
struct GroupView {
  struct Candidate {
    std::string host;
    std::int64_t capacity = 0;
    bool here = false;

    bool operator==(const Candidate&) const = default;
  };
  std::string name{};
  std::string leader{};  // empty: none is known
  std::uint64_t term = 0;
  bool here = false;  // this host leads
  std::string criterion{};
  std::string algorithm{};
  std::string held{};   // the algorithm that decided the last election; empty: what was known did
  std::string state{};  // of this host's part: watch, follow, elect, stand-by, ask, lead ...
  std::vector<Candidate> candidates{};

  bool operator==(const GroupView&) const = default;
};
std::string groups_line(const std::vector<GroupView>& groups);
std::string group_line(const GroupView& group);  // of watch-group
Result<std::vector<GroupView>> groups_of(const Reply& reply);
Result<GroupView> group_of(const Reply& reply);

// For parse_request and request_line.
std::vector<std::string_view> group_members(Verb verb);  // empty: the verb is not about groups
Result<void, Refusal> read_group_request(const Json& json, Request& request);
void write_group_request(const Request& request, Json& json);

}  // namespace tempo::ipc
