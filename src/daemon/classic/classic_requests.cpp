#include "daemon/classic/classic_requests.h"

#include <fmt/core.h>

#include "api/control_protocol.h"
#include "daemon/classic/classic_worker.h"
#include "daemon/control/connection.h"

namespace tempo::daemon {

std::string ClassicRequests::answer(Connection& /*client*/, const std::string& line) {
  const auto request = ipc::parse_request(line);
  if (!request) return ipc::refusal_line(request.error());
  if (ipc::asks_others(request->verb) && !request->host.empty())
    return ipc::refusal_line(
        {.code = ipc::Code::unavailable,
         .message = "not possible in classic mode: TSP does not carry questions to other members; "
                    "'tempo classic msite HOST' asks for the master"});
  switch (request->verb) {
    case ipc::Verb::status:
      return ipc::status_line(obs::to_json(worker_->snapshot()));
    case ipc::Verb::members:
      return ipc::members_line(obs::members_json(worker_->snapshot()));
    case ipc::Verb::now: {
      const obs::Snapshot shot = worker_->snapshot();
      return ipc::now_line({.time_ns = shot.time_ns,
                            .earliest_ns = shot.earliest_ns,
                            .latest_ns = shot.latest_ns,
                            .status = shot.status});
    }
    case ipc::Verb::doctor:
      return ipc::findings_line(worker_->findings());
    default:
      return ipc::refusal_line(
          {.code = ipc::Code::unavailable,
           .message = fmt::format("not possible in classic mode: TSP has no '{}'; 'tempo status', "
                                  "'members', 'now', 'doctor' and 'tempo classic' work",
                                  ipc::name_of(request->verb)),
           .id = ipc::locks(request->verb) ? std::optional(request->id) : std::nullopt});
  }
}

void ClassicRequests::disconnect(Connection& client) { client.withdraw_pending(); }

}  // namespace tempo::daemon
