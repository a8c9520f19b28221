#include "cli/time/members.h"

#include "cli/common/exit_codes.h"
#include "cli/common/output.h"

namespace tempo::cli {

int members(const DaemonArguments& arguments) {
  const auto reply = ask(arguments, request_of(ipc::Verb::members));
  if (!reply) return reply.error();
  const auto list = reply->body.at("members");
  const auto snapshot =
      obs::from_json(Json::object().add("members", list.value_or(Json::array())).line());
  if (!list || !snapshot)
    return print_error(kNoDaemon,
                       "invalid reply from tempod: no members; use the tempo that came with it");
  if (arguments.json)
    print_json(*list);
  else
    print("{}", members_text(*snapshot));
  return kDone;
}

}  // namespace tempo::cli
