#include "cli/time/members.h"

#include <fmt/core.h>

#include "cli/common/exit_codes.h"

namespace tempo::cli {

int members(const DaemonArguments& arguments) {
  const auto reply = ask(arguments, request_of(ipc::Verb::members));
  if (!reply) return reply.error();
  const auto list = reply->body.at("members");
  const auto snapshot =
      obs::from_json(Json::object().add("members", list.value_or(Json::array())).line());
  if (!list || !snapshot)
    return print_error(kNoDaemon,
                       "there is no list of members in tempod's answer; use the tempo that "
                       "came with it");
  fmt::print("{}", arguments.json ? list->text() : members_text(*snapshot));
  return kDone;
}

}  // namespace tempo::cli
