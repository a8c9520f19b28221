#include "cli/operations/requests.h"

#include "cli/common/exit_codes.h"
#include "cli/common/output.h"

namespace tempo::cli {

int send_request(const DaemonArguments& arguments, const ipc::Request& request,
                 const std::string& done) {
  const auto reply = ask(arguments, request);
  if (!reply) return reply.error();
  if (arguments.json)
    print_json(data_of(*reply));
  else
    print("{}\n", done);
  return kDone;
}

int reelect(const DaemonArguments& arguments) {
  return send_request(arguments, request_of(ipc::Verb::reelect),
                      "The master steps down; 'tempo watch' shows the election.");
}

}  // namespace tempo::cli
