#include "cli/time/status.h"

#include <fmt/core.h>

#include "cli/common/exit_codes.h"

namespace tempo::cli {

int status(const StatusArguments& arguments) {
  if (arguments.metrics && arguments.daemon.json)
    return print_error(kBadUsage,
                       "--json and --metrics are two forms of one answer; give one of them");
  const auto reply = ask(arguments.daemon, request_of(ipc::Verb::status));
  if (!reply) return reply.error();
  const auto snapshot = snapshot_in(*reply);
  if (!snapshot) return snapshot.error();
  if (arguments.daemon.json)
    fmt::print("{}", reply->body.at("status")->text());  // with what only a newer tempo knows
  else
    fmt::print("{}", arguments.metrics ? metrics_text(*snapshot) : status_text(*snapshot));
  return kDone;
}

}  // namespace tempo::cli
