#include "cli/operations/requests.h"

#include <fmt/core.h>

#include "cli/common/exit_codes.h"
#include "cli/common/output.h"

namespace tempo::cli {

int send_order(const DaemonArguments& arguments, const ipc::Request& request,
               const std::string& done, const char* check) {
  const auto reply = order(arguments, request, check);
  if (!reply) return reply.error();
  if (arguments.json)
    print_json(data_of(*reply));
  else
    print("{}\n", done);
  return kDone;
}

int reelect(const DaemonArguments& arguments) {
  const auto reply = order(arguments, request_of(ipc::Verb::reelect), "tempo master");
  if (!reply) return reply.error();
  const auto reelected = ipc::reelected_of(*reply);
  if (!reelected)
    return print_error(kNoDaemon,
                       fmt::format("invalid reply from tempod: {}; use the tempo that came with it",
                                   reelected.error()));
  if (arguments.json)
    print_json(data_of(*reply));
  else
    print(
        "Master {} of network{} {} has resigned. The members elect a new master; 'tempo watch' "
        "shows the election.\n",
        reelected->master, reelected->network.contains(", ") ? "s" : "", reelected->network);
  return kDone;
}

}  // namespace tempo::cli
