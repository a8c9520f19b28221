#include "cli/operations/orders.h"

#include <fmt/core.h>

#include "cli/common/exit_codes.h"

namespace tempo::cli {

int give_order(const DaemonArguments& arguments, const ipc::Request& request,
               const std::string& done) {
  const auto reply = ask(arguments, request);
  if (!reply) return reply.error();
  if (arguments.json)
    fmt::print("{}", reply->body.text());
  else
    fmt::print("{}\n", done);
  return kDone;
}

int reelect(const DaemonArguments& arguments) {
  return give_order(arguments, request_of(ipc::Verb::reelect),
                    "The master is asked to resign; 'tempo watch' shows the election.");
}

int resign(const DaemonArguments& arguments) {
  return give_order(arguments, request_of(ipc::Verb::resign),
                    "This machine resigns; 'tempo master' says who follows.");
}

}  // namespace tempo::cli
